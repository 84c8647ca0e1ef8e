//! A turn as a guard, and what a run inside it holds.
//!
//! Making a [`Turn`] fires turn-started, dropping it fires turn-finished, once, on every way out that runs drops. What
//! a delegate holds has no way to fire either (SPEC 2.3).

use std::path::{Path, PathBuf};

use crate::Launcher;
use crate::moment::Event;

/// One request of a person, from start to end (SPEC 2.1).
///
/// Dropped on return, on `?` and by a panic that unwinds. `panic = "abort"`, [`std::process::exit`],
/// [`std::mem::forget`] and a fatal signal skip a drop, and with it turn-finished.
///
/// Both ends block like [`Launcher::fire`]; an asynchronous host makes and drops it on a thread that may block, and gives
/// its tasks a channel to it, since a [`Delegate`] borrows. `examples/tokio_agent.rs` is one.
#[must_use = "a turn that is dropped at once is over at once"]
pub struct Turn {
    launcher: Launcher,
    directory: PathBuf,
}

impl Launcher {
    /// Begins a turn in `directory`: fires turn-started and returns when its hooks are over.
    pub fn turn(&self, directory: impl Into<PathBuf>) -> Turn {
        let turn = Turn {
            launcher: self.clone(),
            directory: directory.into(),
        };
        turn.launcher.fire(Event::TurnStarted, &turn.directory);
        turn
    }
}

impl Turn {
    /// Fires tool-finished: the call of the tool of this name has finished, whatever came of it. Blocks like
    /// [`Launcher::fire`].
    pub fn tool_finished(&self, tool: &str) {
        self.launcher
            .fire(Event::ToolFinished(Some(tool)), &self.directory);
    }

    /// What a run inside this turn holds. It borrows the turn, so the turn outlives it and turn-finished comes last.
    pub fn delegate(&self) -> Delegate<'_> {
        Delegate {
            launcher: &self.launcher,
            directory: &self.directory,
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.launcher.fire(Event::TurnFinished, &self.directory);
    }
}

/// What a delegate, a run inside a turn, holds: its tool calls fire, the turn moments are not its own (SPEC 2.3).
///
/// ```no_run
/// # use bravebot_hooks::{Launcher, Report, Reporter};
/// # struct Quiet; impl Reporter for Quiet { fn report(&self, _: &Report) {} }
/// let turn = Launcher::new(Quiet).turn("/tmp");
/// let delegate = turn.delegate();
/// std::thread::scope(|threads| {
///     threads.spawn(move || delegate.tool_finished("write_file"));
///     threads.spawn(move || delegate.tool_finished("run"));
/// });
/// drop(turn);
/// ```
///
/// It cannot outlive its turn:
///
/// ```compile_fail,E0505
/// # use bravebot_hooks::{Launcher, Report, Reporter};
/// # struct Quiet; impl Reporter for Quiet { fn report(&self, _: &Report) {} }
/// let turn = Launcher::new(Quiet).turn("/tmp");
/// let delegate = turn.delegate();
/// drop(turn);
/// delegate.tool_finished("write_file");
/// ```
///
/// And it has no way to a turn moment:
///
/// ```compile_fail,E0599
/// # use bravebot_hooks::{Event, Launcher, Report, Reporter};
/// # struct Quiet; impl Reporter for Quiet { fn report(&self, _: &Report) {} }
/// let turn = Launcher::new(Quiet).turn("/tmp");
/// turn.delegate().fire(Event::TurnFinished, "/tmp".as_ref());
/// ```
///
/// ```compile_fail,E0599
/// # use bravebot_hooks::{Launcher, Report, Reporter};
/// # struct Quiet; impl Reporter for Quiet { fn report(&self, _: &Report) {} }
/// let turn = Launcher::new(Quiet).turn("/tmp");
/// turn.delegate().turn("/tmp");
/// ```
#[derive(Clone, Copy)]
pub struct Delegate<'a> {
    launcher: &'a Launcher,
    directory: &'a Path,
}

impl Delegate<'_> {
    /// Fires tool-finished for a call that the delegate made. Blocks like [`Launcher::fire`].
    pub fn tool_finished(&self, tool: &str) {
        self.launcher
            .fire(Event::ToolFinished(Some(tool)), self.directory);
    }
}

const _: fn() = || {
    fn is_shared_freely<T: Copy + Send + Sync>() {}
    is_shared_freely::<Delegate<'static>>();
};
