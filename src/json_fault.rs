//! The faults that people make when they write JSON by hand, each by its name and at its own place (SPEC 1.11).
//!
//! Knows the text, where the parser stopped and what it said there; the parser's own words are for what has no name here.
//! Quotes a key and nothing else: what stands in a value may be a token.

use crate::escape::quoted;

const BARE_WORD: &str =
    "a bare word; a string needs double quotes, and else JSON has true, false and null";

/// Where the fault is and what to write instead, from where the parser stopped.
pub(crate) fn named(text: &str, stopped: usize, reason: &str) -> (usize, String) {
    let stopped = text.floor_char_boundary(stopped);
    let (before, rest) = text.split_at(stopped);
    let said = |what: &str| (stopped, what.to_owned());
    if text.trim().is_empty() {
        return (0, "the file is empty; write {\"hooks\": []}".to_owned());
    }
    if let Some(other) = other_language(text) {
        let start = text.len() - text.trim_start().len();
        return (
            start,
            format!(
                "this is {other}; write {{\"hooks\": [{{\"on\": \"turn-finished\", \"run\": [\"program\"]}}]}} here"
            ),
        );
    }
    if reason.contains("control character") {
        return said(
            "a line break, tab or other control character in a string; write \\n or \\t, or close the string before it",
        );
    }
    if reason.contains("escape") {
        return said("no escape of JSON; write \\\\ for a backslash");
    }
    if reason.starts_with("EOF") {
        return match unclosed(text) {
            Some((at, '"')) => (
                at,
                "the string that begins here is not closed; write \" at its end".to_owned(),
            ),
            Some((at, '{')) => (
                at,
                "the object that begins here is not closed; write } at its end".to_owned(),
            ),
            Some((at, _)) => (
                at,
                "the array that begins here is not closed; write ] at its end".to_owned(),
            ),
            None => said("the text ends too early"),
        };
    }
    let last = before.trim_end();
    // The parser stops within a word that is none of its own.
    let word = last.len()
        - last
            .trim_end_matches(|c: char| c.is_ascii_alphabetic())
            .len();
    if reason == "expected ident" {
        return (last.len() - word, BARE_WORD.to_owned());
    }
    let Some(next) = rest.chars().next() else {
        return said(reason);
    };
    match next {
        '/' | '#' => said("a comment; JSON has none, take it out"),
        '\'' => said("a single quote; JSON has double quotes alone"),
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{2018}' | '\u{2019}' => {
            said("a typographic quote; write \"")
        }
        '}' | ']' if last.ends_with(',') => (
            last.len() - 1,
            "a comma after the last one; take it out".to_owned(),
        ),
        '\0' => said("a NUL, as in a file of UTF-16; save it as UTF-8"),
        ',' if last.ends_with([',', '[', '{']) => {
            said("a comma with nothing before it; take it out")
        }
        ']' if reason.starts_with("expected `,`") => {
            said("the wrong bracket: an object is open here, and ends in }")
        }
        '}' if reason.starts_with("expected `,`") => {
            said("the wrong bracket: an array is open here, and ends in ]")
        }
        _ if reason.starts_with("trailing characters") && text.trim_start().starts_with('"') => (
            0,
            "the braces around the whole file are missing; write { before this and } at the end"
                .to_owned(),
        ),
        '{' | ',' if reason.starts_with("trailing characters") => said(
            "a second value after the file's one object; put all entries into one {\"hooks\": [...]}",
        ),
        _ if reason.starts_with("trailing characters") => {
            said("text after the end of the file's one object; take it out")
        }
        ':' if reason.starts_with("expected `,`") => {
            said("a colon in an array; write { before the key")
        }
        '{' | '[' if reason.starts_with("key must be") => match unclosed(before) {
            Some((at, _)) => (
                at,
                "the object that begins here is not closed; write } at its end".to_owned(),
            ),
            None => said(reason),
        },
        ';' | '\u{ff0c}' => said("a sign that JSON does not have; write a comma"),
        _ if reason.starts_with("expected `,`")
            && last.ends_with('"')
            && !"\"{[".contains(next)
            && !next.is_ascii_digit() =>
        {
            said(
                "text after a string; write \\\" for a quote inside it, or close the one before with a quote and a comma",
            )
        }
        _ if reason.starts_with("expected `,`")
            && last.ends_with(|c: char| c.is_ascii_digit())
            && next.is_alphabetic() =>
        {
            said("text after a number; it is digits alone, or a string in quotes")
        }
        _ if reason.starts_with("expected `,`") => {
            (last.len(), "a comma is missing here".to_owned())
        }
        '=' => said("a = where JSON has a colon"),
        _ if reason.starts_with("expected `:`") => (
            last.len(),
            "a colon is missing here, between key and value".to_owned(),
        ),
        _ if reason.starts_with("key must be") && (next.is_alphabetic() || next == '_') => {
            let key: String = rest
                .chars()
                .take_while(|c| c.is_alphanumeric() || "_-$".contains(*c))
                .collect();
            // Within "run" it may be a token.
            let is_ours = ["hooks", "on", "run", "tool", "timeout"].contains(&&*key);
            let what = if is_ours {
                format!("; write {}", quoted(key))
            } else {
                String::new()
            };
            (stopped, format!("the key needs double quotes{what}"))
        }
        _ if next.is_alphabetic() => said(
            "a bare word; a string needs double quotes, and else JSON has true, false and null",
        ),
        _ if !next.is_ascii() => (
            stopped,
            format!(
                "U+{:04X} is no blank and no sign of JSON; take it out",
                u32::from(next)
            ),
        ),
        _ => said(reason),
    }
}

/// What the first line shows this to be instead.
fn other_language(text: &str) -> Option<&'static str> {
    let line = text.trim_start().lines().next()?.trim_end();
    if line == "---" || line.strip_suffix(':').is_some_and(is_bare_key) {
        return Some("YAML");
    }
    let (key, value) = line.split_once('=')?;
    let is_value = value.trim_start().starts_with(['"', '\'', '[', '{'])
        || value.trim().bytes().all(|b| b.is_ascii_digit());
    (is_bare_key(key.trim_end()) && is_value).then_some("TOML, as in Codex's config.toml")
}

fn is_bare_key(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}

/// The innermost bracket that is still open at the end, or the quote, and where it is.
fn unclosed(text: &str) -> Option<(usize, char)> {
    let mut open = Vec::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '[' | '{' => open.push((at, c)),
            ']' | '}' => drop(open.pop()),
            '"' => loop {
                match characters.next() {
                    Some((_, '\\')) => drop(characters.next()),
                    Some((_, '"')) => break,
                    Some(_) => {}
                    None => return Some((at, '"')),
                }
            },
            _ => {}
        }
    }
    open.pop()
}
