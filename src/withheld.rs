//! The names that no hook is given: credentials of agents and model providers, and whose each is (SPEC 4.1).
//!
//! Exact names, compared without regard to ASCII case; no patterns. A name stands here when a provider or an agent
//! documents it as its own credential and no ordinary developer tool reads it: not GITHUB_TOKEN, NPM_TOKEN or the keys of
//! AWS, which a formatter or a notifier may well need (SPEC 4.2). A host adds its own with `Launcher::withholding`, the
//! command with `--withhold`. The README prints the same table; a test holds the two together.

/// Each name, in alphabetical order, and whose it is.
#[rustfmt::skip]
pub(crate) const WITHHELD: &[(&str, &str)] = &[
    ("AI21_API_KEY", "AI21"),
    ("AICORE_SERVICE_KEY", "SAP AI Core"),
    ("AIHUBMIX_API_KEY", "AIHubMix"),
    ("AI_GATEWAY_API_KEY", "Vercel AI Gateway"),
    ("ALIBABA_CODING_PLAN_API_KEY", "Alibaba Coding Plan"),
    ("ALIBABA_TOKEN_PLAN_API_KEY", "Alibaba Token Plan"),
    ("AMP_API_KEY", "Sourcegraph Amp"),
    ("ANTHROPIC_API_KEY", "Anthropic"),
    ("ANTHROPIC_AUTH_TOKEN", "Anthropic"),
    ("ANTHROPIC_AWS_API_KEY", "Claude Platform on AWS"),
    ("ANTHROPIC_CUSTOM_HEADERS", "Claude Code (request headers)"),
    ("ANTHROPIC_FOUNDRY_API_KEY", "Claude on Microsoft Foundry"),
    ("ANTHROPIC_FOUNDRY_AUTH_TOKEN", "Claude on Microsoft Foundry"),
    ("ARK_API_KEY", "Volcengine Ark (Doubao)"),
    ("AUGMENT_SESSION_AUTH", "Augment Auggie"),
    ("AWS_BEARER_TOKEN_BEDROCK", "Amazon Bedrock"),
    ("AZURE_API_KEY", "Azure OpenAI"),
    ("AZURE_COGNITIVE_SERVICES_API_KEY", "Azure Cognitive Services"),
    ("AZURE_OPENAI_AD_TOKEN", "Azure OpenAI"),
    ("AZURE_OPENAI_API_KEY", "Azure OpenAI"),
    ("AZURE_OPENAI_KEY", "Azure OpenAI (older spelling)"),
    ("BAICHUAN_API_KEY", "Baichuan"),
    ("BASETEN_API_KEY", "Baseten"),
    ("BRAVE_AI_CHAT_API_KEY", "Brave (bravebot)"),
    ("BRAVE_SERVICES_KEY_ID", "Brave (bravebot)"),
    ("CEREBRAS_API_KEY", "Cerebras"),
    ("CHUTES_API_KEY", "Chutes"),
    ("CLARIFAI_PAT", "Clarifai"),
    ("CLAUDE_CODE_MESSAGING_TOKEN", "Claude Code"),
    ("CLAUDE_CODE_OAUTH_REFRESH_TOKEN", "Claude Code"),
    ("CLAUDE_CODE_OAUTH_TOKEN", "Claude Code"),
    ("CLINE_API_KEY", "Cline"),
    ("CODEX_ACCESS_TOKEN", "OpenAI Codex"),
    ("CODEX_API_KEY", "OpenAI Codex"),
    ("COHERE_API_KEY", "Cohere"),
    ("COPILOT_GITHUB_TOKEN", "GitHub Copilot CLI"),
    ("COPILOT_PROVIDER_API_KEY", "GitHub Copilot CLI (BYOK)"),
    ("COPILOT_PROVIDER_BEARER_TOKEN", "GitHub Copilot CLI (BYOK)"),
    ("CO_API_KEY", "Cohere"),
    ("CURSOR_API_KEY", "Cursor"),
    ("CURSOR_AUTH_TOKEN", "Cursor"),
    ("DASHSCOPE_API_KEY", "Alibaba DashScope"),
    ("DEEPINFRA_API_KEY", "DeepInfra"),
    ("DEEPSEEK_API_KEY", "DeepSeek"),
    ("FACTORY_API_KEY", "Factory Droid"),
    ("FIREWORKS_AI_API_KEY", "Fireworks AI"),
    ("FIREWORKS_API_KEY", "Fireworks AI"),
    ("FRIENDLI_TOKEN", "FriendliAI"),
    ("GEMINI_API_KEY", "Google Gemini"),
    ("GEMINI_CLI_IDE_AUTH_TOKEN", "Gemini CLI"),
    ("GOOGLE_API_KEY", "Google Gemini"),
    ("GOOGLE_GENERATIVE_AI_API_KEY", "Google Gemini (Vercel AI SDK)"),
    ("GROQ_API_KEY", "Groq"),
    ("HELICONE_API_KEY", "Helicone"),
    ("HF_TOKEN", "Hugging Face"),
    ("HUGGINGFACEHUB_API_TOKEN", "Hugging Face"),
    ("HUGGINGFACE_API_KEY", "Hugging Face"),
    ("HUGGING_FACE_HUB_TOKEN", "Hugging Face"),
    ("HYPERBOLIC_API_KEY", "Hyperbolic"),
    ("HYPER_API_KEY", "Charm Hyper"),
    ("IFLOW_API_KEY", "iFlow"),
    ("INCEPTION_API_KEY", "Inception"),
    ("IOINTELLIGENCE_API_KEY", "IO Intelligence"),
    ("JULES_API_KEY", "Google Jules"),
    ("JUNIE_API_KEY", "JetBrains Junie"),
    ("KILO_API_KEY", "Kilo"),
    ("KIMI_API_KEY", "Moonshot Kimi"),
    ("KIRO_API_KEY", "Kiro CLI"),
    ("LAMBDA_API_KEY", "Lambda"),
    ("LITELLM_API_KEY", "LiteLLM"),
    ("LLAMA_API_KEY", "Meta Llama API"),
    ("LMSTUDIO_API_KEY", "LM Studio"),
    ("MINIMAX_API_KEY", "MiniMax"),
    ("MISTRAL_API_KEY", "Mistral"),
    ("MODELSCOPE_API_KEY", "ModelScope"),
    ("MOONSHOT_API_KEY", "Moonshot"),
    ("MORPH_API_KEY", "Morph"),
    ("NEBIUS_API_KEY", "Nebius"),
    ("NOVITA_API_KEY", "Novita"),
    ("NSCALE_API_KEY", "Nscale"),
    ("NVIDIA_API_KEY", "NVIDIA"),
    ("OLLAMA_API_KEY", "Ollama"),
    ("OPENAI_API_KEY", "OpenAI"),
    ("OPENCODE_API_KEY", "OpenCode"),
    ("OPENROUTER_API_KEY", "OpenRouter"),
    ("PERPLEXITYAI_API_KEY", "Perplexity"),
    ("PERPLEXITY_API_KEY", "Perplexity"),
    ("POE_API_KEY", "Poe"),
    ("POOLSIDE_API_KEY", "Poolside"),
    ("PORTKEY_API_KEY", "Portkey"),
    ("PPLX_API_KEY", "Perplexity"),
    ("QIANFAN_API_KEY", "Baidu Qianfan"),
    ("QODER_PERSONAL_ACCESS_TOKEN", "Qoder CLI"),
    ("REPLICATE_API_KEY", "Replicate"),
    ("REPLICATE_API_TOKEN", "Replicate"),
    ("REQUESTY_API_KEY", "Requesty"),
    ("SAMBANOVA_API_KEY", "SambaNova"),
    ("SARVAM_API_KEY", "Sarvam AI"),
    ("SERVICES_KEY_AICHAT", "Brave (bravebot)"),
    ("SILICONFLOW_API_KEY", "SiliconFlow"),
    ("SILICONFLOW_CN_API_KEY", "SiliconFlow"),
    ("STEPFUN_API_KEY", "StepFun"),
    ("SYNTHETIC_API_KEY", "Synthetic"),
    ("TENCENT_CODING_PLAN_API_KEY", "Tencent Coding Plan"),
    ("TOGETHERAI_API_KEY", "Together AI"),
    ("TOGETHER_API_KEY", "Together AI"),
    ("UPSTAGE_API_KEY", "Upstage"),
    ("V0_API_KEY", "Vercel v0"),
    ("VENICE_API_KEY", "Venice AI"),
    ("VERCEL_API_KEY", "Vercel v0"),
    ("VOYAGE_API_KEY", "Voyage AI"),
    ("WARP_API_KEY", "Warp"),
    ("WATSONX_APIKEY", "IBM watsonx"),
    ("WATSONX_API_KEY", "IBM watsonx"),
    ("XAI_API_KEY", "xAI"),
    ("XIAOMI_API_KEY", "Xiaomi"),
    ("ZAI_API_KEY", "Z.ai"),
    ("ZHIPU_API_KEY", "Zhipu"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// SPEC 4.1.
    #[test]
    fn the_readme_prints_the_table() {
        let readme = include_str!("../README.md");
        let rows: Vec<String> = WITHHELD
            .iter()
            .map(|(name, whose)| format!("| `{name}` | {whose} |"))
            .collect();
        assert!(
            readme.contains(&rows.join("\n")),
            "the README should print:\n{}",
            rows.join("\n")
        );
    }

    /// SPEC 4.1, 4.2.
    #[test]
    fn the_table_is_in_order_and_holds_no_developer_tools_credential() {
        // As it is looked up: each name in upper case, by its bytes.
        assert!(
            WITHHELD
                .iter()
                .all(|(name, _)| *name == name.to_ascii_uppercase())
        );
        assert!(WITHHELD.is_sorted_by(|one, next| one.0 < next.0));
        for kept in [
            "GITHUB_TOKEN",
            "GH_TOKEN",
            "NPM_TOKEN",
            "AWS_PROFILE",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
        ] {
            assert!(WITHHELD.iter().all(|(name, _)| *name != kept), "{kept}");
        }
    }
}
