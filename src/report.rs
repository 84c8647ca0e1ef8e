//! What can go wrong with a hook or with the file, as data, and the sentence for each.
//!
//! The only place with text for people. A report names the moment, the program as the file wrote it and what happened;
//! there is no field that could hold an argument, a value of the environment, a tool's name or a hook's output
//! (SPEC 6.2).

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::unistd::geteuid;

use crate::escape::{escaped, is_plain, quoted};
use crate::moment::Moment;
use crate::user::{is_known, outside};

/// The longest text of a report in bytes: with the command's prefix and a newline it is a line of 4,096 (SPEC 6.4).
const LONGEST: usize = 4096 - "bravebot-hooks: \n".len();

/// One failure: of one hook, or one problem of the file. Success has no report (SPEC 6.1).
///
/// Its [`Display`](fmt::Display) is one line for people, without a newline, of at most 4,079 bytes, in which control
/// characters, escapes, bidirectional controls and invalid UTF-8 are escaped (SPEC 6.4). There is nothing in it to
/// branch on: a hook decides nothing (SPEC 7.1).
#[derive(Clone, Debug)]
pub struct Report {
    hook: Option<(Moment, Arc<str>)>,
    failure: Failure,
}

impl Report {
    pub(crate) fn of_hook(moment: Moment, program: Arc<str>, failure: Failure) -> Report {
        Report {
            hook: Some((moment, program)),
            failure,
        }
    }

    pub(crate) fn of_file(text: impl fmt::Display) -> Report {
        Report {
            hook: None,
            failure: Failure::File(text.to_string()),
        }
    }

    pub(crate) fn of_log(text: impl fmt::Display) -> Report {
        Report {
            hook: None,
            failure: Failure::Log(text.to_string()),
        }
    }

    /// For the command of this package: a moment whose hooks do not start (SPEC 8.1, 8.7).
    #[doc(hidden)]
    pub fn no_hook_fired(reason: impl fmt::Display) -> Report {
        Report {
            hook: None,
            failure: Failure::NoneFired(reason.to_string()),
        }
    }

    /// The moment of the hook that failed; `None` for a problem of the file or of the log.
    pub fn moment(&self) -> Option<Moment> {
        self.hook.as_ref().map(|(moment, _)| *moment)
    }

    /// The program of the hook that failed, as the file wrote it, escaped for people (SPEC 6.4).
    pub fn program(&self) -> Option<String> {
        self.hook
            .as_ref()
            .map(|(_, program)| escaped(program.as_bytes()))
    }

    pub(crate) fn program_unescaped(&self) -> Option<&str> {
        self.hook.as_ref().map(|(_, program)| &**program)
    }

    pub(crate) fn failure(&self) -> &Failure {
        &self.failure
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = match &self.hook {
            Some((moment, program)) => format!(
                "{moment} hook {} {}",
                quoted(program.as_bytes()),
                self.failure
            ),
            None => self.failure.to_string(),
        };
        if line.len() > LONGEST {
            line.truncate(line.floor_char_boundary(LONGEST - '…'.len_utf8()));
            line.push('…');
        }
        f.write_str(&line)
    }
}

/// What happened; the variants are in the order of SPEC 6.1.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    NotStarted(StartError),
    /// The bound in seconds, and whether the hook's process ended when it was killed.
    TimedOut {
        seconds: u64,
        ended: bool,
    },
    Killed(i32),
    Exited(i32),
    LeftRunning,
    /// Of a moment, whose hooks do not start (SPEC 8.1, 8.7).
    NoneFired(String),
    File(String),
    Log(String),
}

impl Failure {
    /// The word of the turn log (SPEC 8.5).
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Failure::NotStarted(_) | Failure::NoneFired(_) => "not-started",
            Failure::TimedOut { .. } => "timed-out",
            Failure::Killed(_) => "killed",
            Failure::Exited(_) => "exited",
            Failure::LeftRunning => "left-running",
            Failure::File(_) => "file",
            Failure::Log(_) => "log",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NotStarted(error) => write!(f, "could not be started: {error}"),
            Failure::TimedOut {
                seconds,
                ended: true,
            } => {
                write!(f, "was still running after {seconds} s and was stopped")
            }
            Failure::TimedOut {
                seconds,
                ended: false,
            } => {
                write!(
                    f,
                    "was still running after {seconds} s and could not be killed"
                )
            }
            Failure::Killed(signal) => write!(f, "was killed by {}", signal_name(*signal)),
            Failure::Exited(status) => write!(f, "exited with status {status}"),
            Failure::LeftRunning => {
                f.write_str("ended but left processes behind, which were killed")
            }
            Failure::NoneFired(reason) => write!(f, "no hook fired: {reason}"),
            Failure::File(text) | Failure::Log(text) => f.write_str(text),
        }
    }
}

