//! Listening for signals, and dying of one.
//!
//! Signals are blocked and read from a descriptor; no handler is installed, so what is ignored or at its default stays
//! so, for COMMAND too. A blocked signal is queued even where it is ignored, so what was ignored at the start is left
//! alone: under nohup a SIGHUP is nobody's business.

use std::os::fd::{AsFd, BorrowedFd};

use bravebot_hooks::sys;
use nix::errno::Errno;
use nix::sys::prctl::set_dumpable;
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// The signals that end a moment and are died of.
pub(crate) const ENDING: [Signal; 4] = [
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGHUP,
];

/// Keeps the launcher itself from the signals that a write can bring: a closed pipe, a terminal of which it is in the
/// background, a limit on the size of files. Each is then an error of that write.
///
/// Returns the mask that the launcher was started with.
pub(crate) fn shield() -> SigSet {
    let dangers = SigSet::from_iter([Signal::SIGPIPE, Signal::SIGTTOU, Signal::SIGXFSZ]);
    dangers
        .thread_swap_mask(SigmaskHow::SIG_BLOCK)
        .unwrap_or_else(|_| SigSet::empty())
}

/// A signal that has arrived.
#[derive(Clone, Copy)]
pub(crate) struct Received {
    pub(crate) signal: Signal,
    /// The process that sent it; `None` where the kernel did, as for a Ctrl-C at the terminal (si_code in sigaction(2)).
    pub(crate) sender: Option<i32>,
}

/// The signals that are listened for, blocked from here on.
pub(crate) struct Signals(SignalFd);

impl Signals {
    /// Listens for those of `signals` that were not ignored at the start, and for all of `always`.
    pub(crate) fn listen(signals: &[Signal], always: &[Signal]) -> Result<Signals, Errno> {
        let wanted = signals
            .iter()
            .filter(|signal| !sys::is_ignored(**signal))
            .chain(always);
        let set: SigSet = wanted.copied().collect();
        set.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).map(Signals)
    }

    /// Readable when one has arrived.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Those that have arrived, each once. Never blocks.
    pub(crate) fn received(&self) -> impl Iterator<Item = Received> {
        std::iter::from_fn(|| self.0.read_signal().ok().flatten()).filter_map(|info| {
            let signal = Signal::try_from(i32::try_from(info.ssi_signo).ok()?).ok()?;
            let sender = (info.ssi_code <= 0).then_some(info.ssi_pid.cast_signed());
            Some(Received { signal, sender })
        })
    }
}

/// Makes SIGCHLD report children also where the launcher was started with it ignored (SPEC 8.2).
pub(crate) fn hear_of_children() {
    if sys::is_ignored(Signal::SIGCHLD) {
        sys::restore_default(Signal::SIGCHLD as i32);
    }
}

/// Dies of `signal` with its default action and without a core file. Where that is survived, as by process 1, the status
/// to exit with is returned.
pub(crate) fn die_of(signal: i32) -> i32 {
    // A limit of 0 on core files does not stop a core_pattern that is a pipe; this does.
    let _ = set_dumpable(false);
    sys::restore_default(signal);
    sys::unblock(signal);
    sys::raise(signal);
    128 + signal
}
