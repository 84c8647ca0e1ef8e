//! What a hook is, how it is started, and what it gets (SPEC 3).
mod common;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use common::*;

/// A hooks file in which each of these argument vectors is a turn-finished hook, in order.
fn hooks(runs: &[&[&str]]) -> String {
    let entries = runs
        .iter()
        .map(|run| serde_json::json!({"on": "turn-finished", "run": run}));
    serde_json::json!({"hooks": entries.collect::<Vec<_>>()}).to_string()
}

/// SPEC 3.5, CASES 23.
#[test]
fn a_hook_reads_one_line_of_json_and_end_of_file() {
    for moment in ["turn-started", "tool-finished", "turn-finished"] {
        let sandbox = Sandbox::with(&format!(
            r#"{{"hooks":[{{"on":"{moment}","run":["sh","-c","cat > got"]}}]}}"#
        ));
        sandbox.fire(moment).is_silent_success();
        assert_eq!(
            sandbox.written("got"),
            format!("{{\"event\":\"{moment}\"}}\n")
        );
    }
}

/// SPEC 1.8, 3.2, CASES 17.
#[test]
fn arguments_arrive_byte_for_byte_and_the_name_as_written() {
    let long = "x".repeat(50_000);
    let arguments = [
        "a b",
        "c\nd",
        "'\"`",
        ";",
        "$(touch no)",
        "$HOME",
        "~",
        "*",
        "%s",
        "",
        &long,
        "é😀",
        "\t\u{1b}",
    ];
    let run = [
        &["sh", "-c", "cat /proc/$$/cmdline > got", "zero"],
        &arguments[..],
    ]
    .concat();
    let sandbox = Sandbox::with(&hooks(&[&run]));
    let directory = sandbox.work().join("a b\n\u{e9}");
    fs::create_dir(&directory).unwrap();
    Run::of(
        sandbox
            .command(&["fire", "turn-finished", "--directory"])
            .arg(&directory),
    )
    .is_silent_success();
    let expected = run
        .iter()
        .map(|word| format!("{word}\0"))
        .collect::<String>();
    assert_eq!(
        fs::read(directory.join("got")).unwrap(),
        expected.as_bytes()
    );
}

/// SPEC 3.1, 6.2, CASES 18.
#[test]
fn a_text_without_an_interpreter_is_no_program_and_meets_no_shell() {
    let sandbox = Sandbox::new();
    let script = sandbox.script("text", "touch ran\n");
    sandbox.hooks(hooks(&[&[script.to_str().unwrap()]]));
    sandbox
        .fire("turn-finished")
        .one_report_says(&["could not be started", "not a program"]);
    assert!(!sandbox.work().join("ran").exists());
}

/// SPEC 6.2: a missing program, a missing interpreter, a file that is no program, a missing permission, a directory.
#[test]
fn each_reason_why_a_program_does_not_start_is_told_apart() {
    let sandbox = Sandbox::new();
    let plain = sandbox.script("plain", "#!/bin/sh\n");
    mode(&plain, 0o644);
    let at = |name: &str| sandbox.root().join(name).to_str().unwrap().to_owned();
    sandbox.script("lost", "#!/no/such/interpreter\n");
    sandbox.script("crlf", "#!/bin/sh\r\ntrue\r\n");
    let cases = [
        (
            "no-such-program".to_owned(),
            "no program of that name in PATH",
        ),
        (at("missing"), "no such file"),
        (at("plain/below"), "no such file"),
        (at("lost"), "interpreter"),
        (at("crlf"), "interpreter"),
        (at("plain"), "permission denied"),
        (at("work"), "is a directory"),
    ];
    let programs: Vec<[&str; 1]> = cases
        .iter()
        .map(|(program, _)| [program.as_str()])
        .collect();
    let mut entries: Vec<&[&str]> = programs.iter().map(|program| &program[..]).collect();
    entries.push(&["touch", "ran"]);
    sandbox.hooks(hooks(&entries));
    let run = sandbox.fire("turn-finished");
    for (report, (program, reason)) in run.reports(cases.len()).into_iter().zip(&cases) {
        assert!(report.starts_with("turn-finished hook "), "{report}");
        assert!(
            report.contains(program) && report.contains(reason),
            "{program} {reason}: {report}"
        );
    }
    assert!(
        sandbox.work().join("ran").exists(),
        "one that cannot start keeps the next from running"
    );
}

