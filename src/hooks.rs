//! From the text of `hooks.json` to the hooks in force, and a [`Problem`] for everything else (SPEC 1.6 to 1.12).
//!
//! The only place that knows the format. Each value is kept as the slice of the text that it is until its key says what it must
//! be. So nothing is coerced, a key given twice is seen, and every problem has an offset. Reading has no error to
//! return: text that cannot be used is a problem and no hooks. Says of a problem what was expected and what was found;
//! what was probably meant is for `explain`, which looks at the text again.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::CString;
use std::str::CharIndices;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, iter};

use serde_core::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::escape::quoted;
use crate::moment::{Event, Moment};
use crate::trust::TrustedText;

/// The bound of every hook in seconds (SPEC 5.1); an entry can only shorten it (SPEC 1.10).
pub(crate) const BOUND: u64 = 30;

/// One entry that is in force. Only [`parse`] makes it.
#[derive(Debug)]
pub(crate) struct Hook {
    pub(crate) on: Moment,
    pub(crate) tool: Option<String>,
    /// As the file has it; never empty, blank, or one that somebody would have to expand.
    pub(crate) program: Arc<str>,
    /// The program and its arguments, at least one string.
    pub(crate) argv: Vec<CString>,
    pub(crate) bound: Duration,
    /// Where its entry begins in the text.
    pub(crate) offset: usize,
}

impl Hook {
    /// Returns whether this hook runs for `event`: its moment and, where it names a tool, that tool alone (SPEC 2.2).
    pub(crate) fn is_for(&self, event: &Event<'_>) -> bool {
        let is_its_tool = |tool: &String| *event == Event::ToolFinished(Some(tool));
        self.on == event.moment() && self.tool.as_ref().is_none_or(is_its_tool)
    }
}

/// Reads the text of a file: the hooks in force, in its order, and its problems, in the order of their offsets. A problem of
/// the whole file is the only one then.
pub(crate) fn parse(file: &TrustedText) -> (Vec<Hook>, Vec<Problem>) {
    let (text, problems) = (valid_text(file), Vec::new());
    let mut parser = Parser { text, problems };
    match parser.file(file.as_bytes()) {
        Ok(hooks) => {
            parser.problems.sort_by_key(|problem| problem.offset);
            (hooks, parser.problems)
        }
        Err(problem) => (Vec::new(), vec![problem]),
    }
}

/// The text without a byte order mark, up to the first byte that is not UTF-8. Offsets are in this.
pub(crate) fn valid_text(file: &TrustedText) -> &str {
    let bytes = file.as_bytes();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

struct Parser<'a> {
    text: &'a str,
    problems: Vec<Problem>,
}

impl<'a> Parser<'a> {
    /// The hooks in force, or the problem of the whole file, whose `bytes` may not all be in the text.
    fn file(&mut self, bytes: &[u8]) -> Result<Vec<Hook>, Problem> {
        if str::from_utf8(bytes).is_err() {
            let (offset, mistake) = (self.text.len(), Mistake::NotUtf8);
            return Err(Problem { offset, mistake });
        }
        let (mut hooks, mut keys) = (None, BTreeSet::new());
        for (raw, value) in members(self.text).map_err(|_| self.root_problem())? {
            let key = key(raw);
            match &*key {
                "hooks" => hooks = Some(value),
                "$schema" => {}
                _ => self.push(raw, Mistake::RootKey(key.to_string())),
            }
            if let Some(key) = keys.replace(key) {
                return Err(self.problem(raw.get(), Mistake::RootKeyTwice(key.into())));
            }
        }
        let no_hooks = || self.problem(self.text.trim_start(), found(ROOT, NO_HOOKS));
        let hooks = hooks.ok_or_else(no_hooks)?;
        let entries = array(hooks, HOOKS).map_err(|mistake| self.problem(hooks.get(), mistake))?;
        let hooks = entries.into_iter().filter_map(|it| self.entry(it));
        Ok(hooks.collect())
    }

