//! Opens a file below `HOME` if nobody but root or this user could have chosen its bytes (SPEC 1.1 to 1.5).
//!
//! The only maker of [`TrustedText`]. Each component of the path is opened with `O_PATH | O_NOFOLLOW` and judged on the
//! descriptor, so what is swapped meanwhile changes nothing that was judged, nothing blocks, and no device is read. What is
//! above `HOME` is taken as it is: whoever can rename a directory there chooses `HOME` itself.
//! Symbolic links are read and followed here, not by the kernel, so that each is judged too. The price is two or three
//! system calls a component. Knows nothing of JSON, and words what is wrong, but not what to do about it.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Component::{self, Normal, ParentDir};
use std::path::{Path, PathBuf};
use std::{env, fmt};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat, readlinkat};
use nix::libc;
use nix::sys::stat::{FileStat, Mode, fstat};
use nix::sys::statfs::{PROC_SUPER_MAGIC, fstatfs};
use nix::unistd::{getegid, geteuid, getgid, getuid};

use crate::escape::escaped;
use crate::sys::errno;

/// How many symbolic links are followed, as by the kernel (path_resolution(7)).
const MAX_LINKS: u32 = 40;
const STEP: OFlag = OFlag::from_bits_retain(libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC);
/// If the name has become a link, a FIFO or a device since it was judged, this neither follows nor blocks.
pub(crate) const READ: OFlag = OFlag::from_bits_retain(
    libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_NOCTTY | libc::O_CLOEXEC,
);

/// Bytes of a file that nobody but root or this user could have chosen.
#[derive(Debug)]
pub(crate) struct TrustedText(Vec<u8>);

impl TrustedText {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// For tests/internals, which has no file for each text.
    #[cfg(any(test, fuzzing))]
    #[allow(dead_code, reason = "the tests are in another crate")]
    pub(crate) fn of_test(bytes: &[u8]) -> TrustedText {
        TrustedText(bytes.to_owned())
    }
}

/// `HOME` as it was when the launcher was made.
#[derive(Clone, Debug)]
pub(crate) struct Home(PathBuf);

impl Home {
    /// `None` where `home`, the value of `HOME`, is unset or empty: then there are no hooks, and no report (SPEC 1.1).
    pub(crate) fn new(home: Option<OsString>) -> Result<Option<Home>, Refusal> {
        let home = PathBuf::from(home.unwrap_or_default());
        let (path, fault) = match home.components().nth(1) {
            _ if home.as_os_str().is_empty() => return Ok(None),
            _ if !home.is_absolute() => (home, Fault::HomeNotAbsolute),
            Some(Normal(name)) if name == "proc" || name == "dev" => (home, Fault::HomeThroughProc),
            // At fault is the program that runs here, with its set-user-ID or set-group-ID bit.
            _ if getuid() != geteuid() || getgid() != getegid() => {
                (env::current_exe().unwrap_or_default(), Fault::IdsDiffer)
            }
            _ if !is_mapped_user(geteuid().as_raw()) => (home, Fault::UserNotMapped),
            _ => return Ok(Some(Home(home))),
        };
        Err(Refusal::new(path, fault, true))
    }

