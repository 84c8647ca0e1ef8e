//! Standard error: one line a report, and in `turn` a status line while a hook runs (SPEC 8.6).
//!
//! A write here never blocks: a full pipe or a terminal that is held up with Ctrl-S costs the line, which stands in the
//! log, and not the turn (SPEC 6.5). O_NONBLOCK on the descriptor itself would change the agent's own, so each kind of
//! file is written to in its own way.

use std::io::{IsTerminal, stderr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bravebot_hooks::above_standard_streams;
use nix::errno::Errno;
use nix::fcntl::{OFlag, SpliceFFlags, open, splice};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, send};
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::unistd::{pipe2, write};

/// A line, prefix and newline included (SPEC 6.4); also what a pipe takes whole (pipe(7)).
const LONGEST_LINE: usize = 4096;
/// How long a hook runs before a status line says so.
const PATIENCE: Duration = Duration::from_secs(1);

/// The display of the command.
pub(crate) struct Display {
    to: Arc<To>,
    status: Option<Status>,
}

enum To {
    Nowhere,
    Socket,
    /// Opened again without blocking, where the system lets us.
    Pipe(Option<OwnedFd>),
    /// The same.
    Terminal(Option<OwnedFd>),
    File,
}

impl Display {
    /// Without a status line.
    pub(crate) fn of_standard_error() -> Display {
        let kind =
            fstat(stderr()).map(|stat| SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT);
        let to = match kind {
            Err(_) => To::Nowhere,
            Ok(SFlag::S_IFSOCK) => To::Socket,
            Ok(SFlag::S_IFIFO) => To::Pipe(open_again()),
            Ok(_) if stderr().is_terminal() => To::Terminal(open_again()),
            Ok(_) => To::File,
        };
        Display {
            to: Arc::new(to),
            status: None,
        }
    }

    /// Without a descriptor of its own: once standard error is another file, nothing goes to the one that it was.
    pub(crate) fn of_the_stream_alone(&self) -> Display {
        let to = match *self.to {
            To::Nowhere => To::Nowhere,
            To::Socket => To::Socket,
            To::Pipe(_) => To::Pipe(None),
            To::Terminal(_) => To::Terminal(None),
            To::File => To::File,
        };
        Display {
            to: Arc::new(to),
            status: None,
        }
    }

    /// With one, where standard error is a terminal that can take a line back.
    pub(crate) fn with_status_line(mut self) -> Display {
        let can_erase =
            std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
        if can_erase && matches!(*self.to, To::Terminal(_)) {
            self.status = Some(Status::default());
        }
        self
    }

    /// Writes one line, with the prefix, if it can be written at once.
    pub(crate) fn line(&self, text: &str) {
        let mut line = format!("bravebot-hooks: {text}");
        line.truncate(line.floor_char_boundary(LONGEST_LINE - 1));
        line.push('\n');
        self.to.write(line.as_bytes());
    }

    /// Begins to count towards a status line for this hook.
    pub(crate) fn started(&self, text: String) {
        if let Some(status) = &self.status {
            status.started(text, &self.to);
        }
    }

    /// Takes the status line away, if there is one.
    pub(crate) fn over(&self) {
        if let Some(status) = &self.status {
            status.over(&self.to);
        }
    }
}

impl To {
    /// Writes all of `bytes` if that can be done at once, or none of it.
    fn write(&self, bytes: &[u8]) {
        let own = stderr();
        let descriptor = match self {
            To::Nowhere => return,
            To::Socket => {
                let _ = send(
                    own.as_raw_fd(),
                    bytes,
                    MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL,
                );
                return;
            }
            To::Pipe(Some(again)) | To::Terminal(Some(again)) => again.as_fd(),
            To::Pipe(None) => match splice_whole(bytes, own.as_fd()) {
                // Out of descriptors, so that there is no pipe of our own either: then as to a file.
                Err(Errno::EMFILE | Errno::ENFILE) => own.as_fd(),
                _ => return,
            },
            To::Terminal(None) | To::File => own.as_fd(),
        };
        let mut ready = [PollFd::new(descriptor, PollFlags::POLLOUT)];
        if poll(&mut ready, PollTimeout::ZERO) == Ok(1) {
            let _ = write(descriptor, bytes);
        }
    }
}

/// To another user's pipe, which cannot be opened again: by way of one of our own, from which splice(2) moves the line
/// whole, or not at all where it would have to wait. Each line takes one of the pipe's 16 buffers.
fn splice_whole(bytes: &[u8], to: BorrowedFd<'_>) -> Result<(), Errno> {
    let (from, own) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
    let written = write(&own, bytes)?;
    splice(
        from,
        None,
        to,
        None,
        written,
        SpliceFFlags::SPLICE_F_NONBLOCK,
    )
    .map(drop)
}

fn open_again() -> Option<OwnedFd> {
    let flags = OFlag::O_WRONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    open("/proc/self/fd/2", flags, Mode::empty())
        .and_then(above_standard_streams)
        .ok()
}

/// A thread that waits beside the hook, made when the first one starts.
#[derive(Default)]
struct Status {
    shared: Arc<(Mutex<Shown>, Condvar)>,
    thread: OnceLock<()>,
}

#[derive(Default)]
struct Shown {
    /// Since when a hook runs, and what to say of it.
    running: Option<(Instant, String)>,
    /// Whether the line stands on the screen.
    is_drawn: bool,
}

impl Status {
    fn started(&self, text: String, to: &Arc<To>) {
        let (shown, changed) = &*self.shared;
        shown.lock().unwrap_or_else(PoisonError::into_inner).running = Some((Instant::now(), text));
        changed.notify_one();
        self.thread.get_or_init(|| {
            let (shared, to) = (Arc::clone(&self.shared), Arc::clone(to));
            // Without the thread there is no status line, and nothing else is missing.
            let _ = thread::Builder::new().spawn(move || draw(&shared, &to));
        });
    }

    fn over(&self, to: &To) {
        let mut shown = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        shown.running = None;
        if std::mem::take(&mut shown.is_drawn) {
            to.write(b"\r\x1b[K");
        }
    }
}

fn draw(shared: &(Mutex<Shown>, Condvar), to: &To) {
    let (shown, changed) = shared;
    let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let wait = match &shown.running {
            Some((since, text)) if !shown.is_drawn => {
                let left = PATIENCE.saturating_sub(since.elapsed());
                if left.is_zero() {
                    // Without automatic wrapping (DECAWM) the line stays one line in any window, so it can be erased.
                    to.write(format!("\r\x1b[?7lbravebot-hooks: {text}\x1b[K\x1b[?7h").as_bytes());
                    shown.is_drawn = true;
                    continue;
                }
                left
            }
            _ => Duration::MAX,
        };
        shown = changed
            .wait_timeout(shown, wait)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
    }
}
