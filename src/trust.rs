//! Opens what lies below `HOME` if nobody but root or this user could have chosen its bytes.
//!
//! The only maker of [`TrustedText`]. Walks with `walk.rs`, judges with `judge.rs`, and knows nothing of JSON.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Component, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::unistd::{getegid, geteuid, getgid, getuid};

use crate::judge::{Facts, judge_file};
use crate::report::{Fault, Refusal};
use crate::user::is_known;
use crate::walk::{Found, Walk};

/// Bytes of a file that nobody but root or this user could have chosen.
#[derive(Debug)]
pub(crate) struct TrustedText(Vec<u8>);

impl TrustedText {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    #[cfg(any(test, fuzzing))]
    pub(crate) fn of_test(bytes: &[u8]) -> TrustedText {
        TrustedText(bytes.to_vec())
    }
}

/// `HOME` as it was when the launcher was made.
#[derive(Clone, Debug)]
pub(crate) struct Home(PathBuf);

impl Home {
    /// `None` where `HOME` is unset or empty: then there are no hooks, and no report (SPEC 1.1).
    pub(crate) fn of(home: Option<OsString>) -> Result<Option<Home>, Refusal> {
        let Some(home) = home.filter(|home| !home.is_empty()) else {
            return Ok(None);
        };
        let home = PathBuf::from(home);
        let first = home.components().nth(1);
        if !home.is_absolute() {
            Err(Refusal::of_home(&home, Fault::HomeNotAbsolute))
        } else if first.is_some_and(|first| {
            ["proc", "dev"]
                .map(|name| Component::Normal(name.as_ref()))
                .contains(&first)
        }) {
            Err(Refusal::of_home(&home, Fault::HomeThroughProc))
        } else if getuid() != geteuid() || getgid() != getegid() {
            // The program with the bit is the one that runs here.
            Err(Refusal::of_home(
                &std::env::current_exe().unwrap_or_default(),
                Fault::IdsDiffer,
            ))
        } else if !is_known(geteuid().as_raw()) {
            Err(Refusal::of_home(&home, Fault::NotMapped))
        } else {
            Ok(Some(Home(home)))
        }
    }

    pub(crate) fn join(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// The file at `path` below `HOME`, whole; `None` where it, or a directory on the way, does not exist (SPEC 1.2).
    pub(crate) fn read(&self, path: &str, limit: usize) -> Result<Option<TrustedText>, Refusal> {
        let Some((walk, found)) = Walk::to(&self.0, path)? else {
            return Ok(None);
        };
        let Found::Other(name, stat) = found else {
            return Err(walk.refusal(Fault::NotAFile("a directory")));
        };
        judge(&walk, &stat)?;
        // Should the name have become a link, a FIFO or a device since, this open neither follows nor waits.
        let flags = OFlag::O_RDONLY
            | OFlag::O_NONBLOCK
            | OFlag::O_NOFOLLOW
            | OFlag::O_NOCTTY
            | OFlag::O_CLOEXEC;
        let file =
            openat(walk.at(), &*name, flags, Mode::empty()).map_err(|error| match error {
                Errno::EACCES => walk.refusal(Fault::NotReadable { owner: stat.st_uid }),
                error => walk.refusal(Fault::System(error)),
            })?;
        judge(
            &walk,
            &fstat(&file).map_err(|error| walk.refusal(Fault::System(error)))?,
        )?;
        let mut bytes = Vec::new();
        match File::from(file)
            .take(limit as u64 + 1)
            .read_to_end(&mut bytes)
        {
            Ok(read) if read > limit => Err(walk.refusal(Fault::TooLarge { limit })),
            Ok(_) => Ok(Some(TrustedText(bytes))),
            Err(error) => Err(walk.refusal(Fault::System(Errno::from_raw(
                error.raw_os_error().unwrap_or(0),
            )))),
        }
    }

    /// The directory at `path` below `HOME`, judged like the way to a file; `None` where it does not exist.
    pub(crate) fn directory(&self, path: &str) -> Result<Option<OwnedFd>, Refusal> {
        match Walk::to(&self.0, path)? {
            None => Ok(None),
            Some((walk, Found::Directory)) => Ok(Some(walk.into_directory())),
            Some((walk, Found::Other(..))) => Err(walk.refusal(Fault::NotADirectory)),
        }
    }
}

/// Of the file in the directory that `walk` has come to: first of what is there, then of what was opened, which counts.
fn judge(walk: &Walk<'_>, stat: &FileStat) -> Result<(), Refusal> {
    let directory = fstat(walk.at()).map_err(|error| walk.refusal(Fault::System(error)))?;
    let fault = match SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFREG => match judge_file(&Facts::of(stat), &Facts::of(&directory)) {
            Ok(()) => return Ok(()),
            Err(fault) => fault,
        },
        SFlag::S_IFIFO => Fault::NotAFile("a FIFO"),
        SFlag::S_IFSOCK => Fault::NotAFile("a socket"),
        SFlag::S_IFDIR => Fault::NotAFile("a directory"),
        _ => Fault::NotAFile("a device"),
    };
    Err(walk.refusal(fault))
}
