//! One process: start it, wait for its end or its bound, stop its group, reap it.
//!
//! The only place of the library that holds a process id or sends a signal. Knows no moment and no JSON. Starting is
//! posix_spawn(3) in a new session: no copy of the host's page tables (SPEC 3.8), and nothing inherited. Everything
//! that can fail before the program is touched is done in the parent first, so that an error of the spawn can only
//! be the program's.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::stat::{Mode, SFlag, fstat, fstatat};
use nix::sys::wait::WaitPidFlag;
use nix::unistd::{AccessFlags, Pid, faccessat, pipe2, write};

use crate::descriptor::above_standard_streams;
use crate::interrupt::{Ears, Interrupt};
use crate::report::StartError;
use crate::sys::{self, Change, Strings};

/// From SIGTERM to SIGKILL (SPEC 5.1).
const GRACE: Duration = Duration::from_millis(250);
/// How long a process that was sent SIGKILL is waited for: one that became root is not ours to kill (SPEC 5.4).
const LAST_WAIT: Duration = Duration::from_secs(1);
/// The pauses before a busy program file is tried again: 75 ms in all (SPEC 5.6).
const RETRIES: [Duration; 4] = [
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(40),
];
/// How often a process is looked at where there is neither a pidfd nor a thread to be had.
const LAST_RESORT: Duration = Duration::from_millis(20);

const NULL: OFlag = OFlag::O_RDWR.union(OFlag::O_NOCTTY).union(OFlag::O_CLOEXEC);
const DIRECTORY: OFlag = OFlag::O_PATH
    .union(OFlag::O_DIRECTORY)
    .union(OFlag::O_CLOEXEC);
const ATTRIBUTES: PosixSpawnFlags = PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK
    .union(PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF)
    .union(PosixSpawnFlags::from_bits_retain(
        libc::POSIX_SPAWN_SETSID as libc::c_int,
    ));
/// Reaps what has ended, if it has; and looks, to leave it there.
const TAKE: WaitPidFlag = WaitPidFlag::WEXITED.union(WaitPidFlag::WNOHANG);
const LOOK: WaitPidFlag = TAKE.union(WaitPidFlag::WNOWAIT);

/// What to start.
pub(crate) struct Start<'a> {
    /// The file; a relative one from `directory`.
    pub(crate) path: &'a CStr,
    /// `argv`, with the name as written.
    pub(crate) words: &'a Strings,
    pub(crate) environment: &'a Strings,
    pub(crate) directory: &'a Path,
    /// Its whole standard input; shorter than a pipe's buffer.
    pub(crate) input: &'a [u8],
}

/// How a process that was started ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By itself, before its bound; and whether its group had more, which was killed.
    Alone { change: Option<Change>, left: bool },
    /// At its bound; and whether it ended when it was killed.
    AtBound { ended: bool },
    /// Because the moment was interrupted.
    Interrupted,
}

/// A process that outlived its SIGKILL: it is looked for again, so that it does not stay a zombie.
pub(crate) struct Straggler(Process);

impl Straggler {
    /// Reaps it if it has ended meanwhile. Never blocks.
    pub(crate) fn is_gone(&mut self) -> bool {
        self.0.reap() != Reaped::NotYet
    }
}

/// Starts a process and waits until it has ended and is reaped: at most `bound`, a quarter of a second of grace and a
/// second for the last wait. `stragglers` takes what could not be killed.
pub(crate) fn run(
    start: &Start<'_>,
    bound: Duration,
    ears: &mut Ears<'_, '_>,
    stragglers: &mut Vec<Straggler>,
) -> Result<Ending, StartError> {
    let deadline = Instant::now() + bound;
    let mut process = Process::of(spawn(start)?, ears.interrupt);
    let ending = match process.wait(deadline, ears, Waiting::Interruptible) {
        Waited::Ended => {
            // Reaped last: until then the group's number cannot be used again, so this cannot hit a stranger.
            process.signal(Signal::SIGKILL);
            match process.reap_when_it_can_be(deadline) {
                Reaped::Here(change) => {
                    return Ok(Ending::Alone {
                        change: Some(change),
                        left: process.left_something(),
                    });
                }
                // Its number may be a stranger's by now: then nothing is said of what was left.
                Reaped::Elsewhere => {
                    return Ok(Ending::Alone {
                        change: None,
                        left: false,
                    });
                }
                Reaped::NotYet => Ending::AtBound { ended: true },
            }
        }
        Waited::Interrupted => Ending::Interrupted,
        Waited::TimedOut => Ending::AtBound { ended: true },
    };
    process.signal(Signal::SIGTERM);
    // A stopped process would keep SIGTERM pending.
    process.signal(Signal::SIGCONT);
    // In full, also when the process has ended: others in the group may still be cleaning up.
    thread::sleep(GRACE);
    process.signal(Signal::SIGKILL);
    let last = Instant::now() + LAST_WAIT;
    process.wait(last, ears, Waiting::ForTheEnd);
    if process.reap_when_it_can_be(last) != Reaped::NotYet {
        return Ok(ending);
    }
    stragglers.push(Straggler(process));
    Ok(if ending == Ending::Interrupted {
        ending
    } else {
        Ending::AtBound { ended: false }
    })
}

