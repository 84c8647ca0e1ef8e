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
    let bytes = text.as_bytes();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut hooks = Hooks::default();
    let mut problems = Vec::new();
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => {
            Reader { text, problems: &mut problems }.file(&mut hooks.in_force);
            text
        }
        Err(error) => {
            problems.push((error.valid_up_to(), Wrong::NotUtf8));
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
    };
    hooks.problems = placed(text, problems);
    hooks
}

/// The problems in the order of their offsets, each with the line and the column of its own: one pass over the text.
fn placed(text: &str, mut problems: Vec<(usize, Wrong)>) -> Vec<Problem> {
    problems.sort_by_key(|(offset, _)| *offset);
    let (mut at, mut line, mut column) = (0, 1, 1);
    let place = |(offset, what): (usize, Wrong)| {
        let until = text.floor_char_boundary(offset);
        for c in text[at..until].chars() {
            (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
        }
        at = until;
        Problem { line, column, what }
    };
    problems.into_iter().map(place).collect()
}

struct Reader<'a> {
    text: &'a str,
    /// Each with its offset in the text.
    problems: &'a mut Vec<(usize, Wrong)>,
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
        let reason = error.to_string();
        let reason = reason.split(" at line ").next().unwrap_or_default().to_owned();
        // serde_json counts lines from 1 and, in a line, the bytes up to and with the one that it stopped at; where that is
        // a control character it has not taken it yet.
        let line = self.text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
        let taken = usize::from(!reason.starts_with("control character"));
        let offset = if error.is_eof() { self.text.len() } else { line + error.column().saturating_sub(taken) };
        self.problem(offset, Wrong::NotJson(reason));
    }

    /// Where `part`, a slice of the text, begins in it.
    fn offset(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    fn problem(&mut self, offset: usize, what: Wrong) {
        self.problems.push((offset, what));
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

    /// The file with these entries.
    fn file(entries: &[&str]) -> String {
        format!("{{\"hooks\":[{}]}}", entries.join(","))
    }

    /// Each problem, and where the text had an `@` for it; the text is read without them.
    #[track_caller]
    fn are_at_their_marks(text: &str, expected: &[Wrong]) {
        let mut places = Vec::new();
        let (mut line, mut column) = (1, 1);
        for c in text.chars() {
            match c {
                '@' => places.push((line, column)),
                '\n' => (line, column) = (line + 1, 1),
                '\u{feff}' if (line, column) == (1, 1) => {}
                _ => column += 1,
            }
        }
        let found = parse(&TrustedText::of_test(text.replace('@', "").as_bytes())).problems;
        let problems: Vec<_> = places
            .iter()
            .zip(expected)
            .map(|(&(line, column), what)| Problem { line, column, what: what.clone() })
            .collect();
        assert!(places.len() == expected.len() && found == problems, "{text}\n{found:#?}\n{problems:#?}");
    }

    /// SPEC 1.11: columns count characters, also behind multi-byte text, escapes, a byte order mark and CRLF.
    #[test]
    fn a_problem_is_at_its_line_and_column() {
        let text = "\u{feff}{\"hooks\": [\r\n  {\"run\": [\"é\\u0041\u{1f600}\"], \"on\": \"turn-finish\"}]}";
        let said = "hooks.json:2:31: unknown moment \"turn-finish\"; did you mean \"turn-finished\"?";
        assert_eq!(problems(text), [said]);
    }

    /// SPEC 1.11: in the order of their places, also where a key that is missing is noticed last.
    #[test]
    fn every_kind_of_problem_is_at_its_place_and_they_are_in_order() {
        use Wrong::*;
        let on = "\"on\":\"turn-finished\"";
        let run = "\"run\":[\"a\"]";
        let whole: &[(&str, Wrong)] = &[
            ("\u{feff}\r\n @[]", RootNotObject(Kind::Array)),
            ("\n@{}", NoHooks),
            ("{\"é\u{1f600}\\n\":\r\n @x}", NotJson("expected value".into())),
            ("{\"hooks\":\n\t@{\"a\":[]}}", HooksNotArray(Kind::Object)),
            ("{\"hooks\":[],\r\n@\"hooks\":[]}", RootKeyTwice("hooks".into())),
            ("{\"hooks\":[], @\"version\":1}", RootKeyUnknown("version".into())),
        ];
        for (text, wrong) in whole {
            are_at_their_marks(text, std::slice::from_ref(wrong));
        }
        let entries = [
            (format!("{{{on},{run},@\"x\":1}}"), vec![EntryKeyUnknown("x".into())]),
            (format!("{{{on},{run},@{run}}}"), vec![EntryKeyTwice("run".into())]),
            (format!("@{{{run}}}"), vec![Missing("on")]),
            (format!("@{{{on}}}"), vec![Missing("run")]),
            (format!("{{{run},\"on\":@1}}"), vec![OnNotString(Kind::Number)]),
            (format!("{{{run},\"on\":@\"turn-x\"}}"), vec![OnUnknown("turn-x".into())]),
            (format!("{{{on},\"run\":@\"a\"}}"), vec![RunNotArray(Kind::String)]),
            (format!("{{{on},\"run\":@[ ]}}"), vec![RunEmpty]),
            (format!("{{{on},\"run\":[\"é\",@1, @null]}}"), vec![RunNotString(Kind::Number), RunNotString(Kind::Null)]),
            (format!("{{{on},\"run\":[\"a\",\"\u{1f600}\", @\"\\u0000\"]}}"), vec![RunNul]),
            (format!("{{{on},\"run\":[ @\" \"]}}"), vec![ProgramBlank]),
            (format!("{{{on},\"run\":[ @\"$a\"]}}"), vec![ProgramUnexpanded("$a".into())]),
            (format!("{{{on},{run},\"tool\":@\"a\"}}"), vec![ToolOnTurn]),
            (format!("{{{on},{run},\"tool\":@\"\"}}"), vec![ToolEmpty]),
            (format!("{{{on},{run},\"tool\":@false}}"), vec![ToolNotString(Kind::Boolean)]),
            (format!("{{{on},{run},\"timeout\":@31.0}}"), vec![Timeout(Kind::Number)]),
            ("@true".into(), vec![EntryNotObject(Kind::Boolean)]),
            // Several of one entry, in the order of their places.
            (
                "@{\"timeout\":@0, @\"x\":1, \"tool\":@[], \"on\":@null}".into(),
                vec![
                    Missing("run"),
                    Timeout(Kind::Number),
                    EntryKeyUnknown("x".into()),
                    ToolNotString(Kind::Array),
                    OnNotString(Kind::Null),
                ],
            ),
        ];
        for (entry, wrong) in &entries {
            are_at_their_marks(&file(&[entry]), wrong);
        }
        let all = entries.each_ref().map(|(entry, _)| entry.as_str());
        are_at_their_marks(&file(&all).replace(",@", ",\r\n@"), &entries.map(|(_, wrong)| wrong).concat());
    }

    /// SPEC 1.6, 1.11: half of a surrogate pair is no character, in a value or in a key, and never replaced by another.
    #[test]
    fn half_of_a_surrogate_pair_is_a_problem_wherever_it_stands() {
        let of = |run: &str, more: &str| file(&[&format!("{{\"on\":\"tool-finished\",\"run\":[{run}]{more}}}")]);
        for half in ["\\ud800", "\\udc00", "a\\udfffb", "\\ud83d\\u0041", "\\ud83d\\ud83d"] {
            are_at_their_marks(&of(&format!("\"a\",@\"{half}\""), ""), &[Wrong::NotUnicode]);
            are_at_their_marks(&of("\"a\"", &format!(",\"tool\":@\"{half}\"")), &[Wrong::NotUnicode]);
            let key = format!("\"{half}\"");
            are_at_their_marks(&of("\"a\"", &format!(",@{key}:1")), &[Wrong::EntryKeyUnknown(key.clone())]);
            let twice = format!("{{@{key}:1,@{key}:1,\"hooks\":[]}}");
            are_at_their_marks(&twice, &[Wrong::RootKeyUnknown(key.clone()), Wrong::RootKeyTwice(key)]);
        }
        let hooks = parse(&TrustedText::of_test(of("\"\\ud83d\\ude00\"", "").as_bytes()));
        assert_eq!(&**hooks.in_force[0].run.program(), "\u{1f600}", "{:?}", hooks.problems);
    }

    /// SPEC 1.6: a key is what its escapes mean.
    #[test]
    fn an_escaped_key_is_the_key() {
        let text = r#"{"\u0068ooks":[{"\u006fn":"turn\u002dstarted","r\u0075n":["\u0061"],"\u0074imeout":7}],"\u0024schema":0}"#;
        let hooks = parse(&TrustedText::of_test(text.as_bytes()));
        assert_eq!(hooks.problems, []);
        let hook = &hooks.in_force[0];
        assert_eq!((hook.on, &**hook.run.program(), hook.bound.as_secs()), (Moment::TurnStarted, "a", 7));
        are_at_their_marks(
            &file(&[r#"{"on":"turn-started",@"\u006fn":"turn-finished","run":["a"]}"#]),
            &[Wrong::EntryKeyTwice("on".into())],
        );
    }

    /// SPEC 1.10, 5.1.
    #[test]
    fn a_timeout_shortens_the_bound_and_never_lengthens_it() {
        for (written, seconds) in [
            ("", 30),
            (",\"timeout\":1", 1),
            (",\"timeout\": 29 ", 29),
            (",\"timeout\":30", 30),
            (",\"timeout\":31", 30),
            (",\"timeout\":600", 30),
        ] {
            let text = file(&[&format!("{{\"on\":\"turn-started\",\"run\":[\"a\"]{written}}}")]);
            let hooks = parse(&TrustedText::of_test(text.as_bytes()));
            assert_eq!(hooks.in_force[0].bound, Duration::from_secs(seconds), "{written} {:?}", hooks.problems);
        }
        for written in
            ["0", "601", "1.0", "1e1", "1E+1", "-1", "-0", "1.5", "\"1\"", "18446744073709551617", "[1]", "null"]
        {
            let kind = Kind::of(written);
            let text = file(&[&format!("{{\"on\":\"turn-started\",\"run\":[\"a\"],\"timeout\":@{written}}}")]);
            are_at_their_marks(&text, &[Wrong::Timeout(kind)]);
        }
    }

    /// SPEC 1.9, 2.2.
    #[test]
    fn a_hook_is_for_its_moment_and_for_its_tool_alone() {
        let of = |on: &str, tool: &str| {
            let text = file(&[&format!("{{\"on\":\"{on}\",\"run\":[\"a\"]{tool}}}")]);
            parse(&TrustedText::of_test(text.as_bytes())).in_force.pop().expect("in force")
        };
        let hooks = [
            of("turn-started", ""),
            of("tool-finished", ""),
            of("tool-finished", ",\"tool\":\"a*\""),
            of("turn-finished", ""),
        ];
        for (event, expected) in [
            (Event::TurnStarted, [true, false, false, false]),
            (Event::TurnFinished, [false, false, false, true]),
            (Event::ToolFinished(None), [false, true, false, false]),
            (Event::ToolFinished(Some("")), [false, true, false, false]),
            (Event::ToolFinished(Some("a*")), [false, true, true, false]),
            (Event::ToolFinished(Some("A*")), [false, true, false, false]),
            (Event::ToolFinished(Some("ab")), [false, true, false, false]),
            (Event::ToolFinished(Some("a*\0")), [false, true, false, false]),
        ] {
            assert_eq!(hooks.each_ref().map(|hook| hook.is_for(&event)), expected, "{event:?}");
        }
    }
}
