//! Going on in a process of its own, for agents that do not wait for, or kill, what they started (SPEC 8.1).

use bravebot_hooks::{above_standard_streams, sys};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout, pipe2, read, setsid};

/// Which of the two processes this is.
pub(crate) enum Side {
    /// That which was called, and is to return.
    Caller,
    /// That which goes on: in a session of its own, with the three streams on `/dev/null`.
    Detached,
}

/// Lets go of what the agent left open besides the streams: somebody may wait for it to be closed.
///
/// For a process that has opened nothing yet.
pub(crate) fn close_what_is_not_ours() {
    // On a kernel that cannot, it stays open for as long as the hooks run.
    let _ = sys::close_from(3);
}

/// Goes on in a second process. The first has it back when the other is out of reach of what is sent to its process group,
/// and holds none of its streams; blocks for so long, which is two system calls of the other.
pub(crate) fn detach() -> Result<Side, Errno> {
    let null = above_standard_streams(open("/dev/null", OFlag::O_RDWR | OFlag::O_CLOEXEC, Mode::empty())?)?;
    let (away, gone) = pipe2(OFlag::O_CLOEXEC)?;
    let (away, gone) = (above_standard_streams(away)?, above_standard_streams(gone)?);
    if sys::fork()? != 0 {
        drop(gone);
        // At its end, also where that is because the other has died.
        while read(&away, &mut [0]) == Err(Errno::EINTR) {}
        return Ok(Side::Caller);
    }
    setsid()?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok(Side::Detached)
}
