//! The host that the command is: it shows each report on the display and writes it to the turn log.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use bravebot_hooks::{Progress, Report, Reporter, TurnLog};

use super::display::Display;

/// Hears the reports of one run of the command.
pub(crate) struct Host {
    display: Display,
    log: TurnLog,
    log_failed: AtomicBool,
    /// Whether what stands in the log is said nowhere else.
    is_quiet: bool,
}

impl Host {
    pub(crate) fn new(display: Display, directory: &Path) -> Host {
        let log = TurnLog::of_turn_in(directory);
        Host { display, log, log_failed: AtomicBool::new(false), is_quiet: false }
    }

    /// Says on the display only what the log does not take.
    pub(crate) fn quiet(self) -> Host {
        Host { is_quiet: true, ..self }
    }

    /// One line of the command's own.
    pub(crate) fn line(&self, text: &str) {
        self.display.line(text);
    }
}

impl Reporter for Host {
    fn report(&self, report: &Report) {
        let say = || self.display.line(&report.to_string());
        if !self.is_quiet {
            say();
        }
        let not_written = || {
            if self.is_quiet {
                say();
            }
        };
        if let Err(report) = self.log.add_or(report, not_written)
            && !self.log_failed.swap(true, Ordering::Relaxed)
        {
            self.display.line(&report.to_string());
        }
    }

    fn progress(&self, progress: Progress<'_>) {
        match progress {
            Progress::Started { moment, program } => {
                self.display.started(format!("{moment} hook \"{program}\" is running"));
            }
            Progress::Over => self.display.over(),
        }
    }
}
