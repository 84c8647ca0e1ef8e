//! The environment of a hook: the host's as it was when the launcher was made, less the withheld names, `PWD` and
//! `OLDPWD` (SPEC 3.4).
//!
//! Makes no system call. There are no patterns: a name is withheld because it is in the table, or because the host or the
//! user named it (SPEC 4.2).
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::collections::BTreeSet;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// The names that no hook gets: credentials of agents and model providers, in upper case and sorted, and whose each is.
///
/// A name is here when a provider or an agent documents it as its own credential and no ordinary developer tool reads it:
/// not `GITHUB_TOKEN`, `NPM_TOKEN` or the keys of AWS, which a formatter or a notifier may need.
#[rustfmt::skip]
pub(crate) const WITHHELD: &[(&str, &str)] = &[
    ("AI21_API_KEY", "AI21"), ("AICORE_SERVICE_KEY", "SAP AI Core"), ("AIHUBMIX_API_KEY", "AIHubMix"),
    ("AI_GATEWAY_API_KEY", "Vercel AI Gateway"), ("ALIBABA_CODING_PLAN_API_KEY", "Alibaba Coding Plan"),
    ("ALIBABA_TOKEN_PLAN_API_KEY", "Alibaba Token Plan"), ("AMP_API_KEY", "Sourcegraph Amp"),
    ("ANTHROPIC_API_KEY", "Anthropic"), ("ANTHROPIC_AUTH_TOKEN", "Anthropic"),
    ("ANTHROPIC_AWS_API_KEY", "Claude Platform on AWS"),
    ("ANTHROPIC_CUSTOM_HEADERS", "Claude Code (request headers)"),
    ("ANTHROPIC_FOUNDRY_API_KEY", "Claude on Microsoft Foundry"),
    ("ANTHROPIC_FOUNDRY_AUTH_TOKEN", "Claude on Microsoft Foundry"), ("ARK_API_KEY", "Volcengine Ark (Doubao)"),
    ("AUGMENT_SESSION_AUTH", "Augment Auggie"), ("AWS_BEARER_TOKEN_BEDROCK", "Amazon Bedrock"),
    ("AZURE_API_KEY", "Azure OpenAI"), ("AZURE_COGNITIVE_SERVICES_API_KEY", "Azure Cognitive Services"),
    ("AZURE_OPENAI_AD_TOKEN", "Azure OpenAI"), ("AZURE_OPENAI_API_KEY", "Azure OpenAI"),
    ("AZURE_OPENAI_KEY", "Azure OpenAI (older spelling)"), ("BAICHUAN_API_KEY", "Baichuan"),
    ("BASETEN_API_KEY", "Baseten"), ("BRAVE_AI_CHAT_API_KEY", "Brave (bravebot)"),
    ("BRAVE_SERVICES_KEY_ID", "Brave (bravebot)"), ("CEREBRAS_API_KEY", "Cerebras"), ("CHUTES_API_KEY", "Chutes"),
    ("CLARIFAI_PAT", "Clarifai"), ("CLAUDE_CODE_MESSAGING_TOKEN", "Claude Code"),
    ("CLAUDE_CODE_OAUTH_REFRESH_TOKEN", "Claude Code"), ("CLAUDE_CODE_OAUTH_TOKEN", "Claude Code"),
    ("CLINE_API_KEY", "Cline"), ("CODEX_ACCESS_TOKEN", "OpenAI Codex"), ("CODEX_API_KEY", "OpenAI Codex"),
    ("COHERE_API_KEY", "Cohere"), ("COPILOT_GITHUB_TOKEN", "GitHub Copilot CLI"),
    ("COPILOT_PROVIDER_API_KEY", "GitHub Copilot CLI (BYOK)"),
    ("COPILOT_PROVIDER_BEARER_TOKEN", "GitHub Copilot CLI (BYOK)"), ("CO_API_KEY", "Cohere"),
    ("CURSOR_API_KEY", "Cursor"), ("CURSOR_AUTH_TOKEN", "Cursor"), ("DASHSCOPE_API_KEY", "Alibaba DashScope"),
    ("DEEPINFRA_API_KEY", "DeepInfra"), ("DEEPSEEK_API_KEY", "DeepSeek"), ("FACTORY_API_KEY", "Factory Droid"),
    ("FIREWORKS_AI_API_KEY", "Fireworks AI"), ("FIREWORKS_API_KEY", "Fireworks AI"),
    ("FRIENDLI_TOKEN", "FriendliAI"), ("GEMINI_API_KEY", "Google Gemini"),
    ("GEMINI_CLI_IDE_AUTH_TOKEN", "Gemini CLI"), ("GOOGLE_API_KEY", "Google Gemini"),
    ("GOOGLE_GENERATIVE_AI_API_KEY", "Google Gemini (Vercel AI SDK)"), ("GROQ_API_KEY", "Groq"),
    ("HELICONE_API_KEY", "Helicone"), ("HF_TOKEN", "Hugging Face"), ("HUGGINGFACEHUB_API_TOKEN", "Hugging Face"),
    ("HUGGINGFACE_API_KEY", "Hugging Face"), ("HUGGING_FACE_HUB_TOKEN", "Hugging Face"),
    ("HYPERBOLIC_API_KEY", "Hyperbolic"), ("HYPER_API_KEY", "Charm Hyper"), ("IFLOW_API_KEY", "iFlow"),
    ("INCEPTION_API_KEY", "Inception"), ("IOINTELLIGENCE_API_KEY", "IO Intelligence"),
    ("JULES_API_KEY", "Google Jules"), ("JUNIE_API_KEY", "JetBrains Junie"), ("KILO_API_KEY", "Kilo"),
    ("KIMI_API_KEY", "Moonshot Kimi"), ("KIRO_API_KEY", "Kiro CLI"), ("LAMBDA_API_KEY", "Lambda"),
    ("LITELLM_API_KEY", "LiteLLM"), ("LLAMA_API_KEY", "Meta Llama API"), ("LMSTUDIO_API_KEY", "LM Studio"),
    ("MINIMAX_API_KEY", "MiniMax"), ("MISTRAL_API_KEY", "Mistral"), ("MODELSCOPE_API_KEY", "ModelScope"),
    ("MOONSHOT_API_KEY", "Moonshot"), ("MORPH_API_KEY", "Morph"), ("NEBIUS_API_KEY", "Nebius"),
    ("NOVITA_API_KEY", "Novita"), ("NSCALE_API_KEY", "Nscale"), ("NVIDIA_API_KEY", "NVIDIA"),
    ("OLLAMA_API_KEY", "Ollama"), ("OPENAI_API_KEY", "OpenAI"), ("OPENCODE_API_KEY", "OpenCode"),
    ("OPENROUTER_API_KEY", "OpenRouter"), ("PERPLEXITYAI_API_KEY", "Perplexity"),
    ("PERPLEXITY_API_KEY", "Perplexity"), ("POE_API_KEY", "Poe"), ("POOLSIDE_API_KEY", "Poolside"),
    ("PORTKEY_API_KEY", "Portkey"), ("PPLX_API_KEY", "Perplexity"), ("QIANFAN_API_KEY", "Baidu Qianfan"),
    ("QODER_PERSONAL_ACCESS_TOKEN", "Qoder CLI"), ("REPLICATE_API_KEY", "Replicate"),
    ("REPLICATE_API_TOKEN", "Replicate"), ("REQUESTY_API_KEY", "Requesty"), ("SAMBANOVA_API_KEY", "SambaNova"),
    ("SARVAM_API_KEY", "Sarvam AI"), ("SERVICES_KEY_AICHAT", "Brave (bravebot)"),
    ("SILICONFLOW_API_KEY", "SiliconFlow"), ("SILICONFLOW_CN_API_KEY", "SiliconFlow"),
    ("STEPFUN_API_KEY", "StepFun"), ("SYNTHETIC_API_KEY", "Synthetic"),
    ("TENCENT_CODING_PLAN_API_KEY", "Tencent Coding Plan"), ("TOGETHERAI_API_KEY", "Together AI"),
    ("TOGETHER_API_KEY", "Together AI"), ("UPSTAGE_API_KEY", "Upstage"), ("V0_API_KEY", "Vercel v0"),
    ("VENICE_API_KEY", "Venice AI"), ("VERCEL_API_KEY", "Vercel v0"), ("VOYAGE_API_KEY", "Voyage AI"),
    ("WARP_API_KEY", "Warp"), ("WATSONX_APIKEY", "IBM watsonx"), ("WATSONX_API_KEY", "IBM watsonx"),
    ("XAI_API_KEY", "xAI"), ("XIAOMI_API_KEY", "Xiaomi"), ("ZAI_API_KEY", "Z.ai"), ("ZHIPU_API_KEY", "Zhipu"),
];

