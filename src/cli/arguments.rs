//! Parses the arguments of the command.
//!
//! Arguments are bytes and need not be UTF-8. A flag with a value is written `--name VALUE` or `--name=VALUE`. One loop
//! parses the arguments of all subcommands; each flag says which of them it belongs to.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{self, Path, PathBuf};

use bravebot_hooks::{Moment, quoted};

/// The exit status for wrong usage of `turn` and for its own failures, as with env(1) and timeout(1).
pub(crate) const LAUNCHER_FAILED: i32 = 125;

const THERE_ARE: &str = "there are turn-started, tool-finished and turn-finished";
const VERSION: &str = concat!("bravebot-hooks ", env!("CARGO_PKG_VERSION"), "\n");

/// What to do.
pub(crate) enum Request {
    /// Print a help text or the version.
    Print(&'static str),
    Fire(Moment, Flags),
    /// COMMAND and its arguments, which are not empty.
    Turn(Vec<OsString>, Flags),
    Check(Flags),
}

/// The flags that were given. Those that the subcommand does not have are never set.
#[derive(Default)]
pub(crate) struct Flags {
    pub(crate) directory: Option<OsString>,
    pub(crate) withhold: Vec<OsString>,
    pub(crate) tool: Option<OsString>,
    pub(crate) detach: bool,
    pub(crate) json: bool,
}

impl Flags {
    /// The directory that the hooks run in. Without `--directory` it is `.`: the working directory whatever its name is
    /// now, even if this user cannot reach it by that name.
    pub(crate) fn directory(&self) -> &Path {
        Path::new(self.directory.as_deref().unwrap_or(OsStr::new(".")))
    }

    /// The same directory by its name, for people. The name is absolute if the working directory has one.
    pub(crate) fn directory_by_name(&self) -> PathBuf {
        path::absolute(self.directory()).unwrap_or_else(|_| self.directory().to_owned())
    }
}

/// Parses the arguments of this process. The error is what is wrong with them, with the exit status for it (SPEC 7.2, 8.2).
pub(crate) fn parse() -> Result<Request, (i32, String)> {
    let mut arguments = env::args_os().skip(1);
    let first = arguments.next().unwrap_or_default();
    let request = match &*first.to_string_lossy() {
        "--help" | "-h" => Ok(Request::Print(include_str!("help/program.txt"))),
        "--version" | "-V" => Ok(Request::Print(VERSION)),
        name @ ("fire" | "turn" | "check") => parse_subcommand(name, arguments),
        "" => Err("expected fire, turn or check; see bravebot-hooks --help".to_owned()),
        name => Err(format!("unknown subcommand {}; see --help", quoted(name))),
    };
    let status = if first == "turn" { LAUNCHER_FAILED } else { 1 };
    request.map_err(|text| (status, text))
}

fn parse_subcommand(
    subcommand: &str,
    mut arguments: impl Iterator<Item = OsString>,
) -> Result<Request, String> {
    let mut flags = Flags::default();
    let (mut moment, mut payload, mut command) = (None, None, Vec::new());
    while let Some(argument) = arguments.next() {
        if subcommand == "turn" && argument == "--" {
            command.extend(arguments);
            break;
        }
        let bytes = argument.as_bytes();
        if bytes.len() < 2 || bytes[0] != b'-' {
            let shown = quoted(bytes);
            match subcommand {
                "fire" if moment.is_none() => moment = Some(parse_moment(&argument)?),
                // Codex appends one that describes its own event.
                "fire" if payload.is_none() && bytes.starts_with(b"{") => payload = Some(argument),
                "turn" => return Err(format!("expected -- before COMMAND, found {shown}")),
                _ => return Err(format!("one argument too many: {shown}")),
            }
            continue;
        }
        let mut parts = bytes.splitn(2, |byte| *byte == b'=').map(OsStr::from_bytes);
        let name = parts.next().unwrap_or_default().to_string_lossy();
        let value = parts.next().map(OsStr::to_owned);
        let is_alone = value.is_none();
        let value = || {
            let value = value.or_else(|| arguments.next());
            let value = value.filter(|value| !value.is_empty());
            value.ok_or_else(|| format!("{name} needs a value that is not empty"))
        };
        match (&*name, subcommand) {
            ("--help" | "-h", "fire") => return Ok(Request::Print(include_str!("help/fire.txt"))),
            ("--help" | "-h", "turn") => return Ok(Request::Print(include_str!("help/turn.txt"))),
            ("--help" | "-h", _) => return Ok(Request::Print(include_str!("help/check.txt"))),
            ("--version" | "-V", _) => return Ok(Request::Print(VERSION)),
            ("--detach", "fire") if is_alone => flags.detach = true,
            ("--json", "check") if is_alone => flags.json = true,
            ("--detach", "fire") | ("--json", "check") => {
                return Err(format!("{name} takes no value"));
            }
            ("--tool", "fire") => flags.tool = Some(value()?),
            ("--directory", _) => flags.directory = Some(value()?),
            ("--withhold", _) => flags.withhold.push(value()?),
            _ => return Err(format!("unknown flag {}", quoted(&*name))),
        }
    }
    let is_assignment = |name: &OsString| name.as_bytes().contains(&b'=');
    if flags.withhold.iter().any(is_assignment) {
        return Err("--withhold needs the name of a variable, without a value".to_owned());
    }
    if flags.tool.is_some() && moment != Some(Moment::ToolFinished) {
        return Err("--tool goes with tool-finished alone".to_owned());
    }
    match (subcommand, moment) {
        ("check", _) => Ok(Request::Check(flags)),
        ("turn", _) if command.is_empty() => Err("expected -- and a COMMAND".to_owned()),
        ("turn", _) => Ok(Request::Turn(command, flags)),
        (_, None) => Err(format!("expected a moment; {THERE_ARE}")),
        (_, Some(moment)) => Ok(Request::Fire(moment, flags)),
    }
}

fn parse_moment(word: &OsStr) -> Result<Moment, String> {
    let moment = word.to_str().and_then(Moment::named);
    let word = quoted(word.as_bytes());
    moment.ok_or_else(|| format!("unknown moment {word}; {THERE_ARE}"))
}
