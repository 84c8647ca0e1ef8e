//! Detects that the command runs inside one of its own hooks, which must not fire again without end (SPEC 8.7).
//!
//! While a launcher runs hooks it has a special name in /proc, its mark. A hook leads a session and the launcher is its
//! parent, so only the leaders of the sessions around this process are examined. Nothing is added to the environment of a
//! hook. This does not detect: a parent that has ended, a copy of the program, a process of another user, in another
//! container or of a daemon, a system without /proc, and a host that links the library.

use std::ffi::{CStr, CString};
use std::fs;
use std::os::unix::fs::MetadataExt;

use nix::sys::prctl::{get_name, set_name};
use nix::unistd::{Pid, getsid};

/// The name of a launcher while it runs hooks. The kernel keeps 15 bytes (PR_SET_NAME in prctl(2)).
const MARK: &CStr = c"bravebot-firing";
/// While this value exists, the process is marked. It holds the name from before.
pub(crate) struct Mark(Option<CString>);

impl Mark {
    /// Must be called in the first thread, whose name is the name of the process.
    pub(crate) fn set() -> Mark {
        let before = get_name().ok();
        let _ = set_name(MARK);
        Mark(before)
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let _ = self.0.as_deref().map(set_name);
    }
}

/// Returns whether an ancestor is a hook: the leader of a session whose parent is this program and is marked.
pub(crate) fn is_inside_a_hook() -> bool {
    let mut session = getsid(None).map_or(0, Pid::as_raw);
    while let Some((parent, _)) = parent_and_session(session) {
        if is_marked(parent) && is_this_program(parent) {
            return true;
        }
        // The session of the leader's parent is further out, and its leader is older, so this comes to an end. There is no
        // process 0.
        session = parent_and_session(parent).map_or(0, |(_, outer)| outer);
    }
    false
}

fn is_marked(pid: i32) -> bool {
    let name = fs::read(format!("/proc/{pid}/comm"));
    name.is_ok_and(|name| name.trim_ascii_end() == MARK.to_bytes())
}

/// The answer is also yes if the program cannot be determined: from a user namespace, or if its file is not readable.
fn is_this_program(pid: i32) -> bool {
    let program = |pid: &str| fs::metadata(format!("/proc/{pid}/exe"));
    match (program("self"), program(&pid.to_string())) {
        (Ok(own), Ok(other)) => (own.dev(), own.ino()) == (other.dev(), other.ino()),
        _ => true,
    }
}

/// Fields 4 and 6 of /proc/PID/stat (proc_pid_stat(5)).
fn parent_and_session(pid: i32) -> Option<(i32, i32)> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // Field 2 is the name in parentheses, which may contain anything.
    let mut fields = stat.rsplit(')').next()?.split_ascii_whitespace().skip(1);
    Some((fields.next()?.parse().ok()?, fields.nth(1)?.parse().ok()?))
}
