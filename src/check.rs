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
use crate::environment::is_withheld;
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
        let mut check = Check {
            withheld: set_now(withheld),
            ..Check::default()
        };
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
                check.warnings.extend(file_in(directory, &home.join(FILE)));
                check.take(hooks::parse_for_check(&text), directory, withheld);
            }
            Err(refusal) => {
                check.exists = true;
                check.refuse(&refusal);
            }
        }
        check
    }

    fn refuse(&mut self, refusal: &Refusal) {
        self.problems.push(Finding {
            place: None,
            message: format!("hooks.json not loaded: {refusal}"),
        });
    }

    fn take(&mut self, hooks: hooks::Hooks, directory: &Path, withheld: &[OsString]) {
        let path = std::env::var_os("PATH").filter(|_| !is_withheld("PATH".as_ref(), withheld));
        let path = path.as_deref();
        let problem = |problem: &crate::problem::Problem| Finding {
            place: Some((problem.place.line, problem.place.column)),
            message: problem.to_string(),
        };
        // What keeps the most from running comes first: the first line is to be the cause.
        let mut problems: Vec<_> = hooks.problems.iter().collect();
        problems.sort_by_key(|problem| problem.what.weight());
        self.problems = problems.into_iter().map(problem).collect();
        let mut warnings: Vec<(Place, String)> = hooks
            .cautions
            .iter()
            .map(|(place, caution)| (*place, caution.to_string()))
            .collect();
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
                    warnings.push((
                        entry.program_place,
                        format!("{} now: {error}", quoted(hook.run.program().as_bytes())),
                    ));
                    None
                }
            });
            if let Some(hook) = hook.filter(|hook| {
                !hook.run.program().starts_with('/') && hook.run.program().contains('/')
            }) {
                let program = quoted(hook.run.program().as_bytes());
                let what = format!(
                    "{program} is taken from the turn's directory: the checkout chooses what it runs"
                );
                warnings.push((entry.program_place, what));
            }
            looks_up |= hook.is_some_and(|hook| !hook.run.program().contains('/'));
            if let Some(twice) =
                hook.and_then(|hook| same_before(hook, &hooks.entries[..index], &hooks.in_force))
            {
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
        self.warnings.extend(
            warnings
                .into_iter()
                .map(|(place, what)| warning(place, &what)),
        );
        if looks_up {
            self.warnings
                .extend(path_in(directory, path).into_iter().map(|message| Finding {
                    place: None,
                    message,
                }));
        }
    }
}

fn warning(place: Place, what: &dyn fmt::Display) -> Finding {
    Finding {
        place: Some((place.line, place.column)),
        message: format!("hooks.json:{place}: {what}"),
    }
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
    let Ok(stat) = fstatat(AT_FDCWD, &found, nix::fcntl::AtFlags::empty()) else {
        return Err(StartError::NoSuchFile);
    };
    let is_executable = || access(&found, AccessFlags::X_OK).is_ok();
    match SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFREG if is_executable() => Ok(found),
        SFlag::S_IFREG if stat.st_mode & 0o111 == 0 => Err(StartError::NotInPath {
            not_executable: Some(found),
        }),
        SFlag::S_IFDIR => Err(StartError::IsDirectory),
        // A device, say, or what lies on a file system that is mounted so that nothing runs from it.
        _ => Err(StartError::NotPermitted),
    }
}

/// What is wrong with a program that is there and executable.
fn faults_of(hook: &Hook, found: &Path, directory: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    let program = quoted(hook.run.program().as_bytes());
    // Where a link leads counts as well as its name; what lies in the working directory by its name is not looked into.
    let by_name = found.starts_with(directory);
    let resolve = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let real = if by_name {
        found.to_owned()
    } else {
        resolve(found)
    };
    let is_in_checkout = by_name || real.starts_with(resolve(directory));
    if is_in_checkout && hook.run.program().starts_with('/') {
        faults.push(format!(
            "{program} lies in the working directory: the checkout chooses what it runs"
        ));
    } else if is_in_checkout && !hook.run.program().contains('/') {
        let at = quoted(found.as_os_str().as_bytes());
        faults.push(format!(
            "{program} is {at} here, in the working directory: the checkout chooses what it runs"
        ));
    }
    for path in [found, &real]
        .into_iter()
        .take(if real == found { 1 } else { 2 })
    {
        faults.extend(
            open_to_others(path)
                .into_iter()
                .map(|refusal| format!("{program}: {refusal}")),
        );
    }
    if !is_in_checkout && let Some(fault) = fault_of_first_line(&real) {
        faults.push(format!("{program} {fault}"));
    }
    faults
}

/// Whether others can write to this file, or to what it lies in.
fn open_to_others(path: &Path) -> Vec<Refusal> {
    let facts = |path: &Path| {
        fstatat(AT_FDCWD, path, nix::fcntl::AtFlags::empty())
            .ok()
            .map(|stat| Facts::of(&stat))
    };
    let above = path.parent().unwrap_or(Path::new("/"));
    let (Some(file), Some(directory)) = (facts(path), facts(above)) else {
        return Vec::new();
    };
    let judged = [
        (path, judge_file(&file, &directory)),
        (above, judge_directory(&directory)),
    ];
    judged
        .into_iter()
        .filter_map(|(path, judged)| judged.err().map(|fault| Refusal::below_home(path, fault)))
        .collect()
}

/// What keeps a text file from being started: an interpreter that is not there, or none named.
fn fault_of_first_line(script: &Path) -> Option<String> {
    let mut first = Vec::new();
    File::open(script)
        .ok()?
        .take(256)
        .read_to_end(&mut first)
        .ok()?;
    let Some(line) = first.strip_prefix(b"#!") else {
        // What holds a NUL is a format of its own, which the kernel may know.
        let is_text = !first.contains(&0);
        return is_text.then(|| {
            "is not a program: its first line is no \"#!\" that says what runs it".to_owned()
        });
    };
    let line = line.split(|byte| *byte == b'\n').next()?.trim_ascii_start();
    let interpreter = Path::new(OsStr::from_bytes(
        line.split(|byte| b" \t".contains(byte)).next()?,
    ));
    (!interpreter.exists()).then(|| {
        format!(
            "needs {}, which does not exist",
            quoted(interpreter.as_os_str().as_bytes())
        )
    })
}

/// The line of an entry before this one that would do the same at the same moment.
fn same_before(hook: &Hook, before: &[Entry], in_force: &[Hook]) -> Option<usize> {
    let same = |other: &Hook| {
        other.on == hook.on
            && other.tool == hook.tool
            && other.run.words()[..] == hook.run.words()[..]
    };
    let entry = before.iter().find(|entry| {
        entry
            .in_force
            .and_then(|index| in_force.get(index))
            .is_some_and(same)
    })?;
    Some(entry.place.line)
}

/// The file itself, where a link has it lie in the working directory.
fn file_in(directory: &Path, file: &Path) -> Option<Finding> {
    let (file, directory) = (
        std::fs::canonicalize(file).ok()?,
        std::fs::canonicalize(directory).ok()?,
    );
    let is_linked = file.starts_with(&directory) && !file.starts_with(directory.join(".bravebot"));
    is_linked.then(|| {
        let file = quoted(file.as_os_str().as_bytes());
        Finding {
            place: None,
            message: format!(
                "hooks.json is {file}, in the working directory: the checkout chooses the hooks"
            ),
        }
    })
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
        format!(
            "PATH has {entry}, in the working directory: the checkout chooses what a name without \"/\" runs"
        )
    };
    inside.map(says).collect()
}
