//! How another thread reaches the moment that is running (SPEC 5.7): a flag, and a pipe that wakes the one who waits.
//!
//! Knows nothing of hooks. A moment that is not running yet, or no longer, is not reached: the flag belongs to the
//! moment, and [`Interrupt::begin`] and [`Interrupt::end`] bound it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::{pipe2, read, write};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    NotRunning,
    Running,
    Interrupted,
}

/// Reaches the one moment that a launcher runs at a time.
pub(crate) struct Interrupt {
    moment: Mutex<Moment>,
    wake: OwnedFd,
    waker: OwnedFd,
}

impl Interrupt {
    pub(crate) fn new() -> Result<Interrupt, Errno> {
        let (wake, waker) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        Ok(Interrupt {
            moment: Mutex::new(Moment::NotRunning),
            wake: crate::process::above_standard_streams(wake)?,
            waker: crate::process::above_standard_streams(waker)?,
        })
    }

    /// Interrupts the moment that is running; does nothing where none is. Never blocks for longer than a wake-up takes.
    pub(crate) fn now(&self) {
        let mut moment = self.moment.lock().unwrap_or_else(PoisonError::into_inner);
        if *moment == Moment::Running {
            *moment = Moment::Interrupted;
            // A full pipe wakes as well.
            let _ = write(&self.waker, b"!");
        }
    }

    pub(crate) fn begin(&self) {
        self.become_(Moment::Running);
    }

    pub(crate) fn end(&self) {
        self.become_(Moment::NotRunning);
    }

    pub(crate) fn is_requested(&self) -> bool {
        *self.moment.lock().unwrap_or_else(PoisonError::into_inner) == Moment::Interrupted
    }

    /// Readable when there is something to look at; [`Interrupt::drain`] makes it unreadable again.
    pub(crate) fn wake(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// A second hand on the pipe, for the thread that waits where there is no pidfd.
    pub(crate) fn waker(&self) -> Option<OwnedFd> {
        self.waker.try_clone().ok()
    }

    pub(crate) fn drain(&self) {
        let mut bytes = [0; 64];
        while read(&self.wake, &mut bytes).is_ok_and(|read| read > 0) {}
    }

    fn become_(&self, now: Moment) {
        let mut moment = self.moment.lock().unwrap_or_else(PoisonError::into_inner);
        *moment = now;
        self.drain();
    }
}
