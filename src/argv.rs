//! A program and its arguments, and where the program is found.
//!
//! An [`Argv`] is never empty, holds no NUL, and its program is one that nobody would have to expand first (SPEC 1.8).
//! Knows nothing of moments or of starting. The path found is never canonicalised: multi-call binaries and virtual
//! environments live by the name they are called by.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use nix::unistd::{AccessFlags, access};

use crate::report::StartError;
use crate::sys::Strings;

/// `PATH` where the hook's environment has none (SPEC 3.2).
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A program and each of its arguments, as posix_spawn(3) takes them.
#[derive(Debug)]
pub(crate) struct Argv {
    program: Arc<str>,
    words: Strings,
}

/// Why strings are not an [`Argv`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// There is no string at all.
    Empty,
    /// The program is empty or only blanks.
    BlankProgram,
    /// The program begins with `~/` or `$`, which nothing expands.
    Unexpanded,
    /// The string at this index holds a NUL.
    Nul(usize),
}

impl Argv {
    pub(crate) fn of(words: &[impl AsRef<str>]) -> Result<Argv, Flaw> {
        let program = words.first().ok_or(Flaw::Empty)?.as_ref();
        if program.trim().is_empty() {
            return Err(Flaw::BlankProgram);
        }
        if program.starts_with("~/") || program.starts_with('$') {
            return Err(Flaw::Unexpanded);
        }
        let words = words
            .iter()
            .enumerate()
            .map(|(index, word)| CString::new(word.as_ref()).map_err(|_| Flaw::Nul(index)));
        Ok(Argv {
            program: program.into(),
            words: words.collect::<Result<Vec<_>, _>>()?.into(),
        })
    }

    /// The program as the file wrote it; `argv[0]` of the hook.
    pub(crate) fn program(&self) -> &Arc<str> {
        &self.program
    }

    /// The program and its arguments.
    pub(crate) fn words(&self) -> &Strings {
        &self.words
    }

    /// The path to start: as written where it holds a `/`, else the first executable file of that name in the absolute
    /// entries of `path` (SPEC 3.2). A match that is a directory or not executable is passed over.
    pub(crate) fn find(&self, path: Option<&OsStr>) -> Result<CString, StartError> {
        if self.program.contains('/') {
            return Ok(self.words[0].clone());
        }
        let mut not_executable = None;
        for directory in path
            .unwrap_or(OsStr::new(DEFAULT_PATH))
            .as_bytes()
            .split(|byte| *byte == b':')
        {
            if !directory.starts_with(b"/") {
                continue;
            }
            let candidate = Path::new(OsStr::from_bytes(directory)).join(&*self.program);
            if !candidate.is_file() {
                continue;
            }
            if access(&candidate, AccessFlags::X_OK).is_ok() {
                // Neither part can hold a NUL: one is checked above, the other is from an environment block.
                return CString::new(candidate.into_os_string().as_bytes())
                    .map_err(|_| StartError::NoSuchFile);
            }
            not_executable.get_or_insert(candidate);
        }
        if not_executable.is_none() && self.program.contains(char::is_whitespace) {
            return Err(StartError::NotSplit);
        }
        if not_executable.is_none() && self.program.contains('=') {
            return Err(StartError::Assignment);
        }
        Err(StartError::NotInPath { not_executable })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaw(words: &[&str]) -> Option<Flaw> {
        Argv::of(words).err()
    }

    /// SPEC 1.8.
    #[test]
    fn a_program_that_somebody_would_have_to_expand_is_none() {
        assert_eq!(flaw(&[]), Some(Flaw::Empty));
        assert_eq!(flaw(&[""]), Some(Flaw::BlankProgram));
        assert_eq!(flaw(&[" \t\u{3000}", "a"]), Some(Flaw::BlankProgram));
        assert_eq!(flaw(&["~/bin/n"]), Some(Flaw::Unexpanded));
        assert_eq!(flaw(&["$HOME/bin/n"]), Some(Flaw::Unexpanded));
        assert_eq!(flaw(&["a", "b", "c\0"]), Some(Flaw::Nul(2)));
        assert_eq!(flaw(&["~user", "~/", "$A", "*", ""]), None);
    }
}
