//! `fire`: one moment, and 0 whatever its hooks did (SPEC 7.2, 8.1); with `--detach` in a process that goes on alone.

use std::sync::Arc;

use bravebot_hooks::{Event, Launcher, Moment, Report, Reporter};
use nix::errno::Errno;

use super::arguments::Fire;
use super::detach::{Side, close_what_is_not_ours, detach};
use super::display::Display;
use super::host::Host;
use super::signals::{self, ENDING, Signals};
use super::watch::Watch;

pub(crate) fn run(request: Fire, display: Display) -> i32 {
    let directory = request.common.directory_by_name();
    let host = if request.detach {
        let stream = display.of_the_stream_alone();
        drop(display);
        close_what_is_not_ours();
        Host::new(stream, &directory).quiet()
    } else {
        Host::new(display, &directory)
    };
    let host = Arc::new(host);
    let launcher = Launcher::withholding(request.common.withhold.clone(), Arc::clone(&host));
    let event = match request.moment {
        Moment::TurnStarted => Event::TurnStarted,
        // A name that is not UTF-8 is none that the file could hold.
        Moment::ToolFinished => {
            Event::ToolFinished(request.tool.as_ref().and_then(|tool| tool.to_str()))
        }
        Moment::TurnFinished => Event::TurnFinished,
    };
    if !launcher.has_hook_for(event) {
        return 0;
    }
    let watch = Watch::new(&launcher, &host, request.common.directory());
    let failed = |step: &str, error: Errno| {
        host.report(&Report::no_hook_fired(format_args!(
            "cannot {step}: {}",
            error.desc()
        )));
        0
    };
    if request.detach {
        if !watch.may_fire(event) {
            return 0;
        }
        // Afterwards there is nobody left to say it to (SPEC 6.5).
        host.try_out_log();
        match detach() {
            Ok(Side::Detached) => {}
            Ok(Side::Caller) => return 0,
            Err(error) => return failed("detach", error),
        }
    }
    signals::hear_of_children();
    let signals = match Signals::listen(&ENDING, &[]) {
        Ok(signals) => signals,
        Err(error) => return failed("listen for signals", error),
    };
    match watch.fire(event, &signals, &ENDING) {
        Some(signal) => signals::die_of(signal as i32),
        None => 0,
    }
}