/// SPEC 3.2.
#[test]
fn a_bare_name_is_found_in_absolute_entries_of_path_alone() {
    let sandbox = Sandbox::with(&hooks(&[&["tool"]]));
    for directory in ["bad", "good", "later", "work/bin"] {
        fs::create_dir_all(sandbox.root().join(directory)).unwrap();
    }
    fs::create_dir(sandbox.root().join("work/good")).unwrap();
    for decoy in ["work/tool", "work/bin/tool", "work/good/tool", "later/tool"] {
        sandbox.script(decoy, &format!("#!/bin/sh\necho {decoy} > got\n"));
    }
    // A match that is a directory or not executable is passed over.
    mode(
        &sandbox.script("bad/tool", "#!/bin/sh\necho bad > got\n"),
        0o644,
    );
    fs::create_dir_all(sandbox.root().join("directory/tool")).unwrap();
    let root = sandbox.root().display();
    let path = format!(":.:bin:good::{root}/directory:{root}/bad:{root}/good:{root}/later:");
    Run::of(
        sandbox
            .command(&["fire", "turn-finished"])
            .env("PATH", &path),
    )
    .reports(0);
    assert_eq!(sandbox.written("got"), "later/tool\n");
    sandbox.script("good/tool", "#!/bin/sh\necho $0 > got\n");
    Run::of(
        sandbox
            .command(&["fire", "turn-finished"])
            .env("PATH", &path),
    )
    .reports(0);
    assert_eq!(sandbox.written("got"), format!("{root}/good/tool\n"));

    let run = Run::of(
        sandbox
            .command(&["fire", "turn-finished"])
            .env("PATH", format!("{root}/bad:/nowhere")),
    );
    run.one_report_says(&["permission denied", "bad/tool", "chmod +x"]);
    // PATH that is empty has no absolute entry; none at all means the usual places.
    Run::of(sandbox.command(&["fire", "turn-finished"]).env("PATH", ""))
        .one_report_says(&["no program of that name"]);
    sandbox.hooks(hooks(&[&["sh", "-c", "echo default > got"]]));
    Run::of(
        sandbox
            .command(&["fire", "turn-finished"])
            .env_remove("PATH"),
    )
    .is_silent_success();
    assert_eq!(sandbox.written("got"), "default\n");
}

/// SPEC 3.2, 3.3, CASES 20.
#[test]
fn a_name_with_a_slash_is_taken_from_the_turns_directory() {
    let sandbox = Sandbox::with(&hooks(&[&["./fmt.sh"], &["sub/fmt.sh"]]));
    for (script, text) in [
        ("work/fmt.sh", "#!/bin/sh\necho $0 >> got\npwd -P >> got\n"),
        ("fmt.sh", "#!/bin/sh\nexit 9\n"),
    ] {
        sandbox.script(script, text);
    }
    fs::create_dir(sandbox.work().join("sub")).unwrap();
    fs::copy(
        sandbox.work().join("fmt.sh"),
        sandbox.work().join("sub/fmt.sh"),
    )
    .unwrap();
    let run = Run::of(
        sandbox
            .command(&["fire", "turn-finished", "--directory", "../work"])
            .current_dir(sandbox.home()),
    );
    run.is_silent_success();
    let work = fs::canonicalize(sandbox.work()).unwrap();
    assert_eq!(
        sandbox.written("got"),
        format!("./fmt.sh\n{0}\nsub/fmt.sh\n{0}\n", work.display())
    );
}

/// SPEC 3.3.
#[test]
fn a_directory_that_is_gone_is_blamed_and_not_the_program() {
    let sandbox = Sandbox::with(&hooks(&[&["touch", "ran"]]));
    let says = |run: &Run| run.one_report_says(&["directory", "cannot be entered", "No such file"]);
    says(&sandbox.run(&["fire", "turn-finished", "--directory", "gone"]));
    // Removed under the launcher's feet: still open, but without a name.
    let script =
        format!("mkdir gone && cd gone && rmdir ../gone && exec {BINARY} fire turn-finished");
    says(&Run::of(&mut sandbox.shell(&script)));
    fs::write(sandbox.work().join("file"), "").unwrap();
    let run = sandbox.run(&["fire", "turn-finished", "--directory", "file"]);
    run.one_report_says(&["the directory", "Not a directory"]);
}

/// SPEC 3.3, as an ordinary user.
#[test]
fn a_directory_that_cannot_be_entered_is_blamed_and_not_the_program() {
    let sandbox = Sandbox::with(&hooks(&[&["true"]]));
    let closed = sandbox.work().join("closed");
    fs::create_dir(&closed).unwrap();
    mode(&closed, 0o600);
    let mut command = sandbox.command_of_ordinary_user(&["fire", "turn-finished", "--directory"]);
    Run::of(command.arg(&closed)).one_report_says(&[
        "the directory",
        "closed",
        "Permission denied",
    ]);
}

