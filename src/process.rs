//! One process: find its program, start it, wait for its end or its bound, stop its process group, reap it.
//!
//! The only place of the library that holds a process id or sends a signal. Knows no moment and no JSON. A process is
//! started with posix_spawn(3) in a new session: no copy of the host's page tables (SPEC 3.8), nothing inherited, and no
//! shell, to which posix_spawnp(3) or execvp(3) might hand a text file. What can fail before the program is touched is
//! done in the parent first, so that an error of posix_spawn(3) is nearly always the program's.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::ffi::{CStr, CString, OsStr};
use std::fs::DirEntry;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{env, fmt, fs};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::stat::{Mode, fstat, fstatat};
use nix::sys::wait::{Id, WaitPidFlag};
use nix::unistd::{AccessFlags, Pid, access, faccessat, write};

use crate::escape::quoted;
use crate::sys::{self, above_stderr};

/// `PATH` where the hook's environment has none (SPEC 3.2).
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// From SIGTERM to SIGKILL (SPEC 5.1).
const GRACE: Duration = Duration::from_millis(250);
/// How long a process that was sent SIGKILL is waited for: one that became root is not ours to kill (SPEC 5.4).
const LAST_WAIT: Duration = Duration::from_secs(1);
/// The pauses before a busy program file is tried again, in milliseconds: 75 in all (SPEC 5.6).
const RETRIES: [u64; 4] = [5, 10, 20, 40];
/// How often a child is looked at where neither a pidfd nor a thread is to be had, or where a tracer holds it.
const FALLBACK_INTERVAL: Duration = Duration::from_millis(20);

/// Reaps a child that has ended.
const REAP: WaitPidFlag = WaitPidFlag::WEXITED.union(WaitPidFlag::WNOHANG);
/// Waits until a child has ended, and does not reap it.
const WAIT: WaitPidFlag = WaitPidFlag::WEXITED.union(WaitPidFlag::WNOWAIT);
/// Asks whether a child has ended, and does not reap it.
const PEEK: WaitPidFlag = REAP.union(WAIT);

/// What to start.
pub(crate) struct Command<'a> {
    /// The file; a relative path is taken from `directory`.
    pub(crate) path: &'a CStr,
    pub(crate) argv: &'a [CString],
    pub(crate) environment: &'a [CString],
    pub(crate) directory: &'a Path,
    /// The whole standard input; shorter than the buffer of a pipe.
    pub(crate) input: &'a [u8],
    /// How long it may take.
    pub(crate) bound: Duration,
}

/// How a process ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By itself, before its bound. Where somebody else reaped it, it counts as a success (SPEC 5.5).
    Exited(ExitStatus),
    /// By itself, before its bound and with success, but its process group had other members, which were killed.
    LeftRunning,
    /// It was stopped at its bound.
    TimedOut,
    /// It was sent SIGKILL after its bound, and has not ended.
    NotKilled,
    /// It was stopped because the moment was interrupted, and has ended or not.
    Interrupted,
}