/// The name of a signal: `SIGSEGV`, `SIGRTMIN+3`; a number where there is none.
pub(crate) fn signal_name(signal: i32) -> String {
    let first_real_time = nix::libc::SIGRTMIN();
    match Signal::try_from(signal) {
        Ok(signal) => signal.as_str().to_owned(),
        Err(_) if signal >= first_real_time => format!("SIGRTMIN+{}", signal - first_real_time),
        Err(_) => format!("signal {signal}"),
    }
}

/// Why a hook could not be started; each is told apart (SPEC 6.2).
#[derive(Clone, Debug)]
pub(crate) enum StartError {
    /// No absolute entry of `PATH` has it; the path is one that was found but is not executable.
    NotInPath {
        not_executable: Option<PathBuf>,
    },
    /// As that, where it looks like a whole command line, or like an assignment before one.
    NotSplit,
    Assignment,
    NoSuchFile,
    NoInterpreter,
    NotAProgram,
    IsDirectory,
    NotPermitted,
    TooBig,
    Busy,
    /// The turn's directory, never the program (SPEC 3.3).
    Directory(PathBuf, Errno),
    /// A step before the program was touched, or an answer of the system that has no case of its own.
    System(&'static str, Errno),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::NotInPath { not_executable: None } => f.write_str("no program of that name in PATH"),
            StartError::NotInPath { not_executable: Some(path) } => {
                write!(f, "permission denied: {0} is not executable; chmod +x {0}", shell_word(path))
            }
            StartError::NotSplit => {
                f.write_str("no program of that name in PATH: nothing splits it; write [\"program\", \"argument\"]")
            }
            StartError::Assignment => f.write_str(
                "no program of that name in PATH: an assignment is none; write [\"env\", \"NAME=value\", \"program\"]",
            ),
            StartError::NoSuchFile => f.write_str("no such file"),
            StartError::NoInterpreter => {
                f.write_str("its interpreter does not exist (the one after \"#!\", or its loader)")
            }
            StartError::NotAProgram => {
                f.write_str("it is not a program (its first line is no \"#!\" that says what runs it)")
            }
            StartError::IsDirectory => f.write_str("it is a directory"),
            StartError::NotPermitted => f.write_str("permission denied (it, or what runs it, is not executable here)"),
            StartError::TooBig => f.write_str("its arguments and environment are larger than the system takes"),
            StartError::Busy => f.write_str("its file is busy: it is still open for writing"),
            StartError::Directory(path, error) if path.as_os_str() == "." => {
                write!(f, "the working directory cannot be entered: {}", error.desc())
            }
            StartError::Directory(path, error) => {
                write!(f, "the directory {} cannot be entered: {}", quoted(path.as_os_str().as_bytes()), error.desc())
            }
            StartError::System(step, error) => write!(f, "{step}: {}", error.desc()),
        }
    }
}

/// Why a file below `HOME` is not used (SPEC 1.5): where, what is wrong, and the one command that mends it.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// The file or directory that is at fault.
    pub(crate) path: PathBuf,
    /// The symbolic link that led to it.
    pub(crate) link: Option<PathBuf>,
    pub(crate) fault: Fault,
    /// Whether it is `HOME` itself, or what lies above: not ours to mend.
    pub(crate) is_of_home: bool,
    /// This user.
    pub(crate) user: u32,
}

