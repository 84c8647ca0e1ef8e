//! The display of the toy agents: their standard error, with a status line where it is a terminal.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Once;

use bravebot_hooks::{Progress, Report, Reporter, TurnLog};

/// Shows the person what it is given, as it is, and keeps it for one who was not looking.
pub(crate) struct Display {
    log: TurnLog,
    log_failed: Once,
}

impl Display {
    pub(crate) fn of_turn_in(directory: &Path) -> Display {
        Display {
            log: TurnLog::of_turn_in(directory),
            log_failed: Once::new(),
        }
    }
}

impl Reporter for Display {
    fn report(&self, report: &Report) {
        write(&format!("agent: {report}\n"));
        if let Err(report) = self.log.add(report) {
            self.log_failed
                .call_once(|| write(&format!("agent: {report}\n")));
        }
    }

    fn progress(&self, progress: Progress<'_>) {
        if std::io::stderr().is_terminal() {
            match progress {
                Progress::Started { moment, program } => {
                    write(&format!("\r\x1b[K{moment}: {program} is running"))
                }
                Progress::Over => write("\r\x1b[K"),
            }
        }
    }
}

/// Unlike `eprint!`, does not panic where standard error is closed.
fn write(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
