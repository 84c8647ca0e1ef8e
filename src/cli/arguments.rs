//! What the person asked for, from the arguments.
//!
//! Arguments are bytes; none has to be UTF-8. Flags are written `--name VALUE` or `--name=VALUE`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use bravebot_hooks::{Moment, quoted};

use super::help::Topic;

/// Wrong usage, or a launcher that cannot do its work: as env(1) and timeout(1) have it.
pub(crate) const LAUNCHER_FAILED: i32 = 125;

/// What is to be done.
pub(crate) enum Request {
    Help(Topic),
    Version,
    Fire(Fire),
    Turn(Turn),
    Check(CheckRequest),
}

/// `fire`, with a tool only where a tool has finished.
pub(crate) struct Fire {
    pub(crate) moment: Moment,
    pub(crate) tool: Option<OsString>,
    pub(crate) detach: bool,
    pub(crate) common: Common,
}

/// `turn`.
pub(crate) struct Turn {
    pub(crate) common: Common,
    /// COMMAND and its arguments: at least one.
    pub(crate) command: Vec<OsString>,
}

/// `check`.
pub(crate) struct CheckRequest {
    pub(crate) json: bool,
    pub(crate) common: Common,
}

/// The flags that all have.
#[derive(Default)]
pub(crate) struct Common {
    pub(crate) directory: Option<PathBuf>,
    pub(crate) withhold: Vec<OsString>,
}

/// Arguments that mean nothing, and the status that says so (SPEC 7.2, 8.2).
pub(crate) struct WrongUsage {
    pub(crate) status: i32,
    pub(crate) text: String,
}

impl Request {
    pub(crate) fn of(mut arguments: impl Iterator<Item = OsString>) -> Result<Request, WrongUsage> {
        let wrong = |text: String| WrongUsage { status: 1, text };
        let Some(first) = arguments.next() else {
            return Err(wrong(
                "expected fire, turn or check; see bravebot-hooks --help".to_owned(),
            ));
        };
        match first.as_bytes() {
            b"--help" | b"-h" => Ok(Request::Help(Topic::Program)),
            b"--version" | b"-V" => Ok(Request::Version),
            b"fire" => fire(arguments).map_err(wrong),
            b"check" => check(arguments).map_err(wrong),
            b"turn" => turn(arguments).map_err(|text| WrongUsage {
                status: LAUNCHER_FAILED,
                text,
            }),
            _ => Err(wrong(format!(
                "unknown subcommand {}; there are fire, turn and check",
                shown(&first)
            ))),
        }
    }
}

fn fire(mut arguments: impl Iterator<Item = OsString>) -> Result<Request, String> {
    let mut common = Common::default();
    let (mut moment, mut tool, mut payload, mut detach) = (None, None, None, false);
    while let Some(argument) = arguments.next() {
        match Argument::of(argument) {
            Argument::Flag(name, value) => match name.as_bytes() {
                b"help" | b"h" => return Ok(Request::Help(Topic::Fire)),
                b"version" | b"V" => return Ok(Request::Version),
                b"tool" => tool = Some(value_of("--tool", value, &mut arguments)?),
                b"detach" => detach = no_value("--detach", value)?,
                _ => common.take(&name, value, &mut arguments)?,
            },
            Argument::Word(word) if moment.is_none() => {
                let named = word.to_str().and_then(Moment::named);
                moment = Some(named.ok_or_else(|| {
                    format!("unknown moment {}; there are turn-started, tool-finished and turn-finished", shown(&word))
                })?);
            }
            // Codex's notify appends what happened there.
            Argument::Word(word) if payload.is_none() && word.as_bytes().starts_with(b"{") => {
                payload = Some(word)
            }
            Argument::Word(word) => return Err(format!("one argument too many: {}", shown(&word))),
        }
    }
    let moment = moment.ok_or("expected a moment: turn-started, tool-finished or turn-finished")?;
    match &tool {
        Some(_) if moment != Moment::ToolFinished => {
            Err("--tool goes with tool-finished alone".to_owned())
        }
        Some(name) if name.is_empty() => Err("--tool needs a name that is not empty".to_owned()),
        _ => Ok(Request::Fire(Fire {
            moment,
            tool,
            detach,
            common,
        })),
    }
}

