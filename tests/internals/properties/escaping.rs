//! The escaper (SPEC 6.4): one plain short line, and the text can be had back from it.

use super::is_one_plain_line;
use crate::escape::{escaped, quoted};

/// What is not cut is shorter than this in front of its last character.
const LONGEST: usize = 1024;

/// Of any bytes: one short line that can neither draw nor reorder, from which they can be had back, or where it is cut
/// their beginning: no two texts look the same.
pub fn escaped_of(bytes: &[u8]) {
    let text = escaped(bytes);
    assert_eq!(quoted(bytes), format!("\"{text}\""));
    is_one_plain_line(&quoted(bytes));
    assert!(text.len() < LONGEST + 16, "{} bytes", text.len());
    let (kept, is_cut) = match text.strip_suffix('…') {
        Some(kept) if kept.len() >= LONGEST => (kept, true),
        _ => (&*text, false),
    };
    let back = unescaped(kept);
    assert!(
        if is_cut {
            back.len() < bytes.len() && bytes.starts_with(&back)
        } else {
            back == bytes
        },
        "{}",
        bytes.escape_ascii()
    );
}

/// The bytes that `text` stands for.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        assert_ne!(c, '"', "{text}");
        rest = &rest[c.len_utf8()..];
        if c != '\\' {
            bytes.extend(c.to_string().bytes());
            continue;
        }
        let (kind, after) = rest.split_at(1);
        let (meant, after) = match kind {
            "t" => (vec![b'\t'], after),
            "r" => (vec![b'\r'], after),
            "n" => (vec![b'\n'], after),
            "\"" | "\\" => (kind.into(), after),
            "x" => (
                vec![u8::from_str_radix(&after[..2], 16).expect(text)],
                &after[2..],
            ),
            "u" => {
                let (digits, after) = after
                    .strip_prefix('{')
                    .and_then(|after| after.split_once('}'))
                    .expect(text);
                let c = char::from_u32(u32::from_str_radix(digits, 16).expect(text)).expect(text);
                (c.to_string().into_bytes(), after)
            }
            _ => panic!("{text}"),
        };
        bytes.extend(meant);
        rest = after;
    }
    bytes
}
