//! What only a trace of system calls shows (SPEC 1.1, 3.1, 3.8, 5.2, 5.6), and where the kernel has no pidfd.
//!
//! strace(1) does the looking. Where it is not installed, or may not trace, these tests say so and pass; CI installs it
//! and insists.
mod common;

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use common::*;

/// The command under strace with these options, and the lines of the trace; `None` where there is no strace to be had.
fn trace(sandbox: &Sandbox, options: &[&str], arguments: &[&str]) -> Option<(Run, Vec<String>)> {
    let works = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .output()
        .is_ok_and(|out| out.status.success());
    if !works {
        assert!(
            std::env::var_os("CI").is_none(),
            "CI needs an strace that works"
        );
        eprintln!("needs strace");
        return None;
    }
    let to = sandbox.root().join("trace");
    let mut command = Command::new("strace");
    command
        .args(["-f", "-s", "4096", "-o"])
        .arg(&to)
        .args(options)
        .arg("--")
        .arg(BINARY)
        .args(arguments);
    command
        .current_dir(sandbox.work())
        .env_clear()
        .env("HOME", sandbox.home())
        .env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let run = Run::of(&mut command);
    Some((
        run,
        fs::read_to_string(to)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect(),
    ))
}

/// SPEC 8.1, 2.5: where no hook is in force there is nothing to go on with.
#[test]
fn a_detached_fire_makes_a_process_only_where_a_hook_is_in_force() {
    let sandbox = Sandbox::with(r#"{"hooks":[{"on":"turn-finished","run":["true"]}]}"#);
    for (moment, copies) in [("turn-started", 0), ("turn-finished", 1)] {
        let Some((run, lines)) = trace(
            &sandbox,
            &["-e", "trace=process"],
            &["fire", moment, "--detach"],
        ) else {
            return;
        };
        run.is_silent_success();
        let is_copy = |line: &&String| line.contains("execve(\"/proc/self/exe\"");
        let count = lines.iter().filter(is_copy).count();
        assert_eq!(count, copies, "{moment}: {lines:#?}");
    }
}

/// SPEC 8.1, 6.1: told once, by the process that is left.
#[test]
fn a_fire_that_cannot_detach_starts_nothing_and_is_told_in_the_log() {
    for (fault, reason) in [
        ("inject=setsid:error=EPERM", "Operation not permitted"),
        ("inject=setsid:signal=KILL", "No such process"),
        ("inject=fork,vfork,clone,clone3:error=EAGAIN", "Try again"),
    ] {
        let sandbox = Sandbox::with(r#"{"hooks":[{"on":"turn-finished","run":["touch","ran"]}]}"#);
        let arguments = ["fire", "--detach", "turn-finished"];
        let Some((run, _)) = trace(
            &sandbox,
            &["-qq", "-e", "trace=setsid,pipe2,clone,clone3", "-e", fault],
            &arguments,
        ) else {
            return;
        };
        run.is_silent_success();
        let log = sandbox.log();
        let expected = format!("no hook fired: cannot detach: {reason}");
        assert!(
            log.len() == 1 && log[0]["message"] == *expected,
            "{fault}: {log:#?}"
        );
        assert!(!sandbox.work().join("ran").exists(), "{fault}");
    }
}

/// SPEC 3.8, 3.1.
#[test]
fn a_hook_is_started_without_a_copy_of_the_host_and_without_a_shell() {
    let sandbox = Sandbox::with(
        r#"{"hooks":[{"on":"turn-finished","run":["cat"]},{"on":"turn-finished","run":["missing"]}]}"#,
    );
    let Some((run, lines)) = trace(
        &sandbox,
        &["-e", "trace=process"],
        &["fire", "turn-finished"],
    ) else {
        return;
    };
    run.reports(1);
    let starts: Vec<&String> = lines
        .iter()
        .filter(|line| {
            line.contains("clone3(") || line.contains("clone(") || line.contains("fork(")
        })
        .collect();
    let by_spawn = |line: &&&String| line.contains("CLONE_VM") && line.contains("CLONE_VFORK");
    assert_eq!(starts.iter().filter(by_spawn).count(), 1, "{starts:#?}");
    assert!(
        starts.iter().all(|line| line.contains("CLONE_VM")),
        "a copy of the address space: {starts:#?}"
    );
    let executed: Vec<&String> = lines
        .iter()
        .filter(|line| line.contains("execve(") && !line.contains("ENOENT"))
        .collect();
    assert!(
        executed.len() == 2 && executed[1].contains("/cat\", [\"cat\"]"),
        "{executed:#?}"
    );
}

/// SPEC 1.1, CASES 13, 14: never run, and never even looked at.
#[test]
fn nothing_in_the_working_directory_is_looked_at() {
    let hook =
        |to: &str| format!(r#"{{"hooks":[{{"on":"turn-finished","run":["touch","{to}"]}}]}}"#);
    let sandbox = Sandbox::with(&hook("/dev/null"));
    for decoy in [
        ".bravebot/hooks.json",
        "hooks.json",
        ".claude/settings.json",
        ".git/hooks/post-commit",
        ".env",
    ] {
        let decoy = sandbox.work().join(decoy);
        fs::create_dir_all(decoy.parent().unwrap()).unwrap();
        fs::write(decoy, hook("decoy")).unwrap();
    }
    for event in ["turn-started", "turn-finished"] {
        let Some((run, lines)) = trace(&sandbox, &["-e", "trace=file"], &["fire", event]) else {
            return;
        };
        run.is_silent_success();
        // Of the launcher alone: what the hook's own loader does is the hook's.
        let hook = lines
            .iter()
            .position(|line| line.contains("execve(") && line.contains("/touch\""))
            .unwrap_or(lines.len());
        let work = sandbox.work().to_str().unwrap().to_owned();
        for line in &lines[1..hook] {
            // Entered, and asked for its name.
            if line.contains("AT_FDCWD, \".\", O_RDONLY|O_CLOEXEC|O_PATH|O_DIRECTORY)") {
                continue;
            }
            let is_directory_itself = line.contains(&format!("\"{work}\""));
            assert!(is_directory_itself || !line.contains(&work), "{line}");
            // Nor by a relative name: what is opened relatively is a component of the way to the file, from a descriptor.
            assert!(
                !line.contains("AT_FDCWD, \"") || line.contains("AT_FDCWD, \"/"),
                "{line}"
            );
            assert!(
                !line.contains("(\".") && !line.contains("(\"hooks"),
                "{line}"
            );
        }
    }
    assert!(!sandbox.work().join("decoy").exists());
}

/// SPEC 1.3: once, and neither waiting, nor through a link, nor so that a child of the host would have it.
#[test]
fn the_file_is_opened_once_and_never_blocking() {
    let sandbox = Sandbox::with(r#"{"hooks":[{"on":"turn-finished","run":["true"]}]}"#);
    let Some((run, lines)) = trace(
        &sandbox,
        &["-e", "trace=openat"],
        &["fire", "turn-finished"],
    ) else {
        return;
    };
    run.is_silent_success();
    let opened: Vec<_> = lines
        .iter()
        .filter(|line| line.contains("\"hooks.json\"") && !line.contains("O_PATH"))
        .collect();
    let flags = "O_RDONLY|O_NOCTTY|O_NONBLOCK|O_NOFOLLOW|O_CLOEXEC";
    assert!(
        opened.len() == 1 && opened[0].contains(&format!("\"hooks.json\", {flags})")),
        "{lines:#?}"
    );
}

/// CASES 14.
#[test]
fn where_the_working_directory_is_home_each_hook_runs_once() {
    let sandbox =
        Sandbox::with(r#"{"hooks":[{"on":"turn-finished","run":["sh","-c","echo x >> got"]}]}"#);
    Run::of(
        sandbox
            .command(&["fire", "turn-finished"])
            .current_dir(sandbox.home()),
    )
    .is_silent_success();
    assert_eq!(
        fs::read_to_string(sandbox.home().join("got")).unwrap(),
        "x\n"
    );
}

/// SPEC 5.2.
#[test]
fn waiting_does_not_poll() {
    let sandbox = Sandbox::with(r#"{"hooks":[{"on":"turn-finished","run":["sleep","2"]}]}"#);
    let Some((run, lines)) = trace(
        &sandbox,
        &["-e", "trace=poll,ppoll,waitid,nanosleep,clock_nanosleep"],
        &["fire", "turn-finished"],
    ) else {
        return;
    };
    run.is_silent_success();
    // One wait, one look to reap, and the sleep of the hook.
    let calls = lines
        .iter()
        .filter(|line| line.contains('(') && !line.contains("resumed") && !line.contains("+++"))
        .count();
    assert!(calls <= 3, "{lines:#?}");
}

/// SPEC 5.3: until it is reaped, its number cannot be a stranger's.
#[test]
fn a_group_is_killed_before_its_leader_is_reaped() {
    let hook =
        serde_json::json!({"on": "turn-finished", "run": ["sh", "-c", "sleep 321 & exit 0"]});
    let sandbox = Sandbox::with(&serde_json::json!({"hooks": [hook]}).to_string());
    let calls = "trace=pidfd_send_signal,kill,waitid";
    for options in [
        &["-e", calls][..],
        &["-e", calls, "-e", "inject=pidfd_send_signal:error=EINVAL"],
    ] {
        let Some((run, lines)) = trace(&sandbox, options, &["fire", "turn-finished"]) else {
            return;
        };
        run.one_report_says(&["left processes behind"]);
        let places = |is: fn(&str) -> bool| {
            (0..lines.len())
                .filter(|at| is(&lines[*at]))
                .collect::<Vec<_>>()
        };
        let kills = places(|line| {
            line.contains("(") && line.contains(", SIGKILL") && !line.contains("(INJECTED)")
        });
        let reaps = places(|line| line.contains("WEXITED") && !line.contains("WNOWAIT"));
        assert!(
            !kills.is_empty() && reaps.len() == 1 && kills.iter().all(|kill| *kill < reaps[0]),
            "{lines:#?}"
        );
    }
}

/// SPEC 5.6, CASES 19.
#[test]
fn a_busy_program_is_tried_again() {
    let sandbox = Sandbox::new();
    let script = sandbox.script("busy", "#!/bin/sh\n");
    sandbox.hooks(
        serde_json::json!({"hooks": [{"on": "turn-finished", "run": [script]}]}).to_string(),
    );
    let _writer = fs::OpenOptions::new().write(true).open(&script).unwrap();
    let Some((run, lines)) = trace(
        &sandbox,
        &["-e", "trace=execve"],
        &["fire", "turn-finished"],
    ) else {
        return;
    };
    run.one_report_says(&["busy"]);
    assert_eq!(
        lines.iter().filter(|line| line.contains("ETXTBSY")).count(),
        5,
        "{lines:#?}"
    );
}

/// SPEC 5 where there is no pidfd_open(2): a thread waits instead, and every ending is the same.
#[test]
fn every_ending_is_the_same_where_the_kernel_has_no_pidfd() {
    let entry = |script: &str| serde_json::json!({"on": "turn-finished", "run": ["sh", "-c", script], "timeout": 1});
    let entries = [
        entry("true"),
        entry("exit 7"),
        entry("kill -KILL $$"),
        entry("sleep 317 & echo $! > left; exit 0"),
        entry("trap '' TERM; echo $$ > late; while :; do sleep 318; done"),
        entry("cat > got"),
    ];
    let sandbox = Sandbox::with(&serde_json::json!({"hooks": entries}).to_string());
    for error in ["ENOSYS", "EPERM", "EMFILE"] {
        let inject = format!("inject=pidfd_open:error={error}");
        let Some((run, lines)) = trace(
            &sandbox,
            &["-e", "trace=pidfd_open", "-e", &inject],
            &["fire", "turn-finished"],
        ) else {
            return;
        };
        assert_eq!(
            lines
                .iter()
                .filter(|line| line.contains("(INJECTED)"))
                .count(),
            6,
            "{lines:#?}"
        );
        let reports = run.reports(4);
        for (report, said) in reports.iter().zip([
            "status 7",
            "SIGKILL",
            "left processes",
            "still running after 1 s and was stopped",
        ]) {
            assert!(report.contains(said), "{error}: {run:#?}");
        }
        ends(&sandbox.written("left"));
        ends(&sandbox.written("late"));
        assert_eq!(sandbox.written("got"), "{\"event\":\"turn-finished\"}\n");
    }
}

/// SPEC 5 where neither a pidfd nor a thread is to be had.
#[test]
fn a_hook_is_waited_for_also_without_a_thread() {
    let entry = |script: &str, timeout: u32| serde_json::json!({"on": "turn-finished", "run": ["sh", "-c", script], "timeout": timeout});
    let entries = [
        entry("exit 7", 30),
        entry("exec sleep 319", 1),
        entry("echo end > got", 30),
    ];
    let sandbox = Sandbox::with(&serde_json::json!({"hooks": entries}).to_string());
    let begin = Instant::now();
    // Threads and hooks take turns: a hook, the thread that waits, a hook, and so on.
    let threads = "inject=clone3:error=EAGAIN:when=2+2";
    let options = [
        "-e",
        "trace=pidfd_open,clone3",
        "-e",
        "inject=pidfd_open:error=ENOSYS",
        "-e",
        threads,
    ];
    let Some((run, lines)) = trace(&sandbox, &options, &["fire", "turn-finished"]) else {
        return;
    };
    assert_eq!(
        lines
            .iter()
            .filter(|line| line.contains("clone3") && line.contains("(INJECTED)"))
            .count(),
        3,
        "{lines:#?}"
    );
    let reports = run.reports(2);
    assert!(
        reports[0].contains("status 7") && reports[1].contains("still running after 1 s"),
        "{run:#?}"
    );
    assert_eq!(sandbox.written("got"), "end\n");
    assert!(
        begin.elapsed() < Duration::from_secs(29),
        "an end was noticed at the bound: {:?}",
        begin.elapsed()
    );
}

/// SPEC 8.5: one that has the full log open while another rotates it does not rotate the new one.
#[test]
fn a_launcher_that_comes_late_does_not_rotate_again() {
    let sandbox = Sandbox::with(r#"{"hooks":[{"on":"turn-finished","run":["sh","-c","exit 3"]}]}"#);
    let (log, older) = (
        sandbox.home().join(".bravebot/hooks.log"),
        sandbox.home().join(".bravebot/hooks.log.1"),
    );
    let full = "{\"old\":true}\n".repeat(1024 * 1024 / 13 + 1);
    fs::write(&log, &full).unwrap();
    // Held up between opening the log and locking it, until the other has rotated.
    let options = [
        "-e",
        "trace=flock",
        "-e",
        "inject=flock:delay_enter=1500000:when=1",
    ];
    let late = std::thread::scope(|threads| {
        let late = threads.spawn(|| trace(&sandbox, &options, &["fire", "turn-finished"]));
        let has_opened = || {
            fs::read_to_string(sandbox.root().join("trace"))
                .is_ok_and(|trace| trace.contains("flock("))
        };
        while !late.is_finished() && !has_opened() {
            std::thread::yield_now();
        }
        sandbox.fire("turn-finished").reports(1);
        late.join().unwrap()
    });
    if late.is_none() {
        return;
    }
    let older = fs::read_to_string(&older).unwrap();
    assert!(
        older.starts_with(&full),
        "the older megabyte is lost: {} bytes",
        older.len()
    );
    assert_eq!(sandbox.log().len() + older[full.len()..].lines().count(), 2);
}

/// SPEC 5.5: only a child that is not ours any more is given up; one that cannot be seen keeps its bound.
#[test]
fn a_hook_that_cannot_be_waited_for_is_still_ended_at_its_bound() {
    let script = "echo $$ > pid; exec sleep 320";
    let hook =
        serde_json::json!({"on": "turn-finished", "run": ["sh", "-c", script], "timeout": 1});
    let sandbox = Sandbox::with(&serde_json::json!({"hooks": [hook]}).to_string());
    for error in ["EINVAL", "EPERM", "ENOSYS"] {
        let inject = format!("inject=waitid:error={error}");
        let Some((run, _)) = trace(
            &sandbox,
            &["-e", "trace=waitid", "-e", &inject],
            &["fire", "turn-finished"],
        ) else {
            return;
        };
        run.one_report_says(&["was still running after 1 s and could not be killed"]);
        ends(&sandbox.written("pid"));
    }
}

/// SPEC 8.3: `check` starts nothing, and of the working directory it looks at the status of a relative program alone.
#[test]
fn check_starts_nothing_and_reads_nothing_below_the_working_directory() {
    let sandbox = Sandbox::with(
        r#"{"hooks":[{"on":"turn-finished","run":["./fmt.sh"]},{"on":"turn-finished","run":["sub/fmt.sh"]},
            {"on":"turn-finished","run":["sh","-c","true"]}]}"#,
    );
    fs::create_dir(sandbox.work().join("sub")).unwrap();
    sandbox.script("work/fmt.sh", "#!/bin/sh\n");
    sandbox.script("work/sub/fmt.sh", "#!/no/such\n");
    let Some((run, lines)) = trace(&sandbox, &["-e", "trace=file,process"], &["check"]) else {
        return;
    };
    assert!(
        run.status == 0 && run.stdout.contains("3 of 3 entries in force"),
        "{run:#?}"
    );
    assert!(
        !lines[1..]
            .iter()
            .any(|line| line.contains("execve(") || line.contains("CLONE_VFORK")),
        "{lines:#?}"
    );
    let work = sandbox.work().to_str().unwrap().to_owned();
    for line in lines[1..]
        .iter()
        .filter(|line| line.contains(&work) && !line.contains("getcwd"))
    {
        // The directory itself may be resolved.
        if line.contains(&format!("readlink(\"{work}\"")) {
            continue;
        }
        let looks = ["stat", "access"]
            .iter()
            .any(|call| line.split('(').next().unwrap().contains(call));
        assert!(looks && !line.contains("decoy"), "{line}");
    }
}

/// SPEC 8.7: whether this is inside a hook is looked up only when a hook is about to start.
#[test]
fn nothing_is_looked_up_where_no_hook_is_about_to_start() {
    let sandbox = Sandbox::with(r#"{"hooks":[{"on":"turn-finished","run":["true"]}]}"#);
    for (moment, looks) in [("turn-started", false), ("turn-finished", true)] {
        let Some((run, lines)) = trace(&sandbox, &["-e", "trace=file"], &["fire", moment]) else {
            return;
        };
        run.is_silent_success();
        assert_eq!(
            lines
                .iter()
                .any(|line| line.contains("/stat\"") && line.contains("/proc/")),
            looks,
            "{lines:#?}"
        );
    }
}
