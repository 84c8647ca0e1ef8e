//! The way from `/` to `HOME`, and from there to a file, one component at a time.
//!
//! Each component is opened with `O_PATH | O_NOFOLLOW` and judged on the descriptor, so nothing that is swapped meanwhile
//! changes what was judged, nothing blocks, and a device is never opened. Links are read and walked here, never by the
//! kernel, so that each is judged too. Knows no file's content. The price is two or three system calls a component.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat, readlinkat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::sys::statfs::{PROC_SUPER_MAGIC, fstatfs};
use nix::unistd::geteuid;

use crate::judge::{Facts, judge_directory, judge_link};
use crate::report::{Fault, Refusal};

/// How many symbolic links are followed; one more is refused, as by the kernel (SPEC 1.4, path_resolution(7)).
const MOST_LINKS: u32 = 40;

const STEP: OFlag = OFlag::O_PATH
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC);

/// What stands at the end of a way.
pub(crate) enum Found {
    /// A directory: [`Walk::at`] is the directory itself.
    Directory,
    /// Something else of this name, neither directory nor link, in [`Walk::at`].
    Other(OsString, FileStat),
}

/// A walk to `HOME`, unjudged since nothing above it is, and on from there, each step judged.
pub(crate) struct Walk<'a> {
    home: &'a Path,
    home_directory: OwnedFd,
    at: OwnedFd,
    /// How messages name where the walk is.
    path: PathBuf,
    /// How many directories below `HOME`; `None` outside.
    depth: Option<usize>,
    /// What is still to be walked, the next component last.
    todo: Vec<Step>,
    links: u32,
    /// The link that led here, the person's own where it is a chain of them, and how much of `todo` is left when its target
    /// has been walked.
    link: Option<(PathBuf, usize)>,
    stage: Stage,
}

enum Step {
    Up,
    Into(OsString),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    ToHome,
    AtHome,
    Below,
}

impl<'a> Walk<'a> {
    /// Walks to what is at `path` below `home`; `None` where it, or a directory on the way, does not exist.
    pub(crate) fn to(home: &'a Path, path: &str) -> Result<Option<(Walk<'a>, Found)>, Refusal> {
        let system = |error| Refusal::of_home(Path::new("/"), Fault::System(error));
        let root = || open("/", STEP, Mode::empty()).map_err(system);
        let mut walk = Walk {
            home,
            home_directory: root()?,
            at: root()?,
            path: PathBuf::from("/"),
            depth: None,
            todo: Vec::new(),
            links: 0,
            link: None,
            stage: Stage::ToHome,
        };
        walk.push(home);
        match walk.arrive()? {
            Some(Found::Directory) => {}
            Some(Found::Other(..)) => return Err(walk.refusal(Fault::NotADirectory)),
            None => return Ok(None),
        }
        walk.home_directory = walk.duplicate(&walk.at)?;
        (walk.path, walk.link, walk.depth) = (home.to_owned(), None, Some(0));
        walk.stage = Stage::AtHome;
        walk.judge(&walk.at)?;
        walk.stage = Stage::Below;
        walk.push(Path::new(path));
        Ok(walk.arrive()?.map(|found| (walk, found)))
    }

    /// The directory that the walk has come to.
    pub(crate) fn at(&self) -> &OwnedFd {
        &self.at
    }

    pub(crate) fn into_directory(self) -> OwnedFd {
        self.at
    }

    /// What is wrong, where the walk is.
    pub(crate) fn refusal(&self, fault: Fault) -> Refusal {
        Refusal {
            path: self.path.clone(),
            link: self.link.as_ref().map(|(link, _)| link.clone()),
            fault,
            is_of_home: self.stage != Stage::Below,
            user: geteuid().as_raw(),
        }
    }

    /// Walks until nothing is left to do. `None`: a component is missing, and no link led there.
    fn arrive(&mut self) -> Result<Option<Found>, Refusal> {
        while let Some(step) = self.todo.pop() {
            if self
                .link
                .as_ref()
                .is_some_and(|(_, end)| self.todo.len() < *end)
            {
                self.link = None;
            }
            let Step::Into(name) = step else {
                self.climb()?;
                continue;
            };
            let Some(entry) = self.open(&name)? else {
                return Ok(None);
            };
            let stat = self.stat(&entry)?;
            self.path.push(&name);
            match SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT {
                SFlag::S_IFDIR => {
                    self.judge(&entry)?;
                    self.at = entry;
                    self.depth = self.depth.map(|depth| depth + 1);
                }
                SFlag::S_IFLNK => self.follow(&entry, &stat)?,
                _ if self.todo.is_empty() => return Ok(Some(Found::Other(name, stat))),
                _ => return Err(self.refusal(Fault::NotADirectory)),
            }
        }
        Ok(Some(Found::Directory))
    }

