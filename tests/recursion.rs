//! A hook that starts what fires hooks does not go round without end (SPEC 8.7).
mod common;

use common::*;

const SAID: &str = "bravebot-hooks: no hook fired: this runs inside a hook already, and would go round without end\n";

/// A hook at both turn moments that counts itself and then runs `inner`, whose standard error it keeps.
fn hooks(inner: &str) -> String {
    let script = format!("echo ran >> got; {inner}");
    let entry = |on: &str| serde_json::json!({"on": on, "run": ["sh", "-c", script]});
    serde_json::json!({"hooks": [entry("turn-started"), entry("turn-finished")]}).to_string()
}

/// SPEC 8.7.
#[test]
fn a_hook_that_fires_its_own_moment_runs_once() {
    for inner in [
        format!("{BINARY} fire turn-finished 2>> said"),
        format!("sh -c '{BINARY} fire turn-finished; true' 2>> said"),
        // An agent may start its own hooks in a session of their own, and wait for them.
        format!("setsid -w {BINARY} fire turn-finished 2>> said"),
        format!("setsid -w sh -c 'setsid -w {BINARY} fire turn-finished; true' 2>> said"),
    ] {
        let sandbox = Sandbox::with(&hooks(&inner));
        sandbox.fire("turn-finished").is_silent_success();
        assert_eq!(
            (
                sandbox.written("got").as_str(),
                sandbox.written("said").as_str()
            ),
            ("ran\n", SAID),
            "{inner}"
        );
    }
}

/// SPEC 8.7: the mark counts where the program of a process may not be seen, and the log has what was said.
#[test]
fn a_hook_of_a_program_that_cannot_be_read_fires_nothing_either() {
    let sandbox = Sandbox::new();
    let copy = sandbox.root().join("bravebot-hooks");
    let inner = format!("unshare -Ur {BINARY} fire turn-finished; {BINARY} fire turn-finished");
    sandbox.hooks(hooks(&inner.replace(BINARY, copy.to_str().unwrap())));
    let mut command = sandbox.command_of_ordinary_user(&["fire", "turn-finished"]);
    if !is_root() {
        return eprintln!("needs root, for a program that its user cannot read");
    }
    std::os::unix::fs::chown(&copy, Some(0), Some(0)).unwrap();
    mode(&copy, 0o711);
    Run::of(&mut command).is_silent_success();
    assert_eq!(sandbox.written("got"), "ran\n");
    let log = sandbox.log();
    assert!(
        !log.is_empty() && log.iter().all(|line| line["failure"] == "not-started"),
        "{log:#?}"
    );
}

/// SPEC 8.7: `turn` still runs COMMAND, and says it once.
#[test]
fn inside_a_hook_a_turn_runs_its_command_and_no_hooks() {
    let sandbox = Sandbox::with(&hooks(&format!(
        "{BINARY} turn -- sh -c 'echo command >> got; exit 3' 2>> said; echo $? >> got"
    )));
    sandbox.fire("turn-finished").is_silent_success();
    assert_eq!(
        (
            sandbox.written("got").as_str(),
            sandbox.written("said").as_str()
        ),
        ("ran\ncommand\n3\n", SAID)
    );
}

/// SPEC 8.7: the launcher of a turn is no launcher of a hook while its COMMAND runs.
#[test]
fn a_command_with_a_session_of_its_own_still_fires() {
    let sandbox = Sandbox::with(&hooks("true"));
    let agent = format!("setsid -w {BINARY} fire turn-finished; {BINARY} fire turn-finished");
    let run = sandbox.run(&["turn", "--", "sh", "-c", &agent]);
    run.is_silent_success();
    assert_eq!(sandbox.written("got"), "ran\n".repeat(4));
    // Nor is what a launcher was started by, when it is named like one.
    let run = Run::of(&mut sandbox.shell(&format!(
        "echo bravebot-firing > /proc/$$/comm; setsid -w {BINARY} fire turn-finished"
    )));
    run.is_silent_success();
    assert_eq!(sandbox.written("got"), "ran\n".repeat(5));
}

/// SPEC 8.7, 3.4: a launcher is marked where others can read it, and its hook's environment has nothing added.
#[test]
fn a_launcher_is_marked_while_its_hook_runs_and_not_while_its_command_does() {
    let sandbox = Sandbox::with(&hooks("cat /proc/$PPID/comm >> names"));
    sandbox
        .run(&["turn", "--", "sh", "-c", "cat /proc/$PPID/comm >> names"])
        .is_silent_success();
    assert_eq!(
        sandbox.written("names"),
        "bravebot-firing\nbravebot-hooks\nbravebot-firing\n"
    );
}
