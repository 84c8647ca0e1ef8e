//! The system calls that nix has no safe form for. The only `unsafe` code is here and in `sys/entry.rs`.
//!
//! Each function wraps one call and decides nothing. The module is not part of the API; it is public for the command of
//! this package.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::{io, mem, ptr};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc::{self, c_int};
use nix::spawn::PosixSpawnFileActions;
use nix::sys::signal::Signal;
use nix::sys::wait::{Id, WaitPidFlag};
use nix::unistd::{Pid, pipe2};

// nix keeps the C library's object as the only field of a transparent struct. If that changes, this does not compile.
const _: () = assert!(
    size_of::<PosixSpawnFileActions>() == size_of::<libc::posix_spawn_file_actions_t>()
        && align_of::<PosixSpawnFileActions>() == align_of::<libc::posix_spawn_file_actions_t>()
);

/// Makes the new process change to `directory` (posix_spawn_file_actions_addfchdir_np, glibc 2.29).
pub fn add_fchdir(actions: &mut PosixSpawnFileActions, dir: BorrowedFd<'_>) -> Result<(), Errno> {
    let actions = ptr::from_mut(actions).cast();
    // SAFETY: `actions` points to an initialised object of this type (asserted above), borrowed exclusively.
    let error = unsafe { libc::posix_spawn_file_actions_addfchdir_np(actions, dir.as_raw_fd()) };
    (error == 0).then_some(()).ok_or(Errno::from_raw(error))
}

/// Makes the new process close every descriptor from `first` on (posix_spawn_file_actions_addclosefrom_np, glibc 2.34).
pub fn add_closefrom(actions: &mut PosixSpawnFileActions, first: RawFd) -> Result<(), Errno> {
    let actions = ptr::from_mut(actions).cast();
    // SAFETY: as in `add_fchdir`.
    let error = unsafe { libc::posix_spawn_file_actions_addclosefrom_np(actions, first) };
    (error == 0).then_some(()).ok_or(Errno::from_raw(error))
}

/// Opens a descriptor for the process `pid` (pidfd_open(2), Linux 5.3). It is close-on-exec.
pub fn pidfd_open(pid: Pid) -> Result<OwnedFd, Errno> {
    // SAFETY: the call takes two integers and touches no memory of this process.
    let pidfd = Errno::result(unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) })?;
    // SAFETY: the kernel has just made this descriptor, and nothing else owns it. Descriptors fit a RawFd.
    Ok(unsafe { OwnedFd::from_raw_fd(pidfd as RawFd) })
}

/// Sends `signal`, or with `None` only asks whether it could be sent, to the process group whose id is that of the
/// process behind `pidfd`, also when that process has been reaped (pidfd_send_signal(2), PIDFD_SIGNAL_PROCESS_GROUP, Linux 6.9;
/// EINVAL before).
pub fn signal_group(pidfd: BorrowedFd<'_>, signal: Option<Signal>) -> Result<(), Errno> {
    const PIDFD_SIGNAL_PROCESS_GROUP: libc::c_uint = 1 << 2;
    let (pidfd, signal) = (pidfd.as_raw_fd(), signal.map_or(0, |it| it as c_int));
    let info = ptr::null::<libc::siginfo_t>();
    let (call, flags) = (libc::SYS_pidfd_send_signal, PIDFD_SIGNAL_PROCESS_GROUP);
    // SAFETY: a null siginfo is allowed and stands for that of kill(2); the other arguments are integers.
    Errno::result(unsafe { libc::syscall(call, pidfd, signal, info, flags) }).map(drop)
}

/// waitid(2). Returns `None` where WNOHANG is set and the child has not changed, and the error ECHILD where `child` is not,
/// or no longer, a child of this process.
///
/// nix has this call too, but answers EINVAL for a child that was killed by a real-time signal.
pub fn wait(child: Id<'_>, flags: WaitPidFlag) -> Result<Option<ExitStatus>, Errno> {
    let (kind, id) = match child {
        Id::PIDFd(pidfd) => (libc::P_PIDFD, pidfd.as_raw_fd()),
        Id::Pid(pid) => (libc::P_PID, pid.as_raw()),
        _ => return Err(Errno::EINVAL),
    };
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let (id, pointer) = (id.cast_unsigned(), info.as_mut_ptr());
    // SAFETY: `pointer` is that of `info`, writable and of the right type; the other arguments are integers.
    Errno::result(unsafe { libc::waitid(kind, id, pointer, flags.bits()) })?;
    // SAFETY: all zeroes is a valid siginfo_t, and the call fills it in or leaves it. For SIGCHLD, the only signal that
    // it fills in, si_status is the field of the union in use.
    let (info, status) = unsafe { (info.assume_init(), info.assume_init().si_status()) };
    // As wait(2) encodes the same.
    let encoded = match info.si_code {
        _ if info.si_signo == 0 => return Ok(None),
        libc::CLD_EXITED => status << 8,
        libc::CLD_KILLED | libc::CLD_DUMPED => status,
        _ => 0x7f | status << 8,
    };
    Ok(Some(ExitStatus::from_raw(encoded)))
}

/// Returns whether this process ignores `signal` (sigaction(2)).
pub fn is_ignored(signal: Signal) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: no new action is given, and `action` is writable, of the right type and, all zeroes, valid.
    let action = unsafe {
        libc::sigaction(signal as c_int, ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}

/// Gives `signal` its default action, unblocks it and sends it to this thread (sigaction(2), pthread_sigmask(3), raise(3)).
/// Returns where the process survives that.
pub fn raise_default(signal: c_int) {
    // SAFETY: all zeroes is a valid sigaction, and sigemptyset(3) initialises the set. SIG_DFL runs no code of ours, and
    // a number that is no signal is refused by each call.
    unsafe {
        let mut action = mem::zeroed::<libc::sigaction>();
        action.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(signal, &raw const action, ptr::null_mut());
        let mut set = mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, ptr::null_mut());
        libc::raise(signal);
    }
}

/// The process that sent a signal; `None` where the kernel did, as for Ctrl-C at the terminal (si_code in sigaction(2)).
pub fn sender(info: &libc::siginfo_t) -> Option<Pid> {
    // SAFETY: the kernel has filled in the structure, and any bytes are a pid. It is the sender's for kill(2), sigqueue(3) and
    // tgkill(2), which have an si_code of 0 or less.
    (info.si_code <= 0).then(|| Pid::from_raw(unsafe { info.si_pid() }))
}

/// Moves `descriptor` above the three standard streams, which a host may have closed: a descriptor of ours in their place
/// would be written to by the host, and would be in the way of those that a hook gets.
pub fn above_stderr(descriptor: OwnedFd) -> Result<OwnedFd, Errno> {
    if descriptor.as_raw_fd() > libc::STDERR_FILENO {
        return Ok(descriptor);
    }
    // The standard library duplicates to 3 and above, with close-on-exec.
    descriptor.try_clone().map_err(errno)
}

/// Makes a pipe: its reading and its writing end, both close-on-exec and above the standard streams.
pub fn pipe(flags: OFlag) -> Result<(OwnedFd, OwnedFd), Errno> {
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC | flags)?;
    Ok((above_stderr(reader)?, above_stderr(writer)?))
}

/// The error number in an error of the standard library.
pub fn errno(error: io::Error) -> Errno {
    Errno::try_from(error).unwrap_or(Errno::UnknownErrno)
}