    pub(crate) fn join(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// The refusal of what is at `path` below `HOME`.
    pub(crate) fn refusal(&self, path: &str, fault: Fault) -> Refusal {
        Refusal::new(self.join(path), fault, false)
    }

    /// Reads the whole file at `path` below `HOME`; `None` where it, or a directory on the way, does not exist (SPEC 1.2).
    pub(crate) fn read(&self, path: &str, limit: usize) -> Result<Option<TrustedText>, Refusal> {
        self.resolve(|resolver| resolver.read(path, limit))
    }

    /// Opens the directory at `path` below `HOME` (O_PATH), judged like the way to a file; `None` where there is none.
    pub(crate) fn directory(&self, path: &str) -> Result<Option<OwnedFd>, Refusal> {
        self.resolve(|resolver| resolver.directory(path))
    }

    /// What `reach` reaches from `HOME`; `None` where it, or a directory on the way, does not exist.
    fn resolve<T>(
        &self,
        reach: impl FnOnce(&mut PathResolver<'_>) -> Result<T, Fault>,
    ) -> Result<Option<T>, Refusal> {
        let root = open("/", STEP, Mode::empty());
        let mut resolver = PathResolver {
            home: &self.0,
            user: geteuid().as_raw(),
            home_directory: None,
            directory: root.map_err(|error| self.refusal("/", error.into()))?,
            path: "/".into(),
            depth: None,
            remaining: Vec::new(),
            links_left: MAX_LINKS,
            link: None,
        };
        let reached = resolver.walk_to_home();
        match reached.and_then(|()| reach(&mut resolver)) {
            Ok(reached) => Ok(Some(reached)),
            Err(Fault::Missing) => Ok(None),
            Err(fault) => {
                let is_of_home = resolver.home_directory.is_none();
                let mut refusal = Refusal::new(resolver.path, fault, is_of_home);
                refusal.link = resolver.link.map(|(link, _)| link);
                Err(refusal)
            }
        }
    }
}

/// Resolves a path as path_resolution(7) does, one component at a time: first to `HOME`, where nothing is judged, and from
/// there to the file, where every step is. On a fault, `path` and `link` say where that is. What does not exist, and no
/// link leads to it, is [`Fault::Missing`].
struct PathResolver<'a> {
    home: &'a Path,
    user: u32,
    /// Set once `HOME` is reached.
    home_directory: Option<OwnedFd>,
    /// The directory that has been reached.
    directory: OwnedFd,
    /// Its path, or that of what was looked at last in it.
    path: PathBuf,
    /// How many directories below `HOME`; `None` outside.
    depth: Option<usize>,
    /// The components that remain, the next one last.
    remaining: Vec<OsString>,
    /// How many more links are followed.
    links_left: u32,
    /// The link that led here, the user's own where it is a chain, and how much remains when its target is resolved.
    link: Option<(PathBuf, usize)>,
}

impl PathResolver<'_> {
    fn directory(&mut self, path: &str) -> Result<OwnedFd, Fault> {
        self.walk_to_directory(path.as_ref())?;
        Ok(self.directory.try_clone().map_err(errno)?)
    }

    fn read(&mut self, path: &str, limit: usize) -> Result<TrustedText, Fault> {
        let found = self.walk(path.as_ref())?;
        let (name, stat) = found.ok_or(Fault::NotAFile("a directory"))?;
        judge(&stat, &fstat(&self.directory)?, self.user)?;
        let file = match openat(&self.directory, &*name, READ, Mode::empty()) {
            Err(Errno::EACCES) => return Err(Fault::NotReadable(stat.st_uid)),
            file => file?,
        };
        // What was opened is what counts.
        self.judge(&file)?;
        let (mut bytes, mut file) = (Vec::new(), File::from(file).take(limit as u64 + 1));
        file.read_to_end(&mut bytes).map_err(errno)?;
        if bytes.len() > limit {
            return Err(Fault::TooLarge(limit));
        }
        Ok(TrustedText(bytes))
    }

    fn walk_to_home(&mut self) -> Result<(), Fault> {
        self.walk_to_directory(self.home)?;
        (self.path, self.link, self.depth) = (self.home.to_owned(), None, Some(0));
        self.judge(&self.directory)?;
        self.home_directory = Some(self.directory.try_clone().map_err(errno)?);
        Ok(())
    }

    fn walk_to_directory(&mut self, path: &Path) -> Result<(), Fault> {
        let found = self.walk(path)?;
        found.map_or(Ok(()), |_| Err(Fault::NotADirectory))
    }

