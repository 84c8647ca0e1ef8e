//! Could somebody other than root or this user have chosen what is here? (SPEC 1.4)
//!
//! Pure: a few numbers in, a fault or none out. Knows no paths and opens nothing.

use nix::sys::stat::FileStat;
use nix::unistd::geteuid;

use crate::report::Fault;

/// The numbers that decide about one file, directory or link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) owner: u32,
    pub(crate) mode: u32,
    pub(crate) links: u64,
    /// This user.
    pub(crate) user: u32,
}

/// The bits by which group and others change a file, or what a directory holds.
const OTHERS_WRITE: u32 = 0o022;
/// The bits by which group and others reach what a directory holds.
const OTHERS_SEARCH: u32 = 0o011;
const STICKY: u32 = 0o1000;

impl Facts {
    pub(crate) fn of(stat: &FileStat) -> Facts {
        Facts {
            owner: stat.st_uid,
            mode: stat.st_mode,
            links: stat.st_nlink,
            user: geteuid().as_raw(),
        }
    }

    fn is_of_root_or_user(&self) -> bool {
        self.owner == 0 || self.owner == self.user
    }

    fn is_writable_by_others(&self) -> bool {
        self.mode & OTHERS_WRITE != 0
    }

    fn writable(&self) -> Fault {
        Fault::Writable {
            owner: self.owner,
            mode: self.mode & 0o7777,
        }
    }
}

/// A directory on the way. In a sticky one an entry can be replaced by its owner, the directory's, and root alone.
pub(crate) fn judge_directory(directory: &Facts) -> Result<(), Fault> {
    if !directory.is_of_root_or_user() {
        Err(Fault::Owner {
            owner: directory.owner,
        })
    } else if directory.is_writable_by_others() && directory.mode & STICKY == 0 {
        Err(directory.writable())
    } else {
        Ok(())
    }
}

/// The file in its directory. One that others could write passes all the same where none of them can reach it.
pub(crate) fn judge_file(file: &Facts, directory: &Facts) -> Result<(), Fault> {
    let unreachable = file.links == 1 && directory.mode & OTHERS_SEARCH == 0;
    if !file.is_of_root_or_user() {
        Err(Fault::Owner { owner: file.owner })
    } else if file.is_writable_by_others() && !unreachable {
        Err(file.writable())
    } else {
        judge_name(file, directory)
    }
}

/// A symbolic link in its directory.
pub(crate) fn judge_link(link: &Facts, directory: &Facts) -> Result<(), Fault> {
    if link.is_of_root_or_user() {
        judge_name(link, directory)
    } else {
        Err(Fault::LinkOwner { owner: link.owner })
    }
}

/// In a directory that others can write, sticky or not, a name may be a second link that one of them made to another file
/// of this user's (where `fs.protected_hardlinks` is off): then its bytes are the user's, and the choice is not.
fn judge_name(entry: &Facts, directory: &Facts) -> Result<(), Fault> {
    if directory.is_writable_by_others() && entry.links > 1 {
        Err(Fault::HardLinks)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
