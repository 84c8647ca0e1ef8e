//! From the bytes of `hooks.json` to the hooks in force, and a problem with its place for everything else.
//!
//! The only place that knows JSON. Each value is kept as the slice of the text that it is until its key says what it
//! must be, so nothing is coerced, a key given twice is seen, and every problem has a line and a column. Reading
//! has no error to return (SPEC 1.12): text that cannot be used is a problem and no hooks.

use std::fmt;
use std::time::Duration;

use serde_core::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::argv::{Argv, Flaw};
use crate::moment::{Event, Moment};
use crate::problem::{Kind, Problem, Wrong};
use crate::trust::TrustedText;

/// The bound of every hook (SPEC 5.1); an entry can only shorten it (SPEC 1.10).
const BOUND: u64 = 30;

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

/// What a file comes to: the hooks in force in its order, and its problems in the order of their places.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    pub(crate) in_force: Vec<Hook>,
    pub(crate) problems: Vec<Problem>,
}

/// Reads the text of a file (SPEC 1.6 to 1.11).
pub(crate) fn parse(text: &TrustedText) -> Hooks {
    let mut hooks = Hooks::default();
    let bytes = text.as_bytes();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Reader { text, problems: &mut hooks.problems }.file(&mut hooks.in_force),
        Err(error) => {
            let (before, _) = bytes.split_at(error.valid_up_to());
            let text = String::from_utf8_lossy(before);
            Reader { text: &text, problems: &mut hooks.problems }.problem(text.len(), Wrong::NotUtf8);
        }
    }
    hooks.problems.sort_by_key(|problem| (problem.line, problem.column));
    hooks
}

struct Reader<'a> {
    text: &'a str,
    problems: &'a mut Vec<Problem>,
}