/// What is wrong with a file or a directory on the way to it (SPEC 1.1, 1.3, 1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    HomeNotAbsolute,
    HomeThroughProc,
    IdsDiffer,
    NotMapped,
    Owner {
        owner: u32,
    },
    Writable {
        owner: u32,
        mode: u32,
    },
    LinkOwner {
        owner: u32,
    },
    LinkIntoProc,
    TooManyLinks,
    LeadsNowhere,
    NotADirectory,
    NotAFile(&'static str),
    HardLinks,
    NotSearchable {
        owner: u32,
    },
    NotReadable {
        owner: u32,
    },
    /// Of the log alone.
    NotYours {
        owner: u32,
    },
    NotWritable {
        owner: u32,
    },
    Closed,
    Missing,
    CannotRotate(Errno),
    TooLarge {
        limit: usize,
    },
    System(Errno),
}

impl Refusal {
    pub(crate) fn of_home(path: &Path, fault: Fault) -> Refusal {
        Refusal {
            path: path.to_owned(),
            link: None,
            fault,
            is_of_home: true,
            user: geteuid().as_raw(),
        }
    }

    pub(crate) fn below_home(path: &Path, fault: Fault) -> Refusal {
        Refusal {
            is_of_home: false,
            ..Refusal::of_home(path, fault)
        }
    }