    fn open(&mut self, name: &OsString) -> Result<Option<OwnedFd>, Refusal> {
        // First as a directory, which mounts what automount has not mounted yet (openat(2)).
        let opened = match openat(&self.at, &**name, STEP | OFlag::O_DIRECTORY, Mode::empty()) {
            Err(Errno::ENOTDIR) => openat(&self.at, &**name, STEP, Mode::empty()),
            opened => opened,
        };
        match opened {
            Ok(entry) => Ok(Some(entry)),
            Err(Errno::ENOENT) if self.link.is_none() => Ok(None),
            Err(Errno::ENOENT) => {
                self.path.push(name);
                Err(self.refusal(Fault::LeadsNowhere))
            }
            Err(error) => Err(self.cannot_enter(error)),
        }
    }

    fn follow(&mut self, link: &OwnedFd, stat: &FileStat) -> Result<(), Refusal> {
        // Above HOME nothing is judged, but what HOME itself names is.
        if self.stage == Stage::Below || self.todo.is_empty() && self.link.is_none() {
            let directory = Facts::of(&self.stat(&self.at)?);
            judge_link(&Facts::of(stat), &directory).map_err(|fault| self.refusal(fault))?;
        }
        // The kernel follows a link of procfs to where a process is, and not to what its text says.
        let on = fstatfs(link).map_err(|error| self.refusal(Fault::System(error)))?;
        if on.filesystem_type() == PROC_SUPER_MAGIC {
            return Err(match self.stage {
                Stage::Below => self.refusal(Fault::LinkIntoProc),
                _ => Refusal::of_home(self.home, Fault::HomeThroughProc),
            });
        }
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(self.refusal(Fault::TooManyLinks));
        }
        let target = readlinkat(link, "").map_err(|error| self.refusal(Fault::System(error)))?;
        let target = Path::new(&target);
        if self.link.is_none() {
            self.link = Some((self.path.clone(), self.todo.len()));
        }
        self.path.pop();
        if !target.is_absolute() {
            self.push(target);
        } else if self.stage == Stage::Below
            && let Ok(below) = target.strip_prefix(self.home)
        {
            self.at = self.duplicate(&self.home_directory)?;
            (self.path, self.depth) = (self.home.to_owned(), Some(0));
            self.push(below);
        } else {
            self.at = open("/", STEP, Mode::empty())
                .map_err(|error| self.refusal(Fault::System(error)))?;
            (self.path, self.depth) = (PathBuf::from("/"), None);
            self.judge(&self.at)?;
            self.push(target);
        }
        Ok(())
    }

    /// Steps to the parent. Leaving `HOME`, every directory above is judged: the exemption was for `HOME` alone.
    fn climb(&mut self) -> Result<(), Refusal> {
        let leaves_home = self.depth == Some(0);
        self.depth = self.depth.and_then(|depth| depth.checked_sub(1));
        self.path.push("..");
        self.at = self.parent(&self.at)?;
        self.judge(&self.at)?;
        if leaves_home {
            let here = self.path.clone();
            let mut above = self.duplicate(&self.at)?;
            loop {
                let next = self.parent(&above)?;
                self.path.push("..");
                self.judge(&next)?;
                if self.identity(&next)? == self.identity(&above)? {
                    break;
                }
                above = next;
            }
            self.path = here;
        }
        Ok(())
    }

    fn judge(&self, directory: &OwnedFd) -> Result<(), Refusal> {
        if self.stage == Stage::ToHome {
            return Ok(());
        }
        judge_directory(&Facts::of(&self.stat(directory)?)).map_err(|fault| self.refusal(fault))
    }

    fn parent(&self, directory: &OwnedFd) -> Result<OwnedFd, Refusal> {
        openat(directory, "..", STEP, Mode::empty()).map_err(|error| self.cannot_enter(error))
    }

    fn identity(&self, directory: &OwnedFd) -> Result<(u64, u64), Refusal> {
        self.stat(directory).map(|stat| (stat.st_dev, stat.st_ino))
    }

    fn stat(&self, descriptor: &OwnedFd) -> Result<FileStat, Refusal> {
        fstat(descriptor).map_err(|error| self.refusal(Fault::System(error)))
    }

    fn duplicate(&self, directory: &OwnedFd) -> Result<OwnedFd, Refusal> {
        let errno = |error: std::io::Error| Errno::from_raw(error.raw_os_error().unwrap_or(0));
        directory
            .try_clone()
            .map_err(|error| self.refusal(Fault::System(errno(error))))
    }

    fn push(&mut self, path: &Path) {
        self.todo.extend(
            path.components()
                .rev()
                .filter_map(|component| match component {
                    Component::ParentDir => Some(Step::Up),
                    Component::Normal(name) => Some(Step::Into(name.to_owned())),
                    _ => None,
                }),
        );
    }

    fn cannot_enter(&self, error: Errno) -> Refusal {
        match (error, self.stat(&self.at)) {
            (Errno::EACCES, Ok(stat)) => self.refusal(Fault::NotSearchable { owner: stat.st_uid }),
            _ => self.refusal(Fault::System(error)),
        }
    }
}