    /// Follows `path` to its end: `None` where that is a directory, and otherwise its name in the directory and its status.
    fn walk(&mut self, path: &Path) -> Result<Option<(OsString, FileStat)>, Fault> {
        self.push(path);
        while let Some(name) = self.remaining.pop() {
            let remaining = self.remaining.len();
            self.link.take_if(|(_, end)| remaining < *end);
            if name == ".." && self.depth == Some(0) {
                // Only the way to HOME was exempt, so from the root on every directory above it is judged.
                let home = fs::canonicalize(self.home).map_err(errno)?;
                self.restart(home.parent().unwrap_or(&home))?;
                continue;
            }
            let entry = self.open(&name)?;
            let stat = fstat(&entry)?;
            self.path.push(&name);
            match stat.st_mode & libc::S_IFMT {
                libc::S_IFDIR => {
                    self.enter(entry)?;
                    let step = |depth: usize| if name == ".." { depth - 1 } else { depth + 1 };
                    self.depth = self.depth.map(step);
                }
                libc::S_IFLNK => self.follow(&entry)?,
                _ if remaining == 0 => return Ok(Some((name, stat))),
                _ => return Err(Fault::NotADirectory),
            }
        }
        Ok(None)
    }

    fn open(&mut self, name: &OsStr) -> Result<OwnedFd, Fault> {
        let open = |flags| openat(&self.directory, name, flags, Mode::empty());
        // First as a directory, which mounts what automount has not mounted yet (openat(2)).
        let opened = match open(STEP | OFlag::O_DIRECTORY) {
            Err(Errno::ENOTDIR) => open(STEP),
            opened => opened,
        };
        match opened {
            Err(Errno::ENOENT) if self.link.is_none() => Err(Fault::Missing),
            Err(Errno::ENOENT) => {
                self.path.push(name);
                Err(Fault::LeadsNowhere)
            }
            Err(Errno::EACCES) => Err(Fault::NotSearchable(fstat(&self.directory)?.st_uid)),
            opened => Ok(opened?),
        }
    }

    /// Makes `directory` the one that has been reached. Above `HOME` nothing is judged.
    fn enter(&mut self, directory: OwnedFd) -> Result<(), Fault> {
        if self.home_directory.is_some() {
            self.judge(&directory)?;
        }
        self.directory = directory;
        Ok(())
    }

    fn follow(&mut self, link: &OwnedFd) -> Result<(), Fault> {
        // Above HOME nothing is judged, but what HOME itself names is.
        let is_below = self.home_directory.is_some();
        if is_below || self.remaining.is_empty() && self.link.is_none() {
            self.judge(link)?;
        }
        // The kernel follows a link of procfs to where a process is, and not to what the text of the link says.
        if fstatfs(link)?.filesystem_type() == PROC_SUPER_MAGIC {
            if is_below {
                return Err(Fault::LinkIntoProc);
            }
            self.path = self.home.to_owned();
            return Err(Fault::HomeThroughProc);
        }
        let links_left = self.links_left.checked_sub(1);
        self.links_left = links_left.ok_or(Fault::TooManyLinks)?;
        let target = PathBuf::from(readlinkat(link, "")?);
        let led_here = || (self.path.clone(), self.remaining.len());
        self.link.get_or_insert_with(led_here);
        self.path.pop();
        match (&self.home_directory, target.strip_prefix(self.home)) {
            (Some(home), Ok(below)) => {
                self.directory = home.try_clone().map_err(errno)?;
                (self.path, self.depth) = (self.home.to_owned(), Some(0));
                self.push(below);
            }
            _ if target.is_absolute() => self.restart(&target)?,
            _ => self.push(&target),
        }
        Ok(())
    }

    /// Resolves `path`, and then what remains, from the root on.
    fn restart(&mut self, path: &Path) -> Result<(), Fault> {
        self.push(path);
        let root = open("/", STEP, Mode::empty())?;
        (self.path, self.depth) = ("/".into(), None);
        self.enter(root)
    }

