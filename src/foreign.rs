//! Hooks files of other agents, recognised by the names of their events (SPEC 1.11).
//!
//! Knows names alone. Claude Code, Codex and Qwen Code share a format; Gemini CLI, Cursor and GitHub Copilot CLI have the
//! same shape with words of their own.

/// An agent whose file this is, by one event that no other has.
const EVENTS: &[(&str, &[&str])] = &[
    (
        "Gemini CLI",
        &[
            "BeforeAgent",
            "AfterAgent",
            "BeforeTool",
            "AfterTool",
            "BeforeModel",
            "AfterModel",
        ],
    ),
    (
        "Cursor",
        &[
            "afterFileEdit",
            "beforeShellExecution",
            "afterShellExecution",
            "beforeMCPExecution",
            "afterMCPExecution",
            "beforeReadFile",
            "beforeSubmitPrompt",
            "afterAgentResponse",
            "stop",
        ],
    ),
    (
        "GitHub Copilot CLI",
        &[
            "agentStop",
            "userPromptSubmitted",
            "preToolUse",
            "postToolUse",
            "errorOccurred",
            "subagentStop",
        ],
    ),
    (
        "Claude Code (or Codex or Qwen Code, which share it)",
        &[
            "Stop",
            "PreToolUse",
            "PostToolUse",
            "UserPromptSubmit",
            "Notification",
            "SubagentStop",
            "StopFailure",
            "SessionStart",
            "SessionEnd",
            "PreCompact",
            "PermissionRequest",
        ],
    ),
    ("Codex (its notify)", &["notify"]),
];

/// Whose file has these keys where we have entries; `None` where none is known.
pub(crate) fn agent_of(keys: &[String]) -> Option<&'static str> {
    EVENTS
        .iter()
        .find(|(_, events)| keys.iter().any(|key| events.contains(&&**key)))
        .map(|(agent, _)| *agent)
}
