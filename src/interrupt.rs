//! How another thread reaches the moment that is running (SPEC 5.7): a flag, and a pipe that wakes the one who waits.
//!
//! Knows nothing of hooks. [`Interrupt::begin`] forgets what was said before, so a moment that begins later is untouched.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::{pipe2, read, write};

use crate::descriptor::above_standard_streams;

/// Reaches the one moment that a launcher runs at a time.
pub(crate) struct Interrupt {
    is_requested: AtomicBool,
    wake: OwnedFd,
    waker: OwnedFd,
}

/// What else wakes the one who waits: a descriptor, and what to do when it is readable, which may be to interrupt.
#[derive(Default)]
pub struct Listener<'a>(pub Option<(BorrowedFd<'a>, &'a mut dyn FnMut())>);

/// All that is heard while a hook runs.
pub(crate) struct Ears<'i, 'l> {
    pub(crate) interrupt: &'i Interrupt,
    pub(crate) listener: Listener<'l>,
}

impl Ears<'_, '_> {
    /// Readable when there is something to [hear](Ears::hear).
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.listener
            .0
            .as_ref()
            .map_or(self.interrupt.wake(), |(descriptor, _)| *descriptor)
    }

    pub(crate) fn hear(&mut self) {
        if let Some((_, hear)) = &mut self.listener.0 {
            hear();
        }
    }
}

impl Interrupt {
    pub(crate) fn new() -> Result<Interrupt, Errno> {
        let (wake, waker) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        let (wake, waker) = (
            above_standard_streams(wake)?,
            above_standard_streams(waker)?,
        );
        Ok(Interrupt {
            is_requested: AtomicBool::new(false),
            wake,
            waker,
        })
    }

    /// Interrupts the moment that is running, and none that begins later. Never blocks.
    pub(crate) fn now(&self) {
        self.is_requested.store(true, Ordering::SeqCst);
        // A full pipe wakes as well.
        let _ = write(&self.waker, b"!");
    }

    /// A moment begins.
    pub(crate) fn begin(&self) {
        self.is_requested.store(false, Ordering::SeqCst);
        self.drain();
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.is_requested.load(Ordering::SeqCst)
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
}