fn check(mut arguments: impl Iterator<Item = OsString>) -> Result<Request, String> {
    let mut request = CheckRequest {
        json: false,
        common: Common::default(),
    };
    while let Some(argument) = arguments.next() {
        match Argument::of(argument) {
            Argument::Flag(name, value) => match name.as_bytes() {
                b"help" | b"h" => return Ok(Request::Help(Topic::Check)),
                b"version" | b"V" => return Ok(Request::Version),
                b"json" => request.json = no_value("--json", value)?,
                _ => request.common.take(&name, value, &mut arguments)?,
            },
            Argument::Word(word) => return Err(format!("one argument too many: {}", shown(&word))),
        }
    }
    Ok(Request::Check(request))
}

fn turn(mut arguments: impl Iterator<Item = OsString>) -> Result<Request, String> {
    let mut common = Common::default();
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            let command: Vec<OsString> = arguments.collect();
            if command.is_empty() {
                break;
            }
            return Ok(Request::Turn(Turn { common, command }));
        }
        match Argument::of(argument) {
            Argument::Flag(name, value) => match name.as_bytes() {
                b"help" | b"h" => return Ok(Request::Help(Topic::Turn)),
                b"version" | b"V" => return Ok(Request::Version),
                _ => common.take(&name, value, &mut arguments)?,
            },
            Argument::Word(word) => {
                return Err(format!(
                    "expected -- before COMMAND, found {}",
                    shown(&word)
                ));
            }
        }
    }
    Err("expected -- and a COMMAND".to_owned())
}

impl Common {
    /// Where the hooks run. Without `--directory` the working directory itself, whatever its name has become, and also where
    /// this user could not reach it by its name.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.as_deref().unwrap_or(Path::new("."))
    }

    /// The same by its name, for people: absolute where the working directory has one.
    pub(crate) fn directory_by_name(&self) -> PathBuf {
        let directory = self.directory();
        match std::env::current_dir() {
            Ok(working) if self.directory.is_none() => working,
            Ok(working) => working.join(directory),
            Err(_) => directory.to_owned(),
        }
    }

    fn take(
        &mut self,
        name: &OsStr,
        value: Option<OsString>,
        rest: &mut impl Iterator<Item = OsString>,
    ) -> Result<(), String> {
        match name.as_bytes() {
            b"directory" => {
                let directory = value_of("--directory", value, rest)?;
                if directory.is_empty() {
                    return Err("--directory needs a path that is not empty".to_owned());
                }
                self.directory = Some(PathBuf::from(directory));
            }
            b"withhold" => {
                let name = value_of("--withhold", value, rest)?;
                if name.is_empty() || name.as_bytes().contains(&b'=') {
                    return Err(
                        "--withhold needs the name of a variable, without a value".to_owned()
                    );
                }
                self.withhold.push(name);
            }
            _ => {
                return Err(format!(
                    "unknown flag {}",
                    shown(&[OsStr::new("--"), name].join(OsStr::new("")))
                ));
            }
        }
        Ok(())
    }
}

enum Argument {
    /// Without its dashes.
    Flag(OsString, Option<OsString>),
    Word(OsString),
}

impl Argument {
    fn of(argument: OsString) -> Argument {
        let bytes = argument.as_bytes();
        if let Some(flag) = bytes.strip_prefix(b"--") {
            let mut parts = flag
                .splitn(2, |byte| *byte == b'=')
                .map(|part| OsString::from_vec(part.to_vec()));
            Argument::Flag(parts.next().unwrap_or_default(), parts.next())
        } else if bytes.len() > 1 && bytes[0] == b'-' {
            Argument::Flag(OsString::from_vec(bytes[1..].to_vec()), None)
        } else {
            Argument::Word(argument)
        }
    }
}

fn value_of(
    flag: &str,
    value: Option<OsString>,
    rest: &mut impl Iterator<Item = OsString>,
) -> Result<OsString, String> {
    value
        .or_else(|| rest.next())
        .ok_or_else(|| format!("{flag} needs a value"))
}

/// Of a flag that is either there or not.
fn no_value(flag: &str, value: Option<OsString>) -> Result<bool, String> {
    if value.is_none() {
        Ok(true)
    } else {
        Err(format!("{flag} takes no value"))
    }
}

/// An argument for people.
fn shown(argument: &OsStr) -> String {
    quoted(argument.as_bytes())
}
