//! `fire --detach`: back at once, out of reach of the agent, and holding nothing of it (SPEC 8.1).
mod common;

use std::fs;
use std::os::unix::process::CommandExt;

use common::*;
use nix::sys::signal::Signal::{SIGHUP, SIGINT, SIGKILL, SIGTERM};

/// A hook at turn-finished that says who its launcher is, waits for word, and writes what it was given.
const WAITS: &str =
    "echo $PPID > launcher.new; mv launcher.new launcher; read word < go; cat > got";

fn turn_finished(script: &str) -> String {
    serde_json::json!({"hooks": [{"on": "turn-finished", "run": ["sh", "-c", script]}]}).to_string()
}

/// What stands at each descriptor of a process.
fn descriptors(pid: &str) -> Vec<(i32, String)> {
    let entries = fs::read_dir(format!("/proc/{}/fd", pid.trim()))
        .unwrap()
        .flatten();
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.parse().ok()?;
            Some((
                number,
                fs::read_link(entry.path()).ok()?.to_str()?.to_owned(),
            ))
        })
        .collect();
    found.sort();
    found
}

/// SPEC 8.1, 7.2.
#[test]
fn a_detached_fire_returns_before_its_hook_has_ended_and_says_nothing() {
    let sandbox = Sandbox::with(&turn_finished(WAITS));
    let go = sandbox.gate("go");
    // To the end of both streams: somebody who kept them would be waited for.
    sandbox
        .run(&["fire", "turn-finished", "--detach"])
        .is_silent_success();
    let launcher = appears(&sandbox.work().join("launcher"));
    assert!(is_alive(&launcher) && !sandbox.work().join("got").exists());
    go.say("now");
    assert_eq!(
        appears(&sandbox.work().join("got")),
        "{\"event\":\"turn-finished\"}\n"
    );
    ends(&launcher);
    assert!(sandbox.log().is_empty());
}

/// SPEC 8.1: the streams of the agent and whatever else it left open would be held for as long as the hooks run.
#[test]
fn a_detached_launcher_leads_a_session_and_holds_nothing_of_the_agent() {
    for closed in ["", " <&-", " >&-", " 2>&-", " <&- >&- 2>&-"] {
        let sandbox = Sandbox::with(&turn_finished(WAITS));
        let go = sandbox.gate("go");
        let script =
            format!("exec 3>kept 9>>kept 8<kept; {BINARY} fire --detach turn-finished{closed}");
        Run::of(&mut sandbox.shell(&script)).is_silent_success();
        let launcher = appears(&sandbox.work().join("launcher"));
        let descriptors = descriptors(&launcher);
        let streams: Vec<_> = descriptors
            .iter()
            .take_while(|(number, _)| *number < 3)
            .collect();
        assert_eq!(streams.len(), 3, "{closed}: {descriptors:?}");
        assert!(
            streams.iter().all(|(_, at)| at == "/dev/null"),
            "{closed}: {descriptors:?}"
        );
        let flags = |number: i32| {
            fs::read_to_string(format!("/proc/{}/fdinfo/{number}", launcher.trim())).unwrap()
        };
        // O_RDWR: what reads and what writes finds nothing wrong.
        assert!(
            (0..3).all(|number| flags(number).contains("flags:\t0100002\n")),
            "{closed}: {}",
            flags(1)
        );
        assert!(
            !descriptors.iter().any(|(_, at)| at.ends_with("/kept")),
            "{closed}: {descriptors:?}"
        );
        let pid: i32 = launcher.trim().parse().unwrap();
        assert_eq!(
            nix::unistd::getsid(Some(nix::unistd::Pid::from_raw(pid)))
                .unwrap()
                .as_raw(),
            pid,
            "{closed}"
        );
        go.say("now");
        ends(&launcher);
    }
}

/// SPEC 8.1: for agents that kill what they started at the end of a turn.
#[test]
fn what_kills_the_group_of_the_agent_does_not_reach_a_detached_hook() {
    for signal in [SIGKILL, SIGTERM, SIGHUP, SIGINT]
        .into_iter()
        .cycle()
        .take(40)
    {
        let sandbox = Sandbox::with(&turn_finished("cat > got"));
        let mut agent = sandbox.shell(&format!(
            "{BINARY} fire turn-finished --detach; kill -{} 0",
            signal as i32
        ));
        agent.process_group(0);
        let run = Run::of(&mut agent);
        assert_eq!(run.status, -(signal as i32), "{run:#?}");
        assert_eq!(
            appears(&sandbox.work().join("got")),
            "{\"event\":\"turn-finished\"}\n",
            "{signal}"
        );
    }
}

/// SPEC 8.1, 6.3: what fails is told in the log alone.
#[test]
fn reports_of_a_detached_fire_are_in_the_log() {
    let sandbox = Sandbox::with(
        r#"{"hooks":[{"on":"turn-finished","run":["false"]},{"on":"nonsense","run":["true"]}]}"#,
    );
    sandbox
        .run(&["fire", "--detach", "turn-finished"])
        .is_silent_success();
    let log = eventually("both are in the log", || {
        Some(sandbox.log()).filter(|log| log.len() == 2)
    });
    assert_eq!(
        (&log[0]["failure"], &log[1]["failure"]),
        (&"file".into(), &"exited".into()),
        "{log:#?}"
    );
    assert_eq!(log[1]["program"], "false");
}

