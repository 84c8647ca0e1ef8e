//! How a hook ends, and what is left of it (SPEC 5, 2.4).
mod common;

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::*;

/// A hooks file of turn-finished hooks: `sh -c` with each script, and its bound in seconds.
fn scripts(scripts: &[(&str, u32)]) -> String {
    let entries = scripts.iter().map(
        |(script, timeout)| serde_json::json!({"on": "turn-finished", "run": ["sh", "-c", script], "timeout": timeout}),
    );
    serde_json::json!({"hooks": entries.collect::<Vec<_>>()}).to_string()
}

const LATE: &str = "was still running after 1 s and was stopped";

/// SPEC 5.1, CASES 31.
#[test]
fn a_hook_that_hangs_is_ended_at_its_bound_and_not_before() {
    let sandbox = Sandbox::with(&scripts(&[("echo $$ > pid; exec sleep 300", 1)]));
    let begin = Instant::now();
    sandbox
        .fire("turn-finished")
        .one_report_says(&["turn-finished hook \"sh\"", LATE]);
    assert!(
        begin.elapsed() >= Duration::from_secs(1),
        "{:?}",
        begin.elapsed()
    );
    ends(&sandbox.written("pid"));
}

/// SPEC 5.1, 1.10, CASES 31: without a bound of its own a hook has thirty seconds.
#[test]
fn the_bound_is_thirty_seconds() {
    let sandbox = Sandbox::with(&scripts(&[("echo $$ > pid; exec sleep 300", 600)]));
    let begin = Instant::now();
    let run = sandbox.fire("turn-finished");
    run.one_report_says(&["was still running after 30 s and was stopped"]);
    assert!(
        begin.elapsed() >= Duration::from_secs(30),
        "{:?}",
        begin.elapsed()
    );
    ends(&sandbox.written("pid"));
}

/// SPEC 5.1, CASES 32.
#[test]
fn the_whole_group_is_ended_at_the_bound() {
    let sandbox = Sandbox::with(&scripts(&[(
        "sleep 301 & echo $! > one; echo $$ > two; sleep 302",
        1,
    )]));
    sandbox.fire("turn-finished").one_report_says(&[LATE]);
    ends(&sandbox.written("one"));
    ends(&sandbox.written("two"));
}

/// SPEC 5.1, CASES 33.
#[test]
fn a_hook_that_ignores_term_is_gone_with_its_group() {
    let script = "trap '' TERM INT HUP; sleep 303 & echo $! > one; echo $$ > two; while :; do sleep 304; done";
    let sandbox = Sandbox::with(&scripts(&[(script, 1)]));
    sandbox.fire("turn-finished").one_report_says(&[LATE]);
    ends(&sandbox.written("one"));
    ends(&sandbox.written("two"));
}

/// SPEC 5.1: SIGTERM would stay pending without SIGCONT.
#[test]
fn a_hook_that_stopped_itself_gets_to_clean_up() {
    let sandbox = Sandbox::with(&scripts(&[(
        "trap 'echo cleaned > got; exit' TERM; kill -STOP $$; sleep 305",
        1,
    )]));
    sandbox.fire("turn-finished").one_report_says(&[LATE]);
    assert_eq!(sandbox.written("got"), "cleaned\n");
}

/// SPEC 5.1: the grace runs in full also when the hook's own process has ended.
#[test]
fn a_child_has_the_grace_to_clean_up_when_its_parent_obeys_at_once() {
    let child = "trap 'sleep 0.05; echo cleaned > got; exit' TERM; echo > ready; while :; do sleep 0.01; done";
    let script = format!("( {child} ) & while [ ! -e ready ]; do :; done; exec sleep 306");
    let sandbox = Sandbox::with(&scripts(&[(&script, 1)]));
    // On a machine so busy that the child does not get to run for 200 ms, again: killed at once it never cleans up.
    let cleaned = (0..5).any(|_| {
        sandbox.fire("turn-finished").one_report_says(&[LATE]);
        sandbox.written("got") == "cleaned\n"
    });
    assert!(cleaned);
}