    /// The text is not an object, or not JSON.
    fn root_problem(&self) -> Problem {
        let error = match serde_json::from_str::<&RawValue>(self.text) {
            Ok(root) => return self.problem(root.get(), found(ROOT, kind(root))),
            Err(error) => error,
        };
        let reason = error.to_string();
        let reason = reason.split(" at line ").next().unwrap_or_default();
        // serde_json counts lines from 1 and, in a line, the bytes up to and with the one that it stopped at. A control
        // character is not among them yet, and at the end there is none.
        let is_before = error.is_eof() || reason.starts_with("control character");
        let column = error.column().saturating_sub(usize::from(!is_before));
        let lines = self.text.split_inclusive('\n').map(str::len);
        let before: usize = lines.take(error.line().saturating_sub(1)).sum();
        let offset = self.text.floor_char_boundary(before + column);
        let mistake = Mistake::NotJson(reason.to_owned());
        Problem { offset, mistake }
    }

    /// Takes the entry as a hook, or adds its problems.
    fn entry(&mut self, entry: &'a RawValue) -> Option<Hook> {
        let before = self.problems.len();
        let members = members(entry.get()).map_err(|_| found(ENTRY, kind(entry)));
        let (keys, mut values) = (["on", "run", "tool", "timeout"], [None; 4]);
        for (raw, value) in self.read(entry, members)? {
            let key = key(raw);
            let slot = keys.iter().zip(&mut values).find(|(it, _)| **it == key);
            match slot.map(|(_, slot)| slot.replace(value)) {
                Some(None) => {}
                Some(Some(_)) => self.push(raw, Mistake::KeyTwice(key.into())),
                None => self.push(raw, Mistake::Key(key.into())),
            }
        }
        let [on, run, tool, timeout] = values;
        // What is missing is a problem of the entry.
        let place = |value: Option<&'a RawValue>| value.unwrap_or(entry);
        let moment = self.read(place(on), on.ok_or(Mistake::MissingOn).and_then(moment));
        let words = self.read(place(run), run.ok_or(Mistake::MissingRun));
        let command = words.and_then(|words| self.command(words));
        let name = tool.map(|value| tool_of(value, moment)).transpose();
        let name = self.read(place(tool), name);
        let bound = self.read(place(timeout), timeout.map_or(Ok(BOUND), timeout_of));
        let (program, argv) = command?;
        let hook = Hook {
            on: moment?,
            tool: name?,
            program,
            argv,
            bound: Duration::from_secs(bound?.min(BOUND)),
            offset: offset_in(self.text, entry.get()),
        };
        (self.problems.len() == before).then_some(hook)
    }

    /// The program, and it with its arguments.
    fn command(&mut self, value: &RawValue) -> Option<(Arc<str>, Vec<CString>)> {
        let elements = self.read(value, array(value, RUN))?;
        // Each word is read before the first mistake ends it, so that each mistake is a problem.
        let words = elements.iter().map(|it| self.read(it, word(it)));
        let words: Vec<_> = words.collect();
        let argv = words.into_iter().collect::<Option<Vec<_>>>()?;
        let first = elements.first().ok_or(found(RUN, "an empty array"));
        let first = self.read(value, first)?;
        let program: Arc<str> = string(first)?.into();
        if program.trim().is_empty() {
            self.push(first, Mistake::ProgramBlank);
        } else if program.starts_with("~/") || program.starts_with('$') {
            self.push(first, Mistake::ProgramUnexpanded(program.to_string()));
        }
        Some((program, argv))
    }

    /// What was read of the value `at`, or else its mistake as a problem there.
    fn read<T>(&mut self, at: &RawValue, outcome: Result<T, Mistake>) -> Option<T> {
        outcome.map_err(|mistake| self.push(at, mistake)).ok()
    }

    fn push(&mut self, at: &RawValue, mistake: Mistake) {
        self.problems.push(self.problem(at.get(), mistake));
    }

    fn problem(&self, at: &str, mistake: Mistake) -> Problem {
        let offset = offset_in(self.text, at);
        Problem { offset, mistake }
    }
}

