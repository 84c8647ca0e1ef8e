//! What can be wrong with the text of `hooks.json`, as data with its place, and the sentence for each.
//!
//! A value that was found is named by its type; only `on`, keys and the program are quoted, never an argument
//! (SPEC 1.11).

use std::fmt;

use crate::escape::quoted;
use crate::near_miss;

/// A place in the file: both from 1, the column in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// One problem of the file, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) place: Place,
    pub(crate) what: Wrong,
}

/// What is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    // No hook is in force.
    NotUtf8,
    NotJson(String),
    RootNotObject(Kind),
    NotWrapped(&'static str),
    Foreign {
        agent: &'static str,
        events: Vec<String>,
    },
    RootKeyTwice(String),
    RootKeyMeant(String),
    NoHooks,
    HooksNotArray(Kind),
    // The key is ignored.
    RootKeyUnknown(String),
    // The entry is not in force.
    EntryNotObject(Kind),
    EntryKeyUnknown(String),
    EntryKeyTwice(String),
    Missing(&'static str),
    NotUnicode,
    OnNotString(Kind),
    OnUnknown(String),
    RunNotArray(Kind),
    RunEmpty,
    RunNotString(Kind),
    RunNul,
    ProgramBlank,
    ProgramUnexpanded(String),
    ToolNotString(Kind),
    ToolEmpty,
    ToolOnTurn,
    Timeout(Kind),
}

impl Wrong {
    /// How much it keeps from being in force: 0 every hook, 1 its entry, 2 nothing.
    pub(crate) fn weight(&self) -> u8 {
        match self {
            Wrong::NotUtf8
            | Wrong::NotJson(_)
            | Wrong::RootNotObject(_)
            | Wrong::NotWrapped(_)
            | Wrong::Foreign { .. }
            | Wrong::RootKeyTwice(_)
            | Wrong::RootKeyMeant(_)
            | Wrong::NoHooks
            | Wrong::HooksNotArray(_) => 0,
            Wrong::RootKeyUnknown(_) => 2,
            _ => 1,
        }
    }
}

/// The types of JSON, by which a value is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Number,
    Boolean,
    Null,
}

