//! What a host hears: a [`Report`] for each failure, and [`Progress`] while hooks run. The only way out of the launcher.
//!
//! A report carries the sentence of whoever found the failure. It names the moment, the program as the file has it and
//! what happened. It has no field for an argument, a variable, a tool's name or a hook's output (SPEC 6.2).

use std::fmt;
use std::sync::Arc;

use crate::escape::{escaped, quoted};
use crate::moment::Moment;

/// The longest text in bytes: with the command's prefix and a newline it is a line of 4,096 (SPEC 6.4).
const MAX_LENGTH: usize = 4096 - "bravebot-hooks: \n".len();

/// One failure: of one hook, or one problem of the file. Success has no report (SPEC 6.1).
///
/// Its [`Display`](fmt::Display) is one line for people, without a newline, of at most 4,079 bytes, in which control
/// characters, escapes, bidirectional controls and invalid UTF-8 are escaped (SPEC 6.4). It has nothing to branch on: a
/// hook decides nothing (SPEC 7.1).
#[derive(Clone, Debug)]
pub struct Report {
    /// The moment, and the program as the file has it.
    pub(crate) hook: Option<(Moment, Arc<str>)>,
    pub(crate) failure: Failure,
    text: String,
}

/// The kinds of failure that the turn log tells apart (SPEC 8.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    NotStarted,
    /// After so many seconds.
    TimedOut(u64),
    /// By the signal of this name.
    Killed(String),
    /// With this status.
    Exited(i32),
    LeftRunning,
    File,
    Log,
}

impl Report {
    pub(crate) fn of_hook(hook: (Moment, Arc<str>), failure: Failure, what: &str) -> Report {
        let (moment, program) = (hook.0, quoted(hook.1.as_bytes()));
        let mut report =
            Report::without_hook(failure, format_args!("{moment} hook {program} {what}"));
        report.hook = Some(hook);
        report
    }

    /// A failure that is not a hook's: of the file, of the log, or of a whole moment.
    pub(crate) fn without_hook(failure: Failure, what: impl fmt::Display) -> Report {
        let mut text = what.to_string();
        if text.len() > MAX_LENGTH {
            text.truncate(text.floor_char_boundary(MAX_LENGTH - '…'.len_utf8()));
            text.push('…');
        }
        let hook = None;
        Report {
            hook,
            failure,
            text,
        }
    }

    /// For the command of this package: the hooks of a moment do not start (SPEC 8.1, 8.7).
    #[doc(hidden)]
    pub fn no_hook_fired(reason: impl fmt::Display) -> Report {
        Report::without_hook(Failure::NotStarted, format_args!("no hook fired: {reason}"))
    }

    /// The moment of the hook that failed; `None` for a problem of the file or of the log.
    pub fn moment(&self) -> Option<Moment> {
        self.hook.as_ref().map(|(moment, _)| *moment)
    }

    /// The program of the hook that failed, as the file has it, escaped for people (SPEC 6.4).
    pub fn program(&self) -> Option<String> {
        let (_, program) = self.hook.as_ref()?;
        Some(escaped(program.as_bytes()))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Hears what happens to hooks. Firing itself returns nothing (SPEC 7.1).
///
/// Both methods are called on the thread that fires, while the launcher is held: firing from inside does nothing
/// (SPEC 2.4), and the turn waits for whatever they wait for. A panic in them is caught (SPEC 6.5).
pub trait Reporter: Send + Sync {
    /// One failure, to be shown to the person and written to the turn's log (SPEC 6.3).
    fn report(&self, report: &Report);

    /// A hook is about to start, or is over. `program` is as the file has it, escaped for people (SPEC 6.3, 6.4).
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
