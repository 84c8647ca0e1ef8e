//! Standard error: one line for each report, and in `turn` a status line while a hook runs (SPEC 8.6).
//!
//! A write never blocks. If a pipe is full, or a terminal is held with Ctrl-S, the line is not written here but stands in
//! the log (SPEC 6.5). O_NONBLOCK on standard error itself would also apply to the agent, which shares it, so each kind
//! of file is written to in its own way.

use std::env;
use std::io::{IsTerminal, stderr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bravebot_hooks::sys::above_stderr;
use nix::errno::Errno;
use nix::fcntl::{OFlag, SpliceFFlags, open, splice};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, send};
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::unistd::{pipe2, write};

/// The longest line in bytes, with its prefix and newline (SPEC 6.4). A pipe takes as much at once or not at all (pipe(7)).
const MAX_LINE: usize = 4096;
/// How long a hook runs before the status line is shown.
const STATUS_DELAY: Duration = Duration::from_secs(1);

/// The display of the command.
pub(crate) struct Display {
    output: Arc<Output>,
    has_status_line: bool,
    status: Mutex<Option<StatusLine>>,
}

/// While a hook runs: a sender that is dropped when the hook ends, and the thread that waits for that.
type StatusLine = (Sender<()>, JoinHandle<()>);

impl Display {
    /// A display without a status line.
    pub(crate) fn of_standard_error() -> Display {
        Display {
            output: Arc::new(Output::of_standard_error()),
            has_status_line: false,
            status: Mutex::default(),
        }
    }

    /// Adds a status line, if standard error is a terminal that can erase a line.
    pub(crate) fn with_status_line(mut self) -> Display {
        let is_terminal = matches!(*self.output, Output::Terminal(_));
        self.has_status_line = is_terminal && understands_escapes();
        self
    }

    /// Writes one line with the prefix of the command, if that is possible at once.
    pub(crate) fn line(&self, text: &str) {
        let mut line = format!("bravebot-hooks: {text}");
        line.truncate(line.floor_char_boundary(MAX_LINE - 1));
        line.push('\n');
        self.output.write(line.as_bytes());
    }

    /// Shows `text` on the status line once the hook has run for a second.
    pub(crate) fn hook_started(&self, text: &str) {
        if !self.has_status_line {
            return;
        }
        // Without automatic wrapping (DECAWM) it is one line in a window of any width, and can be erased.
        let line = format!("\r\x1b[?7lbravebot-hooks: {text}\x1b[K\x1b[?7h");
        let output = Arc::clone(&self.output);
        let (sender, hook_ended) = mpsc::channel();
        // Without a thread there is no status line, and nothing else is missing.
        let thread = thread::Builder::new().spawn(move || {
            if hook_ended.recv_timeout(STATUS_DELAY) == Err(RecvTimeoutError::Timeout) {
                output.write(line.as_bytes());
                let _ = hook_ended.recv();
                output.write(b"\r\x1b[K");
            }
        });
        if let (Ok(mut status), Ok(thread)) = (self.status.lock(), thread) {
            *status = Some((sender, thread));
        }
    }

    /// Erases the status line.
    pub(crate) fn hook_ended(&self) {
        let status = self.status.lock().ok().and_then(|mut status| status.take());
        if let Some((sender, thread)) = status {
            drop(sender);
            let _ = thread.join();
        }
    }
}

/// Returns whether a terminal of this user is one that understands escape sequences.
pub(crate) fn understands_escapes() -> bool {
    env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// Standard error, by the kind of its file.
enum Output {
    Closed,
    Socket,
    /// With the same pipe opened a second time, so that writing to it does not block. `None` if the system refuses that.
    Pipe(Option<OwnedFd>),
    /// As for a pipe.
    Terminal(Option<OwnedFd>),
    Other,
}

impl Output {
    fn of_standard_error() -> Output {
        let flags = OFlag::O_WRONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let reopen = || above_stderr(open("/proc/self/fd/2", flags, Mode::empty()).ok()?).ok();
        let kind =
            fstat(stderr()).map(|stat| SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT);
        match kind {
            Err(_) => Output::Closed,
            Ok(SFlag::S_IFSOCK) => Output::Socket,
            Ok(SFlag::S_IFIFO) => Output::Pipe(reopen()),
            Ok(_) if stderr().is_terminal() => Output::Terminal(reopen()),
            Ok(_) => Output::Other,
        }
    }

    /// Writes all of `bytes`, or nothing if that would block.
    fn write(&self, bytes: &[u8]) {
        let stderr = stderr();
        let descriptor = match self {
            Output::Closed => return,
            Output::Socket => {
                let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
                let _ = send(stderr.as_raw_fd(), bytes, flags);
                return;
            }
            Output::Pipe(None) => match splice_whole(bytes, stderr.as_fd()) {
                // There is no descriptor left for a pipe. Then it is written to like any other file.
                Err(Errno::EMFILE | Errno::ENFILE) => stderr.as_fd(),
                _ => return,
            },
            Output::Pipe(Some(reopened)) | Output::Terminal(Some(reopened)) => reopened.as_fd(),
            Output::Terminal(None) | Output::Other => stderr.as_fd(),
        };
        let mut polled = [PollFd::new(descriptor, PollFlags::POLLOUT)];
        // A signal interrupts poll(2) only while nothing is ready.
        if poll(&mut polled, PollTimeout::ZERO) == Ok(1) {
            let _ = write(descriptor, bytes);
        }
    }
}

/// Writes to a pipe of another user, which cannot be opened a second time. splice(2) moves the line there from a pipe of
/// this process, as a whole or, if that would block, not at all. Each line takes one of the 16 buffers of the pipe.
fn splice_whole(bytes: &[u8], to: BorrowedFd<'_>) -> Result<(), Errno> {
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
    let written = write(&writer, bytes)?;
    let flags = SpliceFFlags::SPLICE_F_NONBLOCK;
    splice(reader, None, to, None, written, flags).map(drop)
}