/// Where `part`, a slice of `text`, begins in it.
pub(crate) fn offset_in(text: &str, part: &str) -> usize {
    part.as_ptr().addr().saturating_sub(text.as_ptr().addr())
}

fn found(expected: &'static str, found: &'static str) -> Mistake {
    Mistake::Found(expected, found.into())
}

fn array<'a>(value: &'a RawValue, expected: &'static str) -> Result<Vec<&'a RawValue>, Mistake> {
    serde_json::from_str(value.get()).map_err(|_| found(expected, kind(value)))
}

fn moment(value: &RawValue) -> Result<Moment, Mistake> {
    let word = string(value).ok_or_else(|| not_string(value, ON, ""))?;
    Moment::named(&word).ok_or_else(|| Mistake::OnUnknown(word.into()))
}

/// The tool of an entry for the moment `on`.
fn tool_of(value: &RawValue, on: Option<Moment>) -> Result<String, Mistake> {
    let tool = string(value).ok_or_else(|| not_string(value, TOOL, ""))?;
    match on {
        _ if tool.is_empty() => Err(found(TOOL, "\"\"")),
        Some(Moment::TurnStarted | Moment::TurnFinished) => Err(Mistake::ToolOnTurn),
        _ => Ok(tool.into()),
    }
}

/// A number that is JSON and that `u64` takes is in digits alone.
fn timeout_of(value: &RawValue) -> Result<u64, Mistake> {
    match (value.get().parse(), kind(value)) {
        (Ok(seconds @ 1..=600), _) => Ok(seconds),
        (_, "a number") => Err(found(TIMEOUT, OTHER_NUMBER)),
        (_, other) => Err(found(TIMEOUT, other)),
    }
}

fn word(value: &RawValue) -> Result<CString, Mistake> {
    let word = string(value).ok_or_else(|| not_string(value, RUN, " among them"))?;
    let nul = |_| found(RUN, "a NUL in one; no program can be given that");
    CString::new(word.as_bytes()).map_err(nul)
}

/// Why `value`, which is found at this `place`, is not a [`string`].
fn not_string(value: &RawValue, expected: &'static str, place: &str) -> Mistake {
    match kind(value) {
        "a string" => Mistake::NotUnicode,
        other => Mistake::Found(expected, format!("{other}{place}").into()),
    }
}

/// `None` where `value` is not a string, or one with half of a surrogate pair.
pub(crate) fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    let text = value.get();
    if text.starts_with('"') && !text.contains('\\') {
        // Without an escape it is the text as it stands.
        return Some(text[1..text.len() - 1].into());
    }
    serde_json::from_str::<String>(text).ok().map(Cow::Owned)
}

/// A key as a string, or as its text where that has half of a surrogate pair.
pub(crate) fn key(raw: &RawValue) -> Cow<'_, str> {
    string(raw).unwrap_or_else(|| raw.get().trim_matches('"').into())
}

/// The type of `value`.
fn kind(value: &RawValue) -> &'static str {
    match value.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

type Members<'a> = Vec<(&'a RawValue, &'a RawValue)>;

/// The members of an object in their order, equal keys kept; an error where `text` is not an object, or not JSON.
pub(crate) fn members(text: &str) -> Result<Members<'_>, serde_json::Error> {
    struct Object;
    impl<'de> Visitor<'de> for Object {
        type Value = Members<'de>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Members<'de>, M::Error> {
            iter::from_fn(|| map.next_entry().transpose()).collect()
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let members = deserializer.deserialize_map(Object)?;
    deserializer.end().map(|()| members)
}

/// One problem of the text, and where it is in [`valid_text`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) offset: usize,
    pub(crate) mistake: Mistake,
}

/// What is wrong. Quotes only `on`, keys and the program; any other value is named by its type (SPEC 1.11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    NotUtf8,
    NotJson(String),
    /// What was expected, and what was found.
    Found(&'static str, Cow<'static, str>),
    RootKeyTwice(String),
    RootKey(String),
    Key(String),
    KeyTwice(String),
    MissingOn,
    MissingRun,
    NotUnicode,
    OnUnknown(String),
    ProgramBlank,
    ProgramUnexpanded(String),
    ToolOnTurn,
}

