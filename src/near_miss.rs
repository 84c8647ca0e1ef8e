//! Words that people write for ours: other spellings, and the words of other agents (SPEC 1.11).
//!
//! Knows words alone. What is not listed gets no guess: a wrong suggestion costs more than none.

use crate::moment::Moment;

/// The moment that `word` was probably meant to be.
pub(crate) fn moment(word: &str) -> Option<Moment> {
    let word = plain(word);
    let spelled = Moment::ALL
        .into_iter()
        .find(|moment| is_close(&word, &plain(moment.name())));
    spelled.or_else(|| {
        let foreign = |words: &[&str]| words.contains(&&*word);
        if foreign(TURN_STARTED) {
            Some(Moment::TurnStarted)
        } else if foreign(TOOL_FINISHED) {
            Some(Moment::ToolFinished)
        } else if foreign(TURN_FINISHED) {
            Some(Moment::TurnFinished)
        } else {
            None
        }
    })
}

/// The key of an entry that `word` was probably meant to be.
pub(crate) fn key(word: &str) -> Option<&'static str> {
    let word = plain(word);
    let spelled = KEYS.iter().find(|(key, _)| word == *key);
    let listed = spelled.or_else(|| KEYS.iter().find(|(_, words)| words.contains(&&*word)));
    // Two edits make any short word of any other.
    let close = listed.or_else(|| {
        KEYS.iter()
            .find(|(key, _)| key.len() > 3 && is_close(&word, key))
    });
    close.map(|(key, _)| *key)
}

/// The tool that `word`, not one itself, was probably meant to be.
pub(crate) fn tool(word: &str) -> Option<&'static str> {
    const TOOLS: &[&str] = &["write_file", "run"];
    if TOOLS.contains(&word) {
        return None;
    }
    let word = plain(word);
    TOOLS
        .iter()
        .find(|tool| plain(tool) == word || tool.len() > 4 && is_close(&word, &plain(tool)))
        .copied()
}

/// Whether `word` was probably meant to be the key "hooks" of the file itself.
pub(crate) fn is_hooks(word: &str) -> bool {
    is_close(&plain(word), "hooks")
}

/// Claude Code, Codex, Gemini CLI, Qwen Code, Copilot CLI, Cursor, Cline and opencode, without case and punctuation.
const TURN_STARTED: &[&str] = &[
    "userpromptsubmit",
    "userpromptsubmitted",
    "beforesubmitprompt",
    "beforeagent",
    "agentstart",
    "turnstart",
    "start",
    "started",
    "taskstart",
    "chatmessage",
    "promptsubmit",
];
const TOOL_FINISHED: &[&str] = &[
    "posttooluse",
    "posttoolusefailure",
    "posttool",
    "aftertool",
    "aftertooluse",
    "toolexecuteafter",
    "afterfileedit",
    "aftershellexecution",
    "aftermcpexecution",
    "toolfinish",
    "tooldone",
    "toolend",
    "tool",
    "afteredit",
];
const TURN_FINISHED: &[&str] = &[
    "stop",
    "stopfailure",
    "subagentstop",
    "afteragent",
    "afteragentresponse",
    "agentstop",
    "agentturncomplete",
    "turncomplete",
    "turncompleted",
    "turnend",
    "turndone",
    "sessionidle",
    "taskcomplete",
    "taskcompleted",
    "done",
    "finish",
    "finished",
    "notification",
    "notify",
];
const KEYS: &[(&str, &[&str])] = &[
    (
        "on",
        &[
            "event",
            "when",
            "moment",
            "hook",
            "trigger",
            "hookeventname",
        ],
    ),
    (
        "run",
        &[
            "command", "cmd", "args", "argv", "exec", "bash", "program", "script",
        ],
    ),
    ("tool", &["matcher", "match", "toolname", "tools"]),
    (
        "timeout",
        &["timeoutsec", "timeoutms", "timelimit", "seconds"],
    ),
];

/// `word` in lower case, letters and digits only.
fn plain(word: &str) -> String {
    word.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .take(64)
        .collect()
}

/// Whether one becomes the other by at most two insertions, deletions or replacements (Levenshtein).
fn is_close(one: &str, other: &str) -> bool {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(a != *b))
                .min(above + 1)
                .min(row[j] + 1);
            diagonal = above;
        }
    }
    row[other.len()] <= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SPEC 1.11, CASES 2.
    #[test]
    fn a_near_miss_is_told_the_word_to_write() {
        for (word, meant) in [
            ("Turn-Finished", Some(Moment::TurnFinished)),
            ("turn_finished", Some(Moment::TurnFinished)),
            ("turn-finish", Some(Moment::TurnFinished)),
            ("turnstarted", Some(Moment::TurnStarted)),
            ("stop", Some(Moment::TurnFinished)),
            ("Stop", Some(Moment::TurnFinished)),
            ("PostToolUse", Some(Moment::ToolFinished)),
            ("UserPromptSubmit", Some(Moment::TurnStarted)),
            ("PreToolUse", None),
            ("", None),
        ] {
            assert_eq!(moment(word), meant, "{word}");
        }
        assert_eq!(
            [
                key("command"),
                key("matcher"),
                key("event"),
                key("timout"),
                key("comment")
            ],
            [Some("run"), Some("tool"), Some("on"), Some("timeout"), None]
        );
    }
}
