//! The example agents, run for real. `cargo test` builds them; `cargo test --test examples` alone does not.

mod common;

use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use common::*;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::Signal;

const AGENTS: [&str; 2] = ["sync_agent", "tokio_agent"];

/// Notes each moment; the last hook fails.
const NOTING: [(&str, Option<&str>, &str); 4] = [
    ("turn-started", None, "cat >> moments"),
    ("tool-finished", None, "cat >> moments"),
    ("turn-finished", None, "cat >> moments"),
    ("turn-finished", None, "exit 3"),
];
const STARTED: &str = "{\"event\":\"turn-started\"}\n";
const CALLED: &str = "{\"event\":\"tool-finished\"}\n";
const FINISHED: &str = "{\"event\":\"turn-finished\"}\n";
const FAILED: &str = "turn-finished hook \"sh\" exited with status 3";

fn with(hooks: &[(&str, Option<&str>, &str)]) -> Sandbox {
    let entry = |(moment, tool, script): &(&str, Option<&str>, &str)| match tool {
        Some(tool) => serde_json::json!({"on": moment, "tool": tool, "run": ["sh", "-c", script]}),
        None => serde_json::json!({"on": moment, "run": ["sh", "-c", script]}),
    };
    Sandbox::with(
        &serde_json::json!({ "hooks": hooks.iter().map(entry).collect::<Vec<_>>() }).to_string(),
    )
}

/// The agent, where Cargo puts examples: beside the directory of this test.
fn agent(sandbox: &Sandbox, name: &str, words: &[&str]) -> Command {
    let test = std::env::current_exe().unwrap();
    let path: PathBuf = test
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples")
        .join(name);
    assert!(
        path.exists(),
        "{} is not there: cargo build --examples",
        path.display()
    );
    let mut command = sandbox.other(&[&[path.to_str().unwrap()], words].concat());
    command.env("TOY_AGENT_KEY", "secret");
    command
}

/// The report of the failing hook is on the display and, once, in the log.
#[track_caller]
fn has_said_what_failed(sandbox: &Sandbox, run: &Run) {
    let reports: Vec<&str> = run
        .stderr
        .lines()
        .filter(|line| line.starts_with("agent: "))
        .collect();
    let log = sandbox.log();
    assert_eq!(reports, [format!("agent: {FAILED}")], "{run:#?}");
    assert!(
        log.len() == 1 && log[0]["message"] == FAILED && log[0]["status"] == 3,
        "{run:#?} {log:#?}"
    );
}

/// SPEC 2.1, 2.3, 4.1, 6.3.
#[test]
fn a_turn_with_two_delegates_fires_each_moment_in_its_order_and_says_what_failed() {
    for name in AGENTS {
        let key = (
            "turn-started",
            None,
            "[ -z \"${TOY_AGENT_KEY+set}\" ] && echo withheld > key",
        );
        let sandbox = with(&[&NOTING[..], &[key]].concat());
        let run = Run::of(&mut agent(&sandbox, name, &["write_file", "run"]));
        assert_eq!(run.status, 0, "{run:#?}");
        assert_eq!(
            sandbox.written("moments"),
            format!("{STARTED}{}{FINISHED}", CALLED.repeat(3)),
            "{run:#?}"
        );
        let mut called: Vec<&str> = run.stdout.lines().collect();
        called[1..].sort_unstable();
        assert_eq!(
            called,
            ["called read_file", "called run", "called write_file"],
            "{run:#?}"
        );
        assert_eq!(sandbox.written("key"), "withheld\n", "{run:#?}");
        has_said_what_failed(&sandbox, &run);
    }
}

/// SPEC 5.7. The hook of a call waits for ever, and what is next in the file is not reached.
#[test]
fn ctrl_c_ends_the_hook_that_runs_and_the_turn_which_fires_turn_finished() {
    let waits = (
        "tool-finished",
        Some("write_file"),
        "echo $$ > pid; exec sleep 321",
    );
    let next = ("tool-finished", Some("write_file"), "echo reached > next");
    for name in AGENTS {
        let sandbox = with(&[&NOTING[..1], &NOTING[2..], &[waits, next]].concat());
        let run = Beside::start(agent(&sandbox, name, &["write_file", "write_file"]));
        let hook = appears(&sandbox.work().join("pid"));
        run.send(Signal::SIGINT);
        let run = run.ends();
        ends(&hook);
        assert_eq!(
            (run.status, sandbox.written("next").as_str()),
            (130, ""),
            "{run:#?}"
        );
        // The second delegate's call, which was waiting for the first's hook, has not fired either.
        assert_eq!(sandbox.written("pid"), hook, "{run:#?}");
        assert_eq!(
            sandbox.written("moments"),
            format!("{STARTED}{FINISHED}"),
            "{run:#?}"
        );
        has_said_what_failed(&sandbox, &run);
    }
}

/// SPEC 2.1: a panic that unwinds, here of a delegate.
#[test]
fn a_panic_in_a_delegate_ends_the_turn_which_fires_turn_finished() {
    for name in AGENTS {
        let sandbox = with(&NOTING);
        let run = Run::of(&mut agent(&sandbox, name, &["no_such_tool"]));
        assert_eq!(run.status, 101, "{run:#?}");
        assert_eq!(
            sandbox.written("moments"),
            format!("{STARTED}{CALLED}{FINISHED}"),
            "{run:#?}"
        );
        has_said_what_failed(&sandbox, &run);
    }
}

/// The hook of one delegate waits until the other has made its call. Where one thread did both, that would be never.
#[test]
fn a_hook_that_runs_keeps_no_other_delegate_from_its_call() {
    let waits = ("tool-finished", Some("write_file"), "read go < gate");
    for name in AGENTS {
        let sandbox = with(&[waits]);
        let gate = sandbox.gate("gate");
        let called = sandbox.work().join("called");
        let mut command = agent(&sandbox, name, &["write_file", "run"]);
        command.stdout(std::fs::File::create(&called).unwrap());
        let mut run = Beside::start_as_it_is(command);
        eventually("the other has made its call", || {
            let called = std::fs::read_to_string(&called).unwrap();
            (called.contains("called write_file\n") && called.contains("called run\n"))
                .then_some(())
        });
        assert!(run.end().is_none(), "the hook has not waited");
        gate.say("go");
        assert_eq!(run.ends().status, 0);
    }
}

/// SPEC 6.3: on a terminal, which hook runs is a line that is gone when it is over.
#[test]
fn a_terminal_shows_which_hook_runs() {
    for name in AGENTS {
        let sandbox = with(&NOTING[2..]);
        let terminal = nix::pty::openpty(None, None).unwrap();
        let mut command = agent(&sandbox, name, &[]);
        command.stdout(Stdio::null()).stderr(terminal.slave);
        assert_eq!(command.status().unwrap().code(), Some(0));
        let shown = shown(terminal.master);
        let running = "\r\x1b[Kturn-finished: sh is running\r\x1b[K";
        assert_eq!(shown, format!("{running}{running}agent: {FAILED}\r\n"));
    }
}

/// What has been written to a terminal; nobody need have closed it.
fn shown(master: OwnedFd) -> String {
    fcntl(&master, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
    let (mut master, mut shown, mut bytes) = (std::fs::File::from(master), Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = master.read(&mut bytes) {
        shown.extend_from_slice(&bytes[..read]);
    }
    String::from_utf8_lossy(&shown).into_owned()
}
