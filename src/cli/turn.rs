//! `turn`: COMMAND as one turn, ending as COMMAND ends (SPEC 8.2).

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use bravebot_hooks::sys::{self, Change, Child};
use bravebot_hooks::{Event, Launcher, quoted};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::stat::Mode;
use nix::sys::wait::WaitPidFlag;
use nix::unistd::{Pid, getsid, setpgid};

use super::arguments::{LAUNCHER_FAILED, Turn};
use super::display::Display;
use super::host::Host;
use super::signals::{self, ENDING, Signals};
use super::watch::Watch;

const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// Passed on to COMMAND, whoever sent them.
const PASSED_ON: [Signal; 4] = [
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];
/// Passed on when a process sent them: what the terminal sends reaches COMMAND by itself.
const OF_THE_TERMINAL: [Signal; 2] = [Signal::SIGINT, Signal::SIGQUIT];
/// What ends the hooks of turn-finished; a terminal that goes away does not.
const ENDING_LAST_HOOKS: [Signal; 3] = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM];

/// How the launcher ends.
enum End {
    Status(i32),
    Signal(i32),
}

pub(crate) fn run(request: Turn, display: Display, mask: &SigSet) -> i32 {
    let host = Arc::new(Host::new(
        display.with_status_line(),
        &request.common.directory_by_name(),
    ));
    signals::hear_of_children();
    let listened = [&PASSED_ON[..], &OF_THE_TERMINAL[..]].concat();
    let signals = match Signals::listen(&listened, &[Signal::SIGCHLD, Signal::SIGCONT]) {
        Ok(signals) => signals,
        Err(error) => {
            host.line(&format!("cannot listen for signals: {}", error.desc()));
            return LAUNCHER_FAILED;
        }
    };
    let launcher = Launcher::withholding(request.common.withhold.clone(), Arc::clone(&host));
    let watch = Watch::new(&launcher, &host, request.common.directory());
    let mut hung_up = false;
    let end = match watch.fire(Event::TurnStarted, &signals, &ENDING) {
        Some(signal) => End::Signal(signal as i32),
        None => command(&request.command, mask, &signals, &host, &mut hung_up),
    };
    // What arrived until now was COMMAND's.
    signals
        .received()
        .for_each(|received| hung_up |= received.signal == Signal::SIGHUP);
    if hung_up {
        leave_the_group_of_a_lost_terminal();
    }
    watch.fire(Event::TurnFinished, &signals, &ENDING_LAST_HOOKS);
    match end {
        End::Status(status) => status,
        End::Signal(signal) => signals::die_of(signal),
    }
}

/// Runs COMMAND to its end.
fn command(
    words: &[OsString],
    mask: &SigSet,
    signals: &Signals,
    host: &Host,
    hung_up: &mut bool,
) -> End {
    let name = words
        .first()
        .map(|word| quoted(word.as_bytes()))
        .unwrap_or_default();
    match start(words, mask) {
        Ok(command) => wait_for(command, signals, hung_up),
        Err(error) => {
            host.line(&format!("cannot run {name}: {}", error.desc()));
            End::Status(match error {
                Errno::ENOENT => NOT_FOUND,
                // Not COMMAND's fault: there is no room for another process.
                Errno::EAGAIN | Errno::ENOMEM => LAUNCHER_FAILED,
                _ => NOT_EXECUTABLE,
            })
        }
    }
}

/// The environment that the launcher was started with, entries that are no assignments included.
fn environment() -> Vec<CString> {
    if let Ok(block) = std::fs::read("/proc/self/environ")
        && let Some(block) = block.strip_suffix(b"\0")
    {
        return block
            .split(|byte| *byte == 0)
            .filter_map(|entry| CString::new(entry).ok())
            .collect();
    }
    let entry =
        |(name, value): (OsString, OsString)| [name.as_bytes(), b"=", value.as_bytes()].concat();
    std::env::vars_os()
        .map(entry)
        .filter_map(|entry| CString::new(entry).ok())
        .collect()
}

/// After a hang-up, steps out of the group that it is sent to, again by the shell and again by the kernel when the
/// shell ends: a hook that is being started is a member of the launcher's group until it has its session, and would be killed
/// by the next. Only where the terminal is gone, since what is left of it would stop sending Ctrl-C.
fn leave_the_group_of_a_lost_terminal() {
    let terminal = open(
        "/dev/tty",
        OFlag::O_RDONLY | OFlag::O_NOCTTY | OFlag::O_CLOEXEC,
        Mode::empty(),
    );
    if terminal.is_err() {
        // To the group of the session's leader: a group of its own is what a job has already.
        let _ = getsid(None).and_then(|leader| setpgid(Pid::from_raw(0), leader));
    }
}

/// Starts COMMAND in this process group, found as execvp(3) finds it. glibc's posix_spawnp hands no file to a shell
/// (only the symbol of before 2.15 does). It leaves signals 32 and 33, its own, ignored.
fn start(words: &[OsString], mask: &SigSet) -> Result<Pid, Errno> {
    let words = words
        .iter()
        .map(|word| CString::new(word.as_bytes()))
        .collect::<Result<Vec<_>, _>>();
    let words = words.map_err(|_| Errno::EINVAL)?;
    let environment = environment();
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_sigmask(mask)?;
    attributes.set_sigdefault(&SigSet::from(Signal::SIGCHLD))?;
    attributes.set_flags(
        PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF,
    )?;
    let program = words.first().ok_or(Errno::ENOENT)?;
    posix_spawnp(
        program,
        &PosixSpawnFileActions::init()?,
        &attributes,
        &words,
        &environment,
    )
}

fn wait_for(command: Pid, signals: &Signals, hung_up: &mut bool) -> End {
    let child = Child::Pid(command.as_raw());
    loop {
        let mut watched = [PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        let _ = poll(&mut watched, PollTimeout::NONE);
        for received in signals.received() {
            let signal = received.signal;
            *hung_up |= signal == Signal::SIGHUP;
            let by_command = received.sender == Some(command.as_raw());
            let by_process = received.sender.is_some() && !by_command;
            if signal == Signal::SIGCONT
                || PASSED_ON.contains(&signal) && !by_command
                || OF_THE_TERMINAL.contains(&signal) && by_process
            {
                // Not reaped yet, so this cannot hit a stranger.
                let _ = kill(command, signal);
            }
        }
        match sys::wait(child, WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG) {
            Ok(Some(Change::Exited(status))) => return End::Status(status),
            Ok(Some(Change::Killed(signal))) => return End::Signal(signal),
            Ok(_) => {}
            // Nobody else reaps our children; were it so, there would be nothing left to wait for.
            Err(_) => return End::Status(LAUNCHER_FAILED),
        }
        // A stop from before a SIGCONT is over: that one has been passed on above.
        if let Ok(Some(_)) = sys::wait(child, WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG) {
            // Not SIGSTOP, which would stop an orphaned group for good (SPEC 8.2). COMMAND has what the launcher found.
            sys::restore_default(Signal::SIGTSTP as i32);
            sys::unblock(Signal::SIGTSTP as i32);
            sys::raise(Signal::SIGTSTP as i32);
        }
    }
}
