//! Advice for people: what was probably meant, what to write instead, and which command mends a refusal.
//!
//! Takes what the core refused (the text and a problem with its offset, or an error) and looks at it again. It can be
//! wrong without harm: the core knows nothing of it, and nothing here decides what runs.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod check;
mod json;
mod mend;
mod program;
mod words;

use std::ffi::OsString;
use std::path::Path;

use serde_json::value::RawValue;

use crate::escape::quoted;
use crate::hooks::{
    self, HOOKS, Mistake, NO_HOOKS, OTHER_NUMBER, Positions, Problem, ROOT, RUN, TIMEOUT, TOOL,
};
use crate::launcher::{Launcher, Sentence, Wording};
use crate::moment::Moment;
use crate::process::StartError;
use crate::report::Reporter;
use crate::turn_log::TurnLog;

use words::{FILE_KEYS, KEYS, MOMENTS, Names};

pub use check::{Check, CheckedEntry, Finding, Summary};

#[rustfmt::skip]
const SHAPE: &str = "write {\"hooks\": [{\"on\": \"turn-finished\", \"run\": [\"program\", \"argument\"]}]}";
const WORDING: Wording = Wording {
    refusal: mend::refusal,
    problems: sentences,
    start_error,
};
/// How many events of another agent's file are named.
const MAX_EVENTS: usize = 6;

impl Launcher {
    /// Reads `~/.bravebot/hooks.json` and the environment. Never fails: a problem of the file is a report, and a file
    /// that cannot be used means no hooks (SPEC 1.12). Blocks for as long as the file system takes to answer.
    pub fn new(reporter: impl Reporter + 'static) -> Launcher {
        Launcher::withholding([], reporter)
    }

    /// As [`Launcher::new`], and keeps these names from the hooks too, whatever their case: the host's own
    /// credentials, which are not in the table (SPEC 4.1).
    pub fn withholding(
        names: impl IntoIterator<Item = OsString>,
        reporter: impl Reporter + 'static,
    ) -> Launcher {
        Launcher::load(&Vec::from_iter(names), Box::new(reporter), WORDING)
    }
}

impl TurnLog {
    /// A log for a turn in `directory`, which every line names, below `HOME` as it is now. Opens nothing yet.
    pub fn of_turn_in(directory: &Path) -> TurnLog {
        TurnLog::new(directory, WORDING.refusal)
    }
}

/// Each problem as a sentence.
pub(crate) fn sentences(text: &str, problems: &[Problem]) -> Vec<Sentence> {
    let is_told_here = |problem: &&Problem| !is_told_by_a_key(text, problem);
    let sentence = |problem: &Problem| match advice(text, problem) {
        // A question says it itself.
        (at, Some(advice)) if problem.mistake.is_of_file() && !advice.ends_with('?') => {
            (at, advice + "; no hook is in force")
        }
        (at, Some(advice)) => (at, advice),
        (at, None) => (at, problem.mistake.to_string()),
    };
    placed(text, problems.iter().filter(is_told_here).map(sentence))
}

/// What is to be said of each offset, with its line and column in front. The offsets are in ascending order.
fn placed(text: &str, told: impl Iterator<Item = (usize, String)>) -> Vec<Sentence> {
    let mut positions = Positions::of(text);
    let sentence = |(offset, what)| {
        let (line, column) = positions.at(offset);
        let sentence = format!("hooks.json:{line}:{column}: {what}");
        ((line, column), sentence)
    };
    told.map(sentence).collect()
}

/// Whether the problem is a key that is missing because it is misspelt: that is one mistake, and is told of the other key.
fn is_told_by_a_key(text: &str, problem: &Problem) -> bool {
    let missing = match problem.mistake {
        Mistake::MissingOn => "on",
        Mistake::MissingRun => "run",
        _ => return false,
    };
    let is_meant = |key: &String| key != missing && words::meant(KEYS, key) == Some(missing);
    keys_at(text, problem.offset).iter().any(is_meant)
}

/// The keys of the object that begins at `offset`.
fn keys_at(text: &str, offset: usize) -> Vec<String> {
    let mut values = serde_json::Deserializer::from_str(&text[offset..]).into_iter::<&RawValue>();
    let object = values.next().and_then(Result::ok);
    let members = object.and_then(|object| hooks::members(object.get()).ok());
    let members = members.unwrap_or_default().into_iter();
    members.map(|(key, _)| hooks::key(key).into()).collect()
}

