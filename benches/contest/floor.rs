//! What a start is measured against: the bare calls of the C library, and the calls that SPEC wants, written down one
//! after the other. Nothing of the library is used, and nothing is prepared anew that could be prepared once.
#![allow(
    unsafe_code,
    reason = "nix makes the arrays of posix_spawn(3) at each start, and lacks some of the calls"
)]

use std::ffi::{CStr, CString, c_char};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use nix::libc;

/// A program with its arguments and environment, as posix_spawn(3) takes them.
pub struct Program {
    path: CString,
    words: Array,
    environment: Array,
}

struct Array {
    _strings: Vec<CString>,
    pointers: Vec<*mut c_char>,
}

impl Array {
    fn of(strings: Vec<CString>) -> Array {
        let pointers = strings
            .iter()
            .map(|string| string.as_ptr().cast_mut())
            .chain([ptr::null_mut()])
            .collect();
        Array {
            _strings: strings,
            pointers,
        }
    }
}

impl Program {
    pub fn new(
        path: &Path,
        arguments: &[&str],
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Program {
        let string = |text: &str| CString::new(text).unwrap();
        let path = CString::new(path.as_os_str().as_bytes()).unwrap();
        let words = [path.clone()]
            .into_iter()
            .chain(arguments.iter().map(|argument| string(argument)));
        let variables = environment
            .into_iter()
            .map(|(name, value)| string(&format!("{name}={value}")));
        Program {
            words: Array::of(words.collect()),
            environment: Array::of(variables.collect()),
            path,
        }
    }

    fn start(
        &self,
        actions: *const libc::posix_spawn_file_actions_t,
        attributes: *const libc::posix_spawnattr_t,
    ) -> libc::pid_t {
        let (words, environment) = (
            self.words.pointers.as_ptr(),
            self.environment.pointers.as_ptr(),
        );
        let mut pid = 0;
        // SAFETY: all strings end in a NUL and both arrays in a null pointer; the objects are null or initialised.
        let error = unsafe {
            libc::posix_spawn(
                &raw mut pid,
                self.path.as_ptr(),
                actions,
                attributes,
                words,
                environment,
            )
        };
        assert_eq!(error, 0, "{:?} cannot be started", self.path);
        pid
    }

    /// The floor: posix_spawn(3) and waitpid(2).
    pub fn run(&self) {
        let pid = self.start(ptr::null(), ptr::null());
        let mut status = 0;
        // SAFETY: `status` is writable.
        let reaped = unsafe { libc::waitpid(pid, &raw mut status, 0) };
        assert!(
            reaped == pid && status == 0,
            "{:?} failed: {status}",
            self.path
        );
    }

    /// The calls that SPEC wants: the line in a pipe, /dev/null, the directory, a new session, no descriptor, no signal
    /// blocked or ignored; a pidfd that is waited for with a bound, the group's end, and the reaping.
    pub fn run_as_specified(&self, directory: &CStr, line: &[u8]) {
        // SAFETY: every object is initialised by its init call before its use and destroyed once, every descriptor is
        // one that was opened here and is closed once, and every pointer is to a local that outlives its call.
        unsafe {
            let directory = libc::open(
                directory.as_ptr(),
                libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC,
            );
            let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            let mut pipe = [0; 2];
            libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC);
            assert_eq!(
                libc::write(pipe[1], line.as_ptr().cast(), line.len()),
                line.len().cast_signed()
            );
            libc::close(pipe[1]);

            let mut actions = MaybeUninit::uninit();
            let actions = actions.as_mut_ptr();
            libc::posix_spawn_file_actions_init(actions);
            libc::posix_spawn_file_actions_adddup2(actions, pipe[0], 0);
            libc::posix_spawn_file_actions_adddup2(actions, null, 1);
            libc::posix_spawn_file_actions_adddup2(actions, null, 2);
            libc::posix_spawn_file_actions_addfchdir_np(actions, directory);
            libc::posix_spawn_file_actions_addclosefrom_np(actions, 3);
            let (mut attributes, mut signals) = (MaybeUninit::uninit(), MaybeUninit::uninit());
            let attributes = attributes.as_mut_ptr();
            libc::posix_spawnattr_init(attributes);
            libc::sigemptyset(signals.as_mut_ptr());
            libc::posix_spawnattr_setsigmask(attributes, signals.as_ptr());
            libc::sigfillset(signals.as_mut_ptr());
            libc::posix_spawnattr_setsigdefault(attributes, signals.as_ptr());
            let flags = libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF;
            libc::posix_spawnattr_setflags(
                attributes,
                (flags | libc::c_int::from(libc::POSIX_SPAWN_SETSID)) as i16,
            );

            let pid = self.start(actions, attributes);
            libc::posix_spawnattr_destroy(attributes);
            libc::posix_spawn_file_actions_destroy(actions);
            for descriptor in [pipe[0], null, directory] {
                libc::close(descriptor);
            }
            let pidfd = libc::syscall(libc::SYS_pidfd_open, pid, 0) as libc::c_int;
            let mut end = libc::pollfd {
                fd: pidfd,
                events: libc::POLLIN,
                revents: 0,
            };
            assert_eq!(
                libc::poll(&raw mut end, 1, 30_000),
                1,
                "{:?} does not end",
                self.path
            );
            libc::kill(-pid, libc::SIGKILL);
            let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
            libc::waitid(
                libc::P_PIDFD,
                pidfd.cast_unsigned(),
                info.as_mut_ptr(),
                libc::WEXITED,
            );
            let info = info.assume_init();
            assert!(
                info.si_code == libc::CLD_EXITED && info.si_status() == 0,
                "{:?} failed",
                self.path
            );
            libc::close(pidfd);
        }
    }
}
