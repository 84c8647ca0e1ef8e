//! What of reading is not seen from outside: places, order, bounds, matching.

use super::*;

fn problems(text: &str) -> Vec<String> {
    parse(&TrustedText::of_test(text.as_bytes()))
        .problems
        .iter()
        .map(ToString::to_string)
        .collect()
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
        .map(|(&(line, column), what)| Problem {
            place: Place { line, column },
            what: what.clone(),
        })
        .collect();
    assert!(
        places.len() == expected.len() && found == problems,
        "{text}\n{found:#?}\n{problems:#?}"
    );
}

/// SPEC 1.11: columns count characters, also behind multi-byte text, escapes, a byte order mark and CRLF.
#[test]
fn a_problem_is_at_its_line_and_column() {
    let text =
        "\u{feff}{\"hooks\": [\r\n  {\"run\": [\"é\\u0041\u{1f600}\"], \"on\": \"turn-finish\"}]}";
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
            NotJson(
                "a bare word; a string needs double quotes, and else JSON has true, false and null"
                    .into(),
            ),
        ),
        ("{\"hooks\":\n\t@{\"a\":[]}}", HooksNotArray(Kind::Object)),
        (
            "{\"hooks\":[],\r\n@\"hooks\":[]}",
            RootKeyTwice("hooks".into()),
        ),
        (
            "{\"hooks\":[], @\"version\":1}",
            RootKeyUnknown("version".into()),
        ),
        (
            "{@\"hook\":[], \"hooks\":[]}",
            RootKeyUnknown("hook".into()),
        ),
    ];
    for (text, wrong) in whole {
        are_at_their_marks(text, std::slice::from_ref(wrong));
    }
    let entries = [
        (
            format!("{{{on},{run},@\"x\":1}}"),
            vec![EntryKeyUnknown("x".into())],
        ),
        (
            format!("{{{on},{run},@{run}}}"),
            vec![EntryKeyTwice("run".into())],
        ),
        (format!("@{{{run}}}"), vec![Missing("on")]),
        (format!("@{{{on}}}"), vec![Missing("run")]),
        (
            format!("{{{run},\"on\":@1}}"),
            vec![OnNotString(Kind::Number)],
        ),
        (
            format!("{{{run},\"on\":@\"turn-x\"}}"),
            vec![OnUnknown("turn-x".into())],
        ),
        (
            format!("{{{on},\"run\":@\"a\"}}"),
            vec![RunNotArray(Kind::String)],
        ),
        (format!("{{{on},\"run\":@[ ]}}"), vec![RunEmpty]),
        (
            format!("{{{on},\"run\":[\"é\",@1, @null]}}"),
            vec![RunNotString(Kind::Number), RunNotString(Kind::Null)],
        ),
        (
            format!("{{{on},\"run\":[\"a\",\"\u{1f600}\", @\"\\u0000\"]}}"),
            vec![RunNul],
        ),
        (format!("{{{on},\"run\":[ @\" \"]}}"), vec![ProgramBlank]),
        (
            format!("{{{on},\"run\":[ @\"$a\"]}}"),
            vec![ProgramUnexpanded("$a".into())],
        ),
        (format!("{{{on},{run},\"tool\":@\"a\"}}"), vec![ToolOnTurn]),
        (format!("{{{on},{run},\"tool\":@\"\"}}"), vec![ToolEmpty]),
        (
            format!("{{{on},{run},\"tool\":@false}}"),
            vec![ToolNotString(Kind::Boolean)],
        ),
        (
            format!("{{{on},{run},\"timeout\":@31.0}}"),
            vec![Timeout(Kind::Number)],
        ),
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
    are_at_their_marks(
        &file(&all).replace(",@", ",\r\n@"),
        &entries.map(|(_, wrong)| wrong).concat(),
    );
}

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
        are_at_their_marks(&of(&format!("\"a\",@\"{half}\""), ""), &[Wrong::NotUnicode]);
        are_at_their_marks(
            &of("\"a\"", &format!(",\"tool\":@\"{half}\"")),
            &[Wrong::NotUnicode],
        );
        let key = half.to_owned();
        are_at_their_marks(
            &of("\"a\"", &format!(",@\"{key}\":1")),
            &[Wrong::EntryKeyUnknown(key.clone())],
        );
        are_at_their_marks(
            &format!("{{\"{key}\":1,@\"{key}\":1,\"hooks\":[]}}"),
            &[Wrong::RootKeyTwice(key)],
        );
    }
    let hooks = parse(&TrustedText::of_test(
        of("\"\\ud83d\\ude00\"", "").as_bytes(),
    ));
    assert_eq!(
        &**hooks.in_force[0].run.program(),
        "\u{1f600}",
        "{:?}",
        hooks.problems
    );
}

/// SPEC 1.6: a key is what its escapes mean.
#[test]
fn an_escaped_key_is_the_key() {
    let text = r#"{"\u0068ooks":[{"\u006fn":"turn\u002dstarted","r\u0075n":["\u0061"],"\u0074imeout":7}],"\u0024schema":0}"#;
    let hooks = parse(&TrustedText::of_test(text.as_bytes()));
    assert_eq!(hooks.problems, []);
    let hook = &hooks.in_force[0];
    assert_eq!(
        (hook.on, &**hook.run.program(), hook.bound.as_secs()),
        (Moment::TurnStarted, "a", 7)
    );
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
        let text = file(&[&format!(
            "{{\"on\":\"turn-started\",\"run\":[\"a\"]{written}}}"
        )]);
        let hooks = parse(&TrustedText::of_test(text.as_bytes()));
        assert_eq!(
            hooks.in_force[0].bound,
            Duration::from_secs(seconds),
            "{written} {:?}",
            hooks.problems
        );
    }
    for written in [
        "0",
        "601",
        "1.0",
        "1e1",
        "1E+1",
        "-1",
        "-0",
        "1.5",
        "\"1\"",
        "18446744073709551617",
        "[1]",
        "null",
    ] {
        let kind = Kind::of(written);
        let text = file(&[&format!(
            "{{\"on\":\"turn-started\",\"run\":[\"a\"],\"timeout\":@{written}}}"
        )]);
        are_at_their_marks(&text, &[Wrong::Timeout(kind)]);
    }
}

/// SPEC 1.9, 2.2.
#[test]
fn a_hook_is_for_its_moment_and_for_its_tool_alone() {
    let of = |on: &str, tool: &str| {
        let text = file(&[&format!("{{\"on\":\"{on}\",\"run\":[\"a\"]{tool}}}")]);
        parse(&TrustedText::of_test(text.as_bytes()))
            .in_force
            .pop()
            .expect("in force")
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
