//! What `check` finds: each entry of the file, whether it is in force, and what to look at (SPEC 8.3). Runs nothing.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use super::program::{find_and_warn, shown};
use super::words::{self, TOOLS};
use super::{mend, placed, sentences};
use crate::environment::is_withheld;
use crate::escape::{escaped, is_invisible, quoted};
use crate::hooks::{self, BOUND, Hook, Mistake, Positions, Problem, offset_in, string};
use crate::launcher::{FILE, MAX_SIZE};
use crate::moment::Moment;
use crate::trust::{Home, Refusal, TrustedText};
use crate::turn_log::{self, LOG};

/// What the file of this user means in a directory, now.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Check {
    /// Where the file is, or would be; `None` where `HOME` is unset or cannot be used.
    pub file: Option<PathBuf>,
    /// Whether there is one.
    pub exists: bool,
    /// Every entry, in the order of the file.
    pub entries: Vec<CheckedEntry>,
    /// What keeps the file, or an entry, from being in force, or is ignored.
    pub problems: Vec<Finding>,
    /// Warnings: what is valid but probably not intended.
    pub warnings: Vec<Finding>,
    /// The withheld names that are set now.
    pub withheld: Vec<String>,
    /// The turn log; `None` where there is no `HOME`.
    pub log: Option<Summary>,
}

/// One entry of the file.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct CheckedEntry {
    /// Its line and column, both from 1, the column in characters.
    pub place: (usize, usize),
    /// Whether it would run; if not, a problem says why.
    pub in_force: bool,
    /// Its moment, where it has one.
    pub moment: Option<Moment>,
    /// Its tool, as written.
    pub tool: Option<String>,
    /// Its program, as written.
    pub program: Option<String>,
    /// Where that would be found now.
    pub found: Option<PathBuf>,
}

/// A problem or a warning.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finding {
    /// Its line and column in the file; `None` where it is not about the text.
    pub place: Option<(usize, usize)>,
    /// One line for people, with the place, escaped like a report.
    pub message: String,
}

/// What the turn log holds.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Summary {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// How many reports it holds; those in the older file not counted.
    pub reports: usize,
    /// The time of the last one as it is written there (RFC 3339), and what the display got.
    pub last: Option<(String, String)>,
}

impl Check {
    /// Looks at `~/.bravebot/hooks.json` for hooks that would run in `directory`, with these names withheld too. Starts
    /// nothing; blocks for as long as the file system takes.
    pub fn of(directory: &Path, withheld: &[OsString]) -> Check {
        let mut check = Check::default();
        let names = env::vars_os().filter(|(name, _)| is_withheld(name, withheld));
        let names: BTreeSet<_> = names.map(|(name, _)| escaped(name.as_bytes())).collect();
        check.withheld.extend(names);
        if let Err(refusal) = check.read(directory, withheld) {
            let message = format!("hooks.json not loaded: {}", mend::refusal(&refusal));
            check.problems.push(Finding::new(None, message));
        }
        check
    }

    fn read(&mut self, directory: &Path, withheld: &[OsString]) -> Result<(), Refusal> {
        let Some(home) = Home::new(env::var_os("HOME"))? else {
            return Ok(());
        };
        self.file = Some(home.join(FILE));
        self.log = Some(summary(&home));
        let file = home.read(FILE, MAX_SIZE);
        self.exists = !matches!(file, Ok(None));
        if let Some(file) = file? {
            self.take(&file, directory, withheld);
        }
        Ok(())
    }

