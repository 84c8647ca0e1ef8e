//! The texts of `--help` and `--version`, which `fire` and `turn` write to standard output, and nothing else.

use std::io::{self, Write};

/// Whose help.
#[derive(Clone, Copy)]
pub(crate) enum Topic {
    Program,
    Fire,
    Turn,
    Check,
}

const PROGRAM: &str = "\
bravebot-hooks: notify-only hooks for coding agents

  bravebot-hooks fire MOMENT [flags]            fire one moment from an agent's own hooks
  bravebot-hooks turn [flags] -- COMMAND...     run COMMAND as one turn
  bravebot-hooks check [flags]                  say what the file comes to; runs nothing
  bravebot-hooks --help | --version             also after a subcommand

MOMENT is turn-started, tool-finished or turn-finished. The hooks are in ~/.bravebot/hooks.json:

  {\"hooks\": [
    {\"on\": \"tool-finished\", \"tool\": \"write_file\", \"run\": [\"cargo\", \"fmt\"], \"timeout\": 10},
    {\"on\": \"turn-finished\", \"run\": [\"notify-send\", \"The agent is done\"]}
  ]}

No hook can change what the agent does. Failures are lines on standard error that begin
\"bravebot-hooks: \", and lines of ~/.bravebot/hooks.log.
";

const FIRE: &str = "\
bravebot-hooks fire MOMENT [--tool NAME] [--directory DIR] [--withhold NAME]... [--detach]

Runs the hooks of MOMENT (turn-started, tool-finished or turn-finished), one after the other, and exits
with 0 whatever they did. Blocks until they are over: 30 seconds each at the most.

  --tool NAME        with tool-finished: the tool that has finished. Without it only the entries without
                     \"tool\" run.
  --directory DIR    where the hooks run; default: the working directory
  --withhold NAME    keep this environment variable from the hooks too; may be given again
  --detach           return at once and run the hooks from a session of its own: for agents that do not wait
                     for, or kill, what they started. Reports are in the log alone; what keeps that from being
                     written is said before it returns.
  --help, --version

One more argument that begins with { is ignored: Codex's notify appends one.
Wrong usage is 1. SIGINT, SIGQUIT, SIGTERM and SIGHUP end the running hook, skip the rest, and are died of.
";

const TURN: &str = "\
bravebot-hooks turn [--directory DIR] [--withhold NAME]... -- COMMAND [ARG]...

Fires turn-started, runs COMMAND, fires turn-finished however COMMAND ended, and ends as COMMAND ended:
with its status, or of its signal. COMMAND has the terminal, the streams and the signals as if started
alone.

  --directory DIR    where the hooks run (not COMMAND); default: the working directory
  --withhold NAME    keep this environment variable from the hooks (not from COMMAND) too; may be given again
  --help, --version

125: wrong usage, or the launcher itself failed. 126: COMMAND cannot be executed. 127: COMMAND is not found.
";

const CHECK: &str = "\
bravebot-hooks check [--json] [--directory DIR] [--withhold NAME]...

Says what ~/.bravebot/hooks.json comes to and runs nothing: each entry, in force or not, and where its
program would be found now; every problem with its line and column and what to write instead; what works
and was probably not meant; which withheld names are set now; where the log is, and its last report.

  --json             the same as JSON; its shape is in the README
  --directory DIR    as if the hooks ran there; default: the working directory
  --withhold NAME    count this environment variable as withheld too; may be given again
  --help, --version

Exits with 0 where every entry is in force, or there is no file; with 1 where there is a problem, and for
wrong usage.
";

/// Writes the help to standard output; 0 also where that is closed.
pub(crate) fn show(topic: Topic) -> i32 {
    write(match topic {
        Topic::Program => PROGRAM,
        Topic::Fire => FIRE,
        Topic::Turn => TURN,
        Topic::Check => CHECK,
    })
}

/// Writes the version to standard output.
pub(crate) fn show_version() -> i32 {
    write(concat!("bravebot-hooks ", env!("CARGO_PKG_VERSION"), "\n"))
}

fn write(text: &str) -> i32 {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    0
}
