//! The command that mends a refusal, to be pasted into a shell (SPEC 1.5).

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::errno::Errno;
use nix::unistd::geteuid;

use crate::escape::is_plain;
use crate::trust::{Fault, Refusal, id_outside, is_mapped_user};

/// The refusal in words, and the command that mends it.
#[rustfmt::skip]
pub(crate) fn refusal(refusal: &Refusal) -> String {
    let caution = match refusal.fault {
        Fault::Owner(owner) | Fault::LinkOwner(owner) if !is_mapped_user(owner) => ": mend it outside",
        Fault::Owner(_) => ": read it before you make it yours",
        Fault::LinkOwner(_) => ": see where it leads before you make it yours",
        Fault::UserNotMapped => ", so its files cannot be told from a stranger's",
        Fault::TooLarge(_) => ": write a shorter one",
        _ => "",
    };
    format!("{refusal}{caution}; {}", mend(refusal))
}

#[rustfmt::skip]
fn mend(refusal: &Refusal) -> String {
    let Refusal { path: at, link, fault, is_of_home } = refusal;
    let (user, path) = (geteuid().as_raw(), word(at));
    // What leads astray is taken away, not what it leads to: that may be /dev/zero.
    let culprit = link.as_ref().unwrap_or(at);
    let astray = word(culprit);
    let sudo = |owner: u32| if user == 0 || owner == user { "" } else { "sudo " };
    let allow = |owner: u32, bits: &str| match link {
        _ if owner == user => format!("chmod u+{bits} {path}"),
        Some(_) => format!("rm {astray}"),
        None => format!("sudo chown {user} {path}"),
    };
    let map = || fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let outside = || id_outside(&map(), user).unwrap_or(user.into());
    match *fault {
        Fault::UserNotMapped => "unshare --user --map-root-user \"$SHELL\"".to_owned(),
        Fault::IdsDiffer => format!("{}chmod ug-s {path}", sudo(0)),
        Fault::Writable { owner, .. } => format!("{}chmod go-w {path}", sudo(owner)),
        // Nothing is wrong with a file.
        Fault::System(Errno::EMFILE | Errno::ENFILE) => "ulimit -n 1024".to_owned(),
        Fault::System(Errno::EFBIG) => "ulimit -f unlimited".to_owned(),
        Fault::System(Errno::ENOSPC | Errno::EDQUOT) => format!("df -h {path}"),
        _ if *is_of_home => "export HOME=\"$(getent passwd \"$(id -u)\" | cut -d: -f6)\"".to_owned(),
        // To be run outside of the user namespace, where the ids are others.
        Fault::Owner(owner) if !is_mapped_user(owner) && link.is_some() => format!("rm {astray}"),
        Fault::Owner(owner) if !is_mapped_user(owner) => format!("chown {} {path}", outside()),
        Fault::LinkOwner(owner) if !is_mapped_user(owner) => format!("chown -h {} {path}", outside()),
        Fault::Owner(owner) => format!("{}chown {user} {path}", sudo(owner)),
        Fault::LinkOwner(owner) => format!("{}chown -h {user} {path}", sudo(owner)),
        Fault::NotSearchable(owner) => allow(owner, "x"),
        Fault::NotReadable(owner) => allow(owner, "r"),
        Fault::DirectoryNotWritable(owner) if owner == user => allow(owner, "wx"),
        // The directory stays root's: that may be how an administrator pins the hooks file.
        Fault::DirectoryNotWritable(_) => format!("sudo install -m 600 -o {user} /dev/null {}", word(&at.join("hooks.log"))),
        Fault::CannotRotate(Errno::EACCES | Errno::EPERM) => format!("truncate -s 0 {}", word(&at.with_extension(""))),
        Fault::NotReadableAndWritable => format!("chmod u+rw {path}"),
        Fault::Missing => format!("mkdir -m 0755 {path}"),
        Fault::LinkIntoProc | Fault::TooManyLinks | Fault::LeadsNowhere => format!("rm {astray}"),
        Fault::HomeNotAbsolute | Fault::HomeThroughProc | Fault::System(_) => format!("ls -ld {path}"),
        _ => format!("mv -T --backup=numbered {astray} {}", word(&culprit.with_added_extension("old"))),
    }
}

/// A path as a word of a shell command that can be shown to people: quoted where it must be, and what cannot be shown as
/// it is in octal for printf(1).
pub(crate) fn word(path: &Path) -> String {
    let (bytes, text) = (path.as_os_str().as_bytes(), path.to_str().unwrap_or("\0"));
    let is_bare = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+,:@%=".contains(byte);
    if bytes.iter().all(is_bare) && !text.starts_with('-') && !text.is_empty() {
        return text.to_owned();
    }
    if text.chars().all(|c| is_plain(c) || c == '"' || c == '\\') {
        return format!("'{}'", text.replace('\'', "'\\''"));
    }
    let octal = |byte: &u8| match char::from(*byte) {
        c if c.is_ascii_alphanumeric() || "/._-".contains(c) => c.to_string(),
        _ => format!("\\{byte:03o}"),
    };
    let octal: String = bytes.iter().map(octal).collect();
    format!("\"$(printf '{octal}')\"")
}