    /// Puts the components of `path` before those that remain.
    fn push(&mut self, path: &Path) {
        let is_name = |it: &Component<'_>| matches!(it, Normal(_) | ParentDir);
        let names = path.components().rev().filter(is_name);
        let names = names.map(|name| name.as_os_str().to_owned());
        self.remaining.extend(names);
    }

    fn judge(&self, entry: &OwnedFd) -> Result<(), Fault> {
        judge(&fstat(entry)?, &fstat(&self.directory)?, self.user)
    }
}

/// Judges what is in a directory by its status: a file, a symbolic link, or a directory on the way (SPEC 1.4).
pub(crate) fn judge(entry: &FileStat, directory: &FileStat, user: u32) -> Result<(), Fault> {
    let is_writable_by_others = |entry: &FileStat| entry.st_mode & 0o022 != 0;
    let (kind, mode) = (entry.st_mode & libc::S_IFMT, entry.st_mode & 0o7777);
    let is_excused = match kind {
        // In a sticky directory, an entry can be replaced by its owner, the directory's and root alone.
        libc::S_IFDIR => entry.st_mode & libc::S_ISVTX != 0,
        // Nobody else can reach it.
        libc::S_IFREG => entry.st_nlink == 1 && directory.st_mode & 0o011 == 0,
        // The text of a link cannot be changed.
        libc::S_IFLNK => true,
        libc::S_IFIFO => return Err(Fault::NotAFile("a FIFO")),
        libc::S_IFSOCK => return Err(Fault::NotAFile("a socket")),
        _ => return Err(Fault::NotAFile("a device")),
    };
    let owner = entry.st_uid;
    let is_strange = owner != 0 && owner != user;
    match kind {
        libc::S_IFLNK if is_strange => Err(Fault::LinkOwner(owner)),
        _ if is_strange => Err(Fault::Owner(owner)),
        _ if is_writable_by_others(entry) && !is_excused => Err(Fault::Writable { owner, mode }),
        libc::S_IFDIR => Ok(()),
        // Where others can write to the directory, sticky or not, this may be a second link that one of them made to
        // another file of this user's (if `fs.protected_hardlinks` is off). Then the bytes are the user's, and the
        // choice is not.
        _ if is_writable_by_others(directory) && entry.st_nlink > 1 => Err(Fault::HardLinks),
        _ => Ok(()),
    }
}

impl From<Errno> for Fault {
    fn from(error: Errno) -> Fault {
        Fault::System(error)
    }
}

/// Returns whether `user` names anybody in this user namespace (user_namespaces(7)). Whoever is not mapped there is shown
/// as one number, 65534 unless configured, and so are all files of theirs. `true` where /proc does not say.
pub(crate) fn is_mapped_user(user: u32) -> bool {
    let Ok(map) = fs::read_to_string("/proc/self/uid_map") else {
        return true;
    };
    let overflow = fs::read_to_string("/proc/sys/kernel/overflowuid").unwrap_or_default();
    is_mapped_in(&map, overflow.trim().parse().unwrap_or(65534), user)
}

pub(crate) fn is_mapped_in(map: &str, overflow: u32, user: u32) -> bool {
    let all: u64 = ranges(map).map(|[_, _, count]| count).sum();
    id_outside(map, user).is_some() && (user != overflow || all == u64::from(u32::MAX))
}

/// The id of `user` outside of the user namespace of this `map`.
pub(crate) fn id_outside(map: &str, user: u32) -> Option<u64> {
    ranges(map).find_map(|[inside, outside, count]| {
        let nth = u64::from(user).checked_sub(inside)?;
        (nth < count).then(|| outside + nth)
    })
}

/// The lines of a map: the first id inside, the first outside, how many.
fn ranges(map: &str) -> impl Iterator<Item = [u64; 3]> {
    let numbers = |line: &str| line.split_ascii_whitespace().flat_map(str::parse).collect();
    map.lines().flat_map(move |it| Vec::try_into(numbers(it)))
}

