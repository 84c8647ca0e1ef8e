//! Opens what lies below `HOME` and judges it: could somebody other than root or this user have chosen its bytes?
//!
//! The only judge of files, and the only maker of [`TrustedText`]. Every decision is made on an open descriptor: the
//! way is walked one component at a time with `O_PATH | O_NOFOLLOW`, so nothing that is swapped meanwhile changes what
//! was judged, nothing blocks, and a device is never opened. Knows nothing of JSON. The price is two system calls a
//! component.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, readlinkat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::sys::statfs::{PROC_SUPER_MAGIC, fstatfs};
use nix::unistd::{getegid, geteuid, getgid, getuid};

use crate::report::{Fault, Refusal};

/// How many symbolic links are followed; one more is refused, as the kernel does (SPEC 1.4, path_resolution(7)).
const MOST_LINKS: u32 = 40;

/// Bytes of a file that nobody but root or this user could have chosen.
#[derive(Debug)]
pub(crate) struct TrustedText(Vec<u8>);

impl TrustedText {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    #[cfg(test)]
    pub(crate) fn of_test(bytes: &[u8]) -> TrustedText {
        TrustedText(bytes.to_vec())
    }
}

/// `HOME` as it was when the launcher was made.
#[derive(Clone, Debug)]
pub(crate) struct Home(PathBuf);

impl Home {
    /// `None` where `HOME` is unset or empty: then there are no hooks, and no report (SPEC 1.1).
    pub(crate) fn of(home: Option<OsString>) -> Result<Option<Home>, Refusal> {
        let Some(home) = home.filter(|home| !home.is_empty()) else { return Ok(None) };
        let home = PathBuf::from(home);
        let refused = |fault| Err(Refusal { path: home.clone(), link: None, fault });
        if !home.is_absolute() {
            return refused(Fault::HomeNotAbsolute);
        }
        if let Some(Component::Normal(first)) = home.components().nth(1)
            && (first == "proc" || first == "dev")
        {
            return refused(Fault::HomeThroughProc);
        }
        if getuid() != geteuid() || getgid() != getegid() {
            return refused(Fault::IdsDiffer);
        }
        Ok(Some(Home(home)))
    }

    pub(crate) fn join(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// The file at `path` below `HOME`, whole; `None` where it, or a directory on the way, does not exist (SPEC 1.2).
    pub(crate) fn read(&self, path: &str, limit: usize) -> Result<Option<TrustedText>, Refusal> {
        let Some(mut way) = Walk::from_home(self, path)? else { return Ok(None) };
        let Some(found) = way.arrive()? else { return Ok(None) };
        let Found::Other(name, kind) = found else { return Err(way.refusal(Fault::NotAFile("a directory"))) };
        if kind != SFlag::S_IFREG {
            return Err(way.refusal(Fault::NotAFile(kind_name(kind))));
        }
        // Should the name have become a link, a FIFO or a device since, this open neither follows nor waits.
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let file =
            openat(&way.at, &*name, flags, Mode::empty()).map_err(|error| way.error(error, Fault::NotReadable))?;
        let stat = fstat(&file).map_err(|error| way.refusal(Fault::System(error)))?;
        if kind_of(&stat) != SFlag::S_IFREG {
            return Err(way.refusal(Fault::NotAFile(kind_name(kind_of(&stat)))));
        }
        let parent = fstat(&way.at).map_err(|error| way.refusal(Fault::System(error)))?;
        judge_file(&Facts::of(&stat), parent.st_mode).map_err(|fault| way.refusal(fault))?;
        let mut bytes = Vec::new();
        match File::from(file).take(limit as u64 + 1).read_to_end(&mut bytes) {
            Ok(read) if read > limit => Err(way.refusal(Fault::TooLarge { limit })),
            Ok(_) => Ok(Some(TrustedText(bytes))),
            Err(error) => Err(way.refusal(Fault::System(Errno::from_raw(error.raw_os_error().unwrap_or(0))))),
        }
    }

    /// The directory at `path` below `HOME`, judged like the way to a file; `None` where it does not exist.
    pub(crate) fn directory(&self, path: &str) -> Result<Option<OwnedFd>, Refusal> {
        let Some(mut way) = Walk::from_home(self, path)? else { return Ok(None) };
        match way.arrive()? {
            None => Ok(None),
            Some(Found::Directory) => Ok(Some(way.at)),
            Some(Found::Other(..)) => Err(way.refusal(Fault::NotADirectory)),
        }
    }
}

/// The numbers that decide about one file or directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) owner: u32,
    pub(crate) mode: u32,
    pub(crate) links: u64,
    /// This user.
    pub(crate) user: u32,
}

impl Facts {
    pub(crate) fn of(stat: &FileStat) -> Facts {
        Facts { owner: stat.st_uid, mode: stat.st_mode, links: stat.st_nlink, user: geteuid().as_raw() }
    }