/// Starts a process and waits until it has ended and is reaped. Blocks for at most its bound, 250 ms of grace and a second
/// for the last wait. When one of `wakeups` is readable, `is_interrupted` is asked, which makes it unreadable again.
/// `unreaped` takes a process that could not be killed.
pub(crate) fn run(
    command: &Command<'_>,
    wakeups: &[BorrowedFd<'_>],
    is_interrupted: &mut dyn FnMut() -> bool,
    unreaped: &mut Vec<Process>,
) -> Result<Ending, StartError> {
    let deadline = Instant::now() + command.bound;
    let mut process = Process::new(spawn(command)?);
    let stopped = process.wait(deadline, wakeups, is_interrupted);
    if stopped.is_none() {
        // Reaped last: until then the group id cannot be reused, so this cannot hit a stranger.
        process.signal(Some(Signal::SIGKILL));
        if let Some(status) = process.reap_until(deadline) {
            // Where somebody else reaped it, the id may be a stranger's by now, so nothing is said of what was left.
            if status.is_some_and(|status| status.success()) && process.had_other_members() {
                return Ok(Ending::LeftRunning);
            }
            return Ok(Ending::Exited(status.unwrap_or_default()));
        }
    }
    process.signal(Some(Signal::SIGTERM));
    // A stopped process would keep SIGTERM pending.
    process.signal(Some(Signal::SIGCONT));
    // In full, also when the process has ended: others in the group may still be cleaning up.
    thread::sleep(GRACE);
    process.signal(Some(Signal::SIGKILL));
    let deadline = Instant::now() + LAST_WAIT;
    process.wait(deadline, &[], &mut || false);
    let is_reaped = process.reap_until(deadline).is_some();
    if !is_reaped {
        unreaped.push(process);
    }
    Ok(match stopped {
        Some(Ending::Interrupted) => Ending::Interrupted,
        _ if is_reaped => Ending::TimedOut,
        _ => Ending::NotKilled,
    })
}

/// The path to start for `program`: as written where it holds a `/`, else the first executable regular file of that name
/// in the absolute entries of `path` (SPEC 3.2). It is not canonicalised: programs go by the name they are called by.
pub(crate) fn find(program: &str, path: Option<&OsStr>) -> Result<PathBuf, StartError> {
    if program.contains('/') {
        return Ok(program.into());
    }
    let mut not_executable = None;
    let entries = env::split_paths(path.unwrap_or(OsStr::new(DEFAULT_PATH)));
    for entry in entries.filter(|entry| entry.is_absolute()) {
        let file = entry.join(program);
        if file.is_file() {
            if access(&file, AccessFlags::X_OK).is_ok() {
                return Ok(file);
            }
            not_executable.get_or_insert(file);
        }
    }
    Err(not_executable.map_or(StartError::NotInPath, StartError::NotExecutable))
}

fn spawn(command: &Command<'_>) -> Result<Pid, StartError> {
    let failed = |step| move |error| StartError::System(step, error);
    let in_directory = |error| StartError::Directory(command.directory.to_owned(), error);
    let directory = open_directory(command.directory).map_err(in_directory)?;
    let (input, null) = open_stdio(command.input)?;
    let prepare = || {
        let mut attributes = PosixSpawnAttr::init()?;
        attributes.set_sigmask(&SigSet::empty())?;
        // All but the C library's own two, 32 and 33, which posix_spawn(3) leaves ignored.
        attributes.set_sigdefault(&SigSet::all())?;
        let session = PosixSpawnFlags::from_bits_retain(libc::POSIX_SPAWN_SETSID.into());
        let signals = PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK;
        attributes.set_flags(session | signals | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF)?;
        let mut actions = PosixSpawnFileActions::init()?;
        for (descriptor, standard) in [(&input, 0), (&null, 1), (&null, 2)] {
            actions.add_dup2(descriptor.as_raw_fd(), standard)?;
        }
        sys::add_fchdir(&mut actions, directory.as_fd())?;
        sys::add_closefrom(&mut actions, 3)?;
        Ok((actions, attributes))
    };
    let (actions, attributes) = prepare().map_err(failed("its start cannot be prepared"))?;
    let mut pauses = RETRIES.into_iter().map(Duration::from_millis);
    loop {
        let (argv, environment) = (command.argv, command.environment);
        let started = posix_spawn(command.path, &actions, &attributes, argv, environment);
        match (started, pauses.next()) {
            (Err(Errno::ETXTBSY), Some(pause)) => thread::sleep(pause),
            (started, _) => {
                return started.map_err(|error| start_error(error, &directory, command));
            }
        }
    }
}

/// Opens the directory that a hook runs in.
fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlag::from_bits_retain(libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC);
    let directory = above_stderr(open(path, flags, Mode::empty())?)?;
    // One that was removed can still be opened, as the working directory, and has no name left.
    match fstat(&directory)?.st_nlink {
        0 => Err(Errno::ENOENT),
        _ => Ok(directory),
    }
}

