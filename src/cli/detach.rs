//! Going on in a process of its own, for agents that do not wait for, or kill, what they started (SPEC 8.1).

use std::os::fd::OwnedFd;

use bravebot_hooks::{above_standard_streams, sys};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout, pipe2, read, setsid, write};

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

/// Goes on in a second process. The first returns when the other is out of reach of what is sent to its process group and
/// holds none of its streams; blocks for so long, which is five system calls of the other. An error is the first's to tell.
pub(crate) fn detach() -> Result<Side, Errno> {
    let null = above_standard_streams(open(
        "/dev/null",
        OFlag::O_RDWR | OFlag::O_CLOEXEC,
        Mode::empty(),
    )?)?;
    let (outcome, tell) = pipe2(OFlag::O_CLOEXEC)?;
    let (outcome, tell) = (
        above_standard_streams(outcome)?,
        above_standard_streams(tell)?,
    );
    if sys::fork()? == 0 {
        let left = leave(&null);
        // An error has a number of one byte.
        let _ = write(tell, &[left.err().map_or(0, |error| error as u8)]);
        return Ok(if left.is_ok() {
            Side::Detached
        } else {
            Side::Caller
        });
    }
    drop(tell);
    let mut error = [0];
    loop {
        match read(&outcome, &mut error) {
            Ok(1) if error == [0] => return Ok(Side::Caller),
            Ok(1) => return Err(Errno::from_raw(error[0].into())),
            // It has been killed on the way.
            Ok(_) => return Err(Errno::ESRCH),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}

fn leave(null: &OwnedFd) -> Result<(), Errno> {
    setsid()?;
    dup2_stdin(null)?;
    dup2_stdout(null)?;
    dup2_stderr(null)
}
