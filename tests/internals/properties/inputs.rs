//! Drives the properties: with proptest, with every single edit of a file, and with files of the largest size.

use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::fmt;
use std::fs;

use nix::fcntl::OFlag;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, posix_spawn};
use nix::sys::stat::Mode;
use nix::sys::wait::{WaitStatus, waitpid};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;

use super::hooks::checked;
use super::*;
use crate::environment::Environment;
use crate::launcher::MAX_SIZE;

/// Tries so many inputs, or as many as `PROPTEST_CASES` says.
#[track_caller]
fn holds<S: Strategy>(cases: u32, inputs: S, property: impl Fn(S::Value)) {
    let asked = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok());
    let config = ProptestConfig {
        cases: asked.unwrap_or(cases),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let tried = TestRunner::new(config).run(&inputs, |input| {
        property(input);
        Ok(())
    });
    if let Err(failure) = tried {
        panic!("{failure}");
    }
}

/// Bytes that are printed as text.
#[derive(Clone)]
struct Bytes(Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

/// Pieces of text, one after the other.
fn pieces(piece: impl Strategy<Value = Vec<u8>>, most: usize) -> impl Strategy<Value = Bytes> {
    vec(piece, 0..most).prop_map(|pieces| Bytes(pieces.concat()))
}

fn any_byte() -> impl Strategy<Value = Vec<u8>> {
    any::<u8>().prop_map(|byte| vec![byte])
}

fn one_of(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(words).prop_map(str::to_owned)
}

#[rustfmt::skip]
const TOKENS: &[&str] = &[
    "{", "}", "[", "]", ":", ",", "{", "}", "[", "]", ":", ",", "\"", "\\", " ", "\n", "\r\n",
    "\t", "\u{feff}", "\"hooks\"", "\"on\"", "\"run\"", "\"tool\"", "\"timeout\"",
    "\"$schema\"", "\"turn-finished\"", "\"a\"", "\"\"", "1", "-", "0", "1e9", "true", "null",
    "\"\\ud800\"", "\"\\u0000\"", "{\"hooks\":[", "{\"on\":\"turn-started\",\"run\":[\"a\"]}",
    "é", "\u{2028}", "hooks:\n", "a = \"b\"", "//", "'", "\u{201c}",
];

/// Any JSON.
fn json() -> impl Strategy<Value = String> {
    #[rustfmt::skip]
    const LEAVES: &[&str] = &[
        "null", "true", "0", "-0", "1", "30", "1.0", "1e2", "600", "1e999", "\"\"", "\"a\"",
        "\"~/a\"", "\"$a\"", "\" \"", "\"\\ud83d\\ude00\"", "\"\\udc00\"", "\"\\u0000\"",
        "\"\\n\\\"\\\\\"", "\"\u{202e}\"", "\"turn-finished\"", "\"tool-finished\"",
    ];
    #[rustfmt::skip]
    const KEYS: &[&str] = &[
        "hooks", "on", "run", "tool", "timeout", "$schema", "h\\u006foks", "hook", "Stop", "",
        "\\ud800", "é\u{200b}",
    ];
    one_of(LEAVES).prop_recursive(5, 40, 6, |value| {
        prop_oneof![
            vec(value.clone(), 0..6).prop_map(|values| format!("[{}]", values.join(", "))),
            vec((select(KEYS), value), 0..6).prop_map(|members| {
                let members: Vec<_> = members
                    .iter()
                    .map(|(key, value)| format!("\"{key}\": {value}"))
                    .collect();
                format!("{{\n{}}}", members.join(",\n"))
            })
        ]
    })
}

/// Mostly the first, now and then the second.
fn mostly(
    usual: &'static [&'static str],
    odd: &'static [&'static str],
) -> impl Strategy<Value = &'static str> {
    prop_oneof![9 => select(usual), 1 => select(odd)]
}