fn spawn(start: &Start<'_>) -> Result<Pid, StartError> {
    let opened = |step| move |error| StartError::System(step, error);
    let directory = enter(start.directory)?;
    // Opened anew each time: a number that is kept could be another file by now, in a host that closes what it does not know.
    let null = open("/dev/null", NULL, Mode::empty())
        .and_then(above_standard_streams)
        .map_err(opened("/dev/null cannot be opened"))?;
    let prepared = || -> Result<_, Errno> {
        let mut attributes = PosixSpawnAttr::init()?;
        attributes.set_sigmask(&SigSet::empty())?;
        attributes.set_sigdefault(&SigSet::all())?;
        attributes.set_flags(ATTRIBUTES)?;
        let mut actions = PosixSpawnFileActions::init()?;
        actions.add_dup2(null.as_raw_fd(), 1)?;
        actions.add_dup2(null.as_raw_fd(), 2)?;
        sys::add_fchdir(&mut actions, directory.as_fd())?;
        Ok((actions, attributes))
    };
    let unprepared = opened("its start cannot be prepared");
    let (mut actions, attributes) = prepared().map_err(&unprepared)?;
    let (input, writer) = pipe2(OFlag::O_CLOEXEC)
        .and_then(|(input, writer)| {
            Ok((
                above_standard_streams(input)?,
                above_standard_streams(writer)?,
            ))
        })
        .map_err(opened("no pipe can be made"))?;
    // Written before there is a reader who could go away: the pipe takes it whole, and there is nobody to be killed by
    // SIGPIPE. Closed before the start, so that end of file follows at once.
    write(&writer, start.input).map_err(opened("the event cannot be written"))?;
    drop(writer);
    // The list of actions has room for eight, so nothing is allocated from here on.
    actions
        .add_dup2(input.as_raw_fd(), 0)
        .map_err(&unprepared)?;
    sys::add_closefrom(&mut actions, 3).map_err(&unprepared)?;

    let mut retries = RETRIES.iter();
    loop {
        match sys::spawn(
            start.path,
            &actions,
            &attributes,
            start.words,
            start.environment,
        ) {
            Ok(pid) => return Ok(Pid::from_raw(pid)),
            Err(Errno::ETXTBSY) => match retries.next() {
                Some(pause) => thread::sleep(*pause),
                None => return Err(StartError::Busy),
            },
            Err(error) => return Err(blame(error, &directory, start)),
        }
    }
}

/// The turn's directory, open.
fn enter(path: &Path) -> Result<OwnedFd, StartError> {
    let fault = |error| StartError::Directory(path.to_owned(), error);
    let directory = open(path, DIRECTORY, Mode::empty()).map_err(fault)?;
    let directory = above_standard_streams(directory).map_err(fault)?;
    // One that is removed can still be open, and has no name left.
    match fstat(&directory) {
        Ok(stat) if stat.st_nlink > 0 => Ok(directory),
        Ok(_) => Err(fault(Errno::ENOENT)),
        Err(error) => Err(fault(error)),
    }
}

/// What an error of the spawn says about the program (execve(2)), or about the directory, which is entered first.
fn blame(error: Errno, directory: &OwnedFd, start: &Start<'_>) -> StartError {
    if let Err(error) = faccessat(directory, ".", AccessFlags::X_OK, AtFlags::empty()) {
        return StartError::Directory(start.directory.to_owned(), error);
    }
    let kind = || {
        fstatat(directory, start.path, AtFlags::empty())
            .ok()
            .map(|stat| SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT)
    };
    match error {
        Errno::ENOENT if kind().is_some() => StartError::NoInterpreter,
        Errno::ENOENT | Errno::ENOTDIR => StartError::NoSuchFile,
        Errno::EACCES if kind() == Some(SFlag::S_IFDIR) => StartError::IsDirectory,
        Errno::EACCES | Errno::EPERM => StartError::NotPermitted,
        Errno::ENOEXEC => StartError::NotAProgram,
        Errno::E2BIG => StartError::TooBig,
        error => StartError::System("the system refused", error),
    }
}

