//! `hooks.json`: where it is looked for, its format, and what is said of every problem (SPEC 1, 2.2).
//!
//! Who could have chosen its bytes is in `trust.rs`. Arguments in these files hold `S3CRET`, which no report may.
mod common;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use common::*;

/// An entry that adds a line to `ran`.
fn adds(line: &str) -> String {
    format!(r#"{{"on":"turn-finished","run":["sh","-c","echo $1 >> ran","S3CRET","{line}"]}}"#)
}

fn file(entries: &[String]) -> String {
    format!("{{\"hooks\": [{}]}}", entries.join(","))
}

fn padded(text: &str, length: usize) -> String {
    format!("{text}{}", " ".repeat(length - text.len()))
}

/// Fires turn-finished with a limit on time and memory, so that a file that is not refused at once is a failure.
#[track_caller]
fn fire(sandbox: &Sandbox) -> Run {
    let limits = [
        "timeout",
        "-s",
        "KILL",
        "60",
        "prlimit",
        "--as=1073741824",
        "--",
    ];
    let run =
        Run::of(&mut sandbox.other(&[&limits[..], &[BINARY, "fire", "turn-finished"]].concat()));
    assert!(!run.stderr.contains("S3CRET"), "{run:#?}");
    run
}

/// The reports of a file, and that none of its hooks ran.
#[track_caller]
fn reports(text: &[u8]) -> Vec<String> {
    let sandbox = Sandbox::new();
    sandbox.hooks(text);
    let run = fire(&sandbox);
    assert_eq!(sandbox.written("ran"), "", "{run:#?}");
    let count = run.stderr.lines().count();
    let reports = run
        .reports(count)
        .into_iter()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    assert_eq!(
        sandbox
            .log()
            .iter()
            .map(|line| line["message"].as_str().unwrap())
            .collect::<Vec<_>>(),
        reports
    );
    reports
}

/// The text without its one `@`, and the place of what came after it: line and column from 1, in characters, not counting
/// a byte order mark.
fn marked(text: &[u8]) -> (Vec<u8>, String) {
    let at = text.iter().position(|byte| *byte == b'@').unwrap();
    let before = String::from_utf8(text[..at].to_vec()).unwrap();
    let before = before.trim_start_matches('\u{feff}');
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    (
        [&text[..at], &text[at + 1..]].concat(),
        format!("hooks.json:{line}:{column}: "),
    )
}

/// SPEC 1.6, 1.11, CASES 3, 6, 9: each is read, and its one hook runs.
#[test]
fn a_file_of_the_format_is_in_force_however_it_is_written() {
    let entry = adds("it");
    let crlf = file(std::slice::from_ref(&entry))
        .replace(',', ",\r\n")
        .into_bytes();
    let plain = file(std::slice::from_ref(&entry));
    for text in [
        plain.clone().into_bytes(),
        [b"\xef\xbb\xbf", plain.as_bytes()].concat(),
        [b"\xef\xbb\xbf\r\n\t ", &*crlf].concat(),
        crlf,
        padded(&plain, 65_536).into_bytes(),
        (" ".repeat(65_536 - plain.len()) + &plain).into_bytes(),
        format!(r#"{{"$schema":"https://x/y","hooks":[{entry}]}}"#).into_bytes(),
        format!(r#"{{"hooks":[{entry}],"$schema":[[{{"a":1,"a":2}}]]}}"#).into_bytes(),
        format!(
            "{{\"h\\u006foks\": [{}]}}",
            entry
                .replace("\"on\"", "\"\\u006fn\"")
                .replace("turn-f", "turn\\u002df")
        )
        .into_bytes(),
        file(&[entry.replace("\"on\"", "\"timeout\":600,\"on\"")]).into_bytes(),
        file(&[entry.replace("S3CRET", "")]).into_bytes(),
    ] {
        let sandbox = Sandbox::new();
        sandbox.hooks(&text);
        fire(&sandbox).is_silent_success();
        assert_eq!(
            sandbox.written("ran"),
            "it\n",
            "{:.500}",
            text.escape_ascii().to_string()
        );
    }
    for text in ["{\"hooks\":[]}", "{\"hooks\" : [ ] , \"$schema\":null}\n"] {
        Sandbox::with(text)
            .fire("turn-finished")
            .is_silent_success();
    }
}

/// SPEC 1.3, 1.5, CASES 6.
#[test]
fn a_file_above_the_limit_is_refused_whole() {
    let plain = file(&[adds("it")]);
    for length in [65_537, 1_000_000] {
        let sandbox = Sandbox::with(&padded(&plain, length));
        let run = fire(&sandbox);
        let file = sandbox.file().display().to_string();
        run.one_report_says(&[
            "hooks.json not loaded: ",
            &file,
            "65536 bytes",
            &format!("; mv -T --backup=numbered {file} "),
        ]);
        assert_eq!(sandbox.written("ran"), "");
        // The mend is one command.
        let mend = run.reports(1)[0].rsplit_once("; ").unwrap().1.to_owned();
        let mended = Run::of(&mut sandbox.shell(&mend));
        assert!(
            mended.status == 0 && mended.stderr.is_empty(),
            "{mended:#?}"
        );
        fire(&sandbox).is_silent_success();
    }
}

/// SPEC 1.6, 1.11, CASES 4, 5, 7. The place is marked by an `@`; `E` is an entry that would run.
#[test]
fn text_that_is_not_the_format_is_no_hooks_and_one_report_with_its_place() {
    let utf16 = |text: &str| {
        text.encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<_>>()
    };
    let cases: &[(&str, &[&[u8]])] = &[
        (
            "a comma after the last one",
            &[
                b"{\"hooks\":[\nE@,]}",
                b"{\"hooks\":[E\n]@,}",
                b"{\"hooks\":[E@, \n ]}",
            ],
        ),
        (
            "a comma with nothing before it",
            &[b"{\"hooks\":[@,E]}", b"{\"hooks\":[E,@,E]}"],
        ),
        (
            "a comma is missing here",
            &[b"{\"hooks\":[E@\n E]}", b"{\"hooks\":[]@ \"a\":1}"],
        ),
        ("a colon is missing here", &[b"{\"hooks\"@ [E]}"]),
        (
            "a comment",
            &[
                b"@// mine\n{\"hooks\":[E]}",
                b"{\"hooks\":[\r\n  @// mine\r\nE]}",
                b"{\"hooks\":[E @/* x */]}",
                b"@# x\n{}",
            ],
        ),
        (
            "text after the end",
            &[b"{\"hooks\":[E]}\n\n  @x", b"{\"hooks\":[E]}@}"],
        ),
        (
            "a second value after",
            &[b"{\"hooks\":[E]}@{}", b"{\"hooks\":[E]}\n@, {}"],
        ),
        ("a single quote", &[b"{@'hooks':[E]}", b"{\"hooks\":@'x'}"]),
        (
            "the key needs double quotes; write \"hooks\"",
            &[b"{@hooks:[E]}", b"{\"$schema\":1, @hooks : [E]}"],
        ),
        (
            "a bare word",
            &[
                b"{\"hooks\":[E, {\"a\": @NaN}]}",
                b"{\"a\": @\xc3\xa9}",
                b"{\"hooks\":[E],\"a\":@tru}",
            ],
        ),
        (
            "a typographic quote",
            &[b"{@\xe2\x80\x9chooks\xe2\x80\x9d:[E]}"],
        ),
        ("the file is empty", &[b"@", b"\xef\xbb\xbf@", b"@ "]),
        (
            "the array that begins here is not closed",
            &[b"{\"hooks\":@[E", b"{\"hooks\":[E, {\"a\":@["],
        ),
        (
            "the object that begins here is not closed",
            &[b"@{\"hooks\":[E]", b"@{\"hooks\":[E],\"a\":tr"],
        ),
        (
            "the string that begins here is not closed",
            &[b"{\"hooks\":[E],\r\n@\"S3C"],
        ),
        ("the wrong bracket", &[b"{\"hooks\":[E@}]"]),
        (
            "control character in a string",
            &[
                b"{\"hooks\":[E, \"@\0\"]}",
                b"{\"hooks\":[E, \"a@\tb\"]}",
                b"{\"hooks\":[E, \"a@\nb\"]}",
            ],
        ),
        ("no escape of JSON", &[b"{\"hooks\":[E],\"a\":\"\\@q\"}"]),
        ("TOML", &[b"@notify = [\"x\"]"]),
        (
            "not JSON",
            &[
                b"\xef\xbb\xbf@\xef\xbb\xbf{\"hooks\":[E]}",
                b"@\0{\"hooks\":[E]}",
                b"{\"hooks\":[E@\0]}",
                b"{\"hooks\":[E, 0@1]}",
                b"{@\0\"\0h\0o\0o\0k\0s\0\"\0:\0[\0]\0}\0",
            ],
        ),
        (
            "UTF-8",
            &[
                b"{\"hooks\":[E],\n \"\xc3\xa9@\xff\":0}",
                b"{\"hooks\":[E]}@\xe2\x82",
                &[b"@\xff\xfe", &*utf16(&file(&[adds("it")]))].concat(),
            ],
        ),
        (
            "found no key \"hooks\"",
            &[b"@{}", b"\n @{\"$schema\":\"\"}"],
        ),
        ("found an array", &[b"@[E]", b"@[]"]),
        ("found null", &[b" @null", b"{\"hooks\":@null}"]),
        ("found a string", &[b"@\"x\"", b"{\"hooks\":@\"x\"}"]),
        ("found a number", &[b"@-1"]),
        ("found a boolean", &[b"@true"]),
        ("found an object", &[b"{\"hooks\": @{}}", b"{\"hooks\":@E}"]),
        (
            "\"hooks\" stands twice",
            &[
                b"{\"hooks\":[E],\n@\"hooks\":[E]}",
                b"{\"hooks\":[E], @\"h\\u006foks\":[]}",
            ],
        ),
        (
            "\"$schema\" stands twice",
            &[b"{\"$schema\":1, @\"$schema\":1, \"hooks\":[E]}"],
        ),
    ];
    for (what, texts) in cases {
        for text in *texts {
            let (text, place) = marked(&replaced(text, &adds("it")));
            let said = reports(&text);
            let parts = [what, "no hook is in force"];
            let fits = said.len() == 1 && said[0].starts_with(&place);
            let fits = fits && parts.iter().all(|part| said[0].contains(part));
            assert!(fits, "{}\n{place} {what}\n{said:#?}", text.escape_ascii());
        }
    }
}

fn replaced(text: &[u8], entry: &str) -> Vec<u8> {
    let of = |byte: &u8| {
        if *byte == b'E' {
            entry.as_bytes().to_vec()
        } else {
            vec![*byte]
        }
    };
    text.iter().flat_map(of).collect()
}

/// SPEC 1.12, CASES 7: at once and without a panic, wherever the brackets stand.
#[test]
fn nested_brackets_are_refused_however_many() {
    for depth in [200, 30_000, 100_000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = |inner: &str| open.repeat(depth) + inner + &close.repeat(depth);
            for (before, after) in [
                ("", ""),
                ("{\"hooks\":", "}"),
                ("{\"hooks\":[", "]}"),
                ("{\"hooks\":[{\"run\":[\"a\"],\"on\":", "}]}"),
            ] {
                for text in [
                    format!("{before}{}{after}", deep("0")),
                    format!("{before}{}", open.repeat(depth)),
                ] {
                    let run = fire(&Sandbox::with(&text));
                    let count = run.stderr.lines().count();
                    let said = run
                        .reports(count)
                        .into_iter()
                        .all(|report| report.starts_with("hooks.json"));
                    assert!(
                        said && (1..=3).contains(&count),
                        "{depth} {open} {before} {run:#?}"
                    );
                }
            }
        }
    }
}

/// SPEC 1.11, 1.12: a file of nothing but problems is over in reasonable time.
#[test]
fn thousands_of_problems_do_not_hold_up_the_host() {
    let sandbox = Sandbox::with(&format!("{{\"hooks\":[0{}]}}", ",0".repeat(32_000)));
    let run = fire(&sandbox);
    assert!(
        run.status == 0 && run.stdout.is_empty(),
        "{} {} {:.2000}",
        run.command,
        run.status,
        run.stderr
    );
}

/// SPEC 1.11, 2.4, CASES 1.
#[test]
fn a_problem_in_one_entry_leaves_the_others_in_force_in_their_order() {
    let broken = r#"{"on":"turn-finished", "run":"echo S3CRET"}"#.to_owned();
    let sandbox = Sandbox::with(&file(&[
        adds("one"),
        format!("\n  {broken}"),
        adds("two"),
        "7".to_owned(),
        adds("three"),
    ]));
    let run = fire(&sandbox);
    let said = run.reports(2);
    assert!(
        said[0].starts_with("hooks.json:2:32: ") && said[0].contains("one string"),
        "{said:?}"
    );
    assert!(
        said[1].starts_with("hooks.json:2:120: ") && said[1].contains("found a number"),
        "{said:?}"
    );
    assert_eq!(sandbox.written("ran"), "one\ntwo\nthree\n");
}

/// SPEC 1.6, CASES 9.
#[test]
fn another_root_key_is_reported_and_ignored() {
    let sandbox = Sandbox::with(&format!(
        "{{\"S3C\": \"S3CRET\",\n \"hooks\":[{}], \"version\": 1}}",
        adds("it")
    ));
    let run = fire(&sandbox);
    let said = run.reports(2);
    assert!(
        said[0].starts_with("hooks.json:1:2: ") && said[0].contains("\"S3C\""),
        "{said:?}"
    );
    assert!(
        said[1].starts_with("hooks.json:2:85: ") && said[1].contains("\"version\""),
        "{said:?}"
    );
    assert_eq!(sandbox.written("ran"), "it\n");
}

/// SPEC 1.6 to 1.11, CASES 8, 9, 10: each value has its own reason and its place, and no argument is quoted.
#[test]
fn an_entry_that_cannot_be_used_is_not_in_force_and_says_why() {
    let on = |value: &str| format!(r#"{{"run":["sh","-c","echo >>ran","S3CRET"],"on":{value}}}"#);
    let run = |value: &str| format!(r#"{{"on":"turn-finished","run":{value}}}"#);
    let more = |more: &str| {
        format!(r#"{{"on":"turn-finished","run":["sh","-c","echo >>ran","S3CRET"],{more}}}"#)
    };
    let tool = |key: &str| more(key).replace("turn-finished", "tool-finished");
    // The place of the problem is marked by an `@`.
    let cases: Vec<(String, &[&str])> = vec![
        (on("@null"), &["\"on\" is", "found null"]),
        (on("@7"), &["\"on\" is", "found a number"]),
        (on("@[\"turn-finished\"]"), &["\"on\" is", "found an array"]),
        (
            on("@\"\""),
            &[
                "unknown moment \"\"",
                "\"turn-started\", \"tool-finished\" and \"turn-finished\"",
            ],
        ),
        (
            on("@\"turn-finished \""),
            &[
                "unknown moment \"turn-finished \"",
                "did you mean \"turn-finished\"",
            ],
        ),
        (on("@\"\\ud800\""), &["surrogate"]),
        (
            run("@\"sh -c S3CRET\""),
            &["\"run\" is an array", "one string", "nothing splits it"],
        ),
        (run("@null"), &["\"run\" is an array", "found null"]),
        (
            run("@{\"sh\":\"S3CRET\"}"),
            &["\"run\" is an array", "found an object"],
        ),
        (run("@true"), &["\"run\" is an array", "found a boolean"]),
        (run("@[]"), &["\"run\" is an array", "empty array"]),
        (run("[@\"\"]"), &["program is empty or only blanks"]),
        (
            run("[@\"  \",\"S3CRET\"]"),
            &["program is empty or only blanks"],
        ),
        (
            run("[@\"\\t\\n\\u3000\",\"S3CRET\"]"),
            &["program is empty or only blanks"],
        ),
        (
            run("[\"sleep\",@3]"),
            &["array of strings", "found a number among them", "quotes"],
        ),
        (
            run("[\"S3CRET\",@null]"),
            &["array of strings", "found null among them"],
        ),
        (
            run("[@[\"a\"]]"),
            &["array of strings", "found an array among them"],
        ),
        (run("[\"a\",@\"S3CRET\\u0000\"]"), &["NUL"]),
        (run("[@\"a\\u0000\"]"), &["NUL"]),
        (run("[\"a\",@\"S3CRET\\udc00\"]"), &["surrogate"]),
        (
            run("[@\"~/bin/n\",\"S3CRET\"]"),
            &["\"~/bin/n\"", "nothing expands"],
        ),
        (
            run("[@\"$HOME/bin/n\",\"S3CRET\"]"),
            &["\"$HOME/bin/n\"", "nothing expands"],
        ),
        (
            run("[@\"${HOME}/n\"]"),
            &["\"${HOME}/n\"", "nothing expands"],
        ),
        (
            more("@\"comment\":\"S3CRET\""),
            &["unknown key \"comment\"", "not in force"],
        ),
        (more("@\"On\":\"turn-started\""), &["unknown key \"On\""]),
        (more("@\"on\":\"turn-started\""), &["\"on\" stands twice"]),
        (
            more("@\"r\\u0075n\":[\"S3CRET\"]"),
            &["\"run\" stands twice"],
        ),
        (
            more("\"timeout\":1,@\"timeout\":1"),
            &["\"timeout\" stands twice"],
        ),
        (
            more("\"tool\":@\"a\""),
            &["\"tool\" goes with \"tool-finished\" alone"],
        ),
        (
            tool("\"tool\":@null"),
            &["name of one tool", "found null", "every tool"],
        ),
        (
            tool("\"tool\":@\"\""),
            &["name of one tool", "found \"\"", "every tool"],
        ),
        (tool("\"tool\":@7"), &["name of one tool", "found a number"]),
        (
            tool("\"tool\":@[\"S3CRET\"]"),
            &["name of one tool", "found an array"],
        ),
        (
            tool("\"tool\":@{\"S3CRET\":1}"),
            &["name of one tool", "found an object"],
        ),
        (
            more("\"timeout\":@0"),
            &["from 1 to 600", "this number is not"],
        ),
        (
            more("\"timeout\":@601"),
            &["from 1 to 600", "this number is not"],
        ),
        (
            more("\"timeout\":@-1"),
            &["from 1 to 600", "this number is not"],
        ),
        (
            more("\"timeout\":@1.0"),
            &["from 1 to 600", "this number is not"],
        ),
        (
            more("\"timeout\":@1e1"),
            &["from 1 to 600", "this number is not"],
        ),
        (
            more("\"timeout\":@99999999999999999999999"),
            &["from 1 to 600", "this number is not"],
        ),
        (
            more("\"timeout\":@\"S3CRET\""),
            &["from 1 to 600", "found a string"],
        ),
        (more("\"timeout\":@null"), &["from 1 to 600", "found null"]),
        (
            more("\"timeout\":@true"),
            &["from 1 to 600", "found a boolean"],
        ),
        ("@\"S3CRET\"".to_owned(), &["an entry is", "found a string"]),
        ("@null".to_owned(), &["an entry is", "found null"]),
        (
            "@[\"turn-finished\",[\"sh\",\"S3CRET\"]]".to_owned(),
            &["an entry is", "found an array"],
        ),
        (r#"@{"on":"turn-finished"}"#.to_owned(), &["no \"run\""]),
        (r#"@{"run":["sh","S3CRET"]}"#.to_owned(), &["no \"on\""]),
    ];
    for (entry, parts) in &cases {
        let (text, place) = marked(file(std::slice::from_ref(entry)).as_bytes());
        for moment in ["turn-finished", "tool-finished"] {
            let sandbox = Sandbox::new();
            sandbox.hooks(&text);
            let run = sandbox.fire(moment);
            let said = run.reports(1)[0];
            let fits = said.starts_with(&place) && parts.iter().all(|part| said.contains(part));
            let nothing_ran = sandbox.written("ran").is_empty() && !run.stderr.contains("S3CRET");
            assert!(nothing_ran && fits, "{entry}\n{place} {parts:?}\n{run:#?}");
        }
    }
}

/// SPEC 1.11, CASES 2, 16.
#[test]
fn a_near_miss_is_told_what_to_write() {
    for (word, meant) in [
        ("Turn-Finished", "turn-finished"),
        ("turn_finished", "turn-finished"),
        ("turn-finish", "turn-finished"),
        ("stop", "turn-finished"),
        ("Stop", "turn-finished"),
        ("PostToolUse", "tool-finished"),
        ("UserPromptSubmit", "turn-started"),
        ("turnstarted", "turn-started"),
        // No guess.
        ("PreToolUse", ""),
        ("", ""),
    ] {
        let said = reports(file(&[adds("it").replace("turn-finished", word)]).as_bytes());
        let advice = match meant {
            "" => "there are \"turn-started\", \"tool-finished\" and \"turn-finished\"".to_owned(),
            meant => format!("did you mean \"{meant}\"?"),
        };
        assert_eq!(
            said,
            [format!(
                "hooks.json:1:18: unknown moment \"{word}\"; {advice}"
            )]
        );
    }
    for (key, meant) in [
        ("event", "on"),
        ("On", "on"),
        ("RUN", "run"),
        ("command", "run"),
        ("cmd", "run"),
        ("matcher", "tool"),
        ("timeoutSec", "timeout"),
        ("timout", "timeout"),
    ] {
        let said = reports(
            file(&[adds("it").replace("{", &format!("{{\"{key}\":\"S3CRET\","))]).as_bytes(),
        );
        assert_eq!(
            said,
            [format!(
                "hooks.json:1:13: unknown key \"{key}\"; did you mean \"{meant}\"?"
            )]
        );
    }
}

/// SPEC 1.11, CASES 16.
#[test]
fn the_format_of_another_agent_is_told_the_shape_to_write() {
    for text in [
        r#"{"hooks":{"Stop":[{"matcher":"","hooks":[{"type":"command","command":"notify-send S3CRET"}]}]}}"#,
        r#"{"version":1,"hooks":{"stop":[{"command":"notify-send S3CRET"}]}}"#,
        r#"{"hooks":{"PostToolUse":[{"hooks":[{"type":"command","command":"S3CRET"}]}]},"permissions":{"allow":[]}}"#,
    ] {
        let said = reports(text.as_bytes());
        let of_hooks: Vec<_> = said
            .iter()
            .filter(|said| said.contains("found an object") || said.contains("[{"))
            .collect();
        let shows = |report: &str| report.contains("\"on\"") && report.contains("\"run\"");
        assert!(
            of_hooks.len() == 1 && shows(of_hooks[0]),
            "{text}\n{said:#?}"
        );
    }
    let said = reports(b"notify = [\"notify-send\", \"S3CRET\"]\n");
    assert!(said.len() == 1 && said[0].contains("JSON"), "{said:?}");
}

/// SPEC 1.8, CASES 10: nothing is expanded, split or joined, not even where a program of that name exists.
#[test]
fn nothing_of_an_argument_is_expanded() {
    let sandbox = Sandbox::new();
    for program in ["~/bin/n", "$HOME/bin/n", "sh -c true", "*"] {
        let path = sandbox.work().join(program);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "#!/bin/sh\necho decoy >> ran\n").unwrap();
        mode(&path, 0o755);
    }
    let arguments = [
        "~",
        "~/x",
        "$HOME",
        "${HOME}",
        "$(echo x)",
        "`echo x`",
        "*",
        "a b",
        "",
        "{a,b}",
        "a;echo b",
        "%HOME%",
    ];
    let mut words = vec!["sh", "-c", "printf '%s\\n' \"$@\" > got", "~/x"];
    words.extend(arguments);
    let hook = serde_json::json!({"on": "turn-finished", "run": words}).to_string();
    let run =
        |program: &str| serde_json::json!({"on": "turn-finished", "run": [program]}).to_string();
    sandbox.hooks(file(&[
        hook,
        run("~/bin/n"),
        run("$HOME/bin/n"),
        run("sh -c true"),
    ]));
    fire(&sandbox).reports(3);
    assert_eq!(sandbox.written("ran"), "");
    assert_eq!(
        sandbox.written("got"),
        arguments.map(|argument| format!("{argument}\n")).concat()
    );
}

/// SPEC 1.9, 2.2, CASES 44.
#[test]
fn a_tool_is_compared_byte_for_byte() {
    let of = |tool: &str| serde_json::json!({"on": "tool-finished", "tool": tool, "run": ["sh", "-c", "echo \"$0.\" >> ran", tool]});
    let tools = [
        "write_file",
        "Write_File",
        "write_file ",
        "write_*",
        "*",
        "write_fil\u{e9}",
        "write_file\u{0301}",
    ];
    let mut entries: Vec<String> = tools.iter().map(|tool| of(tool).to_string()).collect();
    entries.push(r#"{"on":"tool-finished","run":["sh","-c","echo every. >> ran"]}"#.to_owned());
    entries.push(adds("turn"));
    let sandbox = Sandbox::with(&file(&entries));
    for (arguments, ran) in [
        (&["--tool", "write_file"][..], "write_file.\nevery.\n"),
        (&["--tool", "Write_File"], "Write_File.\nevery.\n"),
        (&["--tool=write_fil\u{e9}"], "write_fil\u{e9}.\nevery.\n"),
        (&["--tool", "write_fil"], "every.\n"),
        (&["--tool", "write_filee"], "every.\n"),
        (&[], "every.\n"),
    ] {
        let _ = fs::remove_file(sandbox.work().join("ran"));
        sandbox
            .run(&[&["fire", "tool-finished"], arguments].concat())
            .is_silent_success();
        assert_eq!(sandbox.written("ran"), ran, "{arguments:?}");
    }
    let _ = fs::remove_file(sandbox.work().join("ran"));
    let name = std::ffi::OsStr::from_bytes(b"write_fil\xe9");
    Run::of(
        sandbox
            .command(&["fire", "tool-finished", "--tool"])
            .arg(name),
    )
    .is_silent_success();
    assert_eq!(sandbox.written("ran"), "every.\n");
}

/// SPEC 1.1, CASES 13, 14: the times of access would tell that one was opened.
#[test]
fn nothing_in_the_working_directory_or_above_it_is_read() {
    let sandbox = Sandbox::new();
    let below = sandbox.work().join("a/b");
    fs::create_dir_all(&below).unwrap();
    let decoy = file(&[adds("decoy")]);
    let claude =
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo decoy >> ran"}]}]}}"#;
    let script = "#!/bin/sh\necho decoy >> ran\n";
    let env = format!("HOME={}\n", sandbox.work().display());
    let decoys = [
        (".bravebot/hooks.json", &*decoy),
        ("hooks.json", &decoy),
        (".bravebot.json", &decoy),
        (".config/bravebot/hooks.json", &decoy),
        (".claude/settings.json", claude),
        (".env", &env),
        (".git/hooks/post-commit", script),
        (".git/hooks/turn-finished", script),
    ];
    let mut paths = Vec::new();
    for directory in [sandbox.root().to_owned(), sandbox.work(), below.clone()] {
        for (name, text) in decoys {
            let path = directory.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            mode(&path, 0o755);
            paths.push(path);
        }
    }
    assert!(
        Command::new("touch")
            .args(["-a", "-d", "@1"])
            .args(&paths)
            .status()
            .unwrap()
            .success()
    );
    // No variable names another place either; without HOME nobody looks for one in the table of users.
    let variables = [
        "BRAVEBOT_HOME",
        "BRAVEBOT_HOOKS",
        "XDG_CONFIG_HOME",
        "XDG_CONFIG_DIRS",
        "CLAUDE_CONFIG_DIR",
        "USERPROFILE",
        "PWD",
    ];
    let mut command = sandbox.command(&[
        "fire",
        "turn-finished",
        "--directory",
        below.to_str().unwrap(),
    ]);
    Run::of(
        command
            .current_dir(&below)
            .envs(variables.map(|name| (name, sandbox.work()))),
    )
    .is_silent_success();
    Run::of(command.env_remove("HOME")).is_silent_success();
    for path in &paths {
        let accessed = fs::metadata(path).unwrap().accessed().unwrap();
        assert_eq!(
            accessed,
            std::time::UNIX_EPOCH + std::time::Duration::from_secs(1),
            "{} was read",
            path.display()
        );
    }
    for directory in [sandbox.root().to_owned(), sandbox.work(), below] {
        assert!(
            !directory.join("ran").exists(),
            "a decoy ran in {}",
            directory.display()
        );
    }
}

/// SPEC 1.1, CASES 14.
#[test]
fn in_home_as_the_working_directory_each_hook_runs_once() {
    let sandbox = Sandbox::with(&file(&[adds("one"), adds("two")]));
    Run::of(
        sandbox
            .command(&["fire", "turn-finished"])
            .current_dir(sandbox.home()),
    )
    .is_silent_success();
    assert_eq!(
        fs::read_to_string(sandbox.home().join("ran")).unwrap(),
        "one\ntwo\n"
    );
}

/// SPEC 1.1: the working directory and standard input lead to a decoy, which only a HOME of this kind would find.
#[test]
fn a_home_that_leads_to_wherever_a_process_is_gives_no_hooks() {
    let sandbox = Sandbox::with(&file(&[adds("decoy")]));
    let link = |name: &str, to: &str| {
        let path = sandbox.root().join(name);
        std::os::unix::fs::symlink(to, &path).unwrap();
        path.display().to_string()
    };
    let links = [
        "/proc/self/cwd",
        "/proc/thread-self/cwd",
        "/proc/self/fd/0",
        "/dev/fd/0",
        "/dev/stdin",
    ];
    let mut homes: Vec<String> = links
        .iter()
        .map(|to| link(&to.replace('/', "-"), to))
        .collect();
    homes.push(link("two", "-proc-self-cwd"));
    homes.push(link("proc", "/proc") + "/self/cwd");
    homes.push(format!(
        "{}{}/proc/self/cwd",
        sandbox.root().display(),
        "/..".repeat(20)
    ));
    homes.push(format!("/proc/self/root{}", sandbox.home().display()));
    homes.push(format!("{}/proc/self/cwd", "/..".repeat(3)));
    homes.extend(links.map(str::to_owned));
    homes.extend(
        [
            "//proc/self/cwd",
            "/./proc/self/cwd/.",
            "/proc",
            "/dev",
            "/dev/shm/x",
            "/dev/null",
        ]
        .map(str::to_owned),
    );
    for home in homes {
        let mut command = sandbox.command(&["fire", "turn-finished"]);
        command
            .current_dir(sandbox.home())
            .stdin(fs::File::open(sandbox.home()).unwrap());
        let run = Run::of(command.env("HOME", &home));
        is_refused_home(
            &run,
            &["HOME leads through /proc or /dev", &home, "; export HOME="],
        );
    }
    for home in ["home", "./home", "../home", ".", "~", "$HOME"] {
        let mut command = sandbox.command(&["fire", "turn-finished"]);
        let run = Run::of(command.current_dir(sandbox.root()).env("HOME", home));
        is_refused_home(
            &run,
            &["HOME is not an absolute path", home, "; export HOME="],
        );
    }
    for directory in [sandbox.home(), sandbox.root().to_owned()] {
        Run::of(
            sandbox
                .command(&["fire", "turn-finished"])
                .current_dir(&directory)
                .env("HOME", ""),
        )
        .is_silent_success();
        let mut command = sandbox.command(&["fire", "turn-finished"]);
        Run::of(command.current_dir(&directory).env_remove("HOME")).is_silent_success();
        assert!(!directory.join("ran").exists(), "the decoy ran");
    }
    assert!(!sandbox.home().join(".bravebot/hooks.log").exists());
}

/// One report of the file says this; that there is no place for a log either may be said as well (SPEC 6.5).
#[track_caller]
fn is_refused_home(run: &Run, parts: &[&str]) {
    let said = run.reports(run.stderr.lines().count());
    let said: Vec<_> = said
        .into_iter()
        .filter(|report| !report.starts_with("hooks.log not written: "))
        .collect();
    let fits = said.len() == 1 && said[0].starts_with("hooks.json not loaded: ");
    assert!(
        fits && parts.iter().all(|part| said[0].contains(part)),
        "{parts:?}\n{run:#?}"
    );
}

/// SPEC 1.13.
#[test]
fn a_change_of_the_file_during_a_turn_has_no_effect_on_it() {
    let sandbox = Sandbox::with(&file(&[adds("before")]));
    let other = sandbox.root().join("other");
    fs::write(&other, file(&[adds("after")])).unwrap();
    let (other, file) = (
        other.display().to_string(),
        sandbox.file().display().to_string(),
    );
    sandbox
        .run(&["turn", "--", "cp", &other, &file])
        .is_silent_success();
    assert_eq!(sandbox.written("ran"), "before\n");
    sandbox
        .run(&["turn", "--", "rm", &file])
        .is_silent_success();
    assert_eq!(sandbox.written("ran"), "before\nafter\n");
    sandbox
        .run(&["turn", "--", "cp", &other, &file])
        .is_silent_success();
    assert_eq!(sandbox.written("ran"), "before\nafter\n");
}