/// Standard input, which is a pipe that holds the whole of `input`, and `/dev/null` for standard output and error.
fn open_stdio(input: &[u8]) -> Result<(OwnedFd, OwnedFd), StartError> {
    let failed = |step| move |error| StartError::System(step, error);
    // Opened anew each time: a host may close descriptors that it does not know, and reuse their numbers.
    let flags = OFlag::from_bits_retain(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
    let null = open("/dev/null", flags, Mode::empty()).and_then(above_stderr);
    let null = null.map_err(failed("/dev/null cannot be opened"))?;
    let (reader, writer) = sys::pipe(OFlag::empty()).map_err(failed("no pipe can be made"))?;
    // Written before there is a reader who could go away: the pipe takes it whole, and there is nobody to be killed by
    // SIGPIPE. Closed before the start, so that end of file follows at once.
    write(writer, input).map_err(failed("the event cannot be written"))?;
    Ok((reader, null))
}

/// What an error of posix_spawn(3) says of the program (execve(2)), or of the directory, which is entered first.
fn start_error(error: Errno, directory: &OwnedFd, command: &Command<'_>) -> StartError {
    if let Err(error) = faccessat(directory, ".", AccessFlags::X_OK, AtFlags::empty()) {
        return StartError::Directory(command.directory.to_owned(), error);
    }
    let file = fstatat(directory, command.path, AtFlags::empty()).ok();
    let kind = file.map(|stat| stat.st_mode & libc::S_IFMT);
    match error {
        Errno::ENOENT if kind.is_some() => StartError::NO_INTERPRETER,
        Errno::ENOENT | Errno::ENOTDIR => StartError::NO_SUCH_FILE,
        Errno::EACCES if kind == Some(libc::S_IFDIR) => StartError::IS_DIRECTORY,
        Errno::EACCES | Errno::EPERM => StartError::NOT_PERMITTED,
        Errno::ENOEXEC => StartError::NOT_A_PROGRAM,
        Errno::E2BIG => StartError::TOO_BIG,
        Errno::ETXTBSY => StartError::BUSY,
        error => StartError::System("the system refused", error),
    }
}

/// A child that leads a session, and so a process group with its id, until it is reaped: the leader of a session cannot
/// leave its group (setpgid(2)), so a signal to the group reaches it.
pub(crate) struct Process {
    pid: Pid,
    /// Readable when the child has ended.
    pidfd: Option<OwnedFd>,
    /// Where there is no pidfd: a pipe that is readable when the child has ended, and the thread that waits for that.
    thread: Option<(OwnedFd, JoinHandle<()>)>,
}

impl Process {
    fn new(pid: Pid) -> Process {
        let pidfd = sys::pidfd_open(pid).ok();
        let thread = pidfd.is_none().then(|| wait_in_thread(pid)).flatten();
        Process { pid, pidfd, thread }
    }

    /// Waits for the end of the child and does not reap it. Returns what came first instead, the bound or an interruption.
    /// A child that has ended in time is never late, also when this process was stopped meanwhile (SPEC 5.1): the clock that
    /// counts is read before the child is looked at.
    fn wait(
        &self,
        deadline: Instant,
        wakeups: &[BorrowedFd<'_>],
        is_interrupted: &mut dyn FnMut() -> bool,
    ) -> Option<Ending> {
        let pipe = self.thread.as_ref().map(|(pipe, _)| pipe);
        let end = self.pidfd.as_ref().or(pipe).map(AsFd::as_fd);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let all = end.iter().chain(wakeups);
            let mut polled: Vec<_> = all.map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
            let pause = end.map_or(FALLBACK_INTERVAL.min(left), |_| left);
            // Rounded up, so never before the bound.
            let timeout = PollTimeout::try_from(pause.as_nanos().div_ceil(1_000_000));
            let has_ended = match (poll(&mut polled, timeout.unwrap_or(PollTimeout::MAX)), end) {
                (Ok(_), Some(_)) => polled[0].any() == Some(true),
                (Err(Errno::EINTR), Some(_)) => false,
                (Ok(_), None) => self.status(PEEK).is_some(),
                (Err(_), _) => {
                    thread::sleep(FALLBACK_INTERVAL.min(left));
                    self.status(PEEK).is_some()
                }
            };
            if has_ended {
                return None;
            }
            if is_interrupted() {
                return Some(Ending::Interrupted);
            }
            if left.is_zero() {
                return Some(Ending::TimedOut);
            }
        }
    }

    fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().map(AsFd::as_fd)
    }

    /// Calls waitid(2) for this child, and returns its status if it has ended; `Some(None)` where the kernel reaped it, since
    /// the host ignores SIGCHLD, or another thread of the host (SPEC 5.5).
    fn status(&self, flags: WaitPidFlag) -> Option<Option<ExitStatus>> {
        let answer = match sys::wait(self.pidfd().map_or(Id::Pid(self.pid), Id::PIDFd), flags) {
            answer @ (Ok(_) | Err(Errno::ECHILD)) => answer,
            // Linux 5.3 has pidfds, but does not wait for one.
            Err(_) => sys::wait(Id::Pid(self.pid), flags),
        };
        match answer {
            Ok(status) => status.filter(is_end).map(Some),
            // Where it cannot be looked at, its bound holds.
            Err(error) => (error == Errno::ECHILD).then_some(None),
        }
    }

    /// Sends `signal` to the whole group, never to another one that has its id, and returns whether there was one. With
    /// `None` it only asks, which can hurt nobody, whoever has the id now.
    fn signal(&self, signal: Option<Signal>) -> bool {
        match self.pidfd().map(|pidfd| sys::signal_group(pidfd, signal)) {
            Some(Ok(())) => true,
            Some(Err(Errno::ESRCH)) => false,
            // An older kernel does not know the flag (EINVAL); a filter of system calls answers as it likes.
            _ if self.pid.as_raw() <= 1 => false,
            _ if signal.is_some() && self.status(PEEK) == Some(None) => false,
            _ => killpg(self.pid, signal).is_ok(),
        }
    }

    /// Reaps the child if it has ended, and returns as [`Process::status`]. Never blocks.
    pub(crate) fn reap(&mut self) -> Option<Option<ExitStatus>> {
        if self.thread.is_some() {
            self.status(PEEK)?;
            // It sees the same end. If the child were reaped first, it would wait for whoever gets the id next.
            let _ = self.thread.take().map(|(_, thread)| thread.join());
        }
        self.status(REAP)
    }

    /// Reaps the child that has ended. While a tracer holds it, it is asked for again until `deadline`.
    fn reap_until(&mut self, deadline: Instant) -> Option<Option<ExitStatus>> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.reap() {
                None if !left.is_zero() => thread::sleep(FALLBACK_INTERVAL.min(left)),
                reaped => return reaped,
            }
        }
    }

    /// Returns whether the group had more than its leader, and more than children that had ended and were only not waited
    /// for. To be asked after the leader is reaped and the group killed.
    fn had_other_members(&self) -> bool {
        let stat = |process: DirEntry| fs::read(process.path().join("stat")).ok();
        let was_killed = |stat: Vec<u8>| was_killed(self.pid, &stat);
        self.signal(None) && {
            let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
            // That no member is found any more counts as left.
            processes.filter_map(stat).filter_map(was_killed).max() != Some(false)
        }
    }
}