/// A child that leads a session, and so a process group of its number, for as long as it is not reaped: the leader of a
/// session cannot leave its group (setpgid(2)), so a signal to the group reaches it.
struct Process {
    pid: Pid,
    pidfd: Option<OwnedFd>,
    /// Where there is no pidfd: blocked until the child has ended, then wakes the one who waits.
    thread: Option<JoinHandle<()>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reaped {
    NotYet,
    Here(Change),
    /// By the kernel, since the host ignores SIGCHLD, or by another thread of the host (SPEC 5.5).
    Elsewhere,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Interruptible,
    ForTheEnd,
}

enum Waited {
    Ended,
    TimedOut,
    Interrupted,
}

impl Process {
    fn of(pid: Pid, interrupt: &Interrupt) -> Process {
        match sys::pidfd_open(pid.as_raw()) {
            Ok(pidfd) => Process {
                pid,
                pidfd: Some(pidfd),
                thread: None,
            },
            Err(_) => Process {
                pid,
                pidfd: None,
                thread: wake_at_end(pid, interrupt),
            },
        }
    }

    /// waitid(2) for this child.
    fn changed(&self, flags: WaitPidFlag) -> Result<Option<Change>, Errno> {
        let by_number = sys::Child::Pid(self.pid.as_raw());
        match self
            .pidfd
            .as_ref()
            .map(|pidfd| sys::wait(sys::Child::Pidfd(pidfd.as_fd()), flags))
        {
            Some(answer @ (Ok(_) | Err(Errno::ECHILD))) => answer,
            // Linux 5.3 has pidfds, and does not wait for one.
            _ => sys::wait(by_number, flags),
        }
    }

    /// Whether it has ended; looks without reaping.
    fn has_ended(&self) -> bool {
        match self.changed(LOOK) {
            Ok(Some(Change::Exited(_) | Change::Killed(_))) | Err(Errno::ECHILD) => true,
            // One that asked to be traced (ptrace(2)) stops for us, and has not ended. Nor has one that cannot be seen:
            // then its bound holds.
            Ok(Some(Change::Stopped) | None) | Err(_) => false,
        }
    }

    /// Waits for the end without reaping. The child is looked at before the clock, so one that has ended in time is never
    /// late, also when this process was stopped meanwhile (SPEC 5.1): poll(2) does so, too.
    fn wait(&self, deadline: Instant, ears: &mut Ears<'_, '_>, waiting: Waiting) -> Waited {
        loop {
            let is_unseen = self.pidfd.is_none();
            if is_unseen && self.has_ended() {
                return Waited::Ended;
            }
            let mut left = deadline.saturating_duration_since(Instant::now());
            let is_late = left.is_zero();
            if is_unseen && self.thread.is_none() {
                left = left.min(LAST_RESORT);
            }
            let (wake, heard) = (ears.interrupt.wake(), ears.descriptor());
            let end = self.pidfd.as_ref().map_or(wake, OwnedFd::as_fd);
            let mut watched =
                [end, wake, heard].map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN));
            // Rounded up: never before the bound.
            let timeout = if is_late {
                PollTimeout::ZERO
            } else {
                rounded_up(left)
            };
            let ended = match poll(&mut watched, timeout) {
                Ok(_) => !is_unseen && watched[0].any().unwrap_or(false),
                Err(Errno::EINTR) => false,
                Err(_) => {
                    thread::sleep(LAST_RESORT.min(left));
                    self.has_ended()
                }
            };
            if ended {
                return Waited::Ended;
            }
            let [_, is_woken, has_word] =
                watched.map(|descriptor| descriptor.any().unwrap_or(false));
            if has_word {
                ears.hear();
            }
            if waiting == Waiting::Interruptible && ears.interrupt.is_requested() {
                return Waited::Interrupted;
            }
            if is_late {
                return Waited::TimedOut;
            }
            if is_woken {
                ears.interrupt.drain();
            }
        }
    }

    /// Sends `signal` to the whole group, never to one that took its number.
    fn signal(&self, signal: Signal) {
        let through = self
            .pidfd
            .as_ref()
            .map(|pidfd| sys::signal_group(pidfd.as_fd(), signal as libc::c_int));
        // Not known to the kernel (EINVAL), or refused by a filter of system calls, whatever it answers.
        let unable = !matches!(through, Some(Ok(()) | Err(Errno::ESRCH)));
        if unable && self.pid.as_raw() > 1 && self.is_ours() {
            let _ = killpg(self.pid, signal);
        }
    }

    /// Whether its number is still its own: it is not reaped.
    fn is_ours(&self) -> bool {
        self.changed(LOOK) != Err(Errno::ECHILD)
    }

    /// Reaps the child if it has ended. Never blocks.
    fn reap(&mut self) -> Reaped {
        if self.thread.is_some() {
            if !self.has_ended() {
                return Reaped::NotYet;
            }
            // It sees the same end. Were the child reaped before that, it would wait for whoever gets the number next.
            let _ = self.thread.take().map(JoinHandle::join);
        }
        match self.changed(TAKE) {
            Ok(Some(change @ (Change::Exited(_) | Change::Killed(_)))) => Reaped::Here(change),
            Err(Errno::ECHILD) => Reaped::Elsewhere,
            _ => Reaped::NotYet,
        }
    }

    /// Reaps what has ended. A tracer may hold it: then it is asked for again until `deadline`.
    fn reap_when_it_can_be(&mut self, deadline: Instant) -> Reaped {
        loop {
            let reaped = self.reap();
            let left = deadline.saturating_duration_since(Instant::now());
            if reaped != Reaped::NotYet || left.is_zero() {
                return reaped;
            }
            thread::sleep(LAST_RESORT.min(left));
        }
    }

    /// Whether the group had more than its leader, and more than children that had ended and were only not waited for.
    /// Asked after the leader is reaped and the group killed.
    fn left_something(&self) -> bool {
        // Signal 0 can hurt nobody, whoever has the number now.
        let exists = match self
            .pidfd
            .as_ref()
            .map(|pidfd| sys::signal_group(pidfd.as_fd(), 0))
        {
            Some(answer @ (Ok(()) | Err(Errno::ESRCH))) => answer.is_ok(),
            _ => self.pid.as_raw() > 1 && killpg(self.pid, None).is_ok(),
        };
        if !exists {
            return false;
        }
        let mut members = 0;
        let Ok(processes) = std::fs::read_dir("/proc") else {
            return true;
        };
        for process in processes.flatten() {
            if !process
                .file_name()
                .as_bytes()
                .iter()
                .all(u8::is_ascii_digit)
            {
                continue;
            }
            let Ok(stat) = std::fs::read(process.path().join("stat")) else {
                continue;
            };
            match member_of(self.pid, &stat) {
                Some(Member::Killed) => return true,
                Some(Member::HadEnded) => members += 1,
                None => {}
            }
        }
        members == 0
    }
}

