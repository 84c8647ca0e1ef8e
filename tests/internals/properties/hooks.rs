//! Bytes to hooks (SPEC 1.6 to 1.12): what always holds, and the same hooks as a second reader finds.

use std::fmt;

use serde_core::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::is_one_plain_line;
use crate::explain::{Check, Finding};
use crate::hooks::{Hook, Mistake, Problem, parse};
use crate::moment::Moment;
use crate::report::{Failure, Report};
use crate::trust::TrustedText;

const MARK: &[u8] = b"\xef\xbb\xbf";

/// A line and a column, both from 1.
type Place = (usize, usize);

/// What the core reads in a text, and what `check` says of it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) hooks: Vec<Hook>,
    pub(super) problems: Vec<Problem>,
    pub(super) check: Check,
}

impl Found {
    fn of(bytes: &[u8]) -> Found {
        let text = TrustedText::of_test(bytes);
        let (hooks, problems) = parse(&text);
        let mut check = Check::default();
        // Of what lies in its directory `check` reads nothing, and everything lies in this one.
        check.take(&text, "/".as_ref(), &[]);
        Found {
            hooks,
            problems,
            check,
        }
    }

    fn is_refused(&self) -> bool {
        self.problems
            .iter()
            .any(|problem| problem.mistake.is_of_file())
    }

    /// What `check` says that keeps the file or an entry from being in force, and then what is only ignored.
    fn told(&self) -> (&[Finding], &[Finding]) {
        let ignored = self
            .problems
            .iter()
            .filter(|problem| is_ignored(problem))
            .count();
        self.check
            .problems
            .split_at(self.check.problems.len() - ignored)
    }
}

fn is_ignored(problem: &Problem) -> bool {
    matches!(problem.mistake, Mistake::RootKey(_))
}

/// Of any bytes: no panic, no hook that could not be started, every entry in force or told why not, every problem at a
/// place of the text and one short line, and the same at every reading.
pub fn hooks_of(bytes: &[u8]) {
    checked(bytes);
}

/// As [`hooks_of`], and gives what was found.
pub(super) fn checked(bytes: &[u8]) -> Found {
    let found = Found::of(bytes);
    let again = parse(&TrustedText::of_test(bytes));
    assert_eq!(
        format!("{:?}{:?}", found.hooks, found.problems),
        format!("{:?}{:?}", again.0, again.1)
    );
    found.hooks.iter().for_each(can_be_started);
    let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
    each_line_is_short_and_at_a_place_of(bytes, &found);
    if found.is_refused() {
        assert!(
            found.hooks.is_empty() && found.problems.len() == 1 && found.check.problems.len() == 1
        );
        assert!(found.check.entries.iter().all(|entry| !entry.in_force));
    } else {
        each_entry_is_in_force_or_has_a_problem(bytes, &found);
    }

    let says =
        |what: fn(&Mistake) -> bool| found.problems.iter().any(|problem| what(&problem.mistake));
    assert_eq!(
        says(|mistake| *mistake == Mistake::NotUtf8),
        str::from_utf8(bytes).is_err()
    );
    // What this parser takes is less than JSON allows: halves of surrogate pairs, depth and exponents have limits in it.
    if let Ok(root) = serde_json::from_slice::<Json>(bytes) {
        assert!(
            !says(|mistake| matches!(mistake, Mistake::NotJson(_))),
            "{:?}",
            found.problems
        );
        let simple = simple_entries(root);
        assert_eq!(simple.is_none(), found.is_refused(), "{:?}", found.problems);
        let mut hooks = found.hooks.iter().map(Simple::of);
        let ours: Vec<_> = found
            .check
            .entries
            .iter()
            .map(|entry| entry.in_force.then(|| hooks.next()).flatten())
            .collect();
        assert!(
            simple.is_none_or(|simple| simple == ours),
            "{:?}",
            found.hooks
        );
    }
    found
}