/// SPEC 5.3, CASES 34.
#[test]
fn what_a_hook_leaves_behind_is_killed_at_once_and_reported() {
    for hold in ["", "exec 9>&1;", "exec >held;"] {
        let script = format!("{hold} trap '' TERM HUP; sleep 307 & echo $! > one; exit 0");
        let sandbox = Sandbox::with(&scripts(&[(&script, 30)]));
        let begin = Instant::now();
        sandbox
            .fire("turn-finished")
            .one_report_says(&["left processes behind"]);
        assert!(
            begin.elapsed() < Duration::from_secs(29),
            "waited for what was left: {:?}",
            begin.elapsed()
        );
        ends(&sandbox.written("one"));
    }
}

/// SPEC 6.1: the status counts before what was left.
#[test]
fn what_a_hook_that_failed_leaves_behind_is_killed_too() {
    let sandbox = Sandbox::with(&scripts(&[("sleep 308 & echo $! > one; exit 4", 30)]));
    sandbox
        .fire("turn-finished")
        .one_report_says(&["exited with status 4"]);
    ends(&sandbox.written("one"));
}

/// SPEC 5.3: a process that had ended and was only not waited for is not left.
#[test]
fn a_child_that_had_ended_and_was_not_waited_for_is_no_failure() {
    // The shell would reap it, so another takes its place that knows of no child.
    let wait = "while read -r line < /proc/$0/stat; do case $line in *') Z '*) break;; esac; done; echo $0 > zombie";
    let script = format!("(exit 0) & exec sh -c \"{}\" $!", wait.replace('$', "\\$"));
    let sandbox = Sandbox::with(&scripts(&[(&script, 30)]));
    for _ in 0..20 {
        sandbox.fire("turn-finished").is_silent_success();
    }
    assert!(!sandbox.written("zombie").is_empty());
}

/// SPEC 5.3, CASES 35: documented.
#[test]
fn a_process_with_a_session_of_its_own_is_out_of_reach_and_holds_nobody() {
    let script =
        "setsid sh -c 'echo $$ > one; exec sleep 309' & while [ ! -s one ]; do :; done; exit 0";
    let sandbox = Sandbox::with(&scripts(&[(script, 30)]));
    let begin = Instant::now();
    let run = sandbox.fire("turn-finished");
    assert!(begin.elapsed() < Duration::from_secs(29));
    let survivor = sandbox.written("one");
    assert!(is_alive(&survivor), "{run:#?}");
    let survivor = nix::unistd::Pid::from_raw(survivor.trim().parse().unwrap());
    nix::sys::signal::kill(survivor, nix::sys::signal::SIGKILL).unwrap();
}

