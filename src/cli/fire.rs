//! `fire`: one moment, and 0 whatever its hooks did (SPEC 7.2, 8.1).

use std::sync::Arc;

use bravebot_hooks::{Event, Launcher, Moment};

use super::arguments::Fire;
use super::display::Display;
use super::host::Host;
use super::signals::{self, ENDING, Signals};
use super::watch::Watch;

pub(crate) fn run(request: Fire, display: Display) -> i32 {
    let host = Arc::new(Host::new(display, &request.common.directory_by_name()));
    let launcher = Launcher::withholding(request.common.withhold.clone(), Arc::clone(&host));
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
    let signals = match Signals::listen(&ENDING, &[]) {
        Ok(signals) => signals,
        Err(error) => {
            host.line(&format!("no hook fired: cannot listen for signals: {}", error.desc()));
            return 0;
        }
    };
    match Watch::new(&launcher, &host, request.common.directory(), &signals).fire(event, &ENDING) {
        Some(signal) => signals::die_of(signal as i32),
        None => 0,
    }
}
