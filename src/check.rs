//! What `check` says, as data: each entry of the file, where its program would be found now, and what to look at.
//!
//! Runs nothing. Of the programs it looks at status, and at the first line of those that do not lie below the working
//! directory; of the working directory itself it reads nothing (SPEC 8.3).

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::fcntl::AT_FDCWD;
use nix::sys::stat::{SFlag, fstatat};
use nix::unistd::{AccessFlags, access};

use crate::caution::Caution;
use crate::environment::{Environment, is_withheld};
use crate::escape::{escaped, quoted};
use crate::hooks::{self, Entry, Hook};
use crate::judge::{Facts, judge_directory, judge_file};
use crate::launcher::{FILE, LARGEST};
use crate::moment::Moment;
use crate::problem::Place;
use crate::report::{Refusal, StartError};
use crate::trust::Home;
use crate::turn_log::Summary;

/// What the file of this user comes to, in a directory, now.
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
    /// What works, and was probably not meant.
    pub warnings: Vec<Finding>,
    /// The names that are set now and that no hook would find.
    pub withheld: Vec<String>,
    /// The turn log.
    pub log: Option<Summary>,
}

/// One entry of the file.
#[derive(Debug)]
#[non_exhaustive]
pub struct CheckedEntry {
    /// Its line, from 1.
    pub line: usize,
    /// Its column, from 1, in characters.
    pub column: usize,
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
    /// Its line and column in the file, both from 1; `None` where it is not about the text.
    pub place: Option<(usize, usize)>,
    /// One line for people, with the place, escaped like a report.
    pub message: String,
}

impl Check {
    /// Looks at `~/.bravebot/hooks.json` for hooks that would run in `directory`, with these names withheld too. Starts
    /// nothing; blocks for as long as the file system takes.
    pub fn of(directory: &Path, withheld: &[OsString]) -> Check {
        let mut check = Check { withheld: set_now(withheld), ..Check::default() };
        let home = match Home::of(std::env::var_os("HOME")) {
            Ok(Some(home)) => home,
            Ok(None) => return check,
            Err(refusal) => {
                check.refuse(&refusal);
                return check;
            }
        };
        check.file = Some(home.join(FILE));
        check.log = Some(Summary::of(&home));
        match home.read(FILE, LARGEST) {
            Ok(None) => {}
            Ok(Some(text)) => {
                check.exists = true;
                check.take(hooks::parse(&text), directory, withheld);
            }
            Err(refusal) => {
                check.exists = true;
                check.refuse(&refusal);
            }
        }
        check
    }

    fn refuse(&mut self, refusal: &Refusal) {
        self.problems.push(Finding { place: None, message: format!("hooks.json not loaded: {refusal}") });
    }

    fn take(&mut self, hooks: hooks::Hooks, directory: &Path, withheld: &[OsString]) {
        let environment = Environment::withholding(std::env::vars_os(), withheld);
        let path = environment.value("PATH");
        let problem = |problem: &crate::problem::Problem| Finding {
            place: Some((problem.place.line, problem.place.column)),
            message: problem.to_string(),
        };
        self.problems = hooks.problems.iter().map(problem).collect();
        let mut warnings: Vec<(Place, String)> =
            hooks.cautions.iter().map(|(place, caution)| (*place, caution.to_string())).collect();
        let mut looks_up = false;
        for (index, entry) in hooks.entries.iter().enumerate() {
            let hook = entry.in_force.and_then(|hook| hooks.in_force.get(hook));
            let found = hook.and_then(|hook| match locate(hook, path, directory) {
                Ok(found) => {
                    let faults = faults_of(hook, &found, directory);
                    warnings.extend(faults.into_iter().map(|fault| (entry.program_place, fault)));
                    Some(found)
                }
                Err(error) => {
                    warnings
                        .push((entry.program_place, format!("{} now: {error}", quoted(hook.run.program().as_bytes()))));
                    None
                }
            });
            if let Some(hook) =
                hook.filter(|hook| !hook.run.program().starts_with('/') && hook.run.program().contains('/'))
            {
                let program = quoted(hook.run.program().as_bytes());
                let what = format!("{program} is taken from the turn's directory: the checkout chooses what it runs");
                warnings.push((entry.program_place, what));
            }
            looks_up |= hook.is_some_and(|hook| !hook.run.program().contains('/'));
            if let Some(twice) = hook.and_then(|hook| same_before(hook, &hooks.entries[..index], &hooks.in_force)) {
                warnings.push((entry.place, Caution::TwiceFrom { line: twice }.to_string()));
            }
            self.entries.push(CheckedEntry {
                line: entry.place.line,
                column: entry.place.column,
                in_force: hook.is_some(),
                moment: entry.on,
                tool: entry.tool.clone(),
                program: entry.program.clone(),
                found,
            });
        }
        warnings.sort();
        self.warnings = warnings.into_iter().map(|(place, what)| warning(place, &what)).collect();
        if looks_up {
            self.warnings.extend(path_in(directory, path).into_iter().map(|message| Finding { place: None, message }));
        }
    }
}