    pub(crate) fn take(&mut self, file: &TrustedText, directory: &Path, withheld: &[OsString]) {
        let path = env::var_os("PATH").filter(|_| !is_withheld("PATH".as_ref(), withheld));
        let (text, (hooks, problems)) = (hooks::valid_text(file), hooks::parse(file));
        let (mut positions, mut warnings) = (Positions::of(text), Vec::new());
        let mut warn = |at: &RawValue, what| warnings.push((offset_in(text, at.get()), what));
        let text_of = |value: Option<&RawValue>| value.and_then(string).map(String::from);
        for raw in elements(member(text, "hooks")) {
            let (entry, offset) = (raw.get(), offset_in(text, raw.get()));
            let run = elements(member(entry, "run"));
            // What does not run needs no warning.
            let hook = hooks.iter().find(|hook| hook.offset == offset);
            let found = hook.and_then(|hook| {
                let is_twin = |other: &&Hook| other.offset < offset && is_same(other, hook);
                if let Some(twin) = hooks.iter().find(is_twin) {
                    let (line, _) = Positions::of(text).at(twin.offset);
                    let twice = format!("the same as the entry on line {line}, so it runs twice");
                    warn(raw, twice);
                }
                warn_of_words(raw, &run, hook, &mut warn);
                find_and_warn(hook, path.as_deref(), directory, |what| warn(run[0], what))
            });
            let moment = text_of(member(entry, "on"));
            self.entries.push(CheckedEntry {
                place: positions.at(offset),
                in_force: hook.is_some(),
                moment: moment.and_then(|word| Moment::named(&word)),
                tool: text_of(member(entry, "tool")),
                program: text_of(run.first().copied()),
                found,
            });
        }
        // What keeps the most from running comes first: the first line is to be the cause.
        let is_ignored = |problem: &Problem| matches!(problem.mistake, Mistake::RootKey(_));
        let (ignored, causes): (Vec<_>, Vec<_>) = problems.into_iter().partition(is_ignored);
        let problems = [causes, ignored].map(|problems| sentences(text, &problems));
        warnings.sort();
        let warnings = placed(text, warnings.into_iter());
        let in_file = |(place, sentence)| Finding::new(Some(place), sentence);
        self.problems = problems.into_iter().flatten().map(in_file).collect();
        self.warnings = warnings.into_iter().map(in_file).collect();
        let is_looked_up = hooks.iter().any(|hook| !hook.program.contains('/'));
        let path = path.filter(|_| is_looked_up).unwrap_or_default();
        let others = file_in(directory, self.file.as_deref()).into_iter();
        let others = others.chain(path_in(directory, &path));
        let elsewhere = |message| Finding::new(None, message);
        self.warnings.extend(others.map(elsewhere));
    }
}

impl Finding {
    fn new(place: Option<(usize, usize)>, message: String) -> Finding {
        Finding { place, message }
    }
}

/// The elements of an array; none where it is missing or something else.
fn elements(array: Option<&RawValue>) -> Vec<&RawValue> {
    let elements = array.and_then(|array| serde_json::from_str(array.get()).ok());
    elements.unwrap_or_default()
}

/// The member of this name, where `object` is one and has it.
fn member<'a>(object: &'a str, name: &str) -> Option<&'a RawValue> {
    let mut members = hooks::members(object).ok()?.into_iter();
    let (_, value) = members.find(|(key, _)| hooks::key(key) == name)?;
    Some(value)
}

fn is_same(one: &Hook, other: &Hook) -> bool {
    (one.on, &one.tool, &one.argv) == (other.on, &other.tool, &other.argv)
}

