//! The turn log of the command, `~/.bravebot/hooks.log`: JSON Lines, one object a report (SPEC 8.5).
//!
//! Knows reports and nothing of what made them. The file is opened, judged and closed for each report, so nothing is held
//! between them; each line is one write at the end of the file, so it is whole also when many processes write.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, Flock, FlockArg, OFlag, openat, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstat, fstatat};
use nix::unistd::{geteuid, write};
use serde_json::value::RawValue;

use crate::descriptor::above_standard_streams;
use crate::escape::{escaped, is_hidden};
use crate::report::{Failure, Fault, Refusal, Report, signal_name};
use crate::trust::Home;

const DIRECTORY: &str = ".bravebot";
const NAME: &str = "hooks.log";
const LOG: &str = ".bravebot/hooks.log";
const OLDER: &str = "hooks.log.1";
/// Past this many bytes the file becomes [`OLDER`].
const LARGEST: u64 = 1024 * 1024;
/// How often the log is opened again because somebody else has just rotated it.
const MOST_TRIES: u32 = 8;

/// Where reports are kept for the person who was not looking: `~/.bravebot/hooks.log`.
///
/// Past 1 MiB it becomes `hooks.log.1`, and the `hooks.log.1` before it is gone. Where `HOME` is unset or `~/.bravebot` does
/// not exist there is no log, as there are no hooks.
pub struct TurnLog {
    home: Result<Option<Home>, Refusal>,
    directory: String,
    /// What of [`said`] stood in the log of problems of the file when it was first needed, and what was added since.
    standing: Mutex<Option<BTreeSet<String>>>,
}

impl TurnLog {
    /// A log for a turn in `directory`, which every line names, below `HOME` as it is now. Opens nothing yet.
    pub fn of_turn_in(directory: &Path) -> TurnLog {
        let name = directory
            .to_str()
            .map_or_else(|| escaped(directory.as_os_str().as_bytes()), str::to_owned);
        TurnLog {
            home: Home::of(std::env::var_os("HOME")),
            directory: name,
            standing: Mutex::default(),
        }
    }

    /// Adds one line for `report`. A problem of the file that stands in the log already is not written again.
    ///
    /// Blocks for as long as the file system takes; never on another process. What keeps the line from being written is
    /// returned as a report for the display: a log file that is a link, has a second link, is not a file of this user, or
    /// lies where others can write, is not used.
    pub fn add(&self, report: &Report) -> Result<(), Report> {
        self.add_or(report, || {})
    }

    /// As [`TurnLog::add`], for the command of this package: calls `not_written` first where there is no line.
    #[doc(hidden)]
    pub fn add_or(&self, report: &Report, not_written: impl FnOnce()) -> Result<(), Report> {
        let Err(refusal) = self.try_to_add(report) else {
            return Ok(());
        };
        not_written();
        let refusal = refusal.to_string();
        match report.failure() {
            // What keeps the log from being used has just been said of the hooks file itself.
            Failure::File(text) if text.ends_with(&refusal) => Ok(()),
            _ => Err(not_written_for(&refusal)),
        }
    }

    /// For the command of this package: what would keep a line from being written now. Makes the file where there is none.
    #[doc(hidden)]
    pub fn try_out(&self) -> Result<(), Report> {
        let Some(home) = self.home.as_ref().map_err(not_written_for)? else {
            return Ok(());
        };
        Self::file(home)
            .map(drop)
            .map_err(|refusal| not_written_for(&refusal))
    }

    fn file(home: &Home) -> Result<File, Refusal> {
        let at = |path: &str, fault| Refusal::below_home(&home.join(path), fault);
        let directory = home
            .directory(DIRECTORY)?
            .ok_or_else(|| at(DIRECTORY, Fault::Missing))?;
        let refused = |fault| at(LOG, fault);
        open(&directory).map_err(|fault| match fault {
            Fault::CannotRotate(_) => at(".bravebot/hooks.log.1", fault),
            Fault::System(Errno::EACCES) => {
                match (
                    fstatat(&directory, NAME, AtFlags::AT_SYMLINK_NOFOLLOW),
                    fstat(&directory),
                ) {
                    (Ok(log), _) if log.st_uid == geteuid().as_raw() => refused(Fault::Closed),
                    (Ok(log), _) => refused(Fault::NotYours { owner: log.st_uid }),
                    (_, Ok(stat)) => at(DIRECTORY, Fault::NotWritable { owner: stat.st_uid }),
                    _ => refused(fault),
                }
            }
            _ => refused(fault),
        })
    }