/// What the README gives for what must outlive the turn: its process is out of the group from its first moment on.
#[test]
fn the_readmes_way_to_outlive_the_turn_is_never_killed() {
    assert!(
        include_str!("../README.md")
            .contains(r#"["setsid", "-w", "setsid", "-f", "paplay", "done.oga"]"#)
    );
    let hook = serde_json::json!({"on": "turn-finished",
        "run": ["setsid", "-w", "setsid", "-f", "sh", "-c", "read -r line < go; echo x >> got"]});
    let sandbox = Sandbox::with(&serde_json::json!({"hooks": vec![hook; 100]}).to_string());
    let gate = sandbox.gate("go");
    sandbox.fire("turn-finished").is_silent_success();
    // A byte each.
    (0..100).for_each(|_| gate.say(""));
    eventually("all have outlived it", || {
        (sandbox.written("got").len() == 200).then_some(())
    });
}

/// SPEC 2.4, 5.1, CASES 36, 30.
#[test]
fn each_hook_has_its_own_bound_and_the_next_runs() {
    let sandbox = Sandbox::with(&scripts(&[
        ("echo 1 >> got; sleep 310", 1),
        ("echo 2 >> got; sleep 311", 1),
        ("echo 3 >> got", 30),
    ]));
    let run = sandbox.fire("turn-finished");
    assert!(run.reports(2).iter().all(|report| report.contains(LATE)));
    assert_eq!(sandbox.written("got"), "1\n2\n3\n");
}

/// SPEC 2.4, CASES 30.
#[test]
fn hooks_run_one_after_the_other_in_the_order_of_the_file() {
    let script = |n: u32| format!("echo start {n} >> got; sleep 0.05; echo end {n} >> got");
    let (one, two, three) = (script(1), script(2), script(3));
    let sandbox = Sandbox::with(&scripts(&[(&one, 30), (&two, 30), (&three, 30)]));
    sandbox.fire("turn-finished").is_silent_success();
    assert_eq!(
        sandbox.written("got"),
        "start 1\nend 1\nstart 2\nend 2\nstart 3\nend 3\n"
    );
}

/// SPEC 5.1, 5.4, CASES 38.
#[test]
fn three_hundred_children_that_ignore_term_are_all_gone() {
    let script = "trap '' TERM; i=0; while [ $i -lt 300 ]; do sleep 312 & echo $! >> pids; i=$((i+1)); done; echo > all; wait";
    let sandbox = Sandbox::with(&scripts(&[(script, 5)]));
    sandbox
        .fire("turn-finished")
        .one_report_says(&["was still running after 5 s and was stopped"]);
    let pids = sandbox.written("pids");
    assert!(pids.lines().count() > 1, "{pids}");
    pids.lines().for_each(ends);
}

/// SPEC 5.2: it wakes when the hook ends, and not before.
#[test]
fn waiting_costs_no_processor_time() {
    let sandbox = Sandbox::with(&scripts(&[("exec sleep 313", 3)]));
    let mut command = sandbox.command(&["fire", "turn-finished"]);
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id();
    // utime and stime in ticks, fields 14 and 15 of /proc/PID/stat, read when it has ended and is not yet reaped.
    let ticks = eventually("the launcher has ended", || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit(") ").next()?.split(' ').collect();
        (fields[0] == "Z")
            .then(|| fields[11].parse::<u32>().unwrap() + fields[12].parse::<u32>().unwrap())
    });
    child.wait_with_output().unwrap();
    // A tick is 10 ms: starting and ending is all that it did in three seconds.
    assert!(ticks <= 5, "{ticks} ticks");
}

/// SPEC 5.4: a hook that became root is not ours to kill, and does not hold the host.
#[test]
fn a_hook_that_cannot_be_killed_is_given_up_and_the_next_runs() {
    if !is_root() {
        return eprintln!("needs root, to make a set-user-ID program");
    }
    let sandbox = Sandbox::new();
    let (become_root, asleep) = (
        sandbox.root().join("setpriv"),
        sandbox.root().join("asleep"),
    );
    let words = [
        become_root.to_str().unwrap(),
        "--reuid=0",
        "--clear-groups",
        asleep.to_str().unwrap(),
        "314",
    ];
    let hook = serde_json::json!({"on": "turn-finished", "run": words, "timeout": 1});
    let next = serde_json::json!({"on": "turn-finished", "run": ["touch", "ran"]});
    sandbox.hooks(serde_json::json!({"hooks": [hook, next]}).to_string());
    let mut command = sandbox.command_of_ordinary_user(&["fire", "turn-finished"]);
    // By another process: a file of ours that is open for writing would be busy.
    for (program, copy) in [
        ("/usr/bin/setpriv", &become_root),
        ("/usr/bin/sleep", &asleep),
    ] {
        assert!(
            Command::new("cp")
                .arg(program)
                .arg(copy)
                .status()
                .unwrap()
                .success()
        );
    }
    mode(&become_root, 0o4755);
    let run = Run::of(&mut command);
    run.one_report_says(&["was still running after 1 s and could not be killed"]);
    assert!(sandbox.work().join("ran").exists());
    let survivors = processes_with("asleep");
    assert!(!survivors.is_empty(), "{run:#?}");
    for survivor in survivors {
        let _ = nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(survivor),
            nix::sys::signal::SIGKILL,
        );
    }
}

