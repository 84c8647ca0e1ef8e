//! Signals: those that the command listens for, and how it terminates or stops because of one.
//!
//! The handlers are those of the crate signal-hook, which make a descriptor readable. What was ignored when the command
//! was started gets no handler, so it stays ignored, also for COMMAND: under nohup, SIGHUP does nothing.

use std::ffi::c_int;
use std::io;
use std::mem::ManuallyDrop;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use bravebot_hooks::sys;
use nix::sys::prctl::set_dumpable;
use nix::sys::signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SigSet, SigmaskHow, Signal};
use nix::unistd::{Pid, getpid};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::WithRawSiginfo;
use signal_hook::low_level::emulate_default_handler;

/// The signals that interrupt the hooks and terminate the command.
pub(crate) const TERMINATION: [Signal; 4] = [SIGINT, SIGQUIT, SIGTERM, SIGHUP];

/// Blocks the signals that a write can cause: by a closed pipe, by a terminal that this process is in the background of,
/// and by a limit on the size of files. The write then returns an error, or takes place in the case of the terminal. Also makes the kernel keep the status
/// of children if SIGCHLD was ignored (SPEC 8.2).
///
/// Returns the signal mask that this process was started with.
pub(crate) fn protect_this_process() -> SigSet {
    let set = SigSet::from_iter([Signal::SIGPIPE, Signal::SIGTTOU, Signal::SIGXFSZ]);
    let mask = set.thread_swap_mask(SigmaskHow::SIG_BLOCK);
    if sys::is_ignored(Signal::SIGCHLD) {
        // Its default action is to do nothing.
        sys::raise_default(Signal::SIGCHLD as c_int);
    }
    mask.unwrap_or_else(|_| SigSet::empty())
}

/// The signals that are listened for.
pub(crate) struct Signals {
    /// Never dropped: the handlers stay until the process ends.
    delivery: ManuallyDrop<SignalDelivery<Arc<UnixStream>, WithRawSiginfo>>,
    /// Whether a SIGHUP has been taken.
    pub(crate) has_hung_up: bool,
}

impl Signals {
    /// Listens for those of `signals` that are not ignored, and unblocks them.
    pub(crate) fn listen(signals: &[Signal]) -> io::Result<Signals> {
        let signals = signals.iter().filter(|signal| !sys::is_ignored(**signal));
        let set = SigSet::from_iter(signals.copied());
        let numbers = set.iter().map(|signal| signal as c_int);
        let (reader, writer) = UnixStream::pair()?;
        let reader = Arc::new(reader);
        let delivery = SignalDelivery::with_pipe(reader, writer, WithRawSiginfo, numbers)?;
        set.thread_unblock()?;
        Ok(Signals {
            delivery: ManuallyDrop::new(delivery),
            has_hung_up: false,
        })
    }

    /// A descriptor that is readable when a signal has arrived.
    pub(crate) fn descriptor(&self) -> Arc<UnixStream> {
        Arc::clone(self.delivery.get_read())
    }

    /// Takes the signals that have arrived, in the order of their numbers, each with the process that sent it. The kernel
    /// sends some itself, such as SIGINT for Ctrl-C at the terminal. Never blocks.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = (Signal, Option<Pid>)> {
        self.delivery.pending().filter_map(|info| {
            let signal = Signal::try_from(info.si_signo).ok()?;
            self.has_hung_up |= signal == SIGHUP;
            Some((signal, sys::sender(&info)))
        })
    }
}

/// Terminates this process with `signal`, without a core file. If the process survives, returns the exit status to use.
pub(crate) fn terminate_with(signal: c_int) -> i32 {
    // A limit of 0 on core files does not stop a core_pattern that is a pipe; this does.
    let _ = set_dumpable(false);
    // emulate_default_handler would call abort(3) in process 1, which survives its own signals, and it does nothing for
    // SIGIO, SIGPWR, SIGSTKFLT and the real-time signals. raise_default does what is left.
    if getpid().as_raw() != 1 {
        let _ = emulate_default_handler(signal);
    }
    sys::raise_default(signal);
    128 + signal
}

/// Stops this process as Ctrl-Z does, and returns when it is continued.
pub(crate) fn stop() {
    // Unlike SIGSTOP, which emulate_default_handler sends, this does not stop an orphaned group for good (SPEC 8.2).
    sys::raise_default(Signal::SIGTSTP as c_int);
}