/// Why a file below `HOME` is not used. Its [`Display`](fmt::Display) says where and what is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// The file or directory at fault.
    pub(crate) path: PathBuf,
    /// The symbolic link that led to it.
    pub(crate) link: Option<PathBuf>,
    pub(crate) fault: Fault,
    /// Whether the path is `HOME` itself, or above it.
    pub(crate) is_of_home: bool,
}

/// What is wrong with a file, or with a directory on the way to it. A number is that of its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    HomeNotAbsolute,
    HomeThroughProc,
    IdsDiffer,
    UserNotMapped,
    Owner(u32),
    Writable { owner: u32, mode: u32 },
    LinkOwner(u32),
    LinkIntoProc,
    TooManyLinks,
    LeadsNowhere,
    NotADirectory,
    NotAFile(&'static str),
    HardLinks,
    NotSearchable(u32),
    NotReadable(u32),
    TooLarge(usize),
    System(Errno),
    Missing,
    // Of the log alone.
    NotOwned(u32),
    DirectoryNotWritable(u32),
    NotReadableAndWritable,
    CannotRotate(Errno),
}

impl Refusal {
    pub(crate) fn new(path: PathBuf, fault: Fault, is_of_home: bool) -> Refusal {
        Refusal {
            path,
            link: None,
            fault,
            is_of_home,
        }
    }
}

impl fmt::Display for Refusal {
    #[rustfmt::skip]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = escaped(self.path.as_os_str().as_encoded_bytes());
        let link = escaped(self.link.as_ref().unwrap_or(&self.path).as_os_str().as_encoded_bytes());
        match self.fault {
            Fault::HomeNotAbsolute => write!(f, "HOME is not an absolute path: \"{path}\""),
            Fault::HomeThroughProc => write!(f, "HOME leads through /proc or /dev: \"{path}\""),
            Fault::IdsDiffer => write!(f, "the real and effective user or group differ"),
            Fault::UserNotMapped => write!(f, "this user is not known in its user namespace"),
            Fault::Owner(owner) | Fault::LinkOwner(owner) if !is_mapped_user(owner) =>
                write!(f, "{path} belongs to a user who is not known in this user namespace (shown as {owner})"),
            Fault::Owner(owner) => write!(f, "{path} belongs to user {owner}, who is neither root nor you"),
            Fault::LinkOwner(owner) => write!(f, "the link {path} belongs to user {owner}, who is neither root nor you"),
            Fault::Writable { mode, .. } => write!(f, "others can write to {path} (mode {mode:04o})"),
            Fault::LinkIntoProc => write!(f, "the link {path} is one of /proc"),
            Fault::TooManyLinks => write!(f, "more than 40 links, or a loop of them, at {path}"),
            Fault::LeadsNowhere => write!(f, "the link {link} leads nowhere: {path} does not exist"),
            Fault::NotADirectory => write!(f, "{path} is not a directory"),
            Fault::NotAFile(kind) => write!(f, "{path} is {kind}, not a file"),
            Fault::HardLinks => write!(f, "{path} has a second hard link, which somebody else may have made"),
            Fault::NotSearchable(_) => write!(f, "the directory {path} cannot be searched: permission denied"),
            Fault::NotReadable(_) => write!(f, "{path} cannot be read: permission denied"),
            Fault::TooLarge(limit) => write!(f, "{path} is larger than {limit} bytes"),
            Fault::System(error) => write!(f, "{path}: {}", error.desc()),
            Fault::NotOwned(owner) => write!(f, "{path} belongs to user {owner}, and not to you"),
            Fault::DirectoryNotWritable(_) => write!(f, "no file can be made in {path}: permission denied"),
            Fault::NotReadableAndWritable => write!(f, "{path} cannot be read and written: permission denied"),
            Fault::Missing => write!(f, "{path} does not exist"),
            Fault::CannotRotate(error) => write!(f, "the full log cannot become {path}: {}", error.desc()),
        }
    }
}
