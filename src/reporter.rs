//! The trait by which a host hears what happens to hooks; the only way out of the launcher.
//!
//! Knows reports and moments, and nothing of what makes them.

use std::sync::Arc;

use crate::Report;
use crate::moment::Moment;

/// Hears what happens to hooks. Firing itself returns nothing (SPEC 7.1).
///
/// Both are called on the thread that fires, while the launcher is held: firing from inside does nothing (SPEC 2.4),
/// and whatever they wait for, the turn waits for. A panic in them is caught (SPEC 6.5).
pub trait Reporter: Send + Sync {
    /// One failure, to be shown to the person and written to the turn's log (SPEC 6.3).
    fn report(&self, report: &Report);

    /// A hook is about to start, or is over. `program` is as the file wrote it, escaped for people (SPEC 6.3, 6.4).
    fn progress(&self, progress: Progress<'_>) {
        let _ = progress;
    }
}

/// Where a hook is, for a status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// This hook is about to start.
    Started {
        /// The moment that is running.
        moment: Moment,
        /// The program, escaped for people.
        program: &'a str,
    },
    /// The hook that was started last is over.
    Over,
}

impl<R: Reporter + ?Sized> Reporter for Arc<R> {
    fn report(&self, report: &Report) {
        (**self).report(report);
    }

    fn progress(&self, progress: Progress<'_>) {
        (**self).progress(progress);
    }
}