    fn try_to_add(&self, report: &Report) -> Result<(), Refusal> {
        let Some(home) = self.home.as_ref().map_err(Refusal::clone)? else {
            return Ok(());
        };
        let file = Self::file(home)?;
        let refused = |fault| Refusal::below_home(&home.join(LOG), fault);
        let said = said(report);
        let is_of_file = matches!(report.failure(), Failure::File(_));
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        if is_of_file
            && standing
                .get_or_insert_with(|| standing_in(&file))
                .contains(&said)
        {
            return Ok(());
        }
        let mut line = self.line(report, &said);
        if !ends_a_line(&file) {
            // The disk was full in the middle of a line.
            line.insert(0, '\n');
        }
        match write(&file, line.as_bytes()) {
            Ok(written) if written == line.len() => {}
            Ok(_) => return Err(refused(Fault::System(Errno::ENOSPC))),
            Err(error) => return Err(refused(Fault::System(error))),
        }
        if let Some(standing) = &mut *standing {
            standing.insert(said);
        }
        Ok(())
    }

    fn line(&self, report: &Report, said: &str) -> String {
        let mut line = format!("{{\"time\":\"{}\",", rfc3339(SystemTime::now()));
        if let (Some(moment), Some(program)) = (report.moment(), report.program_unescaped()) {
            line.push_str(&format!(
                "\"moment\":\"{moment}\",\"program\":{},",
                json(program)
            ));
        }
        line.push_str(said);
        line.push_str(&json(&self.directory));
        match report.failure() {
            Failure::Exited(status) => line.push_str(&format!(",\"status\":{status}")),
            Failure::Killed(signal) => {
                line.push_str(&format!(",\"signal\":\"{}\"", signal_name(*signal)))
            }
            Failure::TimedOut { seconds, .. } => line.push_str(&format!(",\"seconds\":{seconds}")),
            _ => {}
        }
        line.push_str("}\n");
        line
    }
}

/// What the log holds, for a person who asks.
#[derive(Debug)]
#[non_exhaustive]
pub struct Summary {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// How many reports it holds; those in the older file not counted.
    pub reports: usize,
    /// The last one.
    pub last: Option<LastReport>,
}

/// The last report of the log.
#[derive(Debug)]
#[non_exhaustive]
pub struct LastReport {
    /// When, as it is written there (RFC 3339).
    pub written: String,
    /// When; `None` where that cannot be read.
    pub time: Option<SystemTime>,
    /// What the display got.
    pub message: String,
}

impl Summary {
    /// Opens the log only to read, by the same rules, and makes none.
    pub(crate) fn of(home: &Home) -> Summary {
        let mut summary = Summary {
            path: home.join(DIRECTORY).join(NAME),
            reports: 0,
            last: None,
        };
        let Ok(Some(directory)) = home.directory(DIRECTORY) else {
            return summary;
        };
        let flags = OFlag::O_RDONLY
            | OFlag::O_NOFOLLOW
            | OFlag::O_NONBLOCK
            | OFlag::O_NOCTTY
            | OFlag::O_CLOEXEC;
        let Ok(file) = openat(&directory, NAME, flags, Mode::empty()) else {
            return summary;
        };
        if !fstat(&file).is_ok_and(|stat| judge(&stat).is_ok()) {
            return summary;
        }
        let mut bytes = Vec::new();
        let _ = File::from(file).take(2 * LARGEST).read_to_end(&mut bytes);
        for line in bytes.split(|byte| *byte == b'\n') {
            let Ok(report) = serde_json::from_slice::<BTreeMap<String, &RawValue>>(line) else {
                continue;
            };
            let text = |key: &str| serde_json::from_str::<String>(report.get(key)?.get()).ok();
            if let Some(message) = text("message") {
                summary.reports += 1;
                let written = text("time").unwrap_or_default();
                let (time, message) = (of_rfc3339(&written), plain(&message));
                summary.last = Some(LastReport {
                    written: plain(&written),
                    time,
                    message,
                });
            }
        }
        summary
    }
}