/// SPEC 8.1, 1.5, 6.3: what keeps the file from being read keeps the log from being written, most of the time.
#[test]
fn what_the_log_does_not_take_is_said_before_it_detaches() {
    let sandbox = Sandbox::with(&turn_finished("cat > got"));
    mode(&sandbox.home().join(".bravebot"), 0o775);
    let run = sandbox.run(&["fire", "--detach", "turn-finished"]);
    run.one_report_says(&["hooks.json not loaded: others can write to", "chmod go-w"]);
    assert!(run.status == 0 && sandbox.log().is_empty(), "{run:#?}");
    // Also where the file is sound and the log alone is not.
    let sandbox = Sandbox::with(&turn_finished("echo over > over; exit 3"));
    std::fs::create_dir(sandbox.home().join(".bravebot/hooks.log")).unwrap();
    let run = sandbox.run(&["fire", "--detach", "turn-finished"]);
    run.one_report_says(&["hooks.log not written: ", "is a directory"]);
    appears(&sandbox.work().join("over"));
    // And after it, to nobody.
    let sandbox = Sandbox::with(&turn_finished(
        "rm ~/.bravebot/hooks.log; mkdir ~/.bravebot/hooks.log; echo over > over; exit 3",
    ));
    sandbox
        .run(&["fire", "--detach", "turn-finished"])
        .is_silent_success();
    appears(&sandbox.work().join("over"));
}

/// SPEC 7.2: what is wrong is a mistake of the person who wrote it into the agent's settings, who looks at the output.
#[test]
fn wrong_usage_with_detach_is_said_and_is_one() {
    let sandbox = Sandbox::with(&turn_finished("cat > got"));
    for (arguments, said) in [
        (
            &["fire", "--detach", "nonsense"][..],
            "unknown moment \"nonsense\"",
        ),
        (
            &["fire", "turn-finished", "--detach=yes"],
            "--detach takes no value",
        ),
        (&["fire", "--detach"], "expected a moment"),
        (
            &["turn", "--detach", "--", "true"],
            "unknown flag \"--detach\"",
        ),
    ] {
        let run = sandbox.run(arguments);
        assert_eq!(
            run.status,
            if arguments[0] == "turn" { 125 } else { 1 },
            "{run:#?}"
        );
        assert!(run.stderr.contains(said), "{run:#?}");
    }
    assert!(!sandbox.work().join("got").exists());
}

/// SPEC 8.7: looked for before it detaches; a hook that fires detached would else go round without end.
#[test]
fn inside_a_hook_a_detached_fire_starts_nothing_and_says_so_in_the_log() {
    let sandbox = Sandbox::with(&turn_finished(&format!(
        "echo ran >> got; {BINARY} fire --detach turn-finished"
    )));
    sandbox.fire("turn-finished").is_silent_success();
    assert_eq!(sandbox.written("got"), "ran\n");
    let log = sandbox.log();
    assert!(
        log.len() == 1
            && log[0]["message"]
                .as_str()
                .unwrap()
                .contains("inside a hook already"),
        "{log:#?}"
    );
}

/// SPEC 8.7: the launcher that has detached is marked as any other; the one that was called is not.
#[test]
fn a_hook_of_a_detached_launcher_that_fires_again_runs_once() {
    for again in [
        "fire turn-finished",
        "fire turn-finished --detach",
        "turn -- true",
    ] {
        let script =
            format!("echo ran >> got; setsid -w sh -c '{BINARY} {again}; true'; echo over > over");
        let sandbox = Sandbox::with(&turn_finished(&script));
        sandbox
            .run(&["fire", "--detach", "turn-finished"])
            .is_silent_success();
        appears(&sandbox.work().join("over"));
        let log = eventually("it is in the log", || {
            Some(sandbox.log()).filter(|log| !log.is_empty())
        });
        assert!(
            log.len() == 1
                && log[0]["message"]
                    .as_str()
                    .unwrap()
                    .contains("inside a hook already"),
            "{log:#?}"
        );
        assert_eq!(sandbox.written("got"), "ran\n", "{again}");
    }
}

/// SPEC 8.1, 5.7: it is not out of the reach of the person who owns it.
#[test]
fn a_detached_launcher_that_is_terminated_ends_its_hook() {
    let sandbox = Sandbox::with(&turn_finished(&format!("echo $$ > hook; {WAITS}")));
    let _go = sandbox.gate("go");
    sandbox
        .run(&["fire", "--detach", "turn-finished"])
        .is_silent_success();
    let launcher = appears(&sandbox.work().join("launcher"));
    send(&launcher, SIGTERM);
    ends(&launcher);
    ends(&appears(&sandbox.work().join("hook")));
    assert!(!sandbox.work().join("got").exists() && sandbox.log().is_empty());
}
