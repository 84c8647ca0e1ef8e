//! `fire`: one moment, and 0 whatever its hooks did (SPEC 7.2, 8.1).

use bravebot_hooks::{Event, Launcher, Moment};

use super::arguments::Fire;
use super::display::Display;
use super::host::Host;
use super::signals::{self, ENDING, Signals};
use super::watch;

pub(crate) fn run(request: Fire, display: Display) -> i32 {
    let directory = request.common.directory();
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