/// What stands in a log is escaped already; somebody who edited it may have undone that.
fn plain(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() && !is_hidden(*c))
        .collect()
}

/// The middle of a line: by this text a report that stands in the log is found again. No string in a line can hold it,
/// since a quote within a string is escaped.
fn said(report: &Report) -> String {
    format!(
        "\"failure\":\"{}\",\"message\":{},\"directory\":",
        report.failure().word(),
        json(&report.to_string())
    )
}

fn not_written_for(refusal: impl std::fmt::Display) -> Report {
    Report::of_log(format_args!("hooks.log not written: {refusal}"))
}

/// The file to write to, past its limit after it was made the older one.
fn open(directory: &OwnedFd) -> Result<File, Fault> {
    for _ in 0..MOST_TRIES {
        let (file, stat) = open_and_judge(directory)?;
        if stat.st_size.cast_unsigned() <= LARGEST {
            return Ok(file);
        }
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => {
                let at_name = fstatat(directory, NAME, AtFlags::AT_SYMLINK_NOFOLLOW);
                let is_this =
                    at_name.is_ok_and(|at| (at.st_dev, at.st_ino) == (stat.st_dev, stat.st_ino));
                // Where the name has another file by now, somebody else was faster.
                if is_this {
                    // A log that cannot be made the older one would grow without end.
                    renameat(directory, NAME, directory, OLDER).map_err(Fault::CannotRotate)?;
                }
                drop(file);
            }
            // Somebody else is at it: a line more in the older file is no loss, a file without end would be.
            Err((file, _)) if stat.st_size.cast_unsigned() <= 2 * LARGEST => return Ok(file),
            Err((_, error)) => return Err(Fault::CannotRotate(error)),
        }
    }
    Err(Fault::CannotRotate(Errno::EBUSY))
}

fn open_and_judge(directory: &OwnedFd) -> Result<(File, FileStat), Fault> {
    let flags = OFlag::O_RDWR
        | OFlag::O_APPEND
        | OFlag::O_CREAT
        | OFlag::O_NOFOLLOW
        | OFlag::O_NONBLOCK
        | OFlag::O_NOCTTY
        | OFlag::O_CLOEXEC;
    let file = match openat(
        directory.as_fd(),
        NAME,
        flags,
        Mode::S_IRUSR | Mode::S_IWUSR,
    ) {
        Ok(file) => above_standard_streams(file).map_err(Fault::System)?,
        Err(Errno::ELOOP) => return Err(Fault::NotAFile("a link")),
        Err(Errno::EISDIR) => return Err(Fault::NotAFile("a directory")),
        Err(Errno::ENXIO) => return Err(Fault::NotAFile("a socket or a device")),
        Err(error) => return Err(Fault::System(error)),
    };
    let stat = fstat(&file).map_err(Fault::System)?;
    judge(&stat)?;
    // Whatever the umask, and whatever it was.
    if stat.st_mode & 0o7777 != 0o600 {
        fchmod(&file, Mode::S_IRUSR | Mode::S_IWUSR).map_err(Fault::System)?;
    }
    Ok((File::from(file), stat))
}

/// A regular file of this user with one link.
fn judge(stat: &FileStat) -> Result<(), Fault> {
    if SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT != SFlag::S_IFREG {
        Err(Fault::NotAFile("a FIFO or a device"))
    } else if stat.st_uid != geteuid().as_raw() {
        Err(Fault::NotYours { owner: stat.st_uid })
    } else if stat.st_nlink != 1 {
        Err(Fault::HardLinks)
    } else {
        Ok(())
    }
}

