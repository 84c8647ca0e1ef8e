//! Names the faults that people make when they write JSON by hand, each at its own place (SPEC 1.11).
//!
//! Looks at the text where the parser stopped, and at what the parser said, whose words are used for a fault without a
//! name. Quotes one of our keys and nothing else: what stands in a value may be a token.

#[rustfmt::skip]
const BARE_WORD: &str = "a bare word; a string needs double quotes, and else JSON has true, false and null";
const WRITE: &str = "write {\"hooks\": [{\"on\": \"turn-finished\", \"run\": [\"program\"]}]} here";

/// Where the fault is, and what to write instead. `stopped` is where the parser stopped, at the boundary of a character.
pub(crate) fn explain(text: &str, stopped: usize, reason: &str) -> (usize, String) {
    let (before, rest) = text.split_at(stopped);
    let start = text.len() - text.trim_start().len();
    let next = rest.chars().next().unwrap_or(' ');
    let (is_eof, is_key) = (reason.starts_with("EOF"), reason.starts_with("key must be"));
    if text.trim().is_empty() {
        return (0, "the file is empty; write {\"hooks\": []}".to_owned());
    }
    if let Some(language) = other_language(&text[start..]) {
        return (start, format!("this is {language}; {WRITE}"));
    }
    if is_eof || is_key && "{[".contains(next) {
        let open = unclosed(if is_eof { text } else { before });
        let (at, what, end) = open.unwrap_or((stopped, "value", '}'));
        let sentence = format!("the {what} that begins here is not closed; write {end} at its end");
        return (at, sentence);
    }
    if is_key && (next.is_alphabetic() || next == '_') {
        let is_of_key = |c: &char| c.is_alphanumeric() || "_-$".contains(*c);
        let key: String = rest.chars().take_while(is_of_key).collect();
        // Any other word may be a token.
        let is_ours = ["hooks", "on", "run", "tool", "timeout"].contains(&&*key);
        let write = is_ours.then(|| format!("; write \"{key}\""));
        let sentence = "the key needs double quotes".to_owned() + &write.unwrap_or_default();
        return (stopped, sentence);
    }
    if let Some((at, fault)) = named(before, next, reason) {
        return (at, fault.to_owned());
    }
    let code = u32::from(next);
    let fault = match next.is_ascii() {
        true => reason.to_owned(),
        false => format!("U+{code:04X} is no blank and no sign of JSON; take it out"),
    };
    (stopped, fault)
}

/// The fault at `next`, which comes after `before`, if it has a name, and where it is.
#[rustfmt::skip]
fn named(before: &str, next: char, reason: &str) -> Option<(usize, &'static str)> {
    let is = |start: &str| reason.starts_with(start);
    let (no_comma, trailing) = (is("expected `,`"), is("trailing characters"));
    let last = before.trim_end();
    let after = |sign: fn(char) -> bool| last.ends_with(sign);
    Some((before.len(), match next {
        // The parser stops in a word that is none of its own.
        _ if is("expected ident") => return Some((last.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len(), BARE_WORD)),
        _ if reason.contains("control character") =>
            "a line break, tab or other control character in a string; write \\n or \\t, or close the string before it",
        _ if reason.contains("escape") => "no escape of JSON; write \\\\ for a backslash",
        '/' | '#' => "a comment; JSON has none, take it out",
        '\'' => "a single quote; JSON has double quotes alone",
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{2018}' | '\u{2019}' => "a typographic quote; write \"",
        '}' | ']' if after(|c| c == ',') => return Some((last.len() - 1, "a comma after the last one; take it out")),
        '\0' => "a NUL, as in a file of UTF-16; save it as UTF-8",
        ',' if after(|c| ",[{".contains(c)) => "a comma with nothing before it; take it out",
        ']' if no_comma => "the wrong bracket: an object is open here, and ends in }",
        '}' if no_comma => "the wrong bracket: an array is open here, and ends in ]",
        _ if trailing && before.trim_start().starts_with('"') =>
            return Some((0, "the braces around the whole file are missing; write { before this and } at the end")),
        '{' | ',' if trailing => "a second value after the file's one object; put all entries into one {\"hooks\": [...]}",
        _ if trailing => "text after the end of the file's one object; take it out",
        ':' if no_comma => "a colon in an array; write { before the key",
        ';' | '\u{ff0c}' => "a sign that JSON does not have; write a comma",
        _ if no_comma && after(|c| c == '"') && !"\"{[0123456789".contains(next) =>
            "text after a string; write \\\" for a quote inside it, or close the one before with a quote and a comma",
        _ if no_comma && after(|c| c.is_ascii_digit()) && next.is_alphabetic() =>
            "text after a number; it is digits alone, or a string in quotes",
        _ if no_comma => return Some((last.len(), "a comma is missing here")),
        '=' => "a = where JSON has a colon",
        _ if is("expected `:`") => return Some((last.len(), "a colon is missing here, between key and value")),
        _ if next.is_alphabetic() => BARE_WORD,
        _ => return None,
    }))
}

/// What the first line shows this to be instead.
fn other_language(text: &str) -> Option<&'static str> {
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let is_bare_key =
        |key: &str| key.starts_with(char::is_alphabetic) && key.chars().all(is_of_key);
    let line = text.lines().next()?.trim_end();
    if line == "---" || line.strip_suffix(':').is_some_and(is_bare_key) {
        return Some("YAML");
    }
    let (key, value) = line.split_once('=')?;
    let value = value.trim();
    let is_value =
        value.starts_with(['"', '\'', '[', '{']) || value.bytes().all(|b| b.is_ascii_digit());
    (is_bare_key(key.trim_end()) && is_value).then_some("TOML, as in Codex's config.toml")
}

/// Where the innermost bracket or quote is that is still open at the end, what it begins, and what closes it.
fn unclosed(text: &str) -> Option<(usize, &'static str, char)> {
    let mut open = Vec::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '[' => open.push((at, "array", ']')),
            '{' => open.push((at, "object", '}')),
            ']' | '}' => drop(open.pop()),
            '"' => loop {
                match characters.next() {
                    Some((_, '\\')) => drop(characters.next()),
                    Some((_, '"')) => break,
                    Some(_) => {}
                    None => return Some((at, "string", '"')),
                }
            },
            _ => {}
        }
    }
    open.pop()
}
