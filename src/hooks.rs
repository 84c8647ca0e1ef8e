//! From the bytes of `hooks.json` to the hooks in force, and a problem with its place for everything else.
//!
//! The only place that knows JSON. Each value is kept as the slice of the text that it is until its key says what it
//! must be, so nothing is coerced, a key given twice is seen, and every problem has a line and a column. Reading
//! has no error to return (SPEC 1.12): text that cannot be used is a problem and no hooks.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde_core::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::argv::{Argv, Flaw};
use crate::caution::Caution;
use crate::foreign;
use crate::json_fault;
use crate::moment::{Event, Moment};
use crate::near_miss;
use crate::problem::{Kind, Place, Problem, Wrong};
use crate::trust::TrustedText;

/// The bound of every hook (SPEC 5.1); an entry can only shorten it (SPEC 1.10).
const BOUND: u64 = 30;
/// How many events of another agent's file are named.
const MOST_EVENTS: usize = 6;

/// One entry that is in force.
#[derive(Debug)]
pub(crate) struct Hook {
    pub(crate) on: Moment,
    pub(crate) tool: Option<String>,
    pub(crate) run: Argv,
    pub(crate) bound: Duration,
}

impl Hook {
    /// Whether this hook runs for `event`: its moment and, where it names a tool, that tool alone (SPEC 2.2).
    pub(crate) fn is_for(&self, event: &Event<'_>) -> bool {
        self.on == event.moment()
            && match (&self.tool, event) {
                (None, _) => true,
                (Some(tool), Event::ToolFinished(Some(name))) => tool == name,
                (Some(_), _) => false,
            }
    }
}

/// One entry as a person wrote it, in force or not.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) place: Place,
    /// Where its program stands, or the entry where it has none.
    pub(crate) program_place: Place,
    pub(crate) on: Option<Moment>,
    pub(crate) tool: Option<String>,
    pub(crate) program: Option<String>,
    /// Which of the hooks in force it is.
    pub(crate) in_force: Option<usize>,
}

/// What a file comes to: the hooks in force in its order, and its problems in the order of their places.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    pub(crate) in_force: Vec<Hook>,
    pub(crate) problems: Vec<Problem>,
    /// For `check` alone: all entries, and what was probably not meant, both in the order of the file.
    pub(crate) entries: Vec<Entry>,
    pub(crate) cautions: Vec<(Place, Caution)>,
}

/// Reads the text of a file (SPEC 1.6 to 1.11).
pub(crate) fn parse(text: &TrustedText) -> Hooks {
    read(text, false)
}

/// As [`parse`], with what only `check` shows.
pub(crate) fn parse_for_check(text: &TrustedText) -> Hooks {
    read(text, true)
}

fn read(text: &TrustedText, for_check: bool) -> Hooks {
    let bytes = text.as_bytes();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes);
    // What comes before the first byte that is no character has its places all the same.
    let valid = text
        .as_ref()
        .map_or_else(|error| error.valid_up_to(), |text| text.len());
    let mut reader = Reader::of(
        std::str::from_utf8(&bytes[..valid]).unwrap_or_default(),
        for_check,
    );
    match text {
        Ok(_) => reader.file(),
        Err(_) => reader.problem(valid, Wrong::NotUtf8),
    }
    reader.found.problems.sort_by_key(|problem| problem.place);
    reader.found.cautions.sort_by_key(|(place, _)| *place);
    reader.found
}

struct Reader<'a> {
    text: &'a str,
    for_check: bool,
    /// Where each line begins; looked up for the first place.
    lines: OnceCell<Vec<usize>>,
    /// The last place that was asked for, and its offset: most lie behind it on the same line, which may be all of the file.
    last: Cell<(usize, Place)>,
    found: Hooks,
}

