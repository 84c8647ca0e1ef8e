//! Small decisions that are a table of inputs and answers.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, UNIX_EPOCH};

use nix::unistd::Pid;

use crate::environment::{Environment, WITHHELD};
use crate::escape::{escaped, is_invisible, quoted};
use crate::hooks::Positions;
use crate::process::was_killed;
use crate::report::{Failure, Report};
use crate::trust::{id_outside, is_mapped_in};
use crate::turn_log::rfc3339;

/// SPEC 1.11: columns count characters, also behind multi-byte text and CRLF.
#[test]
fn a_problem_is_at_its_line_and_column() {
    let text = "é\u{1f600}\r\n\n\tx\n";
    let mut positions = Positions::of(text);
    let found = [0, 2, 6, 7, 8, 9, 10, 11, 11].map(|offset| positions.at(offset));
    assert_eq!(
        found,
        [
            (1, 1),
            (1, 2),
            (1, 3),
            (1, 4),
            (2, 1),
            (3, 1),
            (3, 2),
            (3, 3),
            (3, 3)
        ]
    );
    assert_eq!(Positions::of(text).at(text.len()), (4, 1));
}

/// SPEC 6.4.
#[test]
fn no_character_of_unicode_draws_breaks_or_reorders_a_line() {
    for c in '\0'..=char::MAX {
        let text = escaped(c.to_string());
        let draws = |c: char| c.is_control() || is_invisible(c);
        assert!(
            !text.is_empty() && !text.contains(draws),
            "{:x}",
            u32::from(c)
        );
    }
}

