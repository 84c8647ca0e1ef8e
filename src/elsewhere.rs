//! Where the launcher has not been made to work there are no hooks: the API is here, reads nothing and fires nothing.
//!
//! A host that is built for many systems links it everywhere. That is every system but Linux with glibc; macOS too.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;

use crate::moment::{Event, Moment};
use crate::reporter::Reporter;

/// Fires nothing: on this system there are no hooks.
#[derive(Clone)]
pub struct Launcher(());

impl Launcher {
    /// Reads nothing.
    pub fn new(_: impl Reporter + 'static) -> Launcher {
        Launcher(())
    }

    /// Reads nothing.
    pub fn withholding(
        _: impl IntoIterator<Item = OsString>,
        _: impl Reporter + 'static,
    ) -> Launcher {
        Launcher(())
    }

    /// Never: there are no hooks.
    pub fn has_hook_for(&self, _: Event<'_>) -> bool {
        false
    }

    /// Does nothing.
    pub fn fire(&self, _: Event<'_>, _: &Path) {}

    /// Does nothing.
    pub fn interrupt(&self) {}
}

/// There is none: what does not run does not fail.
#[derive(Clone, Debug)]
pub struct Report(Infallible);

impl Report {
    /// Never called: there is no report.
    pub fn moment(&self) -> Option<Moment> {
        match self.0 {}
    }

    /// Never called: there is no report.
    pub fn program(&self) -> Option<String> {
        match self.0 {}
    }
}

impl fmt::Display for Report {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

/// A log that nothing is added to.
pub struct TurnLog(());

impl TurnLog {
    /// Opens nothing.
    pub fn of_turn_in(_: &Path) -> TurnLog {
        TurnLog(())
    }

    /// Never called: there is no report.
    pub fn add(&self, report: &Report) -> Result<(), Report> {
        match report.0 {}
    }
}