/// The environment of every hook of one launcher.
#[derive(Debug)]
pub(crate) struct Environment(Vec<CString>);

impl Environment {
    /// Of a name that is given twice the first counts, and every copy of a withheld name goes, whatever its case.
    pub(crate) fn withholding(
        host: impl IntoIterator<Item = (OsString, OsString)>,
        names: &[OsString],
    ) -> Environment {
        let host = Vec::from_iter(host);
        let mut seen = BTreeSet::new();
        let mut block = Vec::with_capacity(host.len());
        for (name, value) in &host {
            if name == "PWD" || name == "OLDPWD" || is_withheld(name, names) || !seen.insert(name) {
                continue;
            }
            // With room for the NUL, so that the string is copied once.
            let mut entry = Vec::with_capacity(name.len() + value.len() + 2);
            for part in [name.as_bytes(), b"=", value.as_bytes(), b"\0"] {
                entry.extend_from_slice(part);
            }
            // An environment block holds no other NUL, so no variable is lost here.
            block.extend(CString::from_vec_with_nul(entry));
        }
        Environment(block)
    }

    /// `NAME=value` for each variable, in the host's order.
    pub(crate) fn block(&self) -> &[CString] {
        &self.0
    }

    /// The value of `name`.
    pub(crate) fn value(&self, name: &str) -> Option<&OsStr> {
        self.0.iter().find_map(|entry| {
            let rest = entry.to_bytes().strip_prefix(name.as_bytes())?;
            rest.strip_prefix(b"=").map(OsStr::from_bytes)
        })
    }
}

/// Returns whether `name` is in the table or in `names`, whatever its case (SPEC 4.1).
pub(crate) fn is_withheld(name: &OsStr, names: &[OsString]) -> bool {
    let upper = || name.as_bytes().iter().map(u8::to_ascii_uppercase);
    let found = WITHHELD.binary_search_by(|(withheld, _)| withheld.bytes().cmp(upper()));
    found.is_ok() || names.iter().any(|other| other.eq_ignore_ascii_case(name))
}
