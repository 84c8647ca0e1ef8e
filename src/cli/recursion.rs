//! Whether this command runs inside a hook of its own, which then must not fire again without end (SPEC 8.7).
//!
//! A launcher marks itself by its name in /proc while it runs hooks, and not while COMMAND runs. A hook leads its session
//! and its parent is that launcher, so only the leaders of sessions are looked at, one each. Nothing is added to the
//! environment of a hook. Not seen: a chain through a process whose parent has ended, a copy of the program, another
//! user's, a container or a daemon, no /proc, and a host that links the library.

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::MetadataExt;

use nix::sys::prctl::{get_name, set_name};
use nix::unistd::getsid;

/// The name while hooks run; the kernel keeps 15 bytes (prctl(2), PR_SET_NAME).
const FIRING: &str = "bravebot-firing";
/// More sessions within sessions than there are.
const MOST_SESSIONS: usize = 64;

/// While this lives, others see that this process runs hooks.
pub(crate) struct Mark(Option<CString>);

impl Mark {
    /// Of the process's first thread, whose name is that of the process: call it there.
    pub(crate) fn set() -> Mark {
        let before = get_name().ok();
        let _ = CString::new(FIRING).map(|name| set_name(&name));
        Mark(before)
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = set_name(before);
        }
    }
}

/// Whether an ancestor is a hook: it leads its session, and its parent is this program and marked.
pub(crate) fn is_inside_a_hook() -> bool {
    let own = fs::metadata("/proc/self/exe");
    let Ok(own_session) = getsid(None) else {
        return false;
    };
    let mut session = own_session.as_raw();
    for _ in 0..MOST_SESSIONS {
        let Some((parent, _)) = parent_and_session(session) else {
            return false;
        };
        let is_firing = fs::read(format!("/proc/{parent}/comm"))
            .is_ok_and(|name| name.trim_ascii_end() == FIRING.as_bytes());
        // Where it may not be read, as from a user namespace or of a program that is not readable, the mark counts.
        let is_this_program = || match (&own, fs::metadata(format!("/proc/{parent}/exe"))) {
            (Ok(own), Ok(exe)) => (exe.dev(), exe.ino()) == (own.dev(), own.ino()),
            _ => true,
        };
        if is_firing && is_this_program() {
            return true;
        }
        match parent_and_session(parent) {
            Some((_, next)) if next != session && next > 0 => session = next,
            _ => return false,
        }
    }
    false
}

/// Fields 4 and 6 of /proc/PID/stat (proc_pid_stat(5)).
fn parent_and_session(pid: i32) -> Option<(i32, i32)> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold anything.
    let rest = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
    let mut fields = std::str::from_utf8(rest)
        .ok()?
        .split_ascii_whitespace()
        .skip(1);
    Some((fields.next()?.parse().ok()?, fields.nth(1)?.parse().ok()?))
}