/// An entry that is in force, or nearly.
fn entry() -> impl Strategy<Value = String> {
    let on = mostly(
        &[
            "\"turn-started\"",
            "\"tool-finished\"",
            "\"tool-finished\"",
            "\"turn\\u002dfinished\"",
        ],
        &["\"turn-finish\"", "\"\"", "7"],
    );
    let program = mostly(
        &[
            "\"a\"",
            "\"./b c\"",
            "\"~user\"",
            "\"\\u0061\"",
            "\"é\"",
            "\"sh\"",
            "\"\\\"\\n\"",
        ],
        &[
            "\"\"",
            "\"$HOME\"",
            "\"~/x\"",
            "\" \\t\"",
            "\"\u{3000}\"",
            "\"\\u0000\"",
            "1",
            "\"\\ud800\"",
        ],
    );
    let word = mostly(
        &[
            "\"\"",
            "\"-c\"",
            "\"$HOME\"",
            "\"~/x\"",
            "\"\\u0061\"",
            "\"S3CRET\"",
            "\"é\"",
            "\"|\"",
        ],
        &["\"\\u0000\"", "1", "null", "\"\\ud800\"", "[\"S3CRET\"]"],
    );
    let run = (program, vec(word, 0..3))
        .prop_map(|(program, words)| format!("[{}]", [vec![program], words].concat().join(", ")));
    let run = prop_oneof![15 => run, 1 => one_of(&["[]", "\"a b\"", "{}", "null"])];
    let tool = mostly(
        &["\"write_file\"", "\"a*\"", "\" b \"", "\"writefile\""],
        &["\"\"", "null", "[\"a\"]"],
    );
    let timeout = mostly(
        &["1", "30", "31", "600"],
        &[
            "601",
            "0",
            "1.0",
            "1e1",
            "-1",
            "\"1\"",
            "18446744073709551617",
        ],
    );
    let other = one_of(&[
        "\"comment\":1",
        "\"on\":\"turn-started\"",
        "\"r\\u0075n\":[\"a\"]",
        "\"cmd\":\"S3CRET\"",
    ]);
    let (tool, timeout, other) = (
        weighted(0.2, tool),
        weighted(0.3, timeout),
        weighted(0.05, other),
    );
    (
        weighted(0.97, on),
        weighted(0.97, run),
        tool,
        timeout,
        other,
        any::<prop::sample::Index>(),
    )
        .prop_map(|(on, run, tool, timeout, other, first)| {
            let mut members: Vec<String> = Vec::new();
            members.extend(on.map(|on| format!("\"on\" : {on}")));
            members.extend(run.map(|run| format!("\"run\":{run}")));
            members.extend(tool.map(|tool| format!("\"tool\":{tool}")));
            members.extend(timeout.map(|timeout| format!("\"timeout\":{timeout}")));
            members.extend(other);
            let first = first.index(members.len().max(1));
            members.rotate_left(first);
            format!("{{{}}}", members.join(",\r\n "))
        })
}

/// A hooks file, or nearly.
fn file() -> impl Strategy<Value = Vec<u8>> {
    let before = mostly(
        &[
            "{\"hooks\":[",
            "\u{feff}{\"$schema\":[{\"a\":1,\"a\":2}],\n\"hooks\" : [\n",
            "{\"version\":1,\"hooks\":[",
        ],
        &[
            "[",
            "{\"hook\":[",
            "{\"hooks\":[],\"hooks\":[",
            "{\"hooks\":[[",
            "{\"Stop\":[",
        ],
    );
    let entries = vec(prop_oneof![15 => entry(), 1 => json()], 0..5);
    (before, entries).prop_map(|(before, entries)| {
        let after = if before.starts_with('[') { "]" } else { "]}" };
        [before, &entries.join(","), after].concat().into()
    })
}

/// A file as it was written, or with up to three mistakes of one byte, or cut.
fn damaged() -> impl Strategy<Value = Bytes> {
    let damage = (
        0..5u8,
        any::<prop::sample::Index>(),
        any::<u8>(),
        select(&TOKENS[..19]),
    );
    (
        file(),
        prop_oneof![vec(damage.clone(), 0), vec(damage, 1..4)],
    )
        .prop_map(|(mut text, damages)| {
            for (kind, at, byte, token) in damages {
                let at = at.index(text.len() + 1);
                let is_end = at == text.len();
                match kind {
                    0 => text.truncate(at),
                    1 => drop(text.splice(at..at, token.bytes())),
                    2 if !is_end => drop(text.remove(at)),
                    3 if !is_end => text[at] = byte,
                    4 if !is_end => text[at] ^= 1 << (byte % 8),
                    _ => {}
                }
            }
            Bytes(text)
        })
}

/// SPEC 1.6 to 1.12, CASES 3 to 9.
#[test]
fn any_bytes_are_hooks_or_problems_and_never_a_panic() {
    holds(1000, pieces(any_byte(), 300), |bytes| hooks_of(&bytes.0));
    let token = prop_oneof![20 => one_of(TOKENS).prop_map(String::into_bytes), 1 => any_byte()];
    holds(4000, pieces(token, 60), |bytes| hooks_of(&bytes.0));
    holds(4000, json(), |text| hooks_of(text.as_bytes()));
}