    fn mend(&self) -> String {
        let path = shell_word(&self.path);
        // What leads astray is taken away, not what it leads to: that may be /dev/zero.
        let astray = shell_word(self.link.as_ref().unwrap_or(&self.path));
        let user = self.user;
        let sudo = |owner: u32| {
            if user == 0 || owner == user {
                ""
            } else {
                "sudo "
            }
        };
        let allow = |owner: u32, bits: &str| match &self.link {
            _ if owner == user => format!("chmod u+{bits} {path}"),
            Some(_) => format!("rm {astray}"),
            None => format!("sudo chown {user} {path}"),
        };
        match self.fault {
            Fault::NotMapped => "unshare --user --map-root-user \"$SHELL\"".to_owned(),
            Fault::IdsDiffer => format!("{}chmod ug-s {path}", sudo(0)),
            Fault::Writable { owner, .. } => format!("{}chmod go-w {path}", sudo(owner)),
            // Nothing is wrong with any file.
            Fault::System(Errno::EMFILE | Errno::ENFILE) => "ulimit -n 1024".to_owned(),
            Fault::System(Errno::EFBIG) => "ulimit -f unlimited".to_owned(),
            Fault::System(Errno::ENOSPC | Errno::EDQUOT) => format!("df -h {path}"),
            _ if self.is_of_home => {
                "export HOME=\"$(getent passwd \"$(id -u)\" | cut -d: -f6)\"".to_owned()
            }
            // To be run outside of the user namespace, where numbers are others.
            Fault::Owner { owner } if !is_known(owner) => match self.link {
                Some(_) => format!("rm {astray}"),
                None => format!("chown {} {path}", outside(user)),
            },
            Fault::LinkOwner { owner } if !is_known(owner) => {
                format!("chown -h {} {path}", outside(user))
            }
            Fault::Owner { owner } => format!("{}chown {user} {path}", sudo(owner)),
            Fault::LinkOwner { owner } => format!("{}chown -h {user} {path}", sudo(owner)),
            Fault::NotSearchable { owner } => allow(owner, "x"),
            Fault::NotReadable { owner } => allow(owner, "r"),
            Fault::NotWritable { owner } if owner == user => allow(owner, "wx"),
            // The directory stays root's: that may be how an administrator keeps the hooks file as it is.
            Fault::NotWritable { .. } => {
                format!(
                    "sudo install -m 600 -o {user} /dev/null {}",
                    shell_word(&self.path.join("hooks.log"))
                )
            }
            Fault::CannotRotate(Errno::EACCES | Errno::EPERM) => {
                format!(
                    "truncate -s 0 {}",
                    shell_word(&self.path.with_extension(""))
                )
            }
            Fault::Closed => format!("chmod u+rw {path}"),
            Fault::Missing => format!("mkdir -m 0755 {path}"),
            Fault::LinkIntoProc | Fault::TooManyLinks | Fault::LeadsNowhere => {
                format!("rm {astray}")
            }
            Fault::NotADirectory
            | Fault::NotAFile(_)
            | Fault::NotYours { .. }
            | Fault::CannotRotate(_)
            | Fault::HardLinks
            | Fault::TooLarge { .. } => {
                format!(
                    "mv -T --backup=numbered {astray} {}",
                    shell_word(&with_old(self.link.as_ref().unwrap_or(&self.path)))
                )
            }
            Fault::HomeNotAbsolute | Fault::HomeThroughProc | Fault::System(_) => {
                format!("ls -ld {path}")
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = escaped(self.path.as_os_str().as_bytes());
        match &self.fault {
            Fault::HomeNotAbsolute => write!(f, "HOME is not an absolute path: \"{path}\"")?,
            Fault::HomeThroughProc => write!(f, "HOME leads through /proc or /dev: \"{path}\"")?,
            Fault::NotMapped => f.write_str(
                "this user is not known in its user namespace, so its files cannot be told from a stranger's",
            )?,
            Fault::Owner { owner } | Fault::LinkOwner { owner } if !is_known(*owner) => write!(
                f,
                "{path} belongs to a user who is not known in this user namespace (shown as {owner}): mend it outside"
            )?,
            Fault::IdsDiffer => f.write_str("the real and effective user or group differ")?,
            Fault::Owner { owner } => write!(
                f,
                "{path} belongs to user {owner}, who is neither root nor you: read it before you make it yours"
            )?,
            Fault::Writable { mode, .. } => write!(f, "others can write to {path} (mode {mode:04o})")?,
            Fault::LinkOwner { owner } => write!(
                f,
                "the link {path} belongs to user {owner}, who is neither root nor you: see where it leads before you make it yours"
            )?,
            Fault::LinkIntoProc => write!(f, "the link {path} is one of /proc")?,
            Fault::TooManyLinks => write!(f, "more than 40 links, or a loop of them, at {path}")?,
            Fault::LeadsNowhere => match &self.link {
                Some(link) => {
                    write!(
                        f,
                        "the link {} leads nowhere: {path} does not exist",
                        escaped(link.as_os_str().as_bytes())
                    )?;
                }
                None => write!(f, "{path} does not exist")?,
            },
            Fault::NotADirectory => write!(f, "{path} is not a directory")?,
            Fault::NotAFile(kind) => write!(f, "{path} is {kind}, not a file")?,
            Fault::HardLinks => write!(f, "{path} has a second hard link, which somebody else may have made")?,
            Fault::NotSearchable { .. } => write!(f, "the directory {path} cannot be searched: permission denied")?,
            Fault::NotReadable { .. } => write!(f, "{path} cannot be read: permission denied")?,
            Fault::NotYours { owner } => write!(f, "{path} belongs to user {owner}, and not to you")?,
            Fault::NotWritable { .. } => write!(f, "no file can be made in {path}: permission denied")?,
            Fault::Closed => write!(f, "{path} cannot be read and written: permission denied")?,
            Fault::Missing => write!(f, "{path} does not exist")?,
            Fault::CannotRotate(error) => write!(f, "the full log cannot become {path}: {}", error.desc())?,
            Fault::TooLarge { limit } => write!(f, "{path} is larger than {limit} bytes: write a shorter one")?,
            Fault::System(error) => write!(f, "{path}: {}", error.desc())?,
        }
        write!(f, "; {}", self.mend())
    }
}

fn with_old(path: &Path) -> PathBuf {
    let mut old = path.as_os_str().to_owned();
    old.push(".old");
    PathBuf::from(old)
}

/// A path as a word of a shell command that can be shown to people: quoted where it must be, and what cannot be shown as
/// it is written in octal for printf(1).
fn shell_word(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    let is_bare = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+,:@%=".contains(byte);
    if bytes.iter().all(is_bare) && bytes.first().is_some_and(|byte| *byte != b'-') {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    match path.to_str() {
        Some(text) if text.chars().all(|c| is_plain(c) || matches!(c, '"' | '\\')) => {
            format!("'{}'", text.replace('\'', "'\\''"))
        }
        _ => {
            let octal = |byte: &u8| {
                if byte.is_ascii_alphanumeric() || b"/._-".contains(byte) {
                    char::from(*byte).to_string()
                } else {
                    format!("\\{byte:03o}")
                }
            };
            format!(
                "\"$(printf '{}')\"",
                bytes.iter().map(octal).collect::<String>()
            )
        }
    }
}
