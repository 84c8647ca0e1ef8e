//! Escapes text for people, so that it stays on one line and can neither draw nor reorder (SPEC 6.4).
//!
//! The result has no control character, no bidirectional control, no invisible character and no line break. A backslash
//! and a double quote are escaped too, so that no two texts look the same.

use std::fmt::Write;

/// The escaped text is cut after this many bytes, so that a report made of a few such texts stays one short line.
const MAX_LENGTH: usize = 1024;

/// Returns `text` in double quotes and escaped. It is about a kilobyte long at most; a longer one ends in `…`.
pub fn quoted(text: impl AsRef<[u8]>) -> String {
    format!("\"{}\"", escaped(text))
}

/// Returns `text` escaped. It is about a kilobyte long at most; a longer one ends in `…`.
pub fn escaped(text: impl AsRef<[u8]>) -> String {
    let mut out = String::new();
    for chunk in text.as_ref().utf8_chunks() {
        for piece in chunk
            .valid()
            .chars()
            .map(Ok)
            .chain(chunk.invalid().iter().map(Err))
        {
            if out.len() >= MAX_LENGTH {
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

/// Returns whether a terminal shows `c` as itself, in its place.
pub(crate) fn is_plain(c: char) -> bool {
    !(c.is_control() || is_invisible(c) || matches!(c, '"' | '\\'))
}

/// Characters outside Cc that are invisible, reorder text or end a line: soft hyphen, Arabic letter mark, zero-width
/// and directional marks, line and paragraph separators, embeddings, isolates, fillers, byte order mark, annotations,
/// tags (Unicode 15, general categories Cf, Zl and Zp, and the blank letters).
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
        | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
