//! `check`: what the file comes to, for a person or as JSON, before anything runs (SPEC 8.3).
//!
//! The first line is the cause where there is a problem, as a compiler has it; then the entries in the order of the file, the
//! rest of what is wrong, what to look at, the names that are withheld now, and the log.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write, stdout};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use bravebot_hooks::{Check, CheckedEntry, Finding, LastReport, Summary, escaped, sys};

use super::arguments::CheckRequest;

/// The shape of the JSON: raised when a field changes its meaning or goes.
const VERSION: u32 = 1;
/// Where standard output is no terminal.
const DEFAULT_COLUMNS: usize = 80;

/// Writes to standard output; 0 where all is in force or there is no file, else 1.
pub(crate) fn run(request: &CheckRequest) -> i32 {
    let check = Check::of(
        &request.common.directory_by_name(),
        &request.common.withhold,
    );
    let text = if request.json {
        json(&check)
    } else {
        text(&check, Style::of_standard_output())
    };
    let mut out = stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    i32::from(!check.problems.is_empty())
}

/// One object, written here: a tree of values, and what can write one, would be a tenth of the command.
fn json(check: &Check) -> String {
    let path = |path: &Path| string(path.to_string_lossy());
    let number = |number: usize| number.to_string();
    let finding = |finding: &Finding| {
        object(&[
            ("line", or_null(finding.place.map(|place| number(place.0)))),
            (
                "column",
                or_null(finding.place.map(|place| number(place.1))),
            ),
            ("message", string(&finding.message)),
        ])
    };
    let entry = |entry: &CheckedEntry| {
        object(&[
            ("line", number(entry.line)),
            ("column", number(entry.column)),
            ("in_force", entry.in_force.to_string()),
            (
                "moment",
                or_null(entry.moment.map(|moment| string(moment.name()))),
            ),
            ("tool", or_null(entry.tool.as_ref().map(string))),
            ("program", or_null(entry.program.as_ref().map(string))),
            ("found", or_null(entry.found.as_deref().map(path))),
        ])
    };
    let last = |last: &LastReport| {
        object(&[
            ("time", string(&last.written)),
            ("message", string(&last.message)),
        ])
    };
    let log = |log: &Summary| {
        object(&[
            ("path", path(&log.path)),
            ("reports", number(log.reports)),
            ("last", or_null(log.last.as_ref().map(last))),
        ])
    };
    let all = object(&[
        ("version", VERSION.to_string()),
        ("file", or_null(check.file.as_deref().map(path))),
        ("exists", check.exists.to_string()),
        ("entries", array(check.entries.iter().map(entry))),
        ("problems", array(check.problems.iter().map(finding))),
        ("warnings", array(check.warnings.iter().map(finding))),
        ("withheld", array(check.withheld.iter().map(string))),
        ("log", or_null(check.log.as_ref().map(log))),
    ]);
    format!("{all}\n")
}

fn object(members: &[(&str, String)]) -> String {
    let members: Vec<String> = members
        .iter()
        .map(|(key, value)| format!("{}: {value}", string(key)))
        .collect();
    format!("{{{}}}", members.join(", "))
}

fn array(elements: impl Iterator<Item = String>) -> String {
    format!("[{}]", elements.collect::<Vec<_>>().join(",\n"))
}

fn or_null(value: Option<String>) -> String {
    value.unwrap_or_else(|| "null".to_owned())
}

fn string(text: impl AsRef<str>) -> String {
    serde_json::to_string(text.as_ref()).unwrap_or_default()
}

/// How to write for the terminal, if it is one.
#[derive(Clone, Copy)]
struct Style {
    columns: usize,
    in_color: bool,
}

impl Style {
    fn of_standard_output() -> Style {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        Style {
            columns: sys::columns(stdout().as_fd()).unwrap_or(DEFAULT_COLUMNS),
            in_color: stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb,
        }
    }

