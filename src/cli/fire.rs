//! `fire`: runs the hooks of one moment and exits with 0 whatever they did (SPEC 7.2, 8.1).
//!
//! With `--detach` it starts this program again without that flag, in a session of its own, and returns. An agent that
//! kills what it started, or waits until its pipes are closed, then neither reaches the hooks nor waits for them.

use std::ffi::OsString;
use std::os::fd::AsRawFd;

use bravebot_hooks::{Event, Moment, Report, Reporter, sys};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::libc;
use nix::spawn::{PosixSpawnFileActions, PosixSpawnFlags};
use nix::sys::signal::SigSet;
use nix::sys::stat::Mode;
use nix::sys::wait::{Id, WaitPidFlag};

use super::arguments::Flags;
use super::display::Display;
use super::firing::Firing;
use super::reporter::CommandReporter;
use super::signals::{Signals, TERMINATION, terminate_with};
use super::spawn::{argv, spawn};

pub(crate) fn run(moment: Moment, flags: &Flags, display: Display, mask: &SigSet) -> i32 {
    let mut reporter = CommandReporter::new(display, &flags.directory_by_name());
    reporter.is_quiet = flags.detach;
    let firing = Firing::new(flags, reporter);
    // The file holds only UTF-8, so a name that is not UTF-8 matches no entry.
    let tool = flags.tool.as_ref().and_then(|tool| tool.to_str());
    let event = match moment {
        Moment::TurnStarted => Event::TurnStarted,
        Moment::ToolFinished => Event::ToolFinished(tool),
        Moment::TurnFinished => Event::TurnFinished,
    };
    if !firing.starts_hooks(event) {
        return 0;
    }
    let failed = |what: &str, error: Errno| {
        let reason = format!("cannot {what}: {}", error.desc());
        firing.reporter.report(&Report::no_hook_fired(reason));
        0
    };
    if flags.detach {
        // Afterwards nobody would see it (SPEC 6.5).
        firing.reporter.try_log();
        let detached = detach(moment, flags, mask);
        return detached.map_or_else(|error| failed("detach", error), |()| 0);
    }
    let mut signals = match Signals::listen(&TERMINATION) {
        Ok(signals) => signals,
        Err(error) => return failed("listen for signals", sys::errno(error)),
    };
    let interrupted_by = firing.fire(event, &mut signals, &TERMINATION);
    interrupted_by.map_or(0, |signal| terminate_with(signal as i32))
}

/// Starts this program again, in a session of its own and with the standard streams on `/dev/null`. When this returns, the
/// new process already leads its session and holds no descriptor of the agent's.
fn detach(moment: Moment, flags: &Flags, mask: &SigSet) -> Result<(), Errno> {
    let words = ["bravebot-hooks", "fire", moment.name()];
    let mut words = words.map(OsString::from).to_vec();
    let mut add = |flag: &str, values: &[OsString]| {
        words.extend(values.iter().flat_map(|value| [flag.into(), value.clone()]));
    };
    add("--tool", flags.tool.as_slice());
    add("--directory", flags.directory.as_slice());
    add("--withhold", &flags.withhold);
    let null = open("/dev/null", OFlag::O_RDWR | OFlag::O_CLOEXEC, Mode::empty());
    let null = null.and_then(sys::above_stderr)?;
    let mut actions = PosixSpawnFileActions::init()?;
    for stream in 0..3 {
        actions.add_dup2(null.as_raw_fd(), stream)?;
    }
    sys::add_closefrom(&mut actions, 3)?;
    let session = PosixSpawnFlags::from_bits_retain(libc::POSIX_SPAWN_SETSID as i32);
    let process = spawn(c"/proc/self/exe", &argv(&words), mask, &actions, session)?;
    let options = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG;
    // posix_spawn(3) does not notice if the process is killed before it runs the program.
    match sys::wait(Id::Pid(process), options)? {
        Some(status) if status.code().is_none() => Err(Errno::ESRCH),
        _ => Ok(()),
    }
}
