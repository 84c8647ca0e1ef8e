//! Firing a moment while listening for the signals that end it.

use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use bravebot_hooks::{Event, Launcher, Listener, Report, Reporter};
use nix::sys::signal::Signal;

use super::host::Host;
use super::recursion::{self, Mark};
use super::signals::Signals;

/// What firing a moment takes.
pub(crate) struct Watch<'a> {
    launcher: &'a Launcher,
    host: &'a Host,
    directory: &'a Path,
    /// Looked up once, and only when a hook is about to start.
    is_inside_a_hook: OnceCell<bool>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(launcher: &'a Launcher, host: &'a Host, directory: &'a Path) -> Watch<'a> {
        Watch {
            launcher,
            host,
            directory,
            is_inside_a_hook: OnceCell::new(),
        }
    }

    /// Whether a hook is about to start. Inside a hook none is, and the first call says so in one line.
    pub(crate) fn may_fire(&self, event: Event<'_>) -> bool {
        self.launcher.has_hook_for(event)
            && !self.is_inside_a_hook.get_or_init(|| {
                let is_inside = recursion::is_inside_a_hook();
                if is_inside {
                    let reason = "this runs inside a hook already, and would go round without end";
                    self.host.report(&Report::no_hook_fired(reason));
                }
                is_inside
            })
    }

    /// Fires `event` and returns when its hooks are over; the first of `signals` that arrived and is one of `ending`, if one
    /// did, has ended them. Others that are listened for meanwhile go unheard.
    pub(crate) fn fire(
        &self,
        event: Event<'_>,
        signals: &Signals,
        ending: &[Signal],
    ) -> Option<Signal> {
        let mut ended_by = None;
        let mut hear = || {
            // Each is taken, also after the first: what is left would keep the descriptor readable.
            for received in signals
                .received()
                .filter(|received| ending.contains(&received.signal))
            {
                ended_by.get_or_insert(received.signal);
                self.launcher.interrupt();
            }
        };
        if self.may_fire(event) {
            let _mark = Mark::set();
            let listener = Listener(Some((signals.as_fd(), &mut hear)));
            // A panic inside costs the rest of the moment, and not COMMAND (SPEC 7.2, 7.3).
            let fire = || {
                self.launcher
                    .fire_listening(event, self.directory, listener)
            };
            let _ = catch_unwind(AssertUnwindSafe(fire));
        }
        hear();
        ended_by
    }
}
