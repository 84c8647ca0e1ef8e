//! What holds of every input, each said once: a function here takes raw input and panics where it does not hold.
//!
//! `cargo test` drives them with proptest and with tables, the targets in `tests/fuzz` with what libFuzzer comes upon. Where
//! the answer itself can be told, it is compared with that of a slow and simple second reading of the clause, which shares no
//! code with the first.

mod environment;
mod escaping;
mod hooks;
mod path;

pub use environment::environment_of;
pub use escaping::escaped_of;
pub use hooks::hooks_of;
pub use path::path_of;

#[cfg(test)]
mod inputs;
#[cfg(test)]
mod json_suite;

/// That `text` is one line that can neither draw nor reorder (SPEC 6.4). The list is its own: Unicode's bidirectional
/// controls, its line ends, and what has no width.
#[track_caller]
fn is_one_plain_line(text: &str) {
    let is_foul = |c: char| {
        let hidden = "\u{61c}\u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{2060}\u{feff}\u{ad}\u{180e}";
        c.is_control()
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || ('\u{2066}'..='\u{2069}').contains(&c)
            || hidden.contains(c)
    };
    assert!(
        !text.is_empty() && !text.contains(is_foul),
        "{}",
        text.escape_unicode()
    );
}