impl Kind {
    /// The type of the value that `text` is.
    pub(crate) fn of(text: &str) -> Kind {
        match text.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Object => "an object",
            Kind::Array => "an array",
            Kind::String => "a string",
            Kind::Number => "a number",
            Kind::Boolean => "a boolean",
            Kind::Null => "null",
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hooks.json:{}: {}", self.place, self.what)
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHAPE: &str =
            "{\"hooks\": [{\"on\": \"turn-finished\", \"run\": [\"program\", \"argument\"]}]}";
        const ROOT: &str = "the file is {\"hooks\": [...]}";
        const RUN: &str = "\"run\" is an array of strings: the program, then each argument";
        match self {
            Wrong::NotUtf8 => f.write_str("not UTF-8; no hook is in force; save the file as UTF-8"),
            Wrong::NotJson(reason) => write!(f, "not JSON: {reason}; no hook is in force"),
            Wrong::RootNotObject(found) => write!(f, "{ROOT}, found {found}; no hook is in force"),
            Wrong::RootKeyTwice(key) => write!(f, "the key {} stands twice; no hook is in force", quoted(key)),
            Wrong::NoHooks => write!(f, "{ROOT}, found no key \"hooks\"; no hook is in force"),
            Wrong::NotWrapped(what) => {
                write!(f, "{what} stands where the file should; write {SHAPE}; no hook is in force")
            }
            Wrong::Foreign { agent, events } => {
                write!(f, "this is the hooks file of {agent}, and is not read here; write {SHAPE}")?;
                for (index, event) in events.iter().enumerate() {
                    f.write_str(if index == 0 { ", with " } else { ", " })?;
                    match near_miss::moment(event) {
                        Some(moment) => write!(f, "\"{moment}\" for {}", quoted(event))?,
                        None => write!(f, "nothing for {}", quoted(event))?,
                    }
                }
                f.write_str("; no hook is in force")
            }
            Wrong::HooksNotArray(Kind::Object) => {
                write!(f, "\"hooks\" is an array of entries, found an object; write {SHAPE}; no hook is in force")
            }
            Wrong::HooksNotArray(found) => write!(f, "\"hooks\" is an array, found {found}; no hook is in force"),
            Wrong::RootKeyMeant(key) => {
                write!(f, "unknown key {}, so no hook is in force; did you mean \"hooks\"?", quoted(key))
            }
            Wrong::RootKeyUnknown(key) => {
                write!(f, "unknown key {} is ignored; the file has \"hooks\" and may have \"$schema\"", quoted(key))
            }
            Wrong::EntryNotObject(found) => write!(f, "an entry is {{\"on\": ..., \"run\": [...]}}, found {found}"),
            Wrong::EntryKeyUnknown(key) if key == "args" => {
                f.write_str("unknown key \"args\"; the arguments go into \"run\", after the program")
            }
            Wrong::EntryKeyUnknown(key) => match near_miss::key(key) {
                Some(meant) => write!(f, "unknown key {}; did you mean \"{meant}\"?", quoted(key)),
                None => write!(
                    f,
                    "unknown key {}, so the entry is not in force; an entry has \"on\", \"run\", \"tool\" and \"timeout\"",
                    quoted(key)
                ),
            },
            Wrong::EntryKeyTwice(key) => {
                write!(f, "the key {} stands twice, so the entry is not in force", quoted(key))
            }
            Wrong::Missing("on") => {
                f.write_str("the entry has no \"on\": \"turn-started\", \"tool-finished\" or \"turn-finished\"")
            }
            Wrong::Missing(key) => {
                write!(f, "the entry has no \"{key}\": the program, then each argument, as [\"program\", \"argument\"]")
            }
            Wrong::NotUnicode => f.write_str("half of a surrogate pair is no character"),
            Wrong::OnNotString(found) => {
                write!(f, "\"on\" is \"turn-started\", \"tool-finished\" or \"turn-finished\", found {found}")
            }
            Wrong::OnUnknown(word) => match near_miss::moment(word) {
                Some(meant) => write!(f, "unknown moment {}; did you mean \"{meant}\"?", quoted(word)),
                None => write!(
                    f,
                    "unknown moment {}; there are \"turn-started\", \"tool-finished\" and \"turn-finished\"",
                    quoted(word)
                ),
            },
            Wrong::RunNotArray(Kind::String) => {
                write!(f, "{RUN}, found one string; write [\"program\", \"argument\"], nothing splits it")
            }
            Wrong::RunNotArray(found) => write!(f, "{RUN}, found {found}"),
            Wrong::RunEmpty => write!(f, "{RUN}, found an empty array"),
            Wrong::RunNotString(found @ (Kind::Number | Kind::Boolean)) => {
                write!(f, "{RUN}, found {found} among them; put it in quotes")
            }
            Wrong::RunNotString(found) => write!(f, "{RUN}, found {found} among them"),
            Wrong::RunNul => write!(f, "{RUN}, found a NUL in one; no program can be given that"),
            Wrong::ProgramBlank => f.write_str("the program is empty or only blanks"),
            Wrong::ProgramUnexpanded(program) => write!(
                f,
                "the program {} begins with \"~/\" or \"$\", and nothing expands them; write the whole path",
                quoted(program)
            ),
            Wrong::ToolNotString(Kind::Array) => {
                f.write_str("\"tool\" is the name of one tool, found an array; write an entry a tool")
            }
            Wrong::ToolNotString(found) => {
                write!(f, "\"tool\" is the name of one tool, found {found}; leave it out to run on every tool")
            }
            Wrong::ToolEmpty => {
                f.write_str("\"tool\" is the name of one tool, found \"\"; leave it out to run on every tool")
            }
            Wrong::ToolOnTurn => f.write_str("\"tool\" goes with \"tool-finished\" alone; a turn has no tool"),
            Wrong::Timeout(Kind::Number) => f.write_str(
                "\"timeout\" is a whole number of seconds from 1 to 600, in digits alone; this number is not",
            ),
            Wrong::Timeout(found) => {
                write!(f, "\"timeout\" is a whole number of seconds from 1 to 600, in digits alone, found {found}")
            }
        }
    }
}
