//! Shows each report on the display and writes it to the turn log (SPEC 6.3).

use std::path::Path;
use std::sync::Once;

use bravebot_hooks::{Progress, Report, Reporter, TurnLog};

use super::display::Display;

/// The reporter of one run of the command.
pub(crate) struct CommandReporter {
    pub(crate) display: Display,
    log: TurnLog,
    /// Only the first failure of the log is shown (SPEC 6.5).
    log_failure: Once,
    /// Whether a report is shown on the display only if it cannot be written to the log.
    pub(crate) is_quiet: bool,
}

impl CommandReporter {
    pub(crate) fn new(display: Display, directory: &Path) -> CommandReporter {
        CommandReporter {
            display,
            log: TurnLog::of_turn_in(directory),
            log_failure: Once::new(),
            is_quiet: false,
        }
    }

    /// Shows now what would keep a later report from being written to the log.
    pub(crate) fn try_log(&self) {
        if let Err(failure) = self.log.try_open() {
            self.log_failure
                .call_once(|| self.display.line(&failure.to_string()));
        }
    }
}

impl Reporter for CommandReporter {
    fn report(&self, report: &Report) {
        let text = report.to_string();
        // First, so that nothing about the log can keep it from being shown.
        if !self.is_quiet {
            self.display.line(&text);
        }
        let log_failure = self.log.add(report).err();
        let log_failure = log_failure.map(|failure| failure.to_string());
        if self.is_quiet && log_failure.is_some() {
            self.display.line(&text);
        }
        // Often the hooks file was refused for the same reason, and that has just been shown.
        let prefix = "hooks.log not written: ";
        let is_shown = |failure: &String| text.ends_with(failure.trim_start_matches(prefix));
        if let Some(failure) = log_failure.filter(|failure| !is_shown(failure)) {
            self.log_failure.call_once(|| self.display.line(&failure));
        }
    }

    fn progress(&self, progress: Progress<'_>) {
        match progress {
            Progress::Started { moment, program } => {
                let text = format!("{moment} hook \"{program}\" is running");
                self.display.hook_started(&text);
            }
            Progress::Over => self.display.hook_ended(),
        }
    }
}