/// What to write instead, where there is more to say than the core says, and where the mistake really is.
#[rustfmt::skip]
fn advice(text: &str, problem: &Problem) -> (usize, Option<String>) {
    let Problem { offset, mistake } = problem;
    let more = |advice: &str| Some(format!("{mistake}; {advice}"));
    let advice = match mistake {
        Mistake::NotJson(reason) => {
            let (offset, reason) = json::explain(text, *offset, reason);
            return (offset, Some(format!("not JSON: {reason}")));
        }
        Mistake::Found(ROOT, found) if found == NO_HOOKS => return no_hooks(text, *offset),
        Mistake::Found(HOOKS, found) if found == "an object" => {
            foreign(&keys_at(text, *offset)).or_else(|| Some(format!("{HOOKS}, found {found}; {SHAPE}")))
        }
        Mistake::Key(key) if key == "args" => Some("unknown key \"args\"; the arguments go into \"run\", after the program".to_owned()),
        Mistake::Key(key) => unknown("key", key, KEYS),
        Mistake::OnUnknown(word) => unknown("moment", word, MOMENTS),
        Mistake::Found(RUN, found) if found == "a string" => {
            Some(format!("{RUN}, found one string; write [\"program\", \"argument\"], nothing splits it"))
        }
        Mistake::Found(RUN, found) if found == "a number among them" || found == "a boolean among them" => more("put it in quotes"),
        Mistake::Found(TOOL, found) if found == "an array" => more("write an entry a tool"),
        Mistake::Found(TOOL, _) => more("leave it out to run on every tool"),
        Mistake::Found(TIMEOUT, found) if found == OTHER_NUMBER => Some(format!("{TIMEOUT}; this number is not")),
        _ => None,
    };
    (*offset, advice)
}

/// That a word is unknown, where it is known which one of `names` was probably meant.
fn unknown(what: &str, word: &str, names: &Names) -> Option<String> {
    let (meant, word) = (words::meant(names, word)?, quoted(word));
    Some(format!("unknown {what} {word}; did you mean \"{meant}\"?"))
}

/// The file has no key "hooks". It may be misspelt, or an entry, a moment or another agent's events are where it should be.
fn no_hooks(text: &str, offset: usize) -> (usize, Option<String>) {
    let keys = keys_at(text, offset);
    let is_misspelt = |key: &&String| words::meant(FILE_KEYS, key).is_some();
    if let Some(key) = keys.iter().find(is_misspelt) {
        let at = text.find(&format!("\"{key}\"")).unwrap_or(offset);
        let key = quoted(key);
        let sentence =
            format!("unknown key {key}, so no hook is in force; did you mean \"hooks\"?");
        return (at, Some(sentence));
    }
    let found = if keys.iter().any(|key| key == "on" || key == "run") {
        "an entry"
    } else if keys.iter().any(|key| Moment::named(key).is_some()) {
        "a moment"
    } else {
        return (offset, foreign(&keys));
    };
    let sentence = format!("{found} stands where the file should; {SHAPE}");
    (offset, Some(sentence))
}

/// What to write instead of another agent's file, which is known by its events.
fn foreign(events: &[String]) -> Option<String> {
    let agent = words::agent(events)?;
    let in_words = |event: &String| match words::meant(MOMENTS, event) {
        Some(moment) => format!("\"{moment}\" for {}", quoted(event)),
        None => format!("nothing for {}", quoted(event)),
    };
    // Those that have a word here come first.
    let mut events = Vec::from_iter(events);
    events.sort_by_key(|event| words::meant(MOMENTS, event).is_none());
    let events: Vec<_> = events.into_iter().take(MAX_EVENTS).map(in_words).collect();
    let events = events.join(", ");
    Some(format!(
        "this is the hooks file of {agent}, and is not read here; {SHAPE}, with {events}"
    ))
}

/// Why `program` could not be started, and what to do.
#[rustfmt::skip]
fn start_error(program: &str, error: &StartError) -> String {
    let advice = match error {
        StartError::NotInPath if program.contains(char::is_whitespace) => ": nothing splits it; write [\"program\", \"argument\"]",
        StartError::NotInPath if program.contains('=') => ": an assignment is none; write [\"env\", \"NAME=value\", \"program\"]",
        StartError::NotExecutable(path) => return format!("{error}; chmod +x {}", mend::word(path)),
        _ => "",
    };
    format!("{error}{advice}")
}
