//! What of reading is not seen from outside: places, order, bounds, matching.

use std::time::Duration;

use crate::hooks::Mistake::*;
use crate::hooks::{
    ENTRY, HOOKS, Hook, Mistake, NO_HOOKS, ON, Problem, ROOT, RUN, TIMEOUT, TOOL, parse, valid_text,
};
use crate::moment::{Event, Moment};
use crate::trust::TrustedText;

fn read(text: &str) -> (Vec<Hook>, Vec<Problem>) {
    parse(&TrustedText::of_test(text.as_bytes()))
}

/// The file with these entries.
fn file(entries: &[&str]) -> String {
    format!("{{\"hooks\":[{}]}}", entries.join(","))
}

fn found(expected: &'static str, found: &'static str) -> Mistake {
    Found(expected, found.into())
}

/// Checks that there are these problems, each where the text has an `@` for it; the text is read without them.
#[track_caller]
fn are_at_their_marks(text: &str, expected: &[Mistake]) {
    let parts: Vec<&str> = text
        .strip_prefix('\u{feff}')
        .unwrap_or(text)
        .split('@')
        .collect();
    let lengths = parts[..parts.len() - 1].iter().map(|part| part.len());
    let offsets = lengths.scan(0, |offset, length| {
        *offset += length;
        Some(*offset)
    });
    let problems: Vec<_> = offsets
        .zip(expected)
        .map(|(offset, mistake)| Problem {
            offset,
            mistake: mistake.clone(),
        })
        .collect();
    let (_, found) = read(&text.replace('@', ""));
    assert!(
        parts.len() == expected.len() + 1 && found == problems,
        "{text}\n{found:#?}\n{problems:#?}"
    );
}

/// SPEC 1.6, 1.11: also between two whole files. Offsets count from behind a byte order mark.
#[test]
fn what_is_not_utf8_is_a_problem_where_it_stops_and_no_hook() {
    for (bytes, text) in [
        (&b"\xef\xbb\xbf{}"[..], "{}"),
        (b"\xef\xbb\xbf\xef\xbb\xbf{}", "\u{feff}{}"),
        (b"{\"\xc3\xa9\xff\"}", "{\"\u{e9}"),
        (b"\xff", ""),
        (b"", ""),
    ] {
        assert_eq!(
            valid_text(&TrustedText::of_test(bytes)),
            text,
            "{}",
            bytes.escape_ascii()
        );
    }
    let whole = file(&["{\"on\":\"turn-started\",\"run\":[\"a\"]}"]);
    for (before, after) in [
        ("\u{feff}{\"é", "\"}"),
        ("", ""),
        (&*whole, ""),
        (&whole, &whole),
    ] {
        let text = [before.as_bytes(), b"\xff", after.as_bytes()].concat();
        let (hooks, problems) = parse(&TrustedText::of_test(&text));
        let offset = before.trim_start_matches('\u{feff}').len();
        assert!(hooks.is_empty(), "{}", text.escape_ascii());
        assert_eq!(
            problems,
            [Problem {
                offset,
                mistake: NotUtf8
            }],
            "{}",
            text.escape_ascii()
        );
    }
}

/// SPEC 1.8, 1.11: in the order of their places, also where a key that is missing is noticed last.
#[test]
fn every_kind_of_problem_is_at_its_place_and_they_are_in_order() {
    let on = "\"on\":\"turn-finished\"";
    let run = "\"run\":[\"a\"]";
    for (text, mistake) in [
        ("\u{feff}\r\n @[]", found(ROOT, "an array")),
        ("\n@{}", found(ROOT, NO_HOOKS)),
        (
            "{\"é\u{1f600}\\n\":\r\n @x}",
            NotJson("expected value".into()),
        ),
        ("{\"hooks\":\n\t@{\"a\":[]}}", found(HOOKS, "an object")),
        (
            "{\"hooks\":[],\r\n@\"hooks\":[]}",
            RootKeyTwice("hooks".into()),
        ),
        ("{\"hooks\":[], @\"version\":1}", RootKey("version".into())),
        ("{@\"hook\":[], \"hooks\":[]}", RootKey("hook".into())),
    ] {
        are_at_their_marks(text, &[mistake]);
    }
    let run_of = |words: &str| format!("{{{on},\"run\":{words}}}");
    let among = |kind| found(RUN, kind);
    let entries = [
        (format!("{{{on},{run},@\"x\":1}}"), vec![Key("x".into())]),
        (
            format!("{{{on},{run},@{run}}}"),
            vec![KeyTwice("run".into())],
        ),
        (format!("@{{{run}}}"), vec![MissingOn]),
        (format!("@{{{on}}}"), vec![MissingRun]),
        (format!("{{{run},\"on\":@1}}"), vec![found(ON, "a number")]),
        (
            format!("{{{run},\"on\":@\"turn-x\"}}"),
            vec![OnUnknown("turn-x".into())],
        ),
        (run_of("@\"a\""), vec![found(RUN, "a string")]),
        (run_of("@[ ]"), vec![found(RUN, "an empty array")]),
        (
            run_of("[\"é\",@1, @null]"),
            vec![among("a number among them"), among("null among them")],
        ),
        (
            run_of("[\"a\",\"\u{1f600}\", @\"\\u0000\"]"),
            vec![found(RUN, NUL)],
        ),
        (run_of("[ @\" \"]"), vec![ProgramBlank]),
        (run_of("[ @\"\"]"), vec![ProgramBlank]),
        (run_of("[@\" \\t\u{3000}\",\"a\"]"), vec![ProgramBlank]),
        (run_of("[ @\"$a\"]"), vec![ProgramUnexpanded("$a".into())]),
        (run_of("[ @\"~/a\"]"), vec![ProgramUnexpanded("~/a".into())]),
        (format!("{{{on},{run},\"tool\":@\"a\"}}"), vec![ToolOnTurn]),
        (
            format!("{{{on},{run},\"tool\":@\"\"}}"),
            vec![found(TOOL, "\"\"")],
        ),
        (
            format!("{{{on},{run},\"tool\":@false}}"),
            vec![found(TOOL, "a boolean")],
        ),
        (
            format!("{{{on},{run},\"timeout\":@31.0}}"),
            vec![found(TIMEOUT, NO_NUMBER)],
        ),
        ("@true".into(), vec![found(ENTRY, "a boolean")]),
        // Several of one entry, in the order of their places.
        (
            "@{\"timeout\":@0, @\"x\":1, \"tool\":@[], \"on\":@null}".into(),
            vec![
                MissingRun,
                found(TIMEOUT, NO_NUMBER),
                Key("x".into()),
                found(TOOL, "an array"),
                found(ON, "null"),
            ],
        ),
        // Nobody has to expand these.
        (run_of("[\"~user\",\"~/\",\"$A\",\"*\",\"\"]"), vec![]),
    ];
    for (entry, mistakes) in &entries {
        are_at_their_marks(&file(&[entry]), mistakes);
    }
    let all = entries.each_ref().map(|(entry, _)| entry.as_str());
    let mistakes = entries
        .each_ref()
        .map(|(_, mistakes)| mistakes.as_slice())
        .concat();
    are_at_their_marks(&file(&all).replace(",@", ",\r\n@"), &mistakes);
}