fn warning(place: Place, what: &dyn fmt::Display) -> Finding {
    Finding { place: Some((place.line, place.column)), message: format!("hooks.json:{place}: {what}") }
}

/// The withheld names that are set now.
fn set_now(also: &[OsString]) -> Vec<String> {
    let mut names: Vec<String> = std::env::vars_os()
        .filter(|(name, _)| is_withheld(name, also))
        .map(|(name, _)| escaped(name.as_bytes()))
        .collect();
    names.sort();
    names.dedup();
    names
}

fn locate(hook: &Hook, path: Option<&OsStr>, directory: &Path) -> Result<PathBuf, StartError> {
    let found = hook.run.find(path)?;
    let found = directory.join(OsStr::from_bytes(found.to_bytes()));
    match fstatat(AT_FDCWD, &found, nix::fcntl::AtFlags::empty()) {
        Err(_) => Err(StartError::NoSuchFile),
        Ok(stat) if SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR => {
            Err(StartError::IsDirectory)
        }
        Ok(_) if access(&found, AccessFlags::X_OK).is_err() => {
            Err(StartError::NotInPath { not_executable: Some(found) })
        }
        Ok(_) => Ok(found),
    }
}

/// What is wrong with a program that is there and executable.
fn faults_of(hook: &Hook, found: &Path, directory: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    let program = quoted(hook.run.program().as_bytes());
    let is_in_checkout = found.starts_with(directory);
    if is_in_checkout && hook.run.program().starts_with('/') {
        faults.push(format!("{program} lies in the working directory: the checkout chooses what it runs"));
    } else if is_in_checkout && !hook.run.program().contains('/') {
        let at = quoted(found.as_os_str().as_bytes());
        faults.push(format!("{program} is {at} here, in the working directory: the checkout chooses what it runs"));
    }
    let facts = |path: &Path| fstatat(AT_FDCWD, path, nix::fcntl::AtFlags::empty()).ok().map(|stat| Facts::of(&stat));
    let above = found.parent().unwrap_or(Path::new("/"));
    if let (Some(file), Some(directory)) = (facts(found), facts(above)) {
        let judged = [(found, judge_file(&file, &directory)), (above, judge_directory(&directory))];
        faults.extend(judged.into_iter().filter_map(|(path, judged)| {
            judged.err().map(|fault| format!("{program}: {}", Refusal::below_home(path, fault)))
        }));
    }
    if !is_in_checkout && let Some(interpreter) = missing_interpreter(found) {
        faults.push(format!("{program} needs {}, which does not exist", quoted(interpreter.as_os_str().as_bytes())));
    }
    faults
}

/// What the first line of a script names and is not there.
fn missing_interpreter(script: &Path) -> Option<PathBuf> {
    let mut first = Vec::new();
    File::open(script).ok()?.take(256).read_to_end(&mut first).ok()?;
    let line = first.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = line.trim_ascii_start();
    let interpreter = Path::new(OsStr::from_bytes(line.split(|byte| b" \t".contains(byte)).next()?));
    (!interpreter.exists()).then(|| interpreter.to_owned())
}

/// The line of an entry before this one that would do the same at the same moment.
fn same_before(hook: &Hook, before: &[Entry], in_force: &[Hook]) -> Option<usize> {
    let same = |other: &Hook| other.on == hook.on && other.tool == hook.tool && other.run.words() == hook.run.words();
    let entry = before.iter().find(|entry| entry.in_force.and_then(|index| in_force.get(index)).is_some_and(same))?;
    Some(entry.place.line)
}

/// The entries of `PATH` that lie in the working directory.
fn path_in(directory: &Path, path: Option<&OsStr>) -> Vec<String> {
    let entries = path
        .unwrap_or_default()
        .as_bytes()
        .split(|byte| *byte == b':')
        .map(|entry| Path::new(OsStr::from_bytes(entry)));
    let inside = entries.filter(|entry| entry.is_absolute() && entry.starts_with(directory));
    let says = |entry: &Path| {
        let entry = quoted(entry.as_os_str().as_bytes());
        format!("PATH has {entry}, in the working directory: the checkout chooses what a name without \"/\" runs")
    };
    inside.map(says).collect()
}
