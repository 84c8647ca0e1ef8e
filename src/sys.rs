//! The few calls that nix has no safe form for. The only `unsafe` of the library, one call a function.
//!
//! Each wraps one call and decides nothing. Not part of the API: public for the command of this package alone.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use nix::errno::Errno;
use nix::libc;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions};
use nix::sys::wait::WaitPidFlag;

// nix keeps the C library's object as the one field of a transparent struct. Should that change, this does not compile.
const _: () =
    assert!(size_of::<PosixSpawnFileActions>() == size_of::<libc::posix_spawn_file_actions_t>());
const _: () =
    assert!(align_of::<PosixSpawnFileActions>() == align_of::<libc::posix_spawn_file_actions_t>());
const _: () = assert!(size_of::<PosixSpawnAttr>() == size_of::<libc::posix_spawnattr_t>());
const _: () = assert!(align_of::<PosixSpawnAttr>() == align_of::<libc::posix_spawnattr_t>());

/// Strings as execve(2) takes them, made once so that a start allocates nothing.
pub struct Strings {
    strings: Vec<CString>,
    /// To each of `strings`, and a null pointer.
    pointers: Vec<*mut c_char>,
}

// SAFETY: the pointers are to what `strings` owns on the heap, where it stays and is never changed.
unsafe impl Send for Strings {}
// SAFETY: as above; shared, they are only read.
unsafe impl Sync for Strings {}

impl From<Vec<CString>> for Strings {
    fn from(strings: Vec<CString>) -> Strings {
        let pointers = strings
            .iter()
            .map(|string| string.as_ptr().cast_mut())
            .chain([ptr::null_mut()])
            .collect();
        Strings { strings, pointers }
    }
}

// Without the pointers, which differ from one to an equal other.
impl fmt::Debug for Strings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.strings.fmt(f)
    }
}

impl std::ops::Deref for Strings {
    type Target = [CString];

    fn deref(&self) -> &[CString] {
        &self.strings
    }
}

/// Starts the program at `path` (posix_spawn(3)). Not posix_spawnp, which may hand a file without "#!" to a shell; and not
/// nix's, which makes both arrays anew at each start.
pub fn spawn(
    path: &CStr,
    actions: &PosixSpawnFileActions,
    attributes: &PosixSpawnAttr,
    words: &Strings,
    environment: &Strings,
) -> Result<libc::pid_t, Errno> {
    let mut pid = 0;
    let actions = ptr::from_ref(actions).cast::<libc::posix_spawn_file_actions_t>();
    let attributes = ptr::from_ref(attributes).cast::<libc::posix_spawnattr_t>();
    let (words, environment) = (words.pointers.as_ptr(), environment.pointers.as_ptr());
    // SAFETY: both objects are initialised (size and alignment asserted above), `path` and each string end in a NUL, both
    // arrays in a null pointer, and all of it outlives the call, which writes to `pid` alone.
    let error = unsafe {
        libc::posix_spawn(
            &raw mut pid,
            path.as_ptr(),
            actions,
            attributes,
            words,
            environment,
        )
    };
    if error == 0 {
        Ok(pid)
    } else {
        Err(Errno::from_raw(error))
    }
}

/// Makes the started process enter `directory` (posix_spawn_file_actions_addfchdir_np, glibc 2.29).
pub fn add_fchdir(
    actions: &mut PosixSpawnFileActions,
    directory: BorrowedFd<'_>,
) -> Result<(), Errno> {
    let actions = ptr::from_mut(actions).cast::<libc::posix_spawn_file_actions_t>();
    // SAFETY: the pointer is to an initialised object, which PosixSpawnFileActions is and stays (same size and
    // alignment, asserted above), borrowed exclusively for the call.
    let error =
        unsafe { libc::posix_spawn_file_actions_addfchdir_np(actions, directory.as_raw_fd()) };
    if error == 0 {
        Ok(())
    } else {
        Err(Errno::from_raw(error))
    }
}

/// Makes the started process close every descriptor from `first` on (posix_spawn_file_actions_addclosefrom_np, glibc 2.34).
pub fn add_closefrom(actions: &mut PosixSpawnFileActions, first: RawFd) -> Result<(), Errno> {
    let actions = ptr::from_mut(actions).cast::<libc::posix_spawn_file_actions_t>();
    // SAFETY: as in `add_fchdir`.
    let error = unsafe { libc::posix_spawn_file_actions_addclosefrom_np(actions, first) };
    if error == 0 {
        Ok(())
    } else {
        Err(Errno::from_raw(error))
    }
}

/// A descriptor for the process `pid` (pidfd_open(2), Linux 5.3), close-on-exec as every such descriptor is.
pub fn pidfd_open(pid: libc::pid_t) -> Result<OwnedFd, Errno> {
    // SAFETY: the call takes two integers and touches no memory of this process.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let descriptor = RawFd::try_from(Errno::result(descriptor)?).map_err(|_| Errno::EBADF)?;
    // SAFETY: the kernel has just made this descriptor for us, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Sends `signal` to the process group whose number is that of `process`, also when that process has been reaped
/// (pidfd_send_signal(2) with PIDFD_SIGNAL_PROCESS_GROUP, Linux 6.9; before that EINVAL).
pub fn signal_group(process: BorrowedFd<'_>, signal: libc::c_int) -> Result<(), Errno> {
    const PIDFD_SIGNAL_PROCESS_GROUP: libc::c_uint = 1 << 2;
    let info = ptr::null::<libc::siginfo_t>();
    // SAFETY: a null siginfo is allowed and means that of kill(2); the rest are integers.
    let result = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            process.as_raw_fd(),
            signal,
            info,
            PIDFD_SIGNAL_PROCESS_GROUP,
        )
    };
    Errno::result(result).map(drop)
}

