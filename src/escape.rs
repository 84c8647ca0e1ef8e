//! The one escaper: text for people, on one line, that can neither draw nor reorder (SPEC 6.4).
//!
//! Knows only characters. What comes out holds no control, no bidirectional control, no invisible character and no
//! line break; a backslash and a double quote are escaped too, so that what was escaped can be told from what was not.

use std::fmt::Write;

/// At most this many bytes come of one piece of text, so that a report made of a few of them stays one short line.
const LONGEST: usize = 1024;

/// `text` in double quotes, escaped, at most about a kilobyte long; a longer one ends in `…`.
pub fn quoted(text: impl AsRef<[u8]>) -> String {
    format!("\"{}\"", escaped(text))
}

/// `text` escaped, at most about a kilobyte long; a longer one ends in `…`.
pub fn escaped(text: impl AsRef<[u8]>) -> String {
    let mut out = String::new();
    for chunk in text.as_ref().utf8_chunks() {
        for piece in chunk
            .valid()
            .chars()
            .map(Ok)
            .chain(chunk.invalid().iter().map(Err))
        {
            if out.len() >= LONGEST {
                out.push('…');
                return out;
            }
            match piece {
                Ok(c) if is_plain(c) => out.push(c),
                Ok(c) => out.extend(c.escape_default()),
                Err(byte) => {
                    let _ = write!(out, "\\x{byte:02x}");
                }
            }
        }
    }
    out
}

/// Whether a terminal shows `c` as itself, in its place.
pub(crate) fn is_plain(c: char) -> bool {
    !(c.is_control() || is_hidden(c) || matches!(c, '"' | '\\'))
}

/// Characters outside Cc that are invisible, reorder text or end a line: soft hyphen, Arabic letter mark, zero-width
/// and directional marks, line and paragraph separators, embeddings, isolates, fillers, byte order mark, annotations,
/// tags (Unicode 15, general categories Cf, Zl and Zp, and the blank letters).
pub(crate) fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
        | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SPEC 6.4.
    #[test]
    fn no_character_of_unicode_draws_breaks_or_reorders_a_line() {
        for c in '\0'..=char::MAX {
            let text = escaped(c.to_string());
            assert!(
                !text.is_empty() && text.chars().all(|c| !c.is_control() && !is_hidden(c)),
                "{:x}",
                c as u32
            );
        }
    }

    /// SPEC 6.4.
    #[test]
    fn invalid_utf8_is_shown_byte_by_byte() {
        assert_eq!(
            escaped(b"a\xff\x1b[31m\xe2\x80"),
            "a\\xff\\u{1b}[31m\\xe2\\x80"
        );
        assert_eq!(quoted("say \"hi\"\n\\"), r#""say \"hi\"\n\\""#);
    }

    /// SPEC 6.4.
    #[test]
    fn long_text_is_cut_between_characters() {
        let text = quoted("\u{202e}".repeat(60_000));
        assert!(
            text.len() < LONGEST + 20 && text.ends_with("…\""),
            "{} bytes",
            text.len()
        );
        let text = quoted([0xff; 60_000]);
        assert!(
            text.len() < LONGEST + 20 && text.ends_with("…\""),
            "{} bytes",
            text.len()
        );
    }
}
