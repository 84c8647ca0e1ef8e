//! The turn log, `~/.bravebot/hooks.log`: JSON Lines, one object a report (SPEC 8.5).
//!
//! The file is opened, judged and closed for each report, so nothing is held between them. Each line is one write at the
//! end of the file, so it is whole also when many processes write. Knows reports and nothing of what made them.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::libc;
use nix::sys::stat::{FileStat, Mode, fchmod, fstat, fstatat};
use nix::unistd::{geteuid, write};

use crate::escape::{escaped, is_invisible};
use crate::report::{Failure, Report};
use crate::sys::{above_stderr, errno};
use crate::trust::{Fault, Home, READ, Refusal};

const DIRECTORY: &str = ".bravebot";
const NAME: &str = "hooks.log";
pub(crate) const LOG: &str = ".bravebot/hooks.log";
const OLDER: &str = "hooks.log.1";
/// Past this many bytes the file becomes [`OLDER`].
pub(crate) const MAX_SIZE: u64 = 1024 * 1024;
/// How often the log is opened again because somebody else has just rotated it.
const MAX_TRIES: u32 = 8;
const APPEND: OFlag = OFlag::from_bits_retain(libc::O_RDWR | libc::O_APPEND | libc::O_CREAT);
/// Where its owner, which is this user, can read and write.
const MODE: Mode = Mode::S_IRUSR.union(Mode::S_IWUSR);

/// Where reports are kept for the person who was not looking: `~/.bravebot/hooks.log`.
///
/// Past 1 MiB it becomes `hooks.log.1`, and the `hooks.log.1` before it is gone. Where `HOME` is unset or `~/.bravebot` does
/// not exist there is no log, as there are no hooks.
pub struct TurnLog {
    /// `HOME` as it was when this was made. It is judged for each report: most turns have none.
    home: Option<OsString>,
    directory: String,
    /// Words what keeps the log from being used.
    wording: fn(&Refusal) -> String,
    /// The parts of lines that tell of problems of the file and are in the log, once they were needed.
    problems: Mutex<Option<BTreeSet<String>>>,
}

impl TurnLog {
    pub(crate) fn new(directory: &Path, wording: fn(&Refusal) -> String) -> TurnLog {
        let escape = || escaped(directory.as_os_str().as_bytes());
        let directory = directory.to_str().map_or_else(escape, str::to_owned);
        TurnLog {
            home: env::var_os("HOME"),
            directory,
            wording,
            problems: Mutex::default(),
        }
    }

    /// Adds one line for `report`. A problem of the file that is in the log already is not added again.
    ///
    /// Blocks for as long as the file system takes; never on another process. What keeps the line from being written is
    /// returned as a report for the display: a log file that is a link, has a second link, is not a file of this user, or
    /// is in a directory that others can write to, is not used. Its own mode is set to 0600.
    pub fn add(&self, report: &Report) -> Result<(), Report> {
        self.with_home(|home| self.append(home, report))
    }

    /// For the command of this package: what would keep a line from being written now. Makes the file where there is none.
    #[doc(hidden)]
    pub fn try_open(&self) -> Result<(), Report> {
        self.with_home(|home| open(home).map(drop))
    }

    fn with_home(&self, use_home: impl FnOnce(&Home) -> Result<(), Refusal>) -> Result<(), Report> {
        let home = Home::new(self.home.clone());
        let outcome = home.and_then(|home| home.as_ref().map_or(Ok(()), use_home));
        outcome.map_err(|refusal| {
            let what = format!("hooks.log not written: {}", (self.wording)(&refusal));
            Report::without_hook(Failure::Log, what)
        })
    }

    fn append(&self, home: &Home, report: &Report) -> Result<(), Refusal> {
        let file = open(home)?;
        let (part, mut line) = self.line(report);
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        if report.failure == Failure::File {
            let logged = problems.get_or_insert_with(|| problems_in(&file));
            if !logged.insert(part.clone()) {
                return Ok(());
            }
        }
        if !ends_a_line(&file) {
            // Where a disk was full in the middle of a line, this one begins anew.
            line.insert(0, '\n');
        }
        let fault = match write(&file, line.as_bytes()) {
            Ok(written) if written == line.len() => return Ok(()),
            Ok(_) => Errno::ENOSPC,
            Err(error) => error,
        };
        // Not in the log, so it may be tried again.
        let _ = problems.as_mut().map(|problems| problems.remove(&part));
        Err(home.refusal(LOG, fault.into()))
    }

