//! Where the program of an entry would be found now, and what is wrong with it (SPEC 8.3).
//!
//! Looks at the status of a program, and at the first line of one that is not below the working directory; of the working
//! directory itself it reads nothing.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::libc;
use nix::sys::stat::stat;
use nix::unistd::{AccessFlags, access, geteuid};

use super::{mend, start_error};
use crate::escape::quoted;
use crate::hooks::Hook;
use crate::process::{self, StartError};
use crate::trust::{self, Refusal};

/// Finds the program of a hook, and warns of what is wrong with it.
#[rustfmt::skip]
pub(crate) fn find_and_warn(hook: &Hook, path: Option<&OsStr>, directory: &Path, mut warn: impl FnMut(String)) -> Option<PathBuf> {
    const CHOICE: &str = "the checkout chooses what it runs";
    let program = quoted(hook.program.as_bytes());
    let is_relative = hook.program.contains('/') && !hook.program.starts_with('/');
    if is_relative {
        warn(format!("{program} is taken from the turn's directory: {CHOICE}"));
    }
    let not_found = |error| warn(format!("{program} now: {}", start_error(&hook.program, &error)));
    let found = find(hook, path, directory).map_err(not_found).ok()?;
    let canonical = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    // Where a link leads counts as well as its name. What is in the working directory by its name is not looked into.
    let by_name = found.starts_with(directory);
    let real = if by_name { found.clone() } else { canonical(&found) };
    let is_in_checkout = by_name || real.starts_with(canonical(directory));
    if is_in_checkout && hook.program.starts_with('/') {
        warn(format!("{program} lies in the working directory: {CHOICE}"));
    } else if is_in_checkout && !is_relative {
        warn(format!("{program} is {} here, in the working directory: {CHOICE}", shown(&found)));
    }
    let mut paths = vec![&*found, &*real];
    paths.dedup();
    paths.into_iter().filter_map(open_to_others).flatten().for_each(|fault| warn(format!("{program}: {fault}")));
    if !is_in_checkout && let Some(fault) = fault_of_first_line(&real) {
        warn(format!("{program} {fault}"));
    }
    Some(found)
}

/// A path for people.
pub(crate) fn shown(path: &Path) -> String {
    quoted(path.as_os_str().as_bytes())
}

fn find(hook: &Hook, path: Option<&OsStr>, directory: &Path) -> Result<PathBuf, StartError> {
    let found = directory.join(process::find(&hook.program, path)?);
    let mode = stat(&found).map_err(|_| StartError::NO_SUCH_FILE)?.st_mode;
    match mode & libc::S_IFMT {
        libc::S_IFREG if access(&found, AccessFlags::X_OK).is_ok() => Ok(found),
        libc::S_IFREG if mode & 0o111 == 0 => Err(StartError::NotExecutable(found)),
        libc::S_IFDIR => Err(StartError::IS_DIRECTORY),
        // A device, say, or what is on a file system from which nothing may be run.
        _ => Err(StartError::NOT_PERMITTED),
    }
}

/// Whether others can write to this file, or to the directory that it is in.
fn open_to_others(path: &Path) -> Option<Vec<String>> {
    let above = path.parent().unwrap_or(Path::new("/"));
    let (file, directory) = (stat(path).ok()?, stat(above).ok()?);
    let user = geteuid().as_raw();
    let entries = [(path, &file, &directory), (above, &directory, &directory)];
    let fault = |(path, entry, directory): (&Path, _, _)| {
        let fault = trust::judge(entry, directory, user).err()?;
        Some(mend::refusal(&Refusal::new(path.to_owned(), fault, false)))
    };
    Some(entries.into_iter().filter_map(fault).collect())
}

/// What keeps a text file from being started: an interpreter that does not exist, or none named.
fn fault_of_first_line(script: &Path) -> Option<String> {
    let (file, mut first) = (File::open(script).ok()?, Vec::new());
    file.take(256).read_to_end(&mut first).ok()?;
    let Some(line) = first.strip_prefix(b"#!") else {
        // What has a NUL is a format of its own, which the kernel may know.
        let fault = "is not a program: its first line is no \"#!\" that says what runs it";
        return (!first.contains(&0)).then(|| fault.to_owned());
    };
    let line = line.split(|byte| *byte == b'\n').next()?.trim_ascii_start();
    let interpreter = line.split(|byte| b" \t".contains(byte)).next()?;
    let interpreter = Path::new(OsStr::from_bytes(interpreter));
    let fault = format!("needs {}, which does not exist", shown(interpreter));
    (!interpreter.exists()).then_some(fault)
}
