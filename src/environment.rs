//! What of the host's environment reaches a hook: all of it as it was when the launcher was made, less the withheld
//! names, `PWD` and `OLDPWD` (SPEC 3.4).
//!
//! Pure: bytes in, bytes out. There are no patterns: a name is withheld because it stands in the table or because
//! the host or the user named it (SPEC 4.2).

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::sys::Strings;
use crate::withheld::WITHHELD;

/// The environment of every hook of one launcher, ready for posix_spawn(3).
#[derive(Debug)]
pub(crate) struct Environment {
    block: Strings,
}

impl Environment {
    /// Of a name that stands twice the first counts; every copy of a withheld name goes, whatever its case.
    pub(crate) fn withholding(
        host: impl IntoIterator<Item = (OsString, OsString)>,
        also: &[OsString],
    ) -> Environment {
        let host: Vec<(OsString, OsString)> = host.into_iter().collect();
        let mut seen = BTreeSet::new();
        let mut block = Vec::with_capacity(host.len());
        for (name, value) in &host {
            if name == "PWD" || name == "OLDPWD" || is_withheld(name, also) || !seen.insert(name) {
                continue;
            }
            // With room for the NUL.
            let mut entry = Vec::with_capacity(name.len() + value.len() + 2);
            entry.extend_from_slice(name.as_bytes());
            entry.push(b'=');
            entry.extend_from_slice(value.as_bytes());
            // A NUL cannot stand in an environment block, so nothing is lost here.
            block.extend(CString::new(entry));
        }
        Environment {
            block: block.into(),
        }
    }

    /// `NAME=value`, one a variable, in the order of the host's block.
    pub(crate) fn block(&self) -> &Strings {
        &self.block
    }

    /// The value of `name` that a hook will find.
    pub(crate) fn value(&self, name: &str) -> Option<&OsStr> {
        self.block.iter().find_map(|entry| {
            let rest = CStr::to_bytes(entry).strip_prefix(name.as_bytes())?;
            rest.strip_prefix(b"=").map(OsStr::from_bytes)
        })
    }
}

/// Whether `name` stands in the table or among `also`, in whatever case (SPEC 4.1).
pub(crate) fn is_withheld(name: &OsStr, also: &[OsString]) -> bool {
    // The table is in upper case and sorted.
    let upper = || name.as_bytes().iter().map(u8::to_ascii_uppercase);
    WITHHELD
        .binary_search_by(|(withheld, _)| withheld.bytes().cmp(upper()))
        .is_ok()
        || also.iter().any(|also| also.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(host: &[(&str, &[u8])], also: &[&str]) -> Vec<Vec<u8>> {
        let host = host
            .iter()
            .map(|(name, value)| (name.into(), OsStr::from_bytes(value).into()));
        let also: Vec<OsString> = also.iter().map(Into::into).collect();
        Environment::withholding(host, &also)
            .block()
            .iter()
            .map(|entry| entry.to_bytes().to_vec())
            .collect()
    }

    /// SPEC 3.4.
    #[test]
    fn of_a_name_that_stands_twice_the_first_counts() {
        assert_eq!(
            of(&[("A", b"1"), ("B", b"\xff"), ("A", b"2")], &[]),
            [&b"A=1"[..], b"B=\xff"]
        );
    }

    /// SPEC 3.4, 4.1.
    #[test]
    fn every_copy_of_a_withheld_name_goes_in_any_case() {
        for (name, _) in WITHHELD {
            let lower = name.to_ascii_lowercase();
            let host: &[(&str, &[u8])] =
                &[(name, b"1"), ("KEEP", b""), (&lower, b"2"), (name, b"3")];
            assert_eq!(of(host, &[]), [b"KEEP="], "{name}");
        }
        assert_eq!(
            of(
                &[
                    ("PWD", b"/"),
                    ("Mine", b"1"),
                    ("OLDPWD", b"/"),
                    ("pwd", b"2")
                ],
                &["MINE"]
            ),
            [b"pwd=2"]
        );
    }

    /// SPEC 4.2.
    #[test]
    fn a_name_that_only_resembles_a_withheld_one_passes() {
        let host: &[(&str, &[u8])] = &[
            ("OPENAI_API_KEY_2", b"a"),
            ("MY_OPENAI_API_KEY", b"b"),
            ("OPENAI_API", b"c"),
        ];
        assert_eq!(of(host, &[]).len(), 3);
    }
}
