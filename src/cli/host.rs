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
        Host {
            display,
            log,
            log_failed: AtomicBool::new(false),
            is_quiet: false,
        }
    }

    /// Says on the display only what the log does not take.
    pub(crate) fn quiet(self) -> Host {
        Host {
            is_quiet: true,
            ..self
        }
    }

    /// Says now, once, what would keep a later report from the log.
    pub(crate) fn try_out_log(&self) {
        self.say_of_log(self.log.try_out());
    }

    fn say_of_log(&self, outcome: Result<(), Report>) {
        if let Err(report) = outcome
            && !self.log_failed.swap(true, Ordering::Relaxed)
        {
            self.display.line(&report.to_string());
        }
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
        self.say_of_log(self.log.add_or(report, not_written));
    }

    fn progress(&self, progress: Progress<'_>) {
        match progress {
            Progress::Started { moment, program } => {
                self.display
                    .started(format!("{moment} hook \"{program}\" is running"));
            }
            Progress::Over => self.display.over(),
        }
    }
}
