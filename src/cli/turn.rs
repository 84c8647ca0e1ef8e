//! `turn`: runs COMMAND as one turn, and ends as COMMAND ended (SPEC 8.2).
//!
//! COMMAND stays in the process group of the launcher, so the terminal treats both alike. Signals that reach only the
//! launcher are forwarded to COMMAND.

use std::ffi::{CString, OsString, c_int};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;

use bravebot_hooks::{Event, quoted, sys};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::spawn::{PosixSpawnFileActions, PosixSpawnFlags};
use nix::sys::signal::{
    SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SigSet, Signal, kill,
};
use nix::sys::stat::Mode;
use nix::sys::wait::{Id, WaitPidFlag};
use nix::unistd::{Pid, getsid, setpgid};

use super::arguments::{Flags, LAUNCHER_FAILED};
use super::display::Display;
use super::firing::Firing;
use super::reporter::CommandReporter;
use super::signals::{self, Signals, TERMINATION};
use super::spawn::{argv, spawn};

const LISTENED_FOR: [Signal; 8] = [
    SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD, SIGCONT,
];
/// The signals that interrupt the hooks of turn-finished. SIGHUP does not: the terminal may be gone, and the person still
/// wants to be notified.
const INTERRUPTING_LAST_HOOKS: [Signal; 3] = [SIGINT, SIGQUIT, SIGTERM];

/// What to end with: `Ok` is an exit status, `Err` the number of a signal.
type End = Result<i32, c_int>;

pub(crate) fn run(command: &[OsString], flags: &Flags, display: Display, mask: &SigSet) -> i32 {
    let directory = flags.directory_by_name();
    let reporter = CommandReporter::new(display.with_status_line(), &directory);
    let firing = Firing::new(flags, reporter);
    let failed = |what: &str, error: Errno| {
        let line = format!("cannot {what}: {}", error.desc());
        firing.reporter.display.line(&line);
        LAUNCHER_FAILED
    };
    let mut signals = match Signals::listen(&LISTENED_FOR) {
        Ok(signals) => signals,
        Err(error) => return failed("listen for signals", sys::errno(error)),
    };
    let end = match firing.fire(Event::TurnStarted, &mut signals, &TERMINATION) {
        Some(signal) => Err(signal as c_int),
        None => match start(&argv(command), mask) {
            Ok(command) => wait_for(command, &mut signals),
            Err(error) => {
                let program = command.first().map(|program| quoted(program.as_bytes()));
                let failed = failed(&format!("run {}", program.unwrap_or_default()), error);
                // As with env(1). If there is no room for another process, that is not COMMAND's fault.
                Ok(match error {
                    Errno::ENOENT => 127,
                    Errno::EAGAIN | Errno::ENOMEM => failed,
                    _ => 126,
                })
            }
        },
    };
    // Signals that have arrived until now count as COMMAND's.
    signals.take().for_each(drop);
    if signals.has_hung_up {
        leave_process_group_of_lost_terminal();
    }
    firing.fire(Event::TurnFinished, &mut signals, &INTERRUPTING_LAST_HOOKS);
    end.unwrap_or_else(signals::terminate_with)
}

fn start(argv: &[CString], mask: &SigSet) -> Result<Pid, Errno> {
    let program = argv.first().ok_or(Errno::ENOENT)?;
    let actions = PosixSpawnFileActions::init()?;
    spawn(program, argv, mask, &actions, PosixSpawnFlags::empty())
}

/// Waits until COMMAND has ended. Until then it forwards signals, and stops when COMMAND stops.
fn wait_for(command: Pid, signals: &mut Signals) -> End {
    let descriptor = signals.descriptor();
    let wait = |flags| sys::wait(Id::Pid(command), flags | WaitPidFlag::WNOHANG);
    loop {
        let mut polled = [PollFd::new(descriptor.as_fd(), PollFlags::POLLIN)];
        let _ = poll(&mut polled, PollTimeout::NONE);
        for (signal, sender) in signals.take() {
            if is_forwarded(signal, sender, command) {
                // COMMAND is not reaped yet, so no other process can have its id.
                let _ = kill(command, signal);
            }
        }
        match wait(WaitPidFlag::WEXITED) {
            Ok(Some(status)) if status.stopped_signal().is_none() => {
                return status.code().ok_or(status.signal().unwrap_or_default());
            }
            // One that asked to be traced (ptrace(2)) stops for its parent, and has not ended.
            Ok(_) => {}
            // There is no such child, and so nothing to wait for.
            Err(_) => return Ok(LAUNCHER_FAILED),
        }
        // A stop that a SIGCONT has ended meanwhile is not returned: that signal was forwarded above.
        if let Ok(Some(_)) = wait(WaitPidFlag::WSTOPPED) {
            signals::stop();
        }
    }
}

/// Returns whether a signal is passed on to COMMAND. (A kill of the whole group from outside may reach it twice.)
fn is_forwarded(signal: Signal, sender: Option<Pid>, command: Pid) -> bool {
    match signal {
        SIGCHLD => false,
        SIGCONT => true,
        // The terminal sends these to the whole process group.
        SIGINT | SIGQUIT if sender.is_none() => false,
        _ => sender != Some(command),
    }
}

/// After a SIGHUP, moves this process to the group of the session's leader if the terminal is gone. The shell, and then the
/// kernel, send more of them to the group that this process was in. They would kill a hook that is just starting, since it
/// is in that group until it has its session.
///
/// While there is a terminal, this process stays in its group. Otherwise Ctrl-C would not reach it.
fn leave_process_group_of_lost_terminal() {
    let flags = OFlag::O_RDONLY | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    if open("/dev/tty", flags, Mode::empty()).is_err() {
        // Not to a new group: this process may lead its own already.
        let _ = getsid(None).and_then(|leader| setpgid(Pid::from_raw(0), leader));
    }
}
