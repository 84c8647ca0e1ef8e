//! Bytes to hooks (SPEC 1.6 to 1.12): what always holds, and the same hooks as a second reader finds.

use std::fmt;

use serde_core::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::is_one_plain_line;
use crate::hooks::{Hooks, parse, parse_for_check};
use crate::moment::Moment;
use crate::problem::{Place, Wrong};
use crate::report::Report;
use crate::trust::TrustedText;

const MARK: &[u8] = b"\xef\xbb\xbf";

/// Of any bytes: no panic, no hook that could not be started, every entry in force or told why not, every problem at a
/// place of the text and one short line, and the same at every reading.
pub fn hooks_of(bytes: &[u8]) {
    let found = parse_for_check(&TrustedText::of_test(bytes));
    each_hook_can_be_started(&found);
    each_entry_is_in_force_or_has_a_problem(&found);
    each_line_is_short_and_at_a_place_of(bytes, &found);
    assert_eq!(
        format!("{found:?}"),
        format!("{:?}", parse_for_check(&TrustedText::of_test(bytes)))
    );
    // A launcher is told the same of what counts for it.
    let of_launcher = parse(&TrustedText::of_test(bytes));
    let counts = |hooks: &Hooks| format!("{:?}{:?}", hooks.in_force, hooks.problems);
    assert_eq!(counts(&found), counts(&of_launcher));
    assert!(of_launcher.entries.is_empty() && of_launcher.cautions.is_empty());

    let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
    let is_text = std::str::from_utf8(bytes).is_ok();
    let says = |what: fn(&Wrong) -> bool| found.problems.iter().any(|problem| what(&problem.what));
    assert_eq!(says(|wrong| *wrong == Wrong::NotUtf8), !is_text);
    // What this parser takes is less than JSON allows: halves of surrogate pairs, depth and exponents have limits in it.
    if let Ok(root) = serde_json::from_slice::<Json>(bytes) {
        assert!(
            !says(|wrong| matches!(wrong, Wrong::NotJson(_))),
            "{:?}",
            found.problems
        );
        let simple = simple_entries(root).unwrap_or_default();
        let ours = found.entries.iter().map(|entry| {
            let hook = &found.in_force[entry.in_force?];
            let words = hook
                .run
                .words()
                .iter()
                .map(|word| word.to_str().unwrap().to_owned());
            Some(Simple {
                on: hook.on.name(),
                tool: hook.tool.clone(),
                run: words.collect(),
                bound: hook.bound.as_secs(),
            })
        });
        assert_eq!(ours.collect::<Vec<_>>(), simple);
    }
}

fn each_hook_can_be_started(found: &Hooks) {
    for hook in &found.in_force {
        let program = hook.run.program();
        assert_eq!(hook.run.words()[0].to_bytes(), program.as_bytes());
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
            "{:?}",
            hook.bound
        );
        let is_for_a_tool = hook.tool.as_ref().is_some_and(|tool| !tool.is_empty())
            && hook.on == Moment::ToolFinished;
        assert!(hook.tool.is_none() || is_for_a_tool, "{hook:?}");
    }
}

fn each_entry_is_in_force_or_has_a_problem(found: &Hooks) {
    assert!(found.problems.is_sorted_by_key(|problem| problem.place));
    let in_force = found.entries.iter().filter_map(|entry| entry.in_force);
    assert!(
        in_force.eq(0..found.in_force.len()),
        "each hook is one entry, in their order: {found:?}"
    );
    let of_file = found
        .problems
        .iter()
        .filter(|problem| problem.what.weight() == 0)
        .count();
    assert!(of_file == 0 || found.entries.is_empty(), "{found:?}");
    let end = Place {
        line: usize::MAX,
        column: 0,
    };
    let nexts = found
        .entries
        .iter()
        .skip(1)
        .map(|entry| entry.place)
        .chain([end]);
    let mut of_entries = 0;
    for (entry, next) in found.entries.iter().zip(nexts) {
        assert!(entry.place < next);
        let begin = |place: Place| {
            found
                .problems
                .partition_point(|problem| problem.place < place)
        };
        let within = &found.problems[begin(entry.place)..begin(next)];
        let own = within
            .iter()
            .filter(|problem| problem.what.weight() == 1)
            .count();
        of_entries += own;
        assert_eq!(entry.in_force.is_some(), own == 0, "{entry:?} {within:?}");
        if let Some(hook) = entry.in_force.map(|index| &found.in_force[index]) {
            let read = (entry.on, entry.tool.as_ref(), entry.program.as_deref());
            assert_eq!(
                read,
                (
                    Some(hook.on),
                    hook.tool.as_ref(),
                    Some(&**hook.run.program())
                )
            );
        }
    }
    let ignored = found
        .problems
        .iter()
        .filter(|problem| problem.what.weight() == 2)
        .count();
    assert_eq!(
        of_file + of_entries + ignored,
        found.problems.len(),
        "each problem is somebody's: {found:?}"
    );
}

fn each_line_is_short_and_at_a_place_of(bytes: &[u8], found: &Hooks) {
    let text = String::from_utf8_lossy(bytes.strip_prefix(MARK).unwrap_or(bytes));
    let lines: Vec<usize> = text.split('\n').map(|line| line.chars().count()).collect();
    let is_within = |place: Place| {
        let length = place.line.checked_sub(1).and_then(|line| lines.get(line));
        assert!(
            length.is_some_and(|length| (1..=length + 1).contains(&place.column)),
            "{place} {lines:?}"
        );
    };
    for problem in &found.problems {
        is_within(problem.place);
        is_one_plain_line(&problem.to_string());
        let report = Report::of_file(problem).to_string();
        is_one_plain_line(&report);
        assert!(
            format!("bravebot-hooks: {report}\n").len() <= 4096,
            "{report}"
        );
    }
    assert!(found.cautions.is_sorted_by_key(|(place, _)| *place));
    for (place, caution) in &found.cautions {
        is_within(*place);
        is_one_plain_line(&caution.to_string());
    }
    for entry in &found.entries {
        is_within(entry.place);
        is_within(entry.program_place);
    }
}

#[derive(Debug, PartialEq)]
struct Simple {
    on: &'static str,
    tool: Option<String>,
    run: Vec<String>,
    bound: u64,
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
