//! `check`: prints what `hooks.json` means, as text or as JSON, before anything runs (SPEC 8.3).
//!
//! The library examines the file; this only prints what it found.

use std::env;
use std::io::{IsTerminal, stdout};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bravebot_hooks::{Check, CheckedEntry, Finding, Moment, Summary, escaped};
use serde_json::value::RawValue;

use super::arguments::Flags;
use super::display::understands_escapes;
use super::print;

/// The version of the JSON, which is raised when a field changes its meaning or is removed.
const VERSION: u32 = 1;

const RED: u8 = 31;
const YELLOW: u8 = 33;
const BOLD: u8 = 1;

const BEGIN: &str = r#"
To begin with, paste these two commands:

mkdir -p -m 0755 ~/.bravebot
(umask 022; cat > ~/.bravebot/hooks.json) <<'END'
{"hooks": [
  {"on": "tool-finished", "tool": "write_file", "run": ["cargo", "fmt"]},
  {"on": "turn-finished", "run": ["notify-send", "The agent is done"]}
]}
END
"#;

/// Prints to standard output. Returns 0 if everything is in force or there is no file, otherwise 1.
pub(crate) fn run(flags: &Flags) -> i32 {
    let check = Check::of(&flags.directory_by_name(), &flags.withhold);
    let print_as = if flags.json { json } else { text };
    print(&print_as(&check));
    i32::from(!check.problems.is_empty())
}

/// An object with these members. (`serde_json::json!` would do the same, and make the command 2 % larger.)
macro_rules! object {
    ($($key:literal: $value:expr),* $(,)?) => {
        object(&[$(($key, serde_json::to_string(&$value).unwrap_or_default())),*])
    };
}

fn object(members: &[(&str, String)]) -> Box<RawValue> {
    let members = members
        .iter()
        .map(|(key, value)| format!("\"{key}\": {value}"));
    let members = members.collect::<Vec<_>>().join(", ");
    RawValue::from_string(format!("{{{members}}}")).unwrap_or_default()
}

/// One object, as the README describes it.
fn json(check: &Check) -> String {
    let path = |path: &PathBuf| path.to_string_lossy().into_owned();
    let finding = |it: &Finding| {
        object! {
            "line": it.place.map(|place| place.0), "column": it.place.map(|place| place.1),
            "message": it.message,
        }
    };
    let entry = |it: &CheckedEntry| {
        object! {
            "line": it.place.0, "column": it.place.1, "in_force": it.in_force,
            "moment": it.moment.map(Moment::name), "tool": it.tool, "program": it.program,
            "found": it.found.as_ref().map(path),
        }
    };
    let last = |(time, message): &(String, String)| object! { "time": time, "message": message };
    let log = |it: &Summary| {
        let last = it.last.as_ref().map(last);
        object! { "path": path(&it.path), "reports": it.reports, "last": last }
    };
    let document = object! {
        "version": VERSION,
        "file": check.file.as_ref().map(path),
        "exists": check.exists,
        "entries": check.entries.iter().map(entry).collect::<Vec<_>>(),
        "problems": check.problems.iter().map(finding).collect::<Vec<_>>(),
        "warnings": check.warnings.iter().map(finding).collect::<Vec<_>>(),
        "withheld": check.withheld,
        "log": check.log.as_ref().map(log),
    };
    format!("{document}\n")
}

/// The same for people. The first line is the cause if there is a problem, as with a compiler.
fn text(check: &Check) -> String {
    let first = check.problems.first();
    let first = first.map(|first| paint(RED, &first.message) + "\n\n");
    let file = match check.file.as_deref().map(shown) {
        Some(file) if check.exists => {
            let in_force = check.entries.iter().filter(|entry| entry.in_force).count();
            let (file, all) = (paint(BOLD, &file), check.entries.len());
            let entries: String = check.entries.iter().map(entry).collect();
            format!("{file}: {in_force} of {all} entries in force\n{entries}")
        }
        Some(file) => format!("{file}: no such file, so there are no hooks\n{BEGIN}"),
        None if check.problems.is_empty() => "HOME is not set, so there are no hooks\n".to_owned(),
        None => String::new(),
    };
    let messages = |findings: &[Finding]| findings.iter().map(|it| it.message.clone()).collect();
    let sections = [
        first.unwrap_or_default(),
        file,
        section(RED, "problems", messages(&check.problems)),
        section(YELLOW, "warnings", messages(&check.warnings)),
        section(BOLD, "set but withheld from hooks", check.withheld.clone()),
        section(BOLD, "log", check.log.iter().map(log).collect()),
    ];
    sections.concat()
}

fn section(color: u8, title: &str, lines: Vec<String>) -> String {
    let title = paint(color, title);
    match lines.is_empty() {
        true => String::new(),
        false => format!("\n{title}\n  {}\n", lines.join("\n  ")),
    }
}

fn entry(entry: &CheckedEntry) -> String {
    let (color, state, not_found) = match entry.in_force {
        true => (BOLD, "in force", "not found"),
        false => (RED, "not in force", "-"),
    };
    let title = paint(color, &format!("line {}: {state}", entry.place.0));
    let moment = entry.moment.map_or("-", Moment::name);
    let text = |text: &Option<String>| escaped(text.as_deref().unwrap_or("-"));
    let (tool, program) = (text(&entry.tool), text(&entry.program));
    let found = entry.found.as_deref().map_or(not_found.to_owned(), shown);
    format!(
        "\n  {title}\n    moment   {moment}\n    tool     {tool}\n    program  {program}\n    found    {found}\n"
    )
}

fn log(log: &Summary) -> String {
    let (path, plural) = (shown(&log.path), if log.reports == 1 { "" } else { "s" });
    let mut text = format!("{path}: {} report{plural}", log.reports);
    if let Some((time, message)) = &log.last {
        text += &format!("\n  the last, {time}: {message}");
    }
    text
}

fn shown(path: &Path) -> String {
    escaped(path.as_os_str().as_bytes())
}

/// Returns `text` in a color (SGR in ECMA-48) if standard output is a terminal that has colors and nobody refused them.
fn paint(color: u8, text: &str) -> String {
    let is_refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if stdout().is_terminal() && understands_escapes() && !is_refused {
        format!("\x1b[{color}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}