    fn judge_owner(&self) -> Result<(), Fault> {
        if self.owner == 0 || self.owner == self.user {
            Ok(())
        } else {
            Err(Fault::Owner { owner: self.owner, user: self.user })
        }
    }
}

/// Group and others: the bits that let them change a file, or what a directory holds.
const OTHERS_WRITE: u32 = 0o022;
const OTHERS_SEARCH: u32 = 0o011;
const STICKY: u32 = 0o1000;

/// SPEC 1.4 for a directory. In a sticky one only the owner of an entry, of the directory, or root can replace it.
fn judge_directory(directory: &Facts) -> Result<(), Fault> {
    directory.judge_owner()?;
    if directory.mode & OTHERS_WRITE == 0 || directory.mode & STICKY != 0 {
        Ok(())
    } else {
        Err(Fault::Writable { mode: directory.mode & 0o7777 })
    }
}

/// SPEC 1.4 for the file: one that others could write passes all the same where none of them can reach it.
fn judge_file(file: &Facts, parent_mode: u32) -> Result<(), Fault> {
    file.judge_owner()?;
    let unreachable = file.links == 1 && parent_mode & OTHERS_SEARCH == 0;
    if file.mode & OTHERS_WRITE == 0 || unreachable {
        Ok(())
    } else {
        Err(Fault::Writable { mode: file.mode & 0o7777 })
    }
}

/// What the last component of a way is.
enum Found {
    Directory,
    Other(OsString, SFlag),
}

/// A walk from `/` to `HOME`, unjudged, and on from there, each step judged.
struct Walk<'a> {
    home: &'a Path,
    home_directory: OwnedFd,
    /// Where the walk is, and how messages name it.
    at: OwnedFd,
    path: PathBuf,
    /// How many directories below `HOME`; `None` outside.
    depth: Option<usize>,
    /// What is still to be walked, the next component last.
    todo: Vec<Step>,
    links: u32,
    /// The link whose target is being walked, and how much of `todo` is left when that is done.
    link: Option<(PathBuf, usize)>,
    judging: bool,
}

enum Step {
    Up,
    Into(OsString),
}

const SEARCH: OFlag = OFlag::O_PATH.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

impl<'a> Walk<'a> {
    fn from_home(home: &'a Home, path: &str) -> Result<Option<Walk<'a>>, Refusal> {
        let system = |error| Refusal { path: PathBuf::from("/"), link: None, fault: Fault::System(error) };
        let root = nix::fcntl::open("/", SEARCH, Mode::empty()).map_err(system)?;
        let mut way = Walk {
            home: &home.0,
            home_directory: root.try_clone().map_err(|_| system(Errno::last()))?,
            at: root,
            path: PathBuf::from("/"),
            depth: None,
            todo: Vec::new(),
            links: 0,
            link: None,
            judging: false,
        };
        way.push(&home.0);
        match way.arrive()? {
            Some(Found::Directory) => {}
            Some(Found::Other(..)) => return Err(way.refusal(Fault::NotADirectory)),
            None => return Ok(None),
        }
        way.home_directory = way.duplicate_of(&way.at)?;
        way.path = home.0.clone();
        way.depth = Some(0);
        way.judging = true;
        way.judge(&way.at)?;
        way.link = None;
        way.push(Path::new(path));
        Ok(Some(way))
    }

    /// Walks until nothing is left to do. `None`: a component is missing, and no link led there.
    fn arrive(&mut self) -> Result<Option<Found>, Refusal> {
        loop {
            if self.link.as_ref().is_some_and(|(_, end)| self.todo.len() <= *end) && !self.todo.is_empty() {
                self.link = None;
            }
            let Some(step) = self.todo.pop() else { return Ok(Some(Found::Directory)) };
            let Step::Into(name) = step else {
                self.climb()?;
                continue;
            };
            let entry = match openat(&self.at, &*name, SEARCH, Mode::empty()) {
                Ok(entry) => entry,
                Err(Errno::ENOENT) if self.link.is_none() => return Ok(None),
                Err(Errno::ENOENT) => {
                    self.path.push(name);
                    return Err(self.refusal(Fault::LeadsNowhere));
                }
                Err(error) => return Err(self.error(error, Fault::NotSearchable)),
            };
            let stat = fstat(&entry).map_err(|error| self.refusal(Fault::System(error)))?;
            self.path.push(&name);
            match kind_of(&stat) {
                SFlag::S_IFDIR => self.enter(entry)?,
                SFlag::S_IFLNK => self.follow(&entry, &stat)?,
                kind if self.todo.is_empty() => return Ok(Some(Found::Other(name, kind))),
                _ => return Err(self.refusal(Fault::NotADirectory)),
            }
        }
    }

    fn enter(&mut self, directory: OwnedFd) -> Result<(), Refusal> {
        self.judge(&directory)?;
        self.at = directory;
        self.depth = self.depth.map(|depth| depth + 1);
        Ok(())
    }

    fn follow(&mut self, link: &OwnedFd, stat: &FileStat) -> Result<(), Refusal> {
        let facts = Facts::of(stat);
        if self.judging && facts.judge_owner().is_err() {
            return Err(self.refusal(Fault::LinkOwner { owner: facts.owner, user: facts.user }));
        }
        // A link of procfs is followed by the kernel to where a process is, not to what its text says.
        let on = fstatfs(link).map_err(|error| self.refusal(Fault::System(error)))?;
        if on.filesystem_type() == PROC_SUPER_MAGIC {
            return Err(if self.judging {
                self.refusal(Fault::LinkIntoProc)
            } else {
                Refusal { path: self.home.to_owned(), link: None, fault: Fault::HomeThroughProc }
            });
        }
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(self.refusal(Fault::TooManyLinks));
        }
        let target = readlinkat(link, "").map_err(|error| self.refusal(Fault::System(error)))?;
        let target = Path::new(&target);
        let end = self.link.as_ref().map_or(self.todo.len(), |(_, end)| *end);
        self.link = Some((self.path.clone(), end));
        self.path.pop();
        if !target.is_absolute() {
            self.push(target);
        } else if self.judging
            && let Ok(below) = target.strip_prefix(self.home)
        {
            self.at = self.duplicate_of(&self.home_directory)?;
            self.path = self.home.to_owned();
            self.depth = Some(0);
            self.push(below);
        } else {
            let root = nix::fcntl::open("/", SEARCH, Mode::empty());
            self.at = root.map_err(|error| self.refusal(Fault::System(error)))?;
            self.path = PathBuf::from("/");
            self.depth = None;
            self.judge(&self.at)?;
            self.push(target);
        }
        Ok(())
    }