const NUL: &str = "a NUL in one; no program can be given that";
const NO_NUMBER: &str = "another number";

/// SPEC 1.6, 1.11: half of a surrogate pair is no character, in a value or in a key, and never replaced by another.
#[test]
fn half_of_a_surrogate_pair_is_a_problem_wherever_it_stands() {
    let of = |run: &str, more: &str| {
        file(&[&format!(
            "{{\"on\":\"tool-finished\",\"run\":[{run}]{more}}}"
        )])
    };
    for half in [
        "\\ud800",
        "\\udc00",
        "a\\udfffb",
        "\\ud83d\\u0041",
        "\\ud83d\\ud83d",
    ] {
        are_at_their_marks(&of(&format!("\"a\",@\"{half}\""), ""), &[NotUnicode]);
        are_at_their_marks(
            &of("\"a\"", &format!(",\"tool\":@\"{half}\"")),
            &[NotUnicode],
        );
        are_at_their_marks(
            &of("\"a\"", &format!(",@\"{half}\":1")),
            &[Key(half.into())],
        );
        let twice = format!("{{\"{half}\":1,@\"{half}\":1,\"hooks\":[]}}");
        are_at_their_marks(&twice, &[RootKeyTwice(half.into())]);
    }
    let (hooks, problems) = read(&of("\"\\ud83d\\ude00\"", ""));
    assert_eq!(&*hooks[0].program, "\u{1f600}", "{problems:?}");
}

/// SPEC 1.6: a key is what its escapes mean.
#[test]
fn an_escaped_key_is_the_key() {
    let text = r#"{"\u0068ooks":[{"\u006fn":"turn\u002dstarted","r\u0075n":["\u0061"],"\u0074imeout":7}],"\u0024schema":0}"#;
    let (hooks, problems) = read(text);
    assert_eq!(problems, []);
    let hook = &hooks[0];
    assert_eq!(
        (hook.on, &*hook.program, hook.bound.as_secs()),
        (Moment::TurnStarted, "a", 7)
    );
    let twice = r#"{"on":"turn-started",@"\u006fn":"turn-finished","run":["a"]}"#;
    are_at_their_marks(&file(&[twice]), &[KeyTwice("on".into())]);
}

/// SPEC 1.10, 5.1.
#[test]
fn a_timeout_shortens_the_bound_and_never_lengthens_it() {
    let of = |written: &str| {
        file(&[&format!(
            "{{\"on\":\"turn-started\",\"run\":[\"a\"]{written}}}"
        )])
    };
    for (written, seconds) in [
        ("", 30),
        (",\"timeout\":1", 1),
        (",\"timeout\": 29 ", 29),
        (",\"timeout\":30", 30),
        (",\"timeout\":31", 30),
        (",\"timeout\":600", 30),
    ] {
        let (hooks, problems) = read(&of(written));
        assert_eq!(
            hooks[0].bound,
            Duration::from_secs(seconds),
            "{written} {problems:?}"
        );
    }
    for (written, what) in [
        (
            "0 601 1.0 1e1 1E+1 -1 -0 1.5 18446744073709551617",
            NO_NUMBER,
        ),
        ("\"1\"", "a string"),
        ("[1]", "an array"),
        ("null", "null"),
    ] {
        for written in written.split(' ') {
            are_at_their_marks(
                &of(&format!(",\"timeout\":@{written}")),
                &[found(TIMEOUT, what)],
            );
        }
    }
}

/// SPEC 1.9, 2.2.
#[test]
fn a_hook_is_for_its_moment_and_for_its_tool_alone() {
    let of = |on: &str, tool: &str| {
        let text = file(&[&format!("{{\"on\":\"{on}\",\"run\":[\"a\"]{tool}}}")]);
        read(&text).0.pop().expect("in force")
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
        (
            Event::ToolFinished(Some("a*\0")),
            [false, true, false, false],
        ),
    ] {
        assert_eq!(
            hooks.each_ref().map(|hook| hook.is_for(&event)),
            expected,
            "{event:?}"
        );
    }
}
