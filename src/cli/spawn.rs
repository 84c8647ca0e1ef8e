//! Starts a process that has what this one was started with: COMMAND, or a launcher that goes on alone.

use std::ffi::{CStr, CString, OsString};
use std::os::unix::ffi::OsStrExt;
use std::{env, fs};

use nix::errno::Errno;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags as Flags, posix_spawnp};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::Pid;

/// Starts `program` with the environment of this process and the signal mask `mask`. Signals that are ignored stay
/// ignored, and the others, as well as SIGCHLD, are at their default.
///
/// The program is found as execvp(3) finds it, but glibc hands no file to a shell (only the symbol of before 2.15 does).
/// It leaves its own signals 32 and 33 ignored.
pub(crate) fn spawn(
    program: &CStr,
    argv: &[CString],
    mask: &SigSet,
    actions: &PosixSpawnFileActions,
    flags: Flags,
) -> Result<Pid, Errno> {
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_sigmask(mask)?;
    attributes.set_sigdefault(&SigSet::from(Signal::SIGCHLD))?;
    let flags = flags | Flags::POSIX_SPAWN_SETSIGMASK | Flags::POSIX_SPAWN_SETSIGDEF;
    attributes.set_flags(flags)?;
    posix_spawnp(program, actions, &attributes, argv, &environment())
}

/// The words of a command line. A word that came from a command line has no NUL.
pub(crate) fn argv(words: &[OsString]) -> Vec<CString> {
    let words = words.iter().map(|word| CString::new(word.as_bytes()));
    words.flatten().collect()
}

/// The environment that this process was started with, including entries that are not assignments.
fn environment() -> Vec<CString> {
    let variable = |(name, value): (OsString, OsString)| {
        [name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat()
    };
    let block = fs::read("/proc/self/environ");
    // Without /proc, what the standard library makes of it has to do.
    let block = block.unwrap_or_else(|_| env::vars_os().flat_map(variable).collect());
    let entries = block.split_inclusive(|byte| *byte == 0).map(<[u8]>::to_vec);
    entries.flat_map(CString::from_vec_with_nul).collect()
}