    /// `text` in a color of SGR (ECMA-48), where that is wanted.
    fn paint(self, color: u8, text: &str) -> String {
        if self.in_color {
            format!("\x1b[{color}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

const RED: u8 = 31;
const YELLOW: u8 = 33;
const BOLD: u8 = 1;

fn text(check: &Check, style: Style) -> String {
    let mut out = String::new();
    if let Some(first) = check.problems.first() {
        let _ = writeln!(out, "{}\n", style.paint(RED, &first.message));
    }
    match &check.file {
        None if check.problems.is_empty() => {
            out.push_str("HOME is not set, so there are no hooks\n");
        }
        None => {}
        Some(file) => {
            let file = escaped(std::os::unix::ffi::OsStrExt::as_bytes(file.as_os_str()));
            if check.exists {
                let in_force = check.entries.iter().filter(|entry| entry.in_force).count();
                let all = check.entries.len();
                let _ = writeln!(
                    out,
                    "{}: {in_force} of {all} entries in force",
                    style.paint(BOLD, &file)
                );
                entries(&mut out, check, style);
            } else {
                no_file(&mut out, &file);
            }
        }
    }
    findings(&mut out, "problems", &check.problems, style, RED);
    findings(&mut out, "warnings", &check.warnings, style, YELLOW);
    if !check.withheld.is_empty() {
        let _ = writeln!(
            out,
            "\n{}\n  {}",
            style.paint(BOLD, "set now, and withheld from hooks"),
            check.withheld.join("\n  ")
        );
    }
    if let Some(log) = &check.log {
        let path = escaped(std::os::unix::ffi::OsStrExt::as_bytes(log.path.as_os_str()));
        let _ = write!(out, "\n{}\n  {path}: ", style.paint(BOLD, "log"));
        let _ = match &log.last {
            None => writeln!(out, "no reports"),
            Some(last) => {
                let ago = last
                    .time
                    .and_then(|time| time.elapsed().ok())
                    .map_or_else(String::new, |ago| format!("{}: ", age(ago)));
                let reports = if log.reports == 1 {
                    "report"
                } else {
                    "reports"
                };
                writeln!(
                    out,
                    "{} {reports}\n  the last: {ago}{}",
                    log.reports, last.message
                )
            }
        };
    }
    out
}

/// A table, or where the terminal is too narrow for it a block an entry.
fn entries(out: &mut String, check: &Check, style: Style) {
    const HEAD: [&str; 6] = ["line", "in force", "moment", "tool", "program", "found"];
    let cells = |entry: &CheckedEntry| {
        let shown = |text: Option<&str>| text.map(escaped);
        let found = entry
            .found
            .as_ref()
            .map(|found| escaped(std::os::unix::ffi::OsStrExt::as_bytes(found.as_os_str())));
        let missing = if entry.in_force { "not found" } else { "-" };
        [
            entry.line.to_string(),
            if entry.in_force { "yes" } else { "no" }.to_owned(),
            entry.moment.map_or("-", |moment| moment.name()).to_owned(),
            shown(entry.tool.as_deref()).unwrap_or_else(|| "-".to_owned()),
            shown(entry.program.as_deref()).unwrap_or_else(|| "-".to_owned()),
            found.unwrap_or_else(|| missing.to_owned()),
        ]
    };
    let rows: Vec<[String; 6]> = check.entries.iter().map(cells).collect();
    if rows.is_empty() {
        return;
    }
    let width = |text: &str| text.chars().count();
    let widths: Vec<usize> = (0..6)
        .map(|column| {
            rows.iter()
                .map(|row| width(&row[column]))
                .chain([width(HEAD[column])])
                .max()
                .unwrap_or(0)
        })
        .collect();
    out.push('\n');
    if widths.iter().sum::<usize>() + 2 * widths.len() > style.columns {
        for row in &rows {
            let (color, state) = if row[1] == "yes" {
                (BOLD, "in force")
            } else {
                (RED, "not in force")
            };
            let _ = writeln!(
                out,
                "  {}",
                style.paint(color, &format!("line {}: {state}", row[0]))
            );
            for (name, cell) in HEAD.iter().zip(row).skip(2) {
                let _ = writeln!(out, "    {name:8} {cell}");
            }
        }
        return;
    }
    let line = |cells: [&str; 6]| {
        let padded = cells
            .iter()
            .zip(&widths)
            .map(|(cell, wide)| format!("  {cell}{}", " ".repeat(wide - width(cell))));
        padded.collect::<String>().trim_end().to_owned()
    };
    let _ = writeln!(out, "{}", style.paint(BOLD, &line(HEAD)));
    for row in &rows {
        let text = line(row.each_ref().map(String::as_str));
        let _ = writeln!(
            out,
            "{}",
            if row[1] == "yes" {
                text
            } else {
                style.paint(RED, &text)
            }
        );
    }
}

fn findings(out: &mut String, title: &str, findings: &[Finding], style: Style, color: u8) {
    if !findings.is_empty() {
        let _ = writeln!(out, "\n{}", style.paint(color, title));
        for finding in findings {
            let _ = writeln!(out, "  {}", finding.message);
        }
    }
}

fn no_file(out: &mut String, file: &str) {
    let _ = write!(
        out,
        "{file}: no such file, so there are no hooks\n\n\
         To begin with, paste these two commands:\n\n\
         mkdir -p -m 0755 ~/.bravebot\n\
         (umask 022; cat > ~/.bravebot/hooks.json) <<'END'\n\
         {EXAMPLE}END\n"
    );
}

const EXAMPLE: &str = r#"{"hooks": [
  {"on": "tool-finished", "tool": "write_file", "run": ["cargo", "fmt"]},
  {"on": "turn-finished", "run": ["notify-send", "The agent is done"]}
]}
"#;

fn age(since: Duration) -> String {
    let seconds = since.as_secs();
    let (count, unit) = match seconds {
        0..60 => return "less than a minute ago".to_owned(),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}
