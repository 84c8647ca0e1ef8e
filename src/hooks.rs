//! From the bytes of `hooks.json` to the hooks in force, and a problem with its place for everything else.
//!
//! The only place that knows JSON. Each value is kept as the slice of the text that it is until its key says what it
//! must be, so nothing is coerced, a key given twice is seen, and every problem has a line and a column. Reading
//! has no error to return (SPEC 1.12): text that cannot be used is a problem and no hooks.

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

/// What a file comes to: the hooks in force and all entries in its order, and its problems in the order of their places.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    pub(crate) in_force: Vec<Hook>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) cautions: Vec<(Place, Caution)>,
}

/// Reads the text of a file (SPEC 1.6 to 1.11).
pub(crate) fn parse(text: &TrustedText) -> Hooks {
    let bytes = text.as_bytes();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes);
    // What comes before the first byte that is no character has its places all the same.
    let valid = text.as_ref().map_or_else(|error| error.valid_up_to(), |text| text.len());
    let mut reader = Reader::of(std::str::from_utf8(&bytes[..valid]).unwrap_or_default());
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
    /// Where each line begins.
    lines: Vec<usize>,
    found: Hooks,
}

/// The members of an object in their order, keys and values still text, equal keys kept.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'a> Reader<'a> {
    fn of(text: &'a str) -> Reader<'a> {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        Reader { text, lines, found: Hooks::default() }
    }

    fn file(&mut self) {
        let start = self.text.len() - self.text.trim_start_matches([' ', '\t', '\r', '\n']).len();
        if let Err(error) = serde_json::from_str::<IgnoredAny>(self.text) {
            return self.not_json(&error);
        }
        let Some(members) = self.members(&self.text[start..]) else {
            return self.problem(start, Wrong::RootNotObject(Kind::of(&self.text[start..])));
        };
        let (mut hooks, mut unknown, mut keys) = (None, Vec::new(), BTreeSet::new());
        for (raw, value) in members {
            let key = self.key(raw);
            if !keys.insert(key.clone()) {
                self.found.problems.clear();
                return self.problem(self.offset(raw.get()), Wrong::RootKeyTwice(key));
            }
            match &*key {
                "hooks" => hooks = Some(value),
                "$schema" => {}
                _ => unknown.push((self.offset(raw.get()), key)),
            }
        }
        if let Some(foreign) = self.foreign(hooks, &unknown) {
            return self.problem(hooks.map_or(start, |hooks| self.offset(hooks.get())), foreign);
        }
        let mut is_misspelt = false;
        for (at, key) in unknown {
            let is_meant = hooks.is_none() && near_miss::is_hooks(&key);
            is_misspelt |= is_meant;
            self.problem(at, if is_meant { Wrong::RootKeyMeant(key) } else { Wrong::RootKeyUnknown(key) });
        }
        let Some(hooks) = hooks else {
            if !is_misspelt {
                self.problem(start, Wrong::NoHooks);
            }
            return;
        };
        match serde_json::from_str::<Vec<&RawValue>>(hooks.get()) {
            Ok(entries) => entries.into_iter().for_each(|entry| self.entry(entry)),
            Err(_) => self.problem(self.offset(hooks.get()), Wrong::HooksNotArray(Kind::of(hooks.get()))),
        }
    }

    /// Whether this is another agent's file: its events stand where ours has entries, or where it has keys.
    fn foreign(&self, hooks: Option<&'a RawValue>, unknown: &[(usize, String)]) -> Option<Wrong> {
        let events: Vec<String> = match hooks {
            Some(hooks) => self.members(hooks.get())?.iter().map(|(raw, _)| self.key(raw)).collect(),
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
        let (known, other): (Vec<_>, Vec<_>) = events.into_iter().partition(|event| near_miss::moment(event).is_some());
        Some(Wrong::Foreign { agent, events: known.into_iter().chain(other).take(MOST_EVENTS).collect() })
    }

    /// Takes the entry as a hook in force, or as many problems as it has.
    fn entry(&mut self, entry: &'a RawValue) {
        let (before, cautions) = (self.found.problems.len(), self.found.cautions.len());
        let start = self.offset(entry.get());
        let place = self.place(start);
        let mut read = Entry { place, program_place: place, on: None, tool: None, program: None, in_force: None };
        let hook = match self.members(entry.get()) {
            Some(members) => self.hook(start, members, &mut read),
            None => {
                self.problem(start, Wrong::EntryNotObject(Kind::of(entry.get())));
                None
            }
        };
        if let Some(hook) = hook
            && self.found.problems.len() == before
        {
            read.in_force = Some(self.found.in_force.len());
            self.found.in_force.push(hook);
        } else {
            // What does not run needs no warning.
            self.found.cautions.truncate(cautions);
        }
        self.found.entries.push(read);
    }

    fn hook(&mut self, start: usize, members: Vec<(&'a RawValue, &'a RawValue)>, read: &mut Entry) -> Option<Hook> {
        let (mut on, mut run, mut tool, mut timeout) = (None, None, None, None);
        let mut meant = Vec::new();
        for (raw, value) in members {
            let key = self.key(raw);
            let slot = match &*key {
                "on" => &mut on,
                "run" => &mut run,
                "tool" => &mut tool,
                "timeout" => &mut timeout,
                _ => {
                    meant.extend(near_miss::key(&key));
                    self.problem(self.offset(raw.get()), Wrong::EntryKeyUnknown(key));
                    continue;
                }
            };
            if slot.replace(value).is_some() {
                self.problem(self.offset(raw.get()), Wrong::EntryKeyTwice(key));
            }
        }
        // A key that is missing because it is misspelt is one mistake.
        for (key, is_missing) in [("on", on.is_none()), ("run", run.is_none())] {
            if is_missing && !meant.contains(&key) {
                self.problem(start, Wrong::Missing(key));
            }
        }
        let on = on.and_then(|value| self.on(value));
        let run = run.and_then(|value| self.run(value, read));
        let bound = timeout.map_or(Some(BOUND), |value| self.timeout(value));
        let tool = match tool {
            Some(value) => self.tool(value, on),
            None => None,
        };
        if on == Some(Moment::ToolFinished) && tool.is_none() {
            self.found.cautions.push((read.place, Caution::EveryTool));
        }
        (read.on, read.tool) = (on, tool.clone());
        Some(Hook { on: on?, tool, run: run?, bound: Duration::from_secs(bound?) })
    }

    fn on(&mut self, value: &RawValue) -> Option<Moment> {
        let word = self.string_or(value, Wrong::OnNotString)?;
        let moment = Moment::named(&word);
        if moment.is_none() {
            self.problem(self.offset(value.get()), Wrong::OnUnknown(word));
        }
        moment
    }

    fn run(&mut self, value: &RawValue, read: &mut Entry) -> Option<Argv> {
        let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(value.get()) else {
            self.problem(self.offset(value.get()), Wrong::RunNotArray(Kind::of(value.get())));
            return None;
        };
        let words: Vec<Option<String>> =
            elements.iter().map(|element| self.string_or(element, Wrong::RunNotString)).collect();
        let place = |index: usize| elements.get(index).map_or(value.get(), |element| element.get());
        read.program = words.first().cloned().flatten();
        read.program_place = self.place(self.offset(place(0)));
        let words = words.into_iter().collect::<Option<Vec<String>>>()?;
        match Argv::of(&words) {
            Ok(argv) => {
                for (index, caution) in Caution::of_words(&argv) {
                    self.found.cautions.push((self.place(self.offset(place(index))), caution));
                }
                return Some(argv);
            }
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
        } else if let Some(caution) = Caution::of_tool(&tool) {
            self.found.cautions.push((self.place(self.offset(value.get())), caution));
        }
        Some(tool)
    }

    fn timeout(&mut self, value: &RawValue) -> Option<u64> {
        let digits = value.get();
        let seconds = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok()).flatten();
        match seconds {
            Some(seconds @ 1..=600) => {
                if seconds > BOUND {
                    let place = self.place(self.offset(digits));
                    self.found.cautions.push((place, Caution::TimeoutAboveBound { seconds, bound: BOUND }));
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
    fn string_or(&mut self, value: &RawValue, otherwise: fn(Kind) -> Wrong) -> Option<String> {
        let string = self.string(value);
        if string.is_none() {
            let kind = Kind::of(value.get());
            let wrong = if kind == Kind::String { Wrong::NotUnicode } else { otherwise(kind) };
            self.problem(self.offset(value.get()), wrong);
        }
        string
    }

    /// A key for people: as it is, or its text where that is no string of characters.
    fn key(&self, raw: &RawValue) -> String {
        self.string(raw).unwrap_or_else(|| raw.get().trim_matches('"').to_owned())
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
        let (offset, reason) = json_fault::named(self.text, offset, &reason);
        self.problem(offset, Wrong::NotJson(reason));
    }

    /// Where `part`, a slice of the text, begins in it.
    fn offset(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    fn place(&self, offset: usize) -> Place {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.lines.partition_point(|begin| *begin <= offset);
        let begin = self.lines[line - 1];
        Place { line, column: self.text[begin..offset].chars().count() + 1 }
    }

    fn problem(&mut self, offset: usize, what: Wrong) {
        self.found.problems.push(Problem { place: self.place(offset), what });
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
            .map(|(&(line, column), what)| Problem { place: Place { line, column }, what: what.clone() })
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
            (
                "{\"é\u{1f600}\\n\":\r\n @x}",
                NotJson("a bare word; a string needs double quotes, and else JSON has true, false and null".into()),
            ),
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
            let key = half.to_owned();
            are_at_their_marks(&of("\"a\"", &format!(",@\"{key}\":1")), &[Wrong::EntryKeyUnknown(key.clone())]);
            are_at_their_marks(&format!("{{\"{key}\":1,@\"{key}\":1,\"hooks\":[]}}"), &[Wrong::RootKeyTwice(key)]);
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