/// The members of an object in their order, keys and values still text, equal keys kept.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'a> Reader<'a> {
    fn file(&mut self, in_force: &mut Vec<Hook>) {
        let start = self.text.len() - self.text.trim_start_matches([' ', '\t', '\r', '\n']).len();
        if let Err(error) = serde_json::from_str::<IgnoredAny>(self.text) {
            return self.not_json(&error);
        }
        let Some(members) = self.members(&self.text[start..]) else {
            return self.problem(start, Wrong::RootNotObject(Kind::of(&self.text[start..])));
        };
        let mut hooks = None;
        let mut keys = Vec::new();
        for (raw, value) in members {
            let key = self.string(raw).unwrap_or_else(|| raw.get().to_owned());
            if keys.contains(&key) {
                self.problem(self.offset(raw.get()), Wrong::RootKeyTwice(key));
                return;
            }
            match &*key {
                "hooks" => hooks = Some(value),
                "$schema" => {}
                _ => self.problem(self.offset(raw.get()), Wrong::RootKeyUnknown(key.clone())),
            }
            keys.push(key);
        }
        let Some(hooks) = hooks else { return self.problem(start, Wrong::NoHooks) };
        match serde_json::from_str::<Vec<&RawValue>>(hooks.get()) {
            Ok(entries) => in_force.extend(entries.into_iter().filter_map(|entry| self.entry(entry))),
            Err(_) => self.problem(self.offset(hooks.get()), Wrong::HooksNotArray(Kind::of(hooks.get()))),
        }
    }

    /// The entry as a hook, or as many problems as it has.
    fn entry(&mut self, entry: &'a RawValue) -> Option<Hook> {
        let before = self.problems.len();
        let start = self.offset(entry.get());
        let Some(members) = self.members(entry.get()) else {
            self.problem(start, Wrong::EntryNotObject(Kind::of(entry.get())));
            return None;
        };
        let (mut on, mut run, mut tool, mut timeout) = (None, None, None, None);
        for (raw, value) in members {
            let key = self.string(raw).unwrap_or_else(|| raw.get().to_owned());
            let slot = match &*key {
                "on" => &mut on,
                "run" => &mut run,
                "tool" => &mut tool,
                "timeout" => &mut timeout,
                _ => {
                    self.problem(self.offset(raw.get()), Wrong::EntryKeyUnknown(key));
                    continue;
                }
            };
            if slot.replace(value).is_some() {
                self.problem(self.offset(raw.get()), Wrong::EntryKeyTwice(key));
            }
        }
        let on = self.required(start, "on", on).and_then(|value| self.on(value));
        let run = self.required(start, "run", run).and_then(|value| self.run(value));
        let bound = timeout.map_or(Some(BOUND), |value| self.timeout(value));
        let tool = match tool {
            Some(value) => self.tool(value, on),
            None => None,
        };
        if self.problems.len() > before {
            return None;
        }
        Some(Hook { on: on?, tool, run: run?, bound: Duration::from_secs(bound?) })
    }

    fn required(&mut self, start: usize, key: &'static str, value: Option<&'a RawValue>) -> Option<&'a RawValue> {
        if value.is_none() {
            self.problem(start, Wrong::Missing(key));
        }
        value
    }

    fn on(&mut self, value: &RawValue) -> Option<Moment> {
        let word = self.string_or(value, Wrong::OnNotString)?;
        let moment = Moment::named(&word);
        if moment.is_none() {
            self.problem(self.offset(value.get()), Wrong::OnUnknown(word));
        }
        moment
    }

    fn run(&mut self, value: &RawValue) -> Option<Argv> {
        let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(value.get()) else {
            self.problem(self.offset(value.get()), Wrong::RunNotArray(Kind::of(value.get())));
            return None;
        };
        let words: Vec<Option<String>> =
            elements.iter().map(|element| self.string_or(element, Wrong::RunNotString)).collect();
        let words = words.into_iter().collect::<Option<Vec<String>>>()?;
        let place = |index: usize| elements.get(index).map_or(value.get(), |element| element.get());
        match Argv::of(&words) {
            Ok(argv) => return Some(argv),
            Err(Flaw::Empty) => self.problem(self.offset(value.get()), Wrong::RunEmpty),
            Err(Flaw::BlankProgram) => self.problem(self.offset(place(0)), Wrong::ProgramBlank),
            Err(Flaw::Unexpanded) => {
                self.problem(self.offset(place(0)), Wrong::ProgramUnexpanded(words.into_iter().next()?));
            }
            Err(Flaw::Nul(index)) => self.problem(self.offset(place(index)), Wrong::RunNul),
        }
        None
    }

    fn tool(&mut self, value: &RawValue, on: Option<Moment>) -> Option<String> {
        let tool = self.string_or(value, Wrong::ToolNotString)?;
        if tool.is_empty() {
            self.problem(self.offset(value.get()), Wrong::ToolEmpty);
        } else if on.is_some_and(|moment| moment != Moment::ToolFinished) {
            self.problem(self.offset(value.get()), Wrong::ToolOnTurn);
        }
        Some(tool)
    }

    fn timeout(&mut self, value: &RawValue) -> Option<u64> {
        let digits = value.get();
        let seconds = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok()).flatten();
        match seconds {
            Some(seconds @ 1..=600) => Some(seconds.min(BOUND)),
            _ => {
                self.problem(self.offset(digits), Wrong::Timeout(Kind::of(digits)));
                None
            }
        }
    }

    /// The string that `value` is; a problem of the kind `otherwise` where it is none.
    fn string_or(&mut self, value: &RawValue, otherwise: fn(Kind) -> Wrong) -> Option<String> {
        let string = self.string(value);
        if string.is_none() {
            let kind = Kind::of(value.get());
            let wrong = if kind == Kind::String { Wrong::NotUnicode } else { otherwise(kind) };
            self.problem(self.offset(value.get()), wrong);
        }
        string
    }

    /// `None` where `value` is no string, or one with half of a surrogate pair.
    fn string(&self, value: &RawValue) -> Option<String> {
        serde_json::from_str(value.get()).ok()
    }

    fn members(&self, text: &'a str) -> Option<Vec<(&'a RawValue, &'a RawValue)>> {
        serde_json::from_str(text).ok().map(|Members(members)| members)
    }

    fn not_json(&mut self, error: &serde_json::Error) {
        // serde_json counts lines from 1 and, in a line, the bytes up to the one that it stopped at.
        let line = self.text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
        let offset = self.text.floor_char_boundary(line + error.column().saturating_sub(1));
        let reason = error.to_string();
        let reason = reason.split(" at line ").next().unwrap_or_default().to_owned();
        self.problem(offset, Wrong::NotJson(reason));
    }

    /// Where `part`, a slice of the text, begins in it.
    fn offset(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    fn problem(&mut self, offset: usize, what: Wrong) {
        let before = &self.text[..self.text.floor_char_boundary(offset)];
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        self.problems.push(Problem { line, column, what });
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
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        parse(&TrustedText::of_test(text.as_bytes())).problems.iter().map(ToString::to_string).collect()
    }

    /// SPEC 1.11: columns count characters, also behind multi-byte text, escapes, a byte order mark and CRLF.
    #[test]
    fn a_problem_is_at_its_line_and_column() {
        let text = "\u{feff}{\"hooks\": [\r\n  {\"run\": [\"é\\u0041\u{1f600}\"], \"on\": \"turn-finish\"}]}";
        let said = "hooks.json:2:31: unknown moment \"turn-finish\"; did you mean \"turn-finished\"?";
        assert_eq!(problems(text), [said]);
    }
}
