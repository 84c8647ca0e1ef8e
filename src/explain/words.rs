//! Words that people write instead of ours: other spellings, and the words of other agents (SPEC 1.11).
//!
//! A word that is not listed gets no guess: a wrong suggestion costs more than none.

/// Names, each with the other words that people write for it, as [`plain`] has them.
pub(crate) type Names = [(&'static str, &'static str)];

/// The name that `word` was probably meant to be.
pub(crate) fn meant(names: &Names, word: &str) -> Option<&'static str> {
    let word = plain(word);
    let is_listed = |(name, others): &&(&str, &str)| plain(name) == word || has(others, &word);
    // Two edits make any short word of any other.
    let is_close = |(name, _): &&(&str, &str)| name.len() > 3 && is_within(2, &word, &plain(name));
    let listed = names.iter().find(is_listed);
    let (name, _) = listed.or_else(|| names.iter().find(is_close))?;
    Some(name)
}

/// The agent whose hooks file has these keys where ours has entries; `None` where none is known.
pub(crate) fn agent(keys: &[String]) -> Option<&'static str> {
    let is_of = |events: &str| keys.iter().any(|key| has(events, key));
    let (agent, _) = AGENTS.iter().find(|(_, events)| is_of(events))?;
    Some(agent)
}

/// The one key of the file.
pub(crate) const FILE_KEYS: &Names = &[("hooks", "")];
/// The keys of an entry.
pub(crate) const KEYS: &Names = &[
    ("on", "event when moment hook trigger hookeventname"),
    ("run", "command cmd args argv exec bash program script"),
    ("tool", "matcher match toolname tools"),
    ("timeout", "timeoutsec timeoutms timelimit seconds"),
];
/// The moments, and words of Claude Code, Codex, Gemini CLI, Qwen Code, Copilot CLI, Cursor, Cline and opencode.
#[rustfmt::skip]
pub(crate) const MOMENTS: &Names = &[
    ("turn-started", "userpromptsubmit userpromptsubmitted beforesubmitprompt beforeagent agentstart turnstart start started \
        taskstart chatmessage promptsubmit"),
    ("tool-finished", "posttooluse posttoolusefailure posttool aftertool aftertooluse toolexecuteafter afterfileedit \
        aftershellexecution aftermcpexecution toolfinish tooldone toolend tool afteredit"),
    ("turn-finished", "stop stopfailure subagentstop afteragent afteragentresponse agentstop agentturncomplete turncomplete \
        turncompleted turnend turndone sessionidle taskcomplete taskcompleted done finish finished notification notify"),
];
/// The tools of bravebot.
pub(crate) const TOOLS: &Names = &[("write_file", ""), ("run", "")];
/// An agent is known by an event that none before it has. Claude Code, Codex and Qwen Code share a format.
#[rustfmt::skip]
const AGENTS: &Names = &[
    ("Gemini CLI", "BeforeAgent AfterAgent BeforeTool AfterTool BeforeModel AfterModel"),
    ("Cursor", "afterFileEdit beforeShellExecution afterShellExecution beforeMCPExecution afterMCPExecution beforeReadFile \
        beforeSubmitPrompt afterAgentResponse stop"),
    ("GitHub Copilot CLI", "agentStop userPromptSubmitted preToolUse postToolUse errorOccurred subagentStop"),
    ("Claude Code (or Codex or Qwen Code, which share it)", "Stop PreToolUse PostToolUse UserPromptSubmit Notification \
        SubagentStop StopFailure SessionStart SessionEnd PreCompact PermissionRequest"),
    ("Codex (its notify)", "notify"),
];

fn has(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|listed| listed == word)
}

/// `word` in lower case, letters and digits alone.
fn plain(word: &str) -> String {
    let letters = word.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).take(64).collect()
}

/// Whether one becomes the other by at most so many insertions, deletions or replacements (Levenshtein).
fn is_within(edits: usize, one: &str, other: &str) -> bool {
    let (mut one_rest, mut other_rest) = (one.chars(), other.chars());
    let is_same_character = one_rest.next() == other_rest.next();
    let (one_rest, other_rest) = (one_rest.as_str(), other_rest.as_str());
    if is_same_character {
        return one.is_empty() || is_within(edits, one_rest, other_rest);
    }
    let edited = [(one_rest, other_rest), (one_rest, other), (one, other_rest)];
    edits > 0 && edited.iter().any(|(a, b)| is_within(edits - 1, a, b))
}