/// Returns whether waitid(2) tells of an end. A child that asked to be traced (ptrace(2)) stops for its parent.
fn is_end(status: &ExitStatus) -> bool {
    status.code().is_some() || status.signal().is_some()
}

/// Whether the process of this line of /proc/PID/stat had not ended before SIGKILL was sent to its group; `None` where it is
/// not in `group` (proc_pid_stat(5)).
pub(crate) fn was_killed(group: Pid, stat: &[u8]) -> Option<bool> {
    // The name stands in parentheses and may hold anything, parentheses too.
    let rest = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
    let mut fields = std::str::from_utf8(rest).ok()?.split_ascii_whitespace();
    // Fields 3 (state), 5 (pgrp) and 52 (exit_code).
    let (state, pgrp, code) = (fields.next()?, fields.nth(1)?, fields.nth(46)?);
    let had_ended = ["Z", "X"].contains(&state) && code.parse() != Ok(Signal::SIGKILL as i32);
    (pgrp.parse() == Ok(group.as_raw())).then_some(!had_ended)
}

/// Makes a thread that blocks until the child has ended, and a pipe that is readable from then on; `None` where either is
/// not to be had.
fn wait_in_thread(pid: Pid) -> Option<(OwnedFd, JoinHandle<()>)> {
    let (reader, writer) = sys::pipe(OFlag::empty()).ok()?;
    let block = move || loop {
        match sys::wait(Id::Pid(pid), WAIT) {
            Err(Errno::EINTR) => {}
            Ok(Some(status)) if !is_end(&status) => thread::sleep(FALLBACK_INTERVAL),
            _ => break drop(writer),
        }
    };
    // Not thread::spawn, which panics where no thread can be made.
    let thread = thread::Builder::new().name("bravebot-hooks".to_owned());
    Some((reader, thread.spawn(block).ok()?))
}

/// Why a process could not be started; each reason is told apart (SPEC 6.2).
#[derive(Clone, Debug)]
pub(crate) enum StartError {
    NotInPath,
    /// The first file of that name in `PATH`.
    NotExecutable(PathBuf),
    /// Any other reason that is the program's.
    Program(&'static str),
    /// The turn's directory, never the program (SPEC 3.3).
    Directory(PathBuf, Errno),
    /// A step before the program was touched, or an answer of the system that has no case of its own.
    System(&'static str, Errno),
}

#[rustfmt::skip]
impl StartError {
    pub(crate) const NO_SUCH_FILE: StartError = StartError::Program("no such file");
    pub(crate) const IS_DIRECTORY: StartError = StartError::Program("it is a directory");
    pub(crate) const NO_INTERPRETER: StartError = StartError::Program("its interpreter does not exist (the one after \"#!\", or its loader)");
    pub(crate) const NOT_PERMITTED: StartError = StartError::Program("permission denied (it, or what runs it, is not executable here)");
    pub(crate) const NOT_A_PROGRAM: StartError = StartError::Program("it is not a program (its first line is no \"#!\" that says what runs it)");
    pub(crate) const TOO_BIG: StartError = StartError::Program("its arguments and environment are larger than the system takes");
    pub(crate) const BUSY: StartError = StartError::Program("its file is busy: it is still open for writing");
}

impl fmt::Display for StartError {
    #[rustfmt::skip]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &Path| quoted(path.as_os_str().as_bytes());
        match self {
            StartError::NotInPath => f.write_str("no program of that name in PATH"),
            StartError::NotExecutable(path) => write!(f, "permission denied: {} is not executable", shown(path)),
            StartError::Program(reason) => f.write_str(reason),
            StartError::Directory(path, error) if path.as_os_str() == "." => write!(f, "the working directory cannot be entered: {}", error.desc()),
            StartError::Directory(path, error) => write!(f, "the directory {} cannot be entered: {}", shown(path), error.desc()),
            StartError::System(step, error) => write!(f, "{step}: {}", error.desc()),
        }
    }
}