fn can_be_started(hook: &Hook) {
    let program = &*hook.program;
    assert_eq!(hook.argv[0].to_bytes(), program.as_bytes());
    assert!(
        program.chars().any(|c| !c.is_whitespace()) && !program.contains('\0'),
        "{program:?}"
    );
    assert!(
        !program.starts_with("~/") && !program.starts_with('$'),
        "{program:?}"
    );
    assert!(
        (1..=30).contains(&hook.bound.as_secs()) && hook.bound.subsec_nanos() == 0,
        "{hook:?}"
    );
    let is_for_a_tool =
        hook.tool.as_ref().is_some_and(|tool| !tool.is_empty()) && hook.on == Moment::ToolFinished;
    assert!(hook.tool.is_none() || is_for_a_tool, "{hook:?}");
}

fn each_entry_is_in_force_or_has_a_problem(bytes: &[u8], found: &Found) {
    let entries = &found.check.entries;
    let places = places_in(bytes);
    let in_force = entries.iter().filter(|entry| entry.in_force);
    assert!(
        in_force.clone().count() == found.hooks.len(),
        "each hook is one entry: {:?} {entries:?}",
        found.hooks
    );
    for (entry, hook) in in_force.zip(&found.hooks) {
        assert_eq!(entry.place, places[hook.offset], "in their order");
        let read = (entry.moment, entry.tool.as_ref(), entry.program.as_deref());
        assert_eq!(
            read,
            (Some(hook.on), hook.tool.as_ref(), Some(&*hook.program))
        );
    }
    let problems: Vec<Place> = found
        .problems
        .iter()
        .filter(|problem| !is_ignored(problem))
        .map(|problem| places[problem.offset])
        .collect();
    let told: Vec<Place> = found
        .told()
        .0
        .iter()
        .filter_map(|finding| finding.place)
        .collect();
    let nexts = entries
        .iter()
        .skip(1)
        .map(|entry| entry.place)
        .chain([(usize::MAX, 0)]);
    let mut of_entries = 0;
    for (entry, next) in entries.iter().zip(nexts) {
        let own = |places: &[Place]| {
            let begin = |place: Place| places.partition_point(|other| *other < place);
            begin(next) - begin(entry.place)
        };
        assert!(entry.place < next, "{entry:?} {next:?}");
        of_entries += own(&problems);
        assert_eq!(
            entry.in_force,
            own(&problems) == 0,
            "{entry:?} {:?}",
            found.problems
        );
        assert_eq!(
            entry.in_force,
            own(&told) == 0,
            "{entry:?} {:?}",
            found.check.problems
        );
    }
    assert_eq!(
        of_entries,
        problems.len(),
        "each problem is an entry's: {:?} {entries:?}",
        found.problems
    );
}

/// The place of every offset.
fn places_in(bytes: &[u8]) -> Vec<Place> {
    let mut place = (1, 1);
    let text = String::from_utf8_lossy(bytes);
    let places = text.chars().flat_map(|c| {
        let here = place;
        place = if c == '\n' {
            (place.0 + 1, 1)
        } else {
            (place.0, place.1 + 1)
        };
        std::iter::repeat_n(here, c.len_utf8())
    });
    let mut places: Vec<Place> = places.collect();
    places.push(place);
    places
}

fn each_line_is_short_and_at_a_place_of(bytes: &[u8], found: &Found) {
    let (kept, ignored) = found.told();
    assert!(found.problems.is_sorted_by_key(|problem| problem.offset));
    for list in [kept, ignored, &found.check.warnings] {
        // One about `PATH` comes last, and has no place.
        assert!(
            list.is_sorted_by_key(|finding| finding.place.unwrap_or((usize::MAX, 0))),
            "{list:?}"
        );
    }
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<usize> = text.split('\n').map(|line| line.chars().count()).collect();
    let findings = found.check.problems.iter().chain(&found.check.warnings);
    let findings = findings.filter_map(|finding| Some((finding.place?, Some(&finding.message))));
    for ((line, column), message) in
        findings.chain(found.check.entries.iter().map(|entry| (entry.place, None)))
    {
        let length = line.checked_sub(1).and_then(|line| lines.get(line));
        assert!(
            length.is_some_and(|length| (1..=length + 1).contains(&column)),
            "{line}:{column} {lines:?}"
        );
        let Some(message) = message else { continue };
        assert!(
            message.starts_with(&format!("hooks.json:{line}:{column}: ")),
            "{message}"
        );
        is_one_plain_line(message);
        let report = Report::without_hook(Failure::File, message).to_string();
        is_one_plain_line(&report);
        assert!(
            format!("bravebot-hooks: {report}\n").len() <= 4096,
            "{report}"
        );
    }
    // A launcher that is not told what was meant has the core's own words.
    for problem in &found.problems {
        is_one_plain_line(&problem.mistake.to_string());
    }
}

