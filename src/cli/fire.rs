//! `fire`: one moment, and 0 whatever its hooks did (SPEC 7.2, 8.1).

use std::path::{Path, PathBuf};

use bravebot_hooks::{Event, Launcher, Moment};
use nix::sys::signal::Signal;

use super::arguments::{Common, Fire};
use super::display::Display;
use super::host::Host;
use super::signals::{self, Signals};
use super::watch;

/// The signals that end a moment and are died of.
pub(crate) const ENDING: [Signal; 4] = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP];

pub(crate) fn run(request: Fire, display: Display) -> i32 {
    let directory = directory_of(&request.common);
    let launcher = Launcher::withholding(request.common.withhold, Host::new(display, &directory));
    let event = match request.moment {
        Moment::TurnStarted => Event::TurnStarted,
        // A name that is not UTF-8 is none that the file could hold.
        Moment::ToolFinished => Event::ToolFinished(request.tool.as_ref().and_then(|tool| tool.to_str())),
        Moment::TurnFinished => Event::TurnFinished,
    };
    if !launcher.has_hook_for(event) {
        return 0;
    }
    signals::hear_of_children();
    let Ok(signals) = Signals::listen(&ENDING, &[]) else {
        launcher.fire(event, &directory);
        return 0;
    };
    match watch::fire(&launcher, event, &directory, &signals, &ENDING) {
        Some(signal) => signals::die_of(signal as i32),
        None => 0,
    }
}

/// Where the hooks run, absolute where the working directory has a name, so that the log says which it was.
pub(crate) fn directory_of(common: &Common) -> PathBuf {
    let directory = common.directory.as_deref().unwrap_or(Path::new("."));
    match std::env::current_dir() {
        Ok(working) if common.directory.is_none() => working,
        Ok(working) => working.join(directory),
        Err(_) => directory.to_owned(),
    }
}
