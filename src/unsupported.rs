//! The API on a system where the launcher does not work yet: it compiles, reads nothing and fires nothing.

use std::ffi::OsString;
use std::path::Path;

use crate::moment::Event;
use crate::report::{Report, Reporter};

/// Fires nothing: hooks are not supported on this platform.
#[derive(Clone)]
pub struct Launcher(());

impl Launcher {
    /// Reads nothing.
    pub fn new(_: impl Reporter + 'static) -> Launcher {
        Launcher(())
    }

    /// Reads nothing.
    pub fn withholding(_: impl IntoIterator<Item = OsString>, _: impl Reporter + 'static) -> Self {
        Launcher(())
    }

    /// Always returns `false`: hooks are not supported on this platform.
    pub fn has_hook_for(&self, _: Event<'_>) -> bool {
        false
    }

    /// Does nothing.
    pub fn fire(&self, _: Event<'_>, _: &Path) {}

    /// Does nothing.
    pub fn interrupt(&self) {}
}

/// A log that nothing is added to.
pub struct TurnLog(());

impl TurnLog {
    /// Opens nothing.
    pub fn of_turn_in(_: &Path) -> TurnLog {
        TurnLog(())
    }

    /// Adds nothing: there are no reports on this platform.
    pub fn add(&self, _: &Report) -> Result<(), Report> {
        Ok(())
    }
}
