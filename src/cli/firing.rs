//! Fires a moment while listening for the signals that interrupt it.
//!
//! Both `fire` and `turn` use this. Before the first hook starts, it checks that the command does not run inside a hook.

use std::cell::OnceCell;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use bravebot_hooks::{Event, Launcher, Report, Reporter};
use nix::sys::signal::Signal;

use super::arguments::Flags;
use super::recursion::{self, Mark};
use super::reporter::CommandReporter;
use super::signals::Signals;

/// The hooks of one run of the command, and what they are fired with.
pub(crate) struct Firing {
    launcher: Launcher,
    pub(crate) reporter: Arc<CommandReporter>,
    directory: PathBuf,
    /// Determined once, and only if a hook is about to start.
    is_inside_a_hook: OnceCell<bool>,
}

impl Firing {
    /// Reads the hooks.
    pub(crate) fn new(flags: &Flags, reporter: CommandReporter) -> Firing {
        let reporter = Arc::new(reporter);
        Firing {
            launcher: Launcher::withholding(flags.withhold.clone(), Arc::clone(&reporter)),
            reporter,
            directory: flags.directory().to_owned(),
            is_inside_a_hook: OnceCell::new(),
        }
    }

    /// Returns whether hooks will start for `event`. Inside a hook none does, and the first call reports that.
    pub(crate) fn starts_hooks(&self, event: Event<'_>) -> bool {
        let is_inside_a_hook = || {
            let is_inside = recursion::is_inside_a_hook();
            if is_inside {
                let reason = "this runs inside a hook already, and would go round without end";
                self.reporter.report(&Report::no_hook_fired(reason));
            }
            is_inside
        };
        self.launcher.has_hook_for(event) && !self.is_inside_a_hook.get_or_init(is_inside_a_hook)
    }

    /// Fires `event` and returns when its hooks have ended. A signal that is one of `interrupting` ends them, and the
    /// first such signal is returned. Other signals that arrive meanwhile are discarded.
    pub(crate) fn fire(
        &self,
        event: Event<'_>,
        signals: &mut Signals,
        interrupting: &[Signal],
    ) -> Option<Signal> {
        let descriptor = signals.descriptor();
        let mut first = None;
        let mut interrupt = || {
            for (signal, _) in signals.take().filter(|it| interrupting.contains(&it.0)) {
                first.get_or_insert(signal);
                self.launcher.interrupt();
            }
        };
        if self.starts_hooks(event) {
            let _mark = Mark::set();
            let watch = Some((descriptor.as_fd(), &mut interrupt as &mut dyn FnMut()));
            let fire = || self.launcher.fire_watching(event, &self.directory, watch);
            // A panic skips the remaining hooks, and not COMMAND (SPEC 7.2, 7.3).
            let _ = catch_unwind(AssertUnwindSafe(fire));
        }
        interrupt();
        first
    }
}