    /// Steps to the parent. Leaving `HOME`, every directory above is judged: the exemption was for `HOME` alone.
    fn climb(&mut self) -> Result<(), Refusal> {
        let parent = self.parent_of(&self.at)?;
        self.path.push("..");
        if self.judging && self.depth == Some(0) {
            let mut above = self.duplicate_of(&parent)?;
            loop {
                self.judge(&above)?;
                let next = self.parent_of(&above)?;
                if self.is_same(&above, &next)? {
                    break;
                }
                above = next;
            }
        }
        self.judge(&parent)?;
        self.at = parent;
        self.depth = self.depth.and_then(|depth| depth.checked_sub(1));
        Ok(())
    }

    fn judge(&self, directory: &OwnedFd) -> Result<(), Refusal> {
        if !self.judging {
            return Ok(());
        }
        let stat = fstat(directory).map_err(|error| self.refusal(Fault::System(error)))?;
        judge_directory(&Facts::of(&stat)).map_err(|fault| self.refusal(fault))
    }

    fn parent_of(&self, directory: &OwnedFd) -> Result<OwnedFd, Refusal> {
        openat(directory, "..", SEARCH, Mode::empty()).map_err(|error| self.error(error, Fault::NotSearchable))
    }

    fn is_same(&self, one: &OwnedFd, other: &OwnedFd) -> Result<bool, Refusal> {
        let identity = |directory: &OwnedFd| {
            let stat = fstat(directory).map_err(|error| self.refusal(Fault::System(error)))?;
            Ok((stat.st_dev, stat.st_ino))
        };
        Ok(identity(one)? == identity(other)?)
    }

    fn duplicate_of(&self, directory: &OwnedFd) -> Result<OwnedFd, Refusal> {
        directory
            .as_fd()
            .try_clone_to_owned()
            .map_err(|error| self.refusal(Fault::System(Errno::from_raw(error.raw_os_error().unwrap_or(0)))))
    }

    fn push(&mut self, path: &Path) {
        self.todo.extend(path.components().rev().filter_map(|component| match component {
            Component::ParentDir => Some(Step::Up),
            Component::Normal(name) => Some(Step::Into(name.to_owned())),
            _ => None,
        }));
    }

    fn error(&self, error: Errno, denied: Fault) -> Refusal {
        match error {
            Errno::EACCES => self.refusal(denied),
            Errno::ENOTDIR => self.refusal(Fault::NotADirectory),
            error => self.refusal(Fault::System(error)),
        }
    }

    fn refusal(&self, fault: Fault) -> Refusal {
        Refusal { path: self.path.clone(), link: self.link.as_ref().map(|(link, _)| link.clone()), fault }
    }
}

fn kind_of(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT
}

fn kind_name(kind: SFlag) -> &'static str {
    match kind {
        SFlag::S_IFIFO => "a FIFO",
        SFlag::S_IFSOCK => "a socket",
        SFlag::S_IFCHR | SFlag::S_IFBLK => "a device",
        SFlag::S_IFDIR => "a directory",
        SFlag::S_IFLNK => "a link",
        _ => "something else",
    }
}