/// SPEC 5.1, 5.4: one that asks to be traced by its parent stops for it at its exec (ptrace(2)), and has not ended.
#[test]
fn a_hook_that_asks_to_be_traced_is_ended_at_its_bound_and_leaves_no_zombie() {
    if std::env::var_os("TRACED").is_some() {
        nix::sys::ptrace::traceme().unwrap();
        let error = std::os::unix::process::CommandExt::exec(&mut Command::new("true"));
        unreachable!("{error}");
    }
    let test = "a_hook_that_asks_to_be_traced_is_ended_at_its_bound_and_leaves_no_zombie";
    let words = [
        std::env::current_exe().unwrap().to_str().unwrap(),
        test,
        "--exact",
    ]
    .map(str::to_owned);
    let hook = serde_json::json!({"on": "turn-started", "run": words, "timeout": 1});
    let sandbox = Sandbox::with(&serde_json::json!({"hooks": [hook]}).to_string());
    let list = "cat /proc/$PPID/task/$PPID/children > children";
    let run = Run::of(
        sandbox
            .command(&["turn", "--", "sh", "-c", list])
            .env("TRACED", "1"),
    );
    run.one_report_says(&[LATE]);
    // COMMAND is the one child there is.
    assert_eq!(
        sandbox.written("children").split_whitespace().count(),
        1,
        "{run:#?}"
    );
}

/// SPEC 8.1, 5.7: the running hook is ended, the rest are skipped, nothing is written, and the command dies of the signal.
#[test]
fn fire_dies_of_a_signal_with_its_hook_and_says_nothing() {
    for signal in ["INT", "QUIT", "TERM", "HUP"] {
        let sandbox = Sandbox::with(&scripts(&[
            (
                "trap 'echo term >> got' TERM; echo $$ > pid; while :; do sleep 0.01; done",
                30,
            ),
            ("echo next >> got", 30),
        ]));
        let child = sandbox
            .command(&["fire", "turn-finished"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let hook = appears(&sandbox.work().join("pid"));
        let signal: nix::sys::signal::Signal = format!("SIG{signal}").parse().unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id().cast_signed()), signal)
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let died_of = std::os::unix::process::ExitStatusExt::signal(&output.status);
        assert_eq!(died_of, Some(signal as i32), "{output:?}");
        assert!(
            output.stdout.is_empty() && output.stderr.is_empty() && sandbox.log().is_empty(),
            "{output:?}"
        );
        assert_eq!(sandbox.written("got"), "term\n");
        ends(&hook);
    }
}

/// SPEC 8.1: as under nohup.
#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let sandbox = Sandbox::with(&scripts(&[(
        "echo $PPID > parent; while [ ! -e go ]; do sleep 0.01; done; echo end > got",
        30,
    )]));
    let script = format!("trap '' HUP INT QUIT TERM; exec {BINARY} fire turn-finished");
    let child = sandbox
        .shell(&script)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = nix::unistd::Pid::from_raw(
        appears(&sandbox.work().join("parent"))
            .trim()
            .parse()
            .unwrap(),
    );
    for signal in ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"] {
        nix::sys::signal::kill(pid, signal.parse::<nix::sys::signal::Signal>().unwrap()).unwrap();
    }
    fs::write(sandbox.work().join("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    assert_eq!(sandbox.written("got"), "end\n");
}

/// SPEC 5.5: the command sees how its hooks ended also where it was started with SIGCHLD ignored.
#[test]
fn a_status_is_reported_also_where_sigchld_was_ignored_at_the_start() {
    let sandbox = Sandbox::with(&scripts(&[("exit 5", 30), ("true", 30)]));
    let run = Run::of(&mut sandbox.shell(&format!(
        "exec env --ignore-signal=CHLD {BINARY} fire turn-finished"
    )));
    run.one_report_says(&["exited with status 5"]);
}

/// SPEC 5.4, CASES 37: a thousand starts and ends, and never a false report (CASES 24).
#[test]
fn hooks_that_end_at_once_or_close_their_input_are_never_reported() {
    let entries: Vec<(&str, u32)> = (0..250)
        .flat_map(|_| [("true", 30), ("exec <&-", 30), ("exec true", 30)])
        .collect();
    let sandbox = Sandbox::with(&scripts(&entries));
    sandbox.fire("turn-finished").is_silent_success();
}