/// SPEC 6.4.
#[test]
fn text_is_escaped_byte_by_byte_where_it_is_invalid_and_cut_between_characters() {
    assert_eq!(
        escaped(b"a\xff\x1b[31m\xe2\x80"),
        "a\\xff\\u{1b}[31m\\xe2\\x80"
    );
    assert_eq!(quoted("say \"hi\"\n\\"), r#""say \"hi\"\n\\""#);
    for long in ["\u{202e}".repeat(60_000).as_bytes(), &[0xff; 60_000]] {
        let text = quoted(long);
        assert!(
            text.len() < 1024 + 20 && text.ends_with("…\""),
            "{} bytes",
            text.len()
        );
    }
}

fn withholding(names: &[&str], host: &[(&str, &[u8])]) -> Vec<Vec<u8>> {
    let host = host
        .iter()
        .map(|(name, value)| (name.into(), OsStr::from_bytes(value).into()));
    let names: Vec<OsString> = names.iter().map(Into::into).collect();
    let environment = Environment::withholding(host, &names);
    environment
        .block()
        .iter()
        .map(|entry| entry.to_bytes().to_vec())
        .collect()
}

/// SPEC 3.4, 4.1.
#[test]
fn every_copy_of_a_withheld_name_goes_in_any_case() {
    for (name, _) in WITHHELD {
        let lower = name.to_ascii_lowercase();
        let host: &[(&str, &[u8])] = &[(name, b"1"), ("KEEP", b""), (&lower, b"2"), (name, b"3")];
        assert_eq!(withholding(&[], host), [b"KEEP="], "{name}");
    }
}

/// SPEC 3.4, 4.2.
#[test]
fn a_name_that_only_resembles_a_withheld_one_passes_and_of_two_copies_the_first() {
    for (names, host, kept) in [
        (
            &[][..],
            &[("A", &b"1"[..]), ("B", b"\xff"), ("A", b"2")][..],
            &["A=1", "B=\\xff"][..],
        ),
        (
            &["MINE"],
            &[
                ("PWD", b"/"),
                ("Mine", b"1"),
                ("OLDPWD", b"/"),
                ("pwd", b"2"),
            ],
            &["pwd=2"],
        ),
        (
            &[],
            &[
                ("OPENAI_API_KEY_2", b"a"),
                ("MY_OPENAI_API_KEY", b"b"),
                ("OPENAI_API", b"c"),
            ],
            &["OPENAI_API_KEY_2=a", "MY_OPENAI_API_KEY=b", "OPENAI_API=c"],
        ),
    ] {
        let found = withholding(names, host);
        let found: Vec<String> = found
            .iter()
            .map(|entry| entry.escape_ascii().to_string())
            .collect();
        assert_eq!(found, kept);
    }
}

/// SPEC 4.1.
#[test]
fn the_readme_prints_the_table() {
    let readme = include_str!("../../README.md");
    let rows: Vec<String> = WITHHELD
        .iter()
        .map(|(name, whose)| format!("| `{name}` | {whose} |"))
        .collect();
    assert!(
        readme.contains(&rows.join("\n")),
        "the README should print:\n{}",
        rows.join("\n")
    );
}

/// SPEC 4.1, 4.2.
#[test]
fn the_table_is_in_order_and_holds_no_developer_tools_credential() {
    // As it is looked up: each name in upper case, by its bytes.
    assert!(
        WITHHELD
            .iter()
            .all(|(name, _)| *name == name.to_ascii_uppercase())
    );
    assert!(WITHHELD.is_sorted_by(|one, next| one.0 < next.0));
    let kept =
        "GITHUB_TOKEN GH_TOKEN NPM_TOKEN AWS_PROFILE AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY";
    for kept in kept.split(' ') {
        assert!(WITHHELD.iter().all(|(name, _)| *name != kept), "{kept}");
    }
}

/// SPEC 1.4, user_namespaces(7).
#[test]
fn a_user_is_known_where_a_range_of_the_map_has_its_number() {
    const WHOLE: &str = "         0          0 4294967295\n";
    const PART: &str = "0 1000 1\n1 100000 65536\n";
    for (map, user, is_mapped, outside) in [
        (WHOLE, 0, true, Some(0)),
        // Whoever is not mapped is shown by this number, but here everybody is.
        (WHOLE, 65534, true, Some(65534)),
        (PART, 0, true, Some(1000)),
        (PART, 1, true, Some(100_000)),
        (PART, 3, true, Some(100_002)),
        (PART, 65533, true, Some(165_532)),
        (PART, 65534, false, Some(165_533)),
        (PART, 65536, true, Some(165_535)),
        (PART, 65537, false, None),
        ("0 1000 1\n", 65534, false, None),
        ("", 65534, false, None),
        ("nonsense\n", 0, false, None),
    ] {
        let found = (is_mapped_in(map, 65534, user), id_outside(map, user));
        assert_eq!(found, (is_mapped, outside), "{user} in {map:?}");
    }
    assert!(is_mapped_in(PART, 7, 65534) && !is_mapped_in(PART, 7, 7));
}

/// SPEC 5.3, proc_pid_stat(5).
#[test]
fn a_member_counts_unless_it_had_ended_before_the_group_was_killed() {
    for (name, state, group, code, expected) in [
        ("sh", "R", 77, 0, Some(true)),
        ("sh", "S", 77, 0, Some(true)),
        ("sh", "D", 77, 0, Some(true)),
        ("sh", "T", 77, 0, Some(true)),
        ("a) Z 1 77 (b", "Z", 77, 9, Some(true)),
        ("sh", "Z", 77, 0, Some(false)),
        ("sh", "Z", 77, 15, Some(false)),
        ("sh", "R", 78, 0, None),
    ] {
        let zeroes = "0 ".repeat(46);
        let line = format!("12 ({name}) {state} 1 {group} {zeroes}{code}\n");
        assert_eq!(
            was_killed(Pid::from_raw(77), line.as_bytes()),
            expected,
            "{line}"
        );
    }
    assert_eq!(was_killed(Pid::from_raw(77), b"12 (sh"), None);
}

/// SPEC 8.5. The seconds are of date(1): `date -u -d 2024-02-29T23:59:59Z +%s`.
#[test]
fn time_is_rfc_3339_in_utc() {
    for (seconds, text) in [
        (0, "1970-01-01T00:00:00.007Z"),
        (951_782_400, "2000-02-29T00:00:00.007Z"),
        (1_709_251_199, "2024-02-29T23:59:59.007Z"),
        (1_735_689_599, "2024-12-31T23:59:59.007Z"),
        (4_107_542_400, "2100-03-01T00:00:00.007Z"),
    ] {
        assert_eq!(
            rfc3339(UNIX_EPOCH + Duration::from_millis(seconds * 1000 + 7)),
            text
        );
    }
}

/// SPEC 6.4: with the prefix of the command and a newline a report is a line of 4,096 bytes.
#[test]
fn a_report_is_cut_between_characters_at_4079_bytes() {
    for (text, length) in [("a", 4079), ("é", 4079), ("\u{1f600}", 4079)] {
        let report = Report::without_hook(Failure::File, text.repeat(5000)).to_string();
        let is_cut = report.ends_with('…') && report.trim_end_matches('…').ends_with(text);
        assert!(
            is_cut && (length - 4..=length).contains(&report.len()),
            "{}",
            report.len()
        );
    }
    let report = Report::without_hook(Failure::File, "a".repeat(4079)).to_string();
    assert_eq!(report, "a".repeat(4079));
}