    /// Returns the part of a line by which a report is found again in the log, and the line. No string in a line can contain
    /// such a part, since a quote in a string is escaped.
    fn line(&self, report: &Report) -> (String, String) {
        let (failure, more) = match &report.failure {
            Failure::NotStarted => ("not-started", String::new()),
            Failure::TimedOut(seconds) => ("timed-out", format!(r#","seconds":{seconds}"#)),
            Failure::Killed(signal) => ("killed", format!(r#","signal":"{signal}""#)),
            Failure::Exited(status) => ("exited", format!(r#","status":{status}"#)),
            Failure::LeftRunning => ("left-running", String::new()),
            Failure::File => ("file", String::new()),
            Failure::Log => ("log", String::new()),
        };
        let hook = report.hook.as_ref().map(|(moment, program)| {
            format!(r#""moment":"{moment}","program":{},"#, json(program))
        });
        let message = json(&report.to_string());
        let part = format!(r#""failure":"{failure}","message":{message}"#);
        let (hook, directory) = (hook.unwrap_or_default(), json(&self.directory));
        let time = rfc3339(SystemTime::now());
        let line =
            format!("{{\"time\":\"{time}\",{hook}{part},\"directory\":{directory}{more}}}\n");
        (part, line)
    }
}

/// The parts of the lines in the log that tell of problems of the file.
fn problems_in(file: &File) -> BTreeSet<String> {
    let mut bytes = Vec::new();
    let _ = file.take(2 * MAX_SIZE).read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let parts = text.lines().filter_map(|line| {
        let start = line.find(r#""failure":"file""#)?;
        let (part, _) = line[start..].split_once(r#","directory":"#)?;
        Some(part.to_owned())
    });
    parts.collect()
}

/// Opens the log, after it was rotated if it is past its limit.
fn open(home: &Home) -> Result<File, Refusal> {
    let Some(directory) = home.directory(DIRECTORY)? else {
        return Err(home.refusal(DIRECTORY, Fault::Missing));
    };
    open_in(&directory).map_err(|fault| {
        let path = match fault {
            Fault::CannotRotate(_) => ".bravebot/hooks.log.1",
            Fault::DirectoryNotWritable(_) => DIRECTORY,
            _ => LOG,
        };
        home.refusal(path, fault)
    })
}

fn open_in(directory: &OwnedFd) -> Result<File, Fault> {
    for _ in 0..MAX_TRIES {
        let (file, stat) = open_and_judge(directory, READ | APPEND)?;
        // Whatever the umask is, and whatever the mode was.
        if stat.st_mode & 0o7777 != 0o600 {
            fchmod(&file, MODE)?;
        }
        let size = stat.st_size.cast_unsigned();
        if size <= MAX_SIZE {
            return Ok(file);
        }
        // The lock is released when the file is closed.
        match file.try_lock() {
            Ok(()) => {
                let found = fstatat(directory, NAME, AtFlags::AT_SYMLINK_NOFOLLOW);
                // Otherwise somebody else was faster.
                if found.is_ok_and(|it| (it.st_dev, it.st_ino) == (stat.st_dev, stat.st_ino)) {
                    // A log that cannot be rotated would grow without end.
                    renameat(directory, NAME, directory, OLDER).map_err(Fault::CannotRotate)?;
                }
            }
            // Somebody else is rotating it: a line more in the older file is no loss.
            Err(_) if size <= 2 * MAX_SIZE => return Ok(file),
            Err(TryLockError::WouldBlock) => return Err(Fault::CannotRotate(Errno::EWOULDBLOCK)),
            Err(TryLockError::Error(error)) => return Err(Fault::CannotRotate(errno(error))),
        }
    }
    Err(Fault::CannotRotate(Errno::EBUSY))
}

/// Opens the log, which is a regular file of this user with one link.
fn open_and_judge(directory: &OwnedFd, flags: OFlag) -> Result<(File, FileStat), Fault> {
    let file = match openat(directory, NAME, flags, MODE) {
        Ok(file) => above_stderr(file)?,
        Err(Errno::ELOOP) => return Err(Fault::NotAFile("a link")),
        Err(Errno::EISDIR) => return Err(Fault::NotAFile("a directory")),
        Err(Errno::ENXIO) => return Err(Fault::NotAFile("a socket or a device")),
        Err(Errno::EACCES) => return Err(denied(directory)?),
        Err(error) => return Err(error.into()),
    };
    let stat = fstat(&file)?;
    match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG if stat.st_uid != geteuid().as_raw() => Err(Fault::NotOwned(stat.st_uid)),
        libc::S_IFREG if stat.st_nlink != 1 => Err(Fault::HardLinks),
        libc::S_IFREG => Ok((file.into(), stat)),
        _ => Err(Fault::NotAFile("a FIFO or a device")),
    }
}

/// Whose permission is missing, after EACCES.
fn denied(directory: &OwnedFd) -> Result<Fault, Errno> {
    let log = fstatat(directory, NAME, AtFlags::AT_SYMLINK_NOFOLLOW);
    Ok(match log {
        Ok(log) if log.st_uid == geteuid().as_raw() => Fault::NotReadableAndWritable,
        Ok(log) => Fault::NotOwned(log.st_uid),
        Err(_) => Fault::DirectoryNotWritable(fstat(directory)?.st_uid),
    })
}

/// Opens the log to read it, by the rules for writing to it; `None` where there is none, or none that may be used.
pub(crate) fn open_to_read(home: &Home) -> Option<File> {
    let directory = home.directory(DIRECTORY).ok()??;
    let (file, _) = open_and_judge(&directory, READ).ok()?;
    Some(file)
}

/// Returns whether the last line is whole. One that another process is writing across a page is seen by halves for a
/// moment (write(2)), so it is looked at again for 20 ms.
fn ends_a_line(mut file: &File) -> bool {
    (0..20).any(|_| {
        let mut last = [b'\n'];
        // There is no last byte in a file that is empty.
        let end = file.seek(SeekFrom::End(-1));
        let _ = end.and_then(|_| file.read(&mut last));
        last == *b"\n" || {
            thread::sleep(Duration::from_millis(1));
            false
        }
    })
}

/// `text` as a JSON string in which nothing can draw or reorder: what JSON does not escape and a terminal obeys is `\u`.
fn json(text: &str) -> String {
    let mut out = String::new();
    for c in serde_json::to_string(text).unwrap_or_default().chars() {
        if c.is_control() || is_invisible(c) {
            let mut units = [0; 2];
            let units = c.encode_utf16(&mut units).iter();
            out.extend(units.map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// `time` in UTC to the millisecond (RFC 3339); a time before 1970 is shown as 1970.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // Years begin in March here, so that the leap day is the last one; 400 of them have 146,097 days.
    let day = days + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = (month + 2) % 12 + 1;
    let year = era * 400 + year + u64::from(month < 3);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let ms = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}
