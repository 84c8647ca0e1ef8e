//! The environment of a hook, from the raw array of the host's (SPEC 3.4, 4).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::environment::{Environment, WITHHELD};

/// Of any array of entries, each ended by a NUL, and any names to withhold too, written so as well: a hook gets what a
/// slow and simple reading of the clauses gives it.
pub fn environment_of(block: &[u8], also: &[u8]) {
    // As the standard library takes the array apart: the first character is never the sign, so that "=A=b" is "=A".
    let pairs = entries(block).filter_map(|entry| {
        let sign = entry
            .iter()
            .enumerate()
            .skip(1)
            .find(|(_, byte)| **byte == b'=')?
            .0;
        Some((os(&entry[..sign]), os(&entry[sign + 1..])))
    });
    let also: Vec<OsString> = entries(also).map(os).collect();
    is_as_expected(&Environment::withholding(pairs, &also), block, &also);
}

/// That `environment` is what is to become of `block`.
pub(super) fn is_as_expected(environment: &Environment, block: &[u8], also: &[OsString]) {
    let expected = expected(block, also);
    let shown = |entries: &[Vec<u8>]| {
        entries
            .iter()
            .map(|entry| entry.escape_ascii().to_string())
            .collect::<Vec<_>>()
    };
    let found: Vec<Vec<u8>> = environment
        .block()
        .iter()
        .map(|entry| entry.to_bytes().to_vec())
        .collect();
    assert_eq!(
        shown(&found),
        shown(&expected),
        "of {}",
        block.escape_ascii()
    );
    for name in ["PATH", "HOME", "PWD", "A", "ANTHROPIC_API_KEY"] {
        let start = format!("{name}=");
        let value = expected
            .iter()
            .find_map(|entry| entry.strip_prefix(start.as_bytes()))
            .map(OsStr::from_bytes);
        assert_eq!(environment.value(name), value, "{name}");
    }
}

fn expected(block: &[u8], also: &[OsString]) -> Vec<Vec<u8>> {
    let withheld: Vec<Vec<u8>> = WITHHELD
        .iter()
        .map(|(name, _)| name.as_bytes())
        .chain(also.iter().map(|name| name.as_bytes()))
        .map(<[u8]>::to_ascii_uppercase)
        .collect();
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for entry in entries(block).filter(|entry| entry.len() > 1) {
        let (first, rest) = entry.split_at(1);
        let mut parts = rest.splitn(2, |byte| *byte == b'=');
        let (Some(rest), Some(_)) = (parts.next(), parts.next()) else {
            continue;
        };
        let name = [first, rest].concat();
        let start = [&*name, b"="].concat();
        let is_to_go = name == b"PWD"
            || name == b"OLDPWD"
            || withheld.contains(&name.to_ascii_uppercase())
            || kept.iter().any(|earlier| earlier.starts_with(&start));
        if !is_to_go {
            kept.push(entry.to_vec());
        }
    }
    kept
}

fn entries(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    block.split(|byte| *byte == 0)
}

fn os(bytes: &[u8]) -> OsString {
    OsStr::from_bytes(bytes).to_owned()
}