enum Member {
    Killed,
    HadEnded,
}

/// What a line of /proc/PID/stat says of a member of `group`; `None` for another's (proc_pid_stat(5)).
fn member_of(group: Pid, stat: &[u8]) -> Option<Member> {
    // The name stands in parentheses and may hold anything, parentheses too.
    let rest = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
    let mut fields = std::str::from_utf8(rest).ok()?.split_ascii_whitespace();
    let state = fields.next()?;
    // Fields 3 (state), 5 (pgrp) and 52 (exit_code).
    if fields.nth(1)?.parse() != Ok(group.as_raw()) {
        return None;
    }
    let exit_code = fields.nth(46)?.parse::<i32>().ok()?;
    let had_ended = matches!(state, "Z" | "X") && exit_code != Signal::SIGKILL as i32;
    Some(if had_ended {
        Member::HadEnded
    } else {
        Member::Killed
    })
}

/// In whole milliseconds, and never less than `left`.
fn rounded_up(left: Duration) -> PollTimeout {
    PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
}

/// A thread that blocks until the child has ended, and then wakes the one who waits; `None` where there is none to be had.
fn wake_at_end(pid: Pid, interrupt: &Interrupt) -> Option<JoinHandle<()>> {
    let waker = interrupt.waker()?;
    let block = move || {
        let flags = WaitPidFlag::WEXITED.union(WaitPidFlag::WNOWAIT);
        loop {
            match sys::wait(sys::Child::Pid(pid.as_raw()), flags) {
                Err(Errno::EINTR) => {}
                Ok(Some(Change::Stopped)) => thread::sleep(LAST_RESORT),
                _ => break,
            }
        }
        let _ = write(&waker, b"!");
    };
    // Not thread::spawn, which panics where threads have run out.
    thread::Builder::new()
        .name("bravebot-hooks".to_owned())
        .spawn(block)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SPEC 5.3, proc_pid_stat(5).
    #[test]
    fn a_member_counts_unless_it_had_ended_before_the_group_was_killed() {
        let stat = |name: &str, state: &str, group: i32, code: i32| {
            let zeroes = "0 ".repeat(46);
            member_of(
                Pid::from_raw(77),
                format!("12 ({name}) {state} 1 {group} {zeroes}{code}\n").as_bytes(),
            )
        };
        for state in ["R", "S", "D", "T"] {
            assert!(
                matches!(stat("sh", state, 77, 0), Some(Member::Killed)),
                "{state}"
            );
        }
        assert!(matches!(
            stat("a) Z 1 77 (b", "Z", 77, 9),
            Some(Member::Killed)
        ));
        assert!(matches!(stat("sh", "Z", 77, 0), Some(Member::HadEnded)));
        assert!(matches!(stat("sh", "Z", 77, 15), Some(Member::HadEnded)));
        assert!(
            stat("sh", "R", 78, 0).is_none() && member_of(Pid::from_raw(77), b"12 (sh").is_none()
        );
    }
}