/// The members of an object in their order, keys and values still text, equal keys kept.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'a> Reader<'a> {
    fn of(text: &'a str, for_check: bool) -> Reader<'a> {
        let last = Cell::new((0, Place { line: 1, column: 1 }));
        Reader {
            text,
            for_check,
            lines: OnceCell::new(),
            last,
            found: Hooks::default(),
        }
    }

    fn file(&mut self) {
        let start = self.text.len() - self.text.trim_start_matches([' ', '\t', '\r', '\n']).len();
        let Some(members) = members(&self.text[start..]) else {
            return match serde_json::from_str::<IgnoredAny>(self.text) {
                Err(error) => self.not_json(&error),
                Ok(_) => self.problem(start, Wrong::RootNotObject(Kind::of(&self.text[start..]))),
            };
        };
        let (mut hooks, mut unknown, mut keys) = (None, Vec::new(), BTreeSet::new());
        for (raw, value) in members {
            let key = key(raw);
            if !keys.insert(key.clone()) {
                self.found.problems.clear();
                return self.problem(self.offset(raw.get()), Wrong::RootKeyTwice(key.into()));
            }
            match &*key {
                "hooks" => hooks = Some(value),
                "$schema" => {}
                _ => unknown.push((self.offset(raw.get()), key.into())),
            }
        }
        if let Some(foreign) = self.foreign(hooks, &unknown) {
            return self.problem(
                hooks.map_or(start, |hooks| self.offset(hooks.get())),
                foreign,
            );
        }
        let mut is_misspelt = false;
        for (at, key) in unknown {
            let is_meant = hooks.is_none() && near_miss::is_hooks(&key);
            is_misspelt |= is_meant;
            self.problem(
                at,
                if is_meant {
                    Wrong::RootKeyMeant(key)
                } else {
                    Wrong::RootKeyUnknown(key)
                },
            );
        }
        let Some(hooks) = hooks else {
            if !is_misspelt {
                self.problem(start, Wrong::NoHooks);
            }
            return;
        };
        match serde_json::from_str::<Vec<&RawValue>>(hooks.get()) {
            Ok(entries) => entries.into_iter().for_each(|entry| self.entry(entry)),
            Err(_) => self.problem(
                self.offset(hooks.get()),
                Wrong::HooksNotArray(Kind::of(hooks.get())),
            ),
        }
    }

    /// Whether this is another agent's file: its events stand where ours has entries, or where it has keys.
    fn foreign(&self, hooks: Option<&'a RawValue>, unknown: &[(usize, String)]) -> Option<Wrong> {
        let events: Vec<String> = match hooks {
            Some(hooks) => members(hooks.get())?
                .iter()
                .map(|(raw, _)| key(raw).into())
                .collect(),
            None => unknown.iter().map(|(_, key)| key.clone()).collect(),
        };
        if hooks.is_none() && events.iter().any(|key| key == "on" || key == "run") {
            return Some(Wrong::NotWrapped("an entry"));
        }
        if hooks.is_none() && events.iter().any(|key| Moment::named(key).is_some()) {
            return Some(Wrong::NotWrapped("a moment"));
        }
        let agent = foreign::agent_of(&events)?;
        // Those that have a word here first.
        let (known, other): (Vec<_>, Vec<_>) = events
            .into_iter()
            .partition(|event| near_miss::moment(event).is_some());
        Some(Wrong::Foreign {
            agent,
            events: known.into_iter().chain(other).take(MOST_EVENTS).collect(),
        })
    }

    /// Takes the entry as a hook in force, or as many problems as it has.
    fn entry(&mut self, entry: &'a RawValue) {
        let (before, cautions) = (self.found.problems.len(), self.found.cautions.len());
        let start = self.offset(entry.get());
        if self.for_check {
            let place = self.place(start);
            let read = Entry {
                place,
                program_place: place,
                on: None,
                tool: None,
                program: None,
                in_force: None,
            };
            self.found.entries.push(read);
        }
        let hook = match members(entry.get()) {
            Some(members) => self.hook(start, members),
            None => {
                self.problem(start, Wrong::EntryNotObject(Kind::of(entry.get())));
                None
            }
        };
        if let Some(hook) = hook
            && self.found.problems.len() == before
        {
            let index = self.found.in_force.len();
            self.note(|_, entry| entry.in_force = Some(index));
            self.found.in_force.push(hook);
        } else {
            // What does not run needs no warning.
            self.found.cautions.truncate(cautions);
        }
    }

    fn hook(&mut self, start: usize, members: Vec<(&'a RawValue, &'a RawValue)>) -> Option<Hook> {
        let (mut on, mut run, mut tool, mut timeout) = (None, None, None, None);
        let mut meant = Vec::new();
        for (raw, value) in members {
            let key = key(raw);
            let slot = match &*key {
                "on" => &mut on,
                "run" => &mut run,
                "tool" => &mut tool,
                "timeout" => &mut timeout,
                _ => {
                    meant.extend(near_miss::key(&key));
                    self.problem(self.offset(raw.get()), Wrong::EntryKeyUnknown(key.into()));
                    continue;
                }
            };
            if slot.replace(value).is_some() {
                self.problem(self.offset(raw.get()), Wrong::EntryKeyTwice(key.into()));
            }
        }
        // A key that is missing because it is misspelt is one mistake.
        for (key, is_missing) in [("on", on.is_none()), ("run", run.is_none())] {
            if is_missing && !meant.contains(&key) {
                self.problem(start, Wrong::Missing(key));
            }
        }
        let on = on.and_then(|value| self.on(value));
        let run = run.and_then(|value| self.run(value));
        let bound = timeout.map_or(Some(BOUND), |value| self.timeout(value));
        let tool = tool.and_then(|value| self.tool(value, on));
        if on == Some(Moment::ToolFinished) && tool.is_none() {
            self.caution(start, || Some(Caution::EveryTool));
        }
        self.note(|_, entry| (entry.on, entry.tool) = (on, tool.clone()));
        Some(Hook {
            on: on?,
            tool,
            run: run?,
            bound: Duration::from_secs(bound?),
        })
    }

    fn on(&mut self, value: &'a RawValue) -> Option<Moment> {
        let word = self.string_or(value, Wrong::OnNotString)?;
        let moment = Moment::named(&word);
        if moment.is_none() {
            self.problem(self.offset(value.get()), Wrong::OnUnknown(word.into()));
        }
        moment
    }

    fn run(&mut self, value: &'a RawValue) -> Option<Argv> {
        let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(value.get()) else {
            self.problem(
                self.offset(value.get()),
                Wrong::RunNotArray(Kind::of(value.get())),
            );
            return None;
        };
        let words: Vec<_> = elements
            .iter()
            .map(|element| self.string_or(element, Wrong::RunNotString))
            .collect();
        let place = |index: usize| {
            elements
                .get(index)
                .map_or(value.get(), |element| element.get())
        };
        self.note(|reader, entry| {
            entry.program = words.first().cloned().flatten().map(Cow::into_owned);
            entry.program_place = reader.place(reader.offset(place(0)));
        });
        let words = words.into_iter().collect::<Option<Vec<_>>>()?;
        match Argv::of(&words) {
            Ok(argv) => {
                let cautions = if self.for_check {
                    Caution::of_words(&argv)
                } else {
                    Vec::new()
                };
                for (index, caution) in cautions {
                    self.caution(self.offset(place(index)), || Some(caution));
                }
                return Some(argv);
            }
            Err(Flaw::Empty) => self.problem(self.offset(value.get()), Wrong::RunEmpty),
            Err(Flaw::BlankProgram) => self.problem(self.offset(place(0)), Wrong::ProgramBlank),
            Err(Flaw::Unexpanded) => {
                self.problem(
                    self.offset(place(0)),
                    Wrong::ProgramUnexpanded(words.into_iter().next()?.into()),
                );
            }
            Err(Flaw::Nul(index)) => self.problem(self.offset(place(index)), Wrong::RunNul),
        }
        None
    }

    fn tool(&mut self, value: &'a RawValue, on: Option<Moment>) -> Option<String> {
        let tool = self.string_or(value, Wrong::ToolNotString)?;
        if tool.is_empty() {
            self.problem(self.offset(value.get()), Wrong::ToolEmpty);
        } else if on.is_some_and(|moment| moment != Moment::ToolFinished) {
            self.problem(self.offset(value.get()), Wrong::ToolOnTurn);
        } else {
            self.caution(self.offset(value.get()), || Caution::of_tool(&tool));
        }
        Some(tool.into())
    }

    fn timeout(&mut self, value: &RawValue) -> Option<u64> {
        let digits = value.get();
        let seconds = digits
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| digits.parse::<u64>().ok())
            .flatten();
        match seconds {
            Some(seconds @ 1..=600) => {
                if seconds > BOUND {
                    self.caution(self.offset(digits), || {
                        Some(Caution::TimeoutAboveBound {
                            seconds,
                            bound: BOUND,
                        })
                    });
                }
                Some(seconds.min(BOUND))
            }
            _ => {
                self.problem(self.offset(digits), Wrong::Timeout(Kind::of(digits)));
                None
            }
        }
    }

    /// The string that `value` is; a problem of the kind `otherwise` where it is none.
    fn string_or(
        &mut self,
        value: &'a RawValue,
        otherwise: fn(Kind) -> Wrong,
    ) -> Option<Cow<'a, str>> {
        let string = string(value);
        if string.is_none() {
            let kind = Kind::of(value.get());
            let wrong = if kind == Kind::String {
                Wrong::NotUnicode
            } else {
                otherwise(kind)
            };
            self.problem(self.offset(value.get()), wrong);
        }
        string
    }

    fn not_json(&mut self, error: &serde_json::Error) {
        let reason = error.to_string();
        let reason = reason
            .split(" at line ")
            .next()
            .unwrap_or_default()
            .to_owned();
        // serde_json counts lines from 1 and, in a line, the bytes up to and with the one that it stopped at; where that is
        // a control character it has not taken it yet.
        let line = self
            .text
            .split_inclusive('\n')
            .take(error.line().saturating_sub(1))
            .map(str::len)
            .sum::<usize>();
        let taken = usize::from(!reason.starts_with("control character"));
        let offset = if error.is_eof() {
            self.text.len()
        } else {
            line + error.column().saturating_sub(taken)
        };
        let (offset, reason) = json_fault::named(self.text, offset, &reason);
        self.problem(offset, Wrong::NotJson(reason));
    }

    /// Where `part`, a slice of the text, begins in it.
    fn offset(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    fn place(&self, offset: usize) -> Place {
        let offset = self.text.floor_char_boundary(offset);
        let lines = self.lines.get_or_init(|| {
            let ends = self
                .text
                .bytes()
                .enumerate()
                .filter(|(_, byte)| *byte == b'\n');
            std::iter::once(0)
                .chain(ends.map(|(at, _)| at + 1))
                .collect()
        });
        let line = lines.partition_point(|begin| *begin <= offset);
        let (from, column) = match self.last.get() {
            (last, place) if place.line == line && last <= offset => (last, place.column),
            _ => (lines[line - 1], 1),
        };
        let place = Place {
            line,
            column: column + self.text[from..offset].chars().count(),
        };
        self.last.set((offset, place));
        place
    }

    fn problem(&mut self, offset: usize, what: Wrong) {
        self.found.problems.push(Problem {
            place: self.place(offset),
            what,
        });
    }

    /// Of what works, and only where it is asked for.
    fn caution(&mut self, offset: usize, caution: impl FnOnce() -> Option<Caution>) {
        if self.for_check
            && let Some(caution) = caution()
        {
            self.found.cautions.push((self.place(offset), caution));
        }
    }

    /// Writes something down of the entry that is being read, where it is asked for.
    fn note(&mut self, note: impl FnOnce(&Reader<'a>, &mut Entry)) {
        if let Some(mut entry) = self.found.entries.pop() {
            note(self, &mut entry);
            self.found.entries.push(entry);
        }
    }
}

/// The members of an object; `None` where `text` is none, or no JSON.
fn members(text: &str) -> Option<Vec<(&RawValue, &RawValue)>> {
    serde_json::from_str(text)
        .ok()
        .map(|Members(members)| members)
}

/// A key for people: as it is, or its text where that is no string of characters.
fn key(raw: &RawValue) -> Cow<'_, str> {
    string(raw).unwrap_or_else(|| raw.get().trim_matches('"').into())
}

/// `None` where `value` is no string, or one with half of a surrogate pair.
fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    match value
        .get()
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    {
        // Then it stands for itself.
        Some(text) if !text.contains('\\') => Some(text.into()),
        _ => serde_json::from_str::<String>(value.get())
            .ok()
            .map(Cow::Owned),
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

#[cfg(test)]
mod tests;