impl Mistake {
    /// Returns whether it keeps every hook from being in force.
    pub(crate) fn is_of_file(&self) -> bool {
        use Mistake::{Found, NotJson, NotUtf8, RootKeyTwice};
        matches!(
            self,
            NotUtf8 | NotJson(_) | Found(ROOT | HOOKS, _) | RootKeyTwice(_)
        )
    }
}

pub(crate) const OTHER_NUMBER: &str = "another number";
pub(crate) const NO_HOOKS: &str = "no key \"hooks\"";
pub(crate) const ROOT: &str = "the file is {\"hooks\": [...]}";
pub(crate) const HOOKS: &str = "\"hooks\" is an array of entries";
pub(crate) const ENTRY: &str = "an entry is {\"on\": ..., \"run\": [...]}";
pub(crate) const ON: &str = "\"on\" is \"turn-started\", \"tool-finished\" or \"turn-finished\"";
pub(crate) const RUN: &str = "\"run\" is an array of strings: the program, then each argument";
pub(crate) const TOOL: &str = "\"tool\" is the name of one tool";
#[rustfmt::skip]
pub(crate) const TIMEOUT: &str = "\"timeout\" is a whole number of seconds from 1 to 600, in digits alone";

impl fmt::Display for Mistake {
    #[rustfmt::skip]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mistake::NotUtf8 => f.write_str("not UTF-8; save the file as UTF-8"),
            Mistake::NotJson(reason) => write!(f, "not JSON: {reason}"),
            Mistake::Found(expected, found) => write!(f, "{expected}, found {found}"),
            Mistake::RootKeyTwice(key) => write!(f, "the key {} stands twice", quoted(key)),
            Mistake::RootKey(key) => write!(f, "unknown key {} is ignored; the file has \"hooks\" and may have \"$schema\"", quoted(key)),
            Mistake::Key(key) => write!(f, "unknown key {}, so the entry is not in force; an entry has \"on\", \"run\", \"tool\" and \"timeout\"", quoted(key)),
            Mistake::KeyTwice(key) => write!(f, "the key {} stands twice, so the entry is not in force", quoted(key)),
            Mistake::MissingOn => f.write_str("the entry has no \"on\": \"turn-started\", \"tool-finished\" or \"turn-finished\""),
            Mistake::MissingRun => f.write_str("the entry has no \"run\": the program, then each argument, as [\"program\", \"argument\"]"),
            Mistake::NotUnicode => f.write_str("half of a surrogate pair is no character"),
            Mistake::OnUnknown(word) => write!(f, "unknown moment {}; there are \"turn-started\", \"tool-finished\" and \"turn-finished\"", quoted(word)),
            Mistake::ProgramBlank => f.write_str("the program is empty or only blanks"),
            Mistake::ProgramUnexpanded(program) => write!(f, "the program {} begins with \"~/\" or \"$\", and nothing expands them; write the whole path", quoted(program)),
            Mistake::ToolOnTurn => f.write_str("\"tool\" goes with \"tool-finished\" alone; a turn has no tool"),
        }?;
        f.write_str(if self.is_of_file() { "; no hook is in force" } else { "" })
    }
}

/// Finds the line and column of offsets that are asked for in ascending order, in one pass over the text. Both count from
/// 1, the column in characters.
pub(crate) struct Positions<'a> {
    rest: CharIndices<'a>,
    position: (usize, usize),
}

impl<'a> Positions<'a> {
    pub(crate) fn of(text: &'a str) -> Positions<'a> {
        let (rest, position) = (text.char_indices(), (1, 1));
        Positions { rest, position }
    }

    pub(crate) fn at(&mut self, offset: usize) -> (usize, usize) {
        while self.rest.offset() < offset
            && let Some((_, c)) = self.rest.next()
        {
            let (line, column) = self.position;
            self.position = match c {
                '\n' => (line + 1, 1),
                _ => (line, column + 1),
            };
        }
        self.position
    }
}