/// Warns of what the text alone shows. An argument is never quoted.
#[rustfmt::skip]
fn warn_of_words(entry: &RawValue, run: &[&RawValue], hook: &Hook, warn: &mut impl FnMut(&RawValue, String)) {
    const SIGNS: [&[u8]; 10] = [b"|", b"||", b"&", b"&&", b";", b">", b">>", b"<", b"2>", b"2>&1"];
    match (&hook.tool, member(entry.get(), "tool")) {
        (Some(tool), Some(at)) if tool.trim() != tool => {
            warn(at, format!("{} has blanks around it, and is compared byte for byte; take them out", quoted(tool)));
        }
        (Some(tool), Some(at)) if tool.contains(['*', '?', '|', '[', '(', '^', '$', '+', ',', ' ']) => {
            let advice = "write an entry a tool, or leave it out for every tool";
            warn(at, format!("{} is compared byte for byte, and is no pattern or list; {advice}", quoted(tool)));
        }
        (Some(tool), Some(at)) => if let Some(meant) = words::meant(TOOLS, tool) && meant != tool {
            warn(at, format!("{} is compared byte for byte; did you mean \"{meant}\"?", quoted(tool)));
        },
        _ if hook.on == Moment::ToolFinished => warn(entry, "runs after every tool call, since it names no \"tool\"".to_owned()),
        _ => {}
    }
    if let Some(timeout) = member(entry.get(), "timeout") && let Ok(seconds @ 31..) = timeout.get().parse::<u64>() {
        warn(timeout, format!("a timeout of {seconds} s is above the bound; {BOUND} s hold"));
    }
    if hook.program.contains(char::is_control) {
        warn(run[0], "the program holds a control character; in JSON a backslash is written \\\\, and \\t is a tab".to_owned());
    }
    let arguments = || run.iter().zip(&hook.argv).skip(1).map(|(at, word)| (at, word.to_bytes()));
    let name = hook.program.rsplit('/').next().unwrap_or_default();
    let is_command_flag = |word: &[u8]| word.starts_with(b"-") && !word.starts_with(b"--") && word.ends_with(b"c");
    if ["sh", "bash", "dash", "zsh", "ksh", "fish"].contains(&name) && arguments().take(2).any(|(_, word)| is_command_flag(word)) {
        // Then what looks unexpanded is for the shell to expand.
        let caution = "its quoting decides again what the next argument means";
        return warn(run[0], format!("{} with -c is a shell, named on purpose: {caution}", quoted(&*hook.program)));
    }
    for (at, word) in arguments() {
        if word.starts_with(b"~/") || word.starts_with(b"$") {
            warn(at, "an argument begins with \"~/\" or \"$\", and nothing expands it; write the whole path, or the value".to_owned());
        } else if SIGNS.contains(&word) {
            warn(at, "an argument is a sign of the shell, and no shell reads it; write [\"sh\", \"-c\", \"...\"] if one should".to_owned());
        }
    }
}

/// The file itself, where a link has it in the working directory.
fn file_in(directory: &Path, file: Option<&Path>) -> Option<String> {
    let file = fs::canonicalize(file?).ok()?;
    let directory = fs::canonicalize(directory).ok()?;
    let is_linked = file.starts_with(&directory) && !file.starts_with(directory.join(".bravebot"));
    let choice = "in the working directory: the checkout chooses the hooks";
    let sentence = format!("hooks.json is {}, {choice}", shown(&file));
    is_linked.then_some(sentence)
}

/// The entries of `PATH` that are in the working directory.
fn path_in(directory: &Path, path: &OsStr) -> Vec<String> {
    let choice = "in the working directory: the checkout chooses what a name without \"/\" runs";
    let inside = env::split_paths(path).filter(|it| it.is_absolute() && it.starts_with(directory));
    let sentence = |entry: PathBuf| format!("PATH has {}, {choice}", shown(&entry));
    inside.map(sentence).collect()
}

/// Reads the log by the rules for writing to it, and makes none.
fn summary(home: &Home) -> Summary {
    let mut bytes = Vec::new();
    if let Some(file) = turn_log::open_to_read(home) {
        let _ = file.take(2 * turn_log::MAX_SIZE).read_to_end(&mut bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut reports: Vec<_> = text.lines().filter_map(report).collect();
    Summary {
        path: home.join(LOG),
        reports: reports.len(),
        last: reports.pop(),
    }
}

/// The time and the message of a line of the log, where it has both.
fn report(line: &str) -> Option<(String, String)> {
    // What is in a log is escaped already; somebody who edited it may have undone that.
    let is_plain = |c: &char| !c.is_control() && !is_invisible(*c);
    let text = |name| {
        let text = string(member(line, name)?)?;
        Some(text.chars().filter(is_plain).collect())
    };
    Some((text("time")?, text("message")?))
}