#[derive(Debug, PartialEq)]
struct Simple {
    on: &'static str,
    tool: Option<String>,
    run: Vec<String>,
    bound: u64,
}

impl Simple {
    fn of(hook: &Hook) -> Simple {
        let words = hook
            .argv
            .iter()
            .map(|word| word.to_str().unwrap().to_owned());
        Simple {
            on: hook.on.name(),
            tool: hook.tool.clone(),
            run: words.collect(),
            bound: hook.bound.as_secs(),
        }
    }
}

/// The entries of a file, `None` for one that is not in force; `None` where the file is no such file.
fn simple_entries(root: Json) -> Option<Vec<Option<Simple>>> {
    let Json::Object(members) = root else {
        return None;
    };
    if has_a_key_twice(&members) {
        return None;
    }
    let Json::Array(entries) = members.into_iter().find(|(key, _)| key == "hooks")?.1 else {
        return None;
    };
    Some(entries.into_iter().map(simple_hook).collect())
}

fn simple_hook(entry: Json) -> Option<Simple> {
    let Json::Object(members) = entry else {
        return None;
    };
    if has_a_key_twice(&members) {
        return None;
    }
    let mut hook = Simple {
        on: "",
        tool: None,
        run: Vec::new(),
        bound: 30,
    };
    for member in members {
        match (member.0.as_str(), member.1) {
            ("on", Json::String(on)) => {
                hook.on = ["turn-started", "tool-finished", "turn-finished"]
                    .into_iter()
                    .find(|word| *word == on)?;
            }
            ("run", Json::Array(words)) => {
                for word in words {
                    let Json::String(word) = word else {
                        return None;
                    };
                    hook.run.push(word);
                }
            }
            ("tool", Json::String(tool)) if !tool.is_empty() => hook.tool = Some(tool),
            ("timeout", Json::Whole(seconds @ 1..=30)) => hook.bound = seconds,
            ("timeout", Json::Whole(31..=600)) => {}
            _ => return None,
        }
    }
    let program = hook.run.first()?;
    let is_usable = !hook.on.is_empty()
        && (hook.tool.is_none() || hook.on == "tool-finished")
        && !program.chars().all(char::is_whitespace)
        && !program.starts_with("~/")
        && !program.starts_with('$')
        && !hook.run.iter().any(|word| word.contains('\0'));
    is_usable.then_some(hook)
}

fn has_a_key_twice(members: &[(String, Json)]) -> bool {
    let mut keys: Vec<&String> = members.iter().map(|(key, _)| key).collect();
    keys.sort();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}

/// A value as far as a hooks file tells values apart; of an object every member.
enum Json {
    /// Written in digits alone.
    Whole(u64),
    String(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
    Other,
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        struct Tree;
        impl<'de> Visitor<'de> for Tree {
            type Value = Json;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Other)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Json, E> {
                Ok(Json::Other)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Json, E> {
                Ok(Json::Other)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Json, E> {
                Ok(Json::Other)
            }

            fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
                Ok(Json::Whole(number))
            }

            fn visit_str<E>(self, text: &str) -> Result<Json, E> {
                Ok(Json::String(text.to_owned()))
            }

            fn visit_seq<S: SeqAccess<'de>>(self, mut elements: S) -> Result<Json, S::Error> {
                let mut array = Vec::new();
                while let Some(element) = elements.next_element()? {
                    array.push(element);
                }
                Ok(Json::Array(array))
            }

            fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<Json, M::Error> {
                let mut object = Vec::new();
                while let Some(member) = members.next_entry()? {
                    object.push(member);
                }
                Ok(Json::Object(object))
            }
        }
        deserializer.deserialize_any(Tree)
    }
}