/// Which problems of the file stand in the log: of each line that is one, the part that [`said`] makes.
fn standing_in(mut file: &File) -> BTreeSet<String> {
    let mut bytes = Vec::new();
    // A little more than its limit, whatever its size.
    let _ = Read::by_ref(&mut file)
        .take(2 * LARGEST)
        .read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let said = text.lines().filter_map(|line| {
        let part = &line[line.find("\"failure\":\"file\"")?..];
        const END: &str = "\"directory\":";
        part.get(..part.find(END)? + END.len())
    });
    said.map(str::to_owned).collect()
}

/// Whether the last line is whole. One that another process is writing across the end of a page is seen by halves for a
/// moment (write(2)), and is whole soon after.
fn ends_a_line(file: &File) -> bool {
    let ends = || {
        let mut last = [0];
        match file.metadata().map(|metadata| metadata.len()) {
            Ok(0) | Err(_) => true,
            Ok(length) => file.read_at(&mut last, length - 1).is_err() || last == *b"\n",
        }
    };
    ends()
        || (0..20).any(|_| {
            thread::sleep(Duration::from_millis(1));
            ends()
        })
}

/// `text` as a JSON string in which nothing can draw or reorder: what JSON does not escape and a terminal obeys is `\u`.
fn json(text: &str) -> String {
    let mut out = String::new();
    for c in serde_json::to_string(text).unwrap_or_default().chars() {
        if c.is_control() || is_hidden(c) {
            let mut units = [0; 2];
            out.extend(
                c.encode_utf16(&mut units)
                    .iter()
                    .map(|unit| format!("\\u{unit:04x}")),
            );
        } else {
            out.push(c);
        }
    }
    out
}

/// The time that [`rfc3339`] wrote; `None` for any other text.
fn of_rfc3339(text: &str) -> Option<SystemTime> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let days = (1970..year)
        .map(|year| 365 + u64::from(is_leap(year)))
        .sum::<u64>()
        + days_of_months(year)
            .iter()
            .take(usize::try_from(month).ok()?.checked_sub(1)?)
            .sum::<u64>()
        + day.checked_sub(1)?;
    let seconds = days * 86_400 + number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?;
    let time = UNIX_EPOCH
        .checked_add(Duration::from_secs(seconds) + Duration::from_millis(number(20, 23)?))?;
    (rfc3339(time) == text).then_some(time)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of_months(year: u64) -> [u64; 12] {
    [
        31,
        28 + u64::from(is_leap(year)),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ]
}

/// `time` in UTC (RFC 3339), to the millisecond; before 1970 it is 1970.
fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (mut day, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let mut year = 1970;
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    for days in days_of_months(year) {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z",
        day + 1,
        since.subsec_millis()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SPEC 8.5. The seconds are of date(1): `date -u -d 2024-02-29T23:59:59Z +%s`.
    #[test]
    fn time_is_rfc_3339_in_utc() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.007Z"),
            (951_782_400, "2000-02-29T00:00:00.007Z"),
            (1_709_251_199, "2024-02-29T23:59:59.007Z"),
            (1_735_689_599, "2024-12-31T23:59:59.007Z"),
            (4_107_542_400, "2100-03-01T00:00:00.007Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_millis(seconds * 1000 + 7);
            assert_eq!(
                (rfc3339(time).as_str(), of_rfc3339(text)),
                (text, Some(time))
            );
        }
        for text in [
            "",
            "yesterday",
            "2024-13-01T00:00:00.000Z",
            "2024-02-30T00:00:00.000Z",
            "9999999999999999999999999",
        ] {
            assert_eq!(of_rfc3339(text), None, "{text}");
        }
    }

    /// SPEC 6.4, 8.5.
    #[test]
    fn a_json_string_keeps_its_value_and_cannot_draw() {
        let text = "a\"\\\n\u{1b}\u{7f}\u{9b}\u{202e}\u{e0041}é";
        let json = json(text);
        assert_eq!(
            serde_json::from_str::<String>(&json).ok().as_deref(),
            Some(text)
        );
        assert_eq!(
            json,
            "\"a\\\"\\\\\\n\\u001b\\u007f\\u009b\\u202e\\udb40\\udc41é\""
        );
    }
}