/// Makes a copy of this process, which goes on from here (fork(2)): 0 in the copy, its number in this one.
///
/// For a process of one thread: the copy of another would have only this one.
pub fn fork() -> Result<libc::pid_t, Errno> {
    // SAFETY: the command calls this with no thread but its first, so nothing is held in the copy that nobody would release.
    Errno::result(unsafe { libc::fork() })
}

/// Closes every descriptor from `first` on (close_range(2), Linux 5.9; before that ENOSYS, and they stay open).
///
/// For a process that has none of its own there yet: what a value that still lives stands for would be closed.
pub fn close_from(first: libc::c_uint) -> Result<(), Errno> {
    // SAFETY: the call takes three integers and touches no memory of this process; the command calls it while nothing of
    // its own stands at `first` or above.
    Errno::result(unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) })
        .map(drop)
}

/// How a child changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It exited with this status.
    Exited(i32),
    /// It was killed by the signal of this number, which may be one that has no name.
    Killed(i32),
    /// It is stopped.
    Stopped,
}

/// Which child to look at.
#[derive(Clone, Copy, Debug)]
pub enum Child<'a> {
    /// The one of this number.
    Pid(libc::pid_t),
    /// The one of this descriptor.
    Pidfd(BorrowedFd<'a>),
}

/// waitid(2): `None` with WNOHANG where nothing has changed; ECHILD where it is no child, or no longer.
///
/// nix has it too, but answers EINVAL for a child that died of a real-time signal.
pub fn wait(child: Child<'_>, flags: WaitPidFlag) -> Result<Option<Change>, Errno> {
    let (kind, id) = match child {
        Child::Pid(pid) => (libc::P_PID, pid.cast_unsigned()),
        Child::Pidfd(pidfd) => (libc::P_PIDFD, pidfd.as_raw_fd().cast_unsigned()),
    };
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: `info` is writable and of the right type; the rest are integers.
    Errno::result(unsafe { libc::waitid(kind, id, info.as_mut_ptr(), flags.bits()) })?;
    // SAFETY: all zeroes is a valid siginfo_t, and waitid(2) either fills it in or leaves it.
    let info = unsafe { info.assume_init() };
    // SAFETY: for SIGCHLD, the only signal that waitid(2) fills in, si_status is the member of the union in use; where
    // nothing changed it is the zeroes from above.
    let status = unsafe { info.si_status() };
    Ok(match info.si_code {
        _ if info.si_signo == 0 => None,
        libc::CLD_EXITED => Some(Change::Exited(status)),
        libc::CLD_KILLED | libc::CLD_DUMPED => Some(Change::Killed(status)),
        _ => Some(Change::Stopped),
    })
}

/// Whether this process ignores `signal` (sigaction(2)).
pub fn is_ignored(signal: nix::sys::signal::Signal) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: no new action is given, and `action` is writable and of the right type.
    let result =
        unsafe { libc::sigaction(signal as libc::c_int, ptr::null(), action.as_mut_ptr()) };
    // SAFETY: all zeroes is a valid sigaction, and the call either fills it in or leaves it.
    result == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// Gives `signal` its default action in this process (sigaction(2)), also one of real time, which has no name in nix.
pub fn restore_default(signal: libc::c_int) {
    // SAFETY: all zeroes is a valid sigaction.
    let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    action.sa_sigaction = libc::SIG_DFL;
    // SAFETY: `action` is valid, and SIG_DFL is no code of ours; the old action is not asked for.
    unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
}

/// Takes `signal` out of the mask of this thread (pthread_sigmask(3)).
pub fn unblock(signal: libc::c_int) {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `set` is writable, and sigemptyset(3) initialises it whole.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: `set` is initialised; a number that is no signal is refused.
    unsafe { libc::sigaddset(set.as_mut_ptr(), signal) };
    // SAFETY: `set` is initialised; the old mask is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut()) };
}

/// Sends `signal` to this thread (raise(3)).
pub fn raise(signal: libc::c_int) {
    // SAFETY: the call takes an integer; what follows is the disposition's doing.
    unsafe { libc::raise(signal) };
}

/// How many columns the terminal at `descriptor` has (ioctl_tty(2)); `None` where it is no terminal or does not say.
pub fn columns(descriptor: BorrowedFd<'_>) -> Option<usize> {
    let mut size = MaybeUninit::<libc::winsize>::zeroed();
    // SAFETY: `size` is writable and of the type that TIOCGWINSZ fills in.
    let result =
        unsafe { libc::ioctl(descriptor.as_raw_fd(), libc::TIOCGWINSZ, size.as_mut_ptr()) };
    // SAFETY: all zeroes is a valid winsize, and the call either fills it in or leaves it.
    let columns = unsafe { size.assume_init() }.ws_col;
    (result == 0 && columns > 0).then_some(columns.into())
}