/// SPEC 1.6 to 1.12: and the files are of both kinds, so that both sides are seen.
#[test]
fn a_hooks_file_with_mistakes_is_what_a_second_reader_says() {
    let (in_force, none) = (Cell::new(0u32), Cell::new(0u32));
    holds(6000, damaged(), |bytes| {
        let kind = if checked(&bytes.0).hooks.is_empty() {
            &none
        } else {
            &in_force
        };
        kind.set(kind.get() + 1);
    });
    let (in_force, none) = (in_force.get(), none.get());
    assert!(
        in_force > none / 4 && none > in_force / 4,
        "{in_force} with a hook, {none} without"
    );
}

/// SPEC 1.11: every place where one byte can be lost, replaced or one too many, and where the text can end.
#[test]
fn no_single_mistake_in_a_file_has_an_argument_quoted() {
    let text = "{\"hooks\":[{\"on\":\"tool-finished\",\"tool\":\"a\",\"run\":[\"p\",\"S3CRET\", \"-k=S3CRET\"]},\n\
                {\"timeout\":1,\"run\":[\"q\",\"x S3CRET\"],\"on\":\"turn-started\"}]}";
    let try_one = |text: &[u8]| {
        let found = checked(text);
        let core = found
            .problems
            .iter()
            .map(|problem| problem.mistake.to_string());
        let findings = found.check.problems.into_iter().chain(found.check.warnings);
        let said: String = core
            .chain(findings.map(|finding| finding.message))
            .collect();
        assert!(!said.contains("S3CRET"), "{said}\n{}", text.escape_ascii());
    };
    let bytes = text.as_bytes();
    for at in 0..bytes.len() {
        let (before, after) = bytes.split_at(at);
        try_one(before);
        try_one(&[before, &after[1..]].concat());
        for wrong in b"{}[]:,\"\\'/#= \n\x00\x1b\xff-.0aeu" {
            try_one(&[before, &[*wrong], after].concat());
            try_one(&[before, &[*wrong], &after[1..]].concat());
        }
    }
}

/// SPEC 1.3, 1.12, CASES 6: as deep, as wide and as wrong as a file of the largest size can be.
#[test]
fn a_file_of_the_largest_size_is_read_whatever_it_holds() {
    for (before, part, after) in [
        ("", "[", ""),
        ("", "{\"a\":", ""),
        ("{\"hooks\":", "[", ""),
        ("{\"hooks\":[{\"on\":", "[", ""),
        ("{\"$schema\":", "{\"\":[", ""),
        ("{\"hooks\":[", "{},", "0]}"),
        ("{\"hooks\":[", "0,\n", "0]}"),
        (
            "{\"hooks\":[",
            "{\"on\":\"turn-started\",\"run\":[\"a\"]},",
            "0]}",
        ),
        (
            "{\"hooks\":[{\"on\":\"turn-started\",\"run\":[",
            "\"\",",
            "\"\"]}]}",
        ),
        (
            "{\"hooks\":[{\"on\":\"turn-started\",\"run\":[\"a\",",
            "0,\n",
            "0]}]}",
        ),
        (
            "{\"hooks\":[{\"on\":\"turn-started\",\"run\":[\"a",
            "\\u0000",
            "\"]}]}",
        ),
        (
            "{\"hooks\":[{\"on\":\"turn-started\",\"run\":[\"",
            "\u{1f600}",
            "\"]}]}",
        ),
        ("{\"hooks\":[{\"on\":\"", "\\u202e", "\"}]}"),
        ("{\"hooks\":[{\"", "\u{202e}", "\":1}]}"),
        ("{\"hooks\":{", "\"Stop\":0,", "\"Stop\":1}}"),
        ("{\"hooks\":[{", "\"x\":0,", "\"x\":1}]}"),
        ("{\"hooks\":[],\"", "\\n", "\":1}"),
        ("", "\u{feff}", ""),
        ("", "\n", ""),
        ("", "\"", ""),
        ("", "\\", ""),
        ("", "a = \"b\"\n", ""),
        ("", "é", ""),
    ] {
        let text = [
            before,
            &part.repeat((MAX_SIZE - before.len() - after.len()) / part.len()),
            after,
        ]
        .concat();
        hooks_of(text.as_bytes());
        hooks_of(&[text.as_bytes(), b"\xff"].concat());
    }
    for (open, close) in [("[", "]"), ("{\"\":", "}")] {
        let deep = format!("{}0{}", open.repeat(10_000), close.repeat(10_000));
        hooks_of(deep.as_bytes());
        let schema = format!(
            "{{\"$schema\":{deep},\"hooks\":[{{\"on\":\"turn-started\",\"run\":[\"a\"]}}]}}"
        );
        let found = checked(schema.as_bytes());
        assert_eq!((found.hooks.len(), found.problems), (1, vec![]));
    }
}