/// SPEC 3.3: the working directory is where the launcher is, also below one that this user may not pass.
#[test]
fn a_working_directory_that_cannot_be_reached_by_its_name_is_entered() {
    let sandbox = Sandbox::with(&hooks(&[&["touch", "ran"]]));
    let closed = sandbox.work().join("closed");
    let inside = closed.join("inside");
    fs::create_dir_all(&inside).unwrap();
    let mut command = sandbox.command_of_ordinary_user(&["fire", "turn-finished"]);
    if !is_root() {
        return eprintln!("needs root, to start it there as another user");
    }
    std::os::unix::fs::chown(&closed, Some(0), Some(0)).unwrap();
    mode(&closed, 0o700);
    // Entered by a process that may, before it becomes one that may not.
    Run::of(command.current_dir(&inside)).is_silent_success();
    assert!(inside.join("ran").exists());
}

/// SPEC 5.6, 2.4, CASES 19.
#[test]
fn a_program_that_stays_open_for_writing_is_reported_as_busy() {
    let sandbox = Sandbox::new();
    let script = sandbox.script("busy", "#!/bin/sh\n");
    sandbox.hooks(hooks(&[&[script.to_str().unwrap()], &["touch", "ran"]]));
    let writer = fs::OpenOptions::new().write(true).open(&script).unwrap();
    sandbox
        .fire("turn-finished")
        .one_report_says(&["could not be started", "busy"]);
    assert!(sandbox.work().join("ran").exists());
    drop(writer);
    sandbox.fire("turn-finished").is_silent_success();
}

/// CASES 22.
#[test]
fn arguments_larger_than_the_system_takes_are_reported() {
    let many = vec!["a"; 15_000];
    let sandbox = Sandbox::with(&hooks(&[
        &[&["true"][..], &many].concat(),
        &["touch", "ran"],
    ]));
    // The limit is a quarter of the stack's, and at least 128 KiB (execve(2)).
    let run =
        Run::of(&mut sandbox.shell(&format!("ulimit -s 512; exec {BINARY} fire turn-finished")));
    run.one_report_says(&["could not be started", "larger than the system takes"]);
    assert!(sandbox.work().join("ran").exists());
}

/// SPEC 3.6, CASES 28.
#[test]
fn a_hook_has_descriptors_0_1_and_2_and_no_other() {
    let list = "exec > got; i=0; while [ $i -lt 300 ]; do [ -L /proc/$$/fd/$i ] && echo $i; i=$((i+1)); done; true";
    let sandbox = Sandbox::with(&hooks(&[
        &["sh", "-c", list],
        &["sh", "-c", "echo x && echo y >&2 && echo ok > wrote"],
    ]));
    let expected = "0\n1\n2\n";
    // Also those that the host left inheritable, and also where the host has closed its own.
    for host in [
        "exec 9</etc/passwd 7>/dev/null",
        "exec <&-",
        "exec >&- 2>&-",
        "exec <&- >&- 2>&-",
    ] {
        let run = Run::of(&mut sandbox.shell(&format!("{host}; exec {BINARY} fire turn-finished")));
        run.is_silent_success();
        assert_eq!(
            (
                sandbox.written("got").as_str(),
                sandbox.written("wrote").as_str()
            ),
            (expected, "ok\n"),
            "{host}"
        );
        fs::remove_file(sandbox.work().join("got")).unwrap();
    }
}

/// SPEC 3.5, where the host has closed its standard streams.
#[test]
fn the_event_arrives_also_where_the_host_has_closed_its_streams() {
    let sandbox = Sandbox::with(&hooks(&[&["sh", "-c", "cat > got"]]));
    let run = Run::of(&mut sandbox.shell(&format!(
        "exec <&- >&- 2>&-; exec {BINARY} fire turn-finished"
    )));
    run.is_silent_success();
    assert_eq!(sandbox.written("got"), "{\"event\":\"turn-finished\"}\n");
}

/// SPEC 3.6, CASES 29: whatever the host ignores or blocks.
#[test]
fn every_signal_is_at_its_default_and_none_is_blocked() {
    let sandbox = Sandbox::with(&hooks(&[
        &[
            "sh",
            "-c",
            "grep -E '^Sig(Ign|Blk)' /proc/self/status > got",
        ],
        &["sh", "-c", "yes | head -1 > piped"],
    ]));
    let host = format!(
        "trap '' HUP INT QUIT USR1 USR2 PIPE TERM TSTP TTIN TTOU; exec env --ignore-signal=CHLD {BINARY} fire turn-finished"
    );
    Run::of(&mut sandbox.shell(&host)).is_silent_success();
    for line in sandbox.written("got").lines() {
        let mask = u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap();
        // Signals 32 and 33 are the C library's own.
        assert_eq!(mask & !(0b11 << 31), 0, "{line}");
    }
    assert_eq!(sandbox.written("piped"), "y\n");
}