/// SPEC 6.4.
#[test]
fn no_two_texts_look_the_same_escaped() {
    for c in '\0'..=char::MAX {
        escaped_of(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
    let piece = || {
        prop_oneof![
            3 => any_byte(),
            2 => any::<char>().prop_map(|c| c.to_string().into_bytes()),
            2 => one_of(&["\u{202e}", "\u{2028}", "\\", "\"", "\\x41", "\\u{41}", "…", "\u{1b}[31m", "\u{feff}", "a"])
                .prop_map(String::into_bytes),
        ]
    };
    holds(2000, pieces(piece(), 200), |bytes| escaped_of(&bytes.0));
    // About as long as is shown, and longer.
    let long = (
        1000..1030usize,
        pieces(piece(), 12),
        0..2000usize,
        pieces(piece(), 3),
    );
    holds(2000, long, |(length, bytes, more, last)| {
        escaped_of(&[vec![b'a'; length], bytes.0, vec![b'b'; more], last.0].concat());
    });
}

/// Arrays of entries as std makes none: names twice, withheld in other cases, no sign, nothing.
fn environments() -> impl Strategy<Value = Bytes> {
    let name = one_of(&[
        "A",
        "a",
        "B",
        "PATH",
        "HOME",
        "PWD",
        "OLDPWD",
        "pwd",
        "ANTHROPIC_API_KEY",
        "Anthropic_Api_Key",
        "openai_api_key",
        "OPENAI_API_KEY_2",
        "MINE",
        "mine",
        "",
        "=",
        "é",
        "A B",
    ]);
    let name = prop_oneof![9 => name.prop_map(String::into_bytes), 1 => vec(1..=255u8, 0..4)];
    let value =
        prop_oneof![3 => Just(Vec::new()), 3 => vec(1..=255u8, 0..9), 1 => Just(b"=b".to_vec())];
    let sign = prop_oneof![9 => Just("="), 1 => Just("")];
    pieces(
        (name, sign, value)
            .prop_map(|(name, sign, value)| [&*name, sign.as_bytes(), &value, b"\0"].concat()),
        20,
    )
}

/// SPEC 3.4, 4.1, 4.2, CASES 25, 26.
#[test]
fn an_environment_is_rebuilt_as_the_clauses_say() {
    let also = pieces(
        one_of(&["Mine\0", "B\0", "é\0", "\0", "PATH\0"]).prop_map(String::into_bytes),
        3,
    );
    holds(3000, (environments(), also), |(block, also)| {
        environment_of(&block.0, &also.0)
    });
    holds(
        300,
        (pieces(any_byte(), 100), pieces(any_byte(), 9)),
        |(block, also)| environment_of(&block.0, &also.0),
    );
}

/// SPEC 3.4: the array as the kernel has it, which std takes apart, in a process that was started with it.
#[test]
fn an_environment_is_rebuilt_from_what_the_process_was_started_with() {
    const ME: &str =
        "properties::inputs::an_environment_is_rebuilt_from_what_the_process_was_started_with";
    const STARTED: &CStr = c"PROPERTIES=started";
    let block = fs::read("/proc/self/environ").unwrap();
    if block.starts_with(STARTED.to_bytes_with_nul()) {
        let also = ["Mine".into()];
        environment::is_as_expected(
            &Environment::withholding(std::env::vars_os(), &also),
            &block,
            &also,
        );
        return;
    }
    let program = CString::new(
        std::env::current_exe()
            .unwrap()
            .into_os_string()
            .into_encoded_bytes(),
    )
    .unwrap();
    let words = [
        program.clone(),
        c"--exact".into(),
        CString::new(ME).unwrap(),
    ];
    let mut actions = PosixSpawnFileActions::init().unwrap();
    actions
        .add_open(1, c"/dev/null", OFlag::O_WRONLY, Mode::empty())
        .unwrap();
    let attributes = PosixSpawnAttr::init().unwrap();
    holds(60, environments(), |block| {
        let entries = block
            .0
            .split_inclusive(|byte| *byte == 0)
            .map(|entry| CStr::from_bytes_with_nul(entry).unwrap());
        let environment: Vec<CString> = std::iter::once(STARTED)
            .chain(entries)
            .map(CString::from)
            .collect();
        let pid = posix_spawn(&*program, &actions, &attributes, &words, &environment).unwrap();
        assert_eq!(waitpid(pid, None).unwrap(), WaitStatus::Exited(pid, 0));
    });
}

/// SPEC 3.2, CASES 21.
#[test]
fn a_program_is_found_where_a_simple_reading_finds_it() {
    holds(1000, vec(any::<u8>(), 24), |choices| path_of(&choices));
}