/// SPEC 3.6: fields 5 to 7 of /proc/PID/stat are group, session and terminal.
#[test]
fn a_hook_leads_a_session_without_a_terminal() {
    let script = "read -r line < /proc/$$/stat; echo $$ ${line##*) } > got; cat </dev/tty || echo none > tty";
    let sandbox = Sandbox::with(&hooks(&[&["sh", "-c", script]]));
    // Where the launcher has a terminal.
    let mut command = Command::new("script");
    command
        .args(["-qec", &format!("{BINARY} fire turn-finished"), "/dev/null"])
        .current_dir(sandbox.work());
    let run = Run::of(
        command
            .env_clear()
            .env("HOME", sandbox.home())
            .env("PATH", "/usr/bin:/bin"),
    );
    assert_eq!((run.status, run.stdout.trim()), (0, ""), "{run:#?}");
    let got = sandbox.written("got");
    let fields: Vec<&str> = got.split_whitespace().collect();
    let (pid, group, session, terminal) = (fields[0], fields[3], fields[4], fields[5]);
    assert_eq!((group, session, terminal), (pid, pid, "0"), "{got}");
    assert_eq!(sandbox.written("tty"), "none\n");
}

/// SPEC 3.5, CASES 27.
#[test]
fn what_a_hook_writes_is_shown_nowhere_and_kept_nowhere() {
    let flood = "head -c 100000000 /dev/zero; printf '\\033[2J\\007' ; printf '\\033[2J' >&2; head -c 1000000 /dev/zero >&2";
    let sandbox = Sandbox::with(&hooks(&[&["sh", "-c", flood]]));
    sandbox.fire("turn-finished").is_silent_success();
    assert!(sandbox.log().is_empty());
}

/// SPEC 7.4, CASES 25.
#[test]
fn the_tools_name_reaches_nothing_that_a_hook_can_see() {
    let look = "cat /proc/$$/cmdline /proc/$$/environ - > got; exit 3";
    let sandbox = Sandbox::with(&format!(
        r#"{{"hooks":[{{"on":"tool-finished","run":["sh","-c","{look}"]}}]}}"#
    ));
    let run = sandbox.run(&["fire", "tool-finished", "--tool", "SECRETWORD"]);
    run.one_report_says(&["exited with status 3"]);
    assert!(sandbox.written("got").contains("tool-finished"), "{run:#?}");
    for text in [
        sandbox.written("got"),
        run.stderr,
        format!("{:?}", sandbox.log()),
    ] {
        assert!(!text.contains("SECRETWORD"), "{text}");
    }
}

/// SPEC 2.2, CASES 44 as far as firing goes.
#[test]
fn a_tool_is_matched_byte_for_byte() {
    let entry = |tool: &str| {
        format!(
            r#"{{"on":"tool-finished",{tool}"run":["sh","-c","echo '{}' >> got"]}}"#,
            tool.len()
        )
    };
    let tools = [
        r#""tool":"write_file","#,
        r#""tool":"Write_File ","#,
        r#""tool":"write_*","#,
        "",
    ];
    let entries: Vec<String> = tools.iter().map(|tool| entry(tool)).collect();
    let sandbox = Sandbox::with(&format!(r#"{{"hooks":[{}]}}"#, entries.join(",")));
    for (tool, runs) in [
        (Some("write_file"), "20\n0\n"),
        (Some("Write_File"), "0\n"),
        (Some("Write_File "), "21\n0\n"),
        (Some("write_*"), "17\n0\n"),
        (Some("write_file2"), "0\n"),
        (None, "0\n"),
    ] {
        let mut command = sandbox.command(&["fire", "tool-finished"]);
        Run::of(command.args(tool.iter().flat_map(|tool| ["--tool", tool]))).is_silent_success();
        assert_eq!(sandbox.written("got"), runs, "{tool:?}");
        fs::remove_file(sandbox.work().join("got")).unwrap();
    }
    // A name that is not UTF-8 is none that the file could hold.
    let mut command = sandbox.command(&["fire", "tool-finished", "--tool"]);
    Run::of(command.arg(std::ffi::OsStr::from_bytes(b"write_file\xff"))).is_silent_success();
    assert_eq!(sandbox.written("got"), "0\n");
}
