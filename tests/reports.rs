//! What is said of a failure, where, and what saying it may never cost (SPEC 6, 7.2, 8.4, 8.5).
mod common;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use common::*;

fn scripts(scripts: &[&str]) -> String {
    let entries = scripts
        .iter()
        .map(|script| serde_json::json!({"on": "turn-finished", "run": ["sh", "-c", script]}));
    serde_json::json!({"hooks": entries.collect::<Vec<_>>()}).to_string()
}

/// SPEC 6.1, 6.2, 8.5, CASES 47.
#[test]
fn a_failure_is_one_line_on_the_display_and_one_object_in_the_log() {
    let sandbox = Sandbox::with(&scripts(&[
        "exit 7",
        "true",
        "kill -KILL $$",
        "kill -SEGV $$",
        "kill -40 $$",
    ]));
    let run = sandbox.fire("turn-finished");
    let expected = [
        (
            "exited",
            "exited with status 7",
            "status",
            serde_json::json!(7),
        ),
        (
            "killed",
            "was killed by SIGKILL",
            "signal",
            serde_json::json!("SIGKILL"),
        ),
        (
            "killed",
            "was killed by SIGSEGV",
            "signal",
            serde_json::json!("SIGSEGV"),
        ),
        (
            "killed",
            "was killed by SIGRTMIN+6",
            "signal",
            serde_json::json!("SIGRTMIN+6"),
        ),
    ];
    let (reports, log) = (run.reports(4), sandbox.log());
    assert_eq!(log.len(), 4, "{log:?}");
    for ((report, line), (failure, said, field, value)) in reports.iter().zip(&log).zip(expected) {
        assert_eq!(*report, format!("turn-finished hook \"sh\" {said}"));
        assert_eq!(
            (&line["message"], &line["failure"]),
            (&(*report).into(), &failure.into()),
            "{line}"
        );
        assert_eq!(
            (&line["moment"], &line["program"]),
            (&"turn-finished".into(), &"sh".into()),
            "{line}"
        );
        assert_eq!(
            (&line[field], line["directory"].as_str()),
            (&value, sandbox.work().to_str()),
            "{line}"
        );
        let time = line["time"].as_str().unwrap();
        assert!(
            time.ends_with('Z')
                && Command::new("date")
                    .args(["-d", time])
                    .output()
                    .unwrap()
                    .status
                    .success(),
            "{time}"
        );
    }
    let metadata = fs::metadata(sandbox.home().join(".bravebot/hooks.log")).unwrap();
    assert_eq!(metadata.mode() & 0o7777, 0o600);
}

/// SPEC 6.2, 1.11, CASES 46.
#[test]
fn no_argument_is_in_a_report_whatever_became_of_the_hook() {
    let sandbox = Sandbox::new();
    let run = |program: &str, timeout: u32| {
        serde_json::json!({"on": "turn-finished", "run": [program, "-c", "exit 3", "S3CRET", "Authorization: Bearer S3CRET"],
            "timeout": timeout})
    };
    let kept = [
        run("sh", 1),
        run("S3CRETless", 1),
        run("/etc/passwd", 1),
        run("sh", 0),
        run(" ", 1),
    ];
    let kept = serde_json::json!({"hooks": kept})
        .to_string()
        .replace("S3CRETless", "nothing");
    sandbox.hooks(&kept);
    let run = sandbox.fire("turn-finished");
    run.reports(5);
    for text in [
        run.stderr.clone(),
        run.stdout.clone(),
        format!("{:?}", sandbox.log()),
    ] {
        assert!(!text.contains("S3CRET"), "{text}");
    }
    // Broken in the middle of a token, too.
    sandbox.hooks(&kept[..kept.rfind("S3CRET").unwrap() + 4]);
    let run = sandbox.fire("turn-finished");
    run.reports(1);
    assert!(!run.stderr.contains("S3C"), "{run:#?}");
}

/// SPEC 6.4.
#[test]
fn a_report_is_one_short_line_that_can_neither_draw_nor_reorder() {
    let program =
        "/x\u{1b}[2J\n\r\u{7}\u{7f}\"\\\u{202e}\u{2066}\u{9b}\u{2028}\u{feff}\u{e0041}é".to_owned();
    let long = format!("/{}", "\u{202e}\"\\".repeat(5_000));
    let entries = [&program, &long]
        .map(|program| serde_json::json!({"on": "turn-finished", "run": [program]}));
    let sandbox = Sandbox::with(&serde_json::json!({"hooks": entries}).to_string());
    let directory = sandbox.work().join("\u{1b}]0;x\u{7}");
    let mut run = sandbox.command(&["fire", "turn-finished", "--directory"]);
    let output = run.arg(&directory).output().unwrap();
    let raw_log = fs::read_to_string(sandbox.home().join(".bravebot/hooks.log")).unwrap();
    for line in String::from_utf8(output.stderr)
        .unwrap()
        .split_inclusive('\n')
        .chain(raw_log.split_inclusive('\n'))
    {
        let text = line.strip_suffix('\n').expect("a whole line");
        let forbidden =
            |c: char| c.is_control() || "\u{202e}\u{2066}\u{2028}\u{feff}\u{e0041}".contains(c);
        assert!(!text.contains(forbidden), "{text:?}");
        assert!(
            line.len() <= 4096 || line.starts_with('{'),
            "{} bytes",
            line.len()
        );
    }
    // The log keeps the program as it is, for a machine.
    assert_eq!(sandbox.log()[0]["program"], program.as_str());
    assert_eq!(sandbox.log()[1]["program"], long.as_str());
}

/// SPEC 7.2, CASES 51.
#[test]
fn wrong_usage_is_1_and_nothing_runs() {
    let sandbox = Sandbox::with(&scripts(&["touch ran"]));
    for arguments in [
        &["fire"][..],
        &["fire", "nonsense"],
        &["fire", "Turn-Finished"],
        &["fire", "turn-finished", "--tool", "x"],
        &["fire", "tool-finished", "--tool", ""],
        &["fire", "tool-finished", "--tool"],
        &["fire", "turn-finished", "--nonsense"],
        &["fire", "turn-finished", "--directory", ""],
        &["fire", "turn-finished", "--withhold", "A=b"],
        &["fire", "turn-finished", "more"],
        &["fire", "turn-finished", "{}", "{}"],
        &["fire", "turn-finished", "turn-started"],
        &["--nonsense"],
        &["nonsense"],
        &[],
    ] {
        let run = sandbox.run(arguments);
        assert_eq!((run.status, run.stdout.as_str()), (1, ""), "{run:#?}");
        assert!(
            run.stderr.starts_with("bravebot-hooks: wrong usage: ")
                && run.stderr.lines().count() == 1,
            "{run:#?}"
        );
    }
    assert!(!sandbox.work().join("ran").exists());
    assert!(sandbox.log().is_empty());
}

/// SPEC 8.1, CASES 51: Codex's `notify` appends its payload.
#[test]
fn one_argument_that_begins_with_a_brace_is_ignored() {
    let sandbox = Sandbox::with(&scripts(&["cat /proc/$$/cmdline - > got"]));
    sandbox
        .run(&[
            "fire",
            "turn-finished",
            r#"{"type":"agent-turn-complete","x":"S3CRET"}"#,
        ])
        .is_silent_success();
    assert!(
        sandbox.written("got").contains("turn-finished")
            && !sandbox.written("got").contains("S3CRET")
    );
    sandbox
        .run(&["fire", "--directory=.", "turn-finished", "{"])
        .is_silent_success();
}

/// SPEC 8.4.
#[test]
fn every_flag_stands_in_the_help_and_in_the_readme() {
    let sandbox = Sandbox::new();
    let readme = include_str!("../README.md");
    for (arguments, flags) in [
        (
            &["--help"][..],
            &["fire", "turn", "check", "--help", "--version"][..],
        ),
        (
            &["fire", "--help"],
            &["--tool", "--directory", "--withhold"],
        ),
        (
            &["turn", "--help"],
            &["--directory", "--withhold", "125", "126", "127"],
        ),
        (
            &["check", "--help"],
            &["--json", "--directory", "--withhold"],
        ),
    ] {
        let run = sandbox.run(arguments);
        assert!(run.status == 0 && run.stderr.is_empty(), "{run:#?}");
        for flag in flags {
            assert!(
                run.stdout.contains(flag) && readme.contains(flag),
                "{flag}: {run:#?}"
            );
        }
    }
    for arguments in [
        &["--version"][..],
        &["fire", "--version"],
        &["turn", "--version"],
        &["check", "--version"],
    ] {
        assert_eq!(
            sandbox.run(arguments).stdout,
            concat!("bravebot-hooks ", env!("CARGO_PKG_VERSION"), "\n")
        );
    }
}

/// SPEC 7.2: several agents hand their keyboard down.
#[test]
fn standard_input_is_never_read() {
    let sandbox = Sandbox::with(&scripts(&["cat > got", "exit 3"]));
    let mut child = sandbox
        .command(&["fire", "turn-finished"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut keyboard = child.stdin.take().unwrap();
    keyboard.write_all(b"typed").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(sandbox.written("got"), "{\"event\":\"turn-finished\"}\n");
}

/// SPEC 6.5: a line is written only when it can be at once.
#[test]
fn a_standard_error_that_is_full_closed_or_gone_costs_the_line_and_not_the_turn() {
    let sandbox = Sandbox::with(&scripts(&[
        "echo one >> got; exit 3",
        "echo two >> got; exit 4",
    ]));
    let check = |how: &str, mut command: Command| {
        let status = command.stdout(Stdio::null()).status().unwrap();
        assert!(status.success(), "{how}: {status}");
        assert_eq!(
            (sandbox.written("got").as_str(), sandbox.log().len()),
            ("one\ntwo\n", 2),
            "{how}"
        );
        fs::remove_file(sandbox.work().join("got")).unwrap();
        fs::remove_file(sandbox.home().join(".bravebot/hooks.log")).unwrap();
    };
    let fire = || sandbox.command(&["fire", "turn-finished"]);

    let (_reader, full) = std::io::pipe().unwrap();
    fill(&full);
    let mut command = fire();
    command.stderr(full);
    check("a full pipe", command);

    let (reader, broken) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = fire();
    command.stderr(broken);
    check("a pipe that nobody reads", command);

    let (_reader, socket) = UnixStream::pair().unwrap();
    socket.set_nonblocking(true).unwrap();
    while (&socket).write(&[b'x'; 4096]).is_ok() {}
    socket.set_nonblocking(false).unwrap();
    let mut command = fire();
    command.stderr(Stdio::from(std::os::fd::OwnedFd::from(socket)));
    check("a full socket", command);

    let mut command = fire();
    command.stderr(fs::File::options().write(true).open("/dev/full").unwrap());
    check("a full device", command);

    // A pipe of somebody else's, which cannot be opened a second time.
    if is_root() {
        let (_reader, full) = std::io::pipe().unwrap();
        fill(&full);
        let mut command = sandbox.command_of_ordinary_user(&["fire", "turn-finished"]);
        command.stderr(full);
        check("a full pipe of another user's", command);
    }
}

/// SPEC 6.5.
#[test]
fn closed_standard_streams_cost_the_line_and_not_the_turn() {
    let sandbox = Sandbox::with(&scripts(&["echo one >> got; exit 3"]));
    Run::of(&mut sandbox.shell(&format!(
        "exec <&- >&- 2>&-; exec {BINARY} fire turn-finished"
    )))
    .is_silent_success();
    assert_eq!(
        (sandbox.written("got").as_str(), sandbox.log().len()),
        ("one\n", 1)
    );
}

fn fill(pipe: &std::io::PipeWriter) {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    let flags = |nonblock| {
        OFlag::O_WRONLY
            | if nonblock {
                OFlag::O_NONBLOCK
            } else {
                OFlag::empty()
            }
    };
    fcntl(pipe, FcntlArg::F_SETFL(flags(true))).unwrap();
    while (&*pipe).write(b"x").is_ok() {}
    fcntl(pipe, FcntlArg::F_SETFL(flags(false))).unwrap();
}

/// SPEC 6.5: the descriptor is the agent's, and stays as it was.
#[test]
fn the_agents_standard_error_is_not_made_nonblocking() {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    let sandbox = Sandbox::with(&scripts(&["exit 3"]));
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut command = sandbox.command(&["fire", "turn-finished"]);
    command.stderr(writer.try_clone().unwrap());
    assert!(command.status().unwrap().success());
    drop(command);
    let flags = OFlag::from_bits_retain(fcntl(&writer, FcntlArg::F_GETFL).unwrap());
    assert!(!flags.contains(OFlag::O_NONBLOCK), "{flags:?}");
    drop(writer);
    let mut said = String::new();
    reader.read_to_string(&mut said).unwrap();
    assert_eq!(
        said,
        "bravebot-hooks: turn-finished hook \"sh\" exited with status 3\n"
    );
}

/// SPEC 6.3: also where nobody reads until the end, as many as a pipe has room for.
#[test]
fn a_hundred_reports_wait_in_a_pipe_until_they_are_read() {
    let keys: String = (0..100)
        .map(|number| format!("\"key{number}\":1,"))
        .collect();
    let sandbox = Sandbox::with(&format!("{{{keys}\"hooks\":[]}}"));
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut command = sandbox.command(&["fire", "turn-finished"]);
    command.stderr(writer);
    assert!(command.status().unwrap().success());
    drop(command);
    let mut said = String::new();
    reader.read_to_string(&mut said).unwrap();
    assert_eq!(said.lines().count(), 100, "{said}");
}

/// SPEC 6.5, 8.5, CASES 48.
#[test]
fn a_log_that_cannot_be_written_is_said_once_and_harms_nothing() {
    for (how, prepare) in [
        ("a directory", "mkdir $log"),
        ("a FIFO", "mkfifo $log"),
        ("a link", "ln -s /dev/full $log"),
        (
            "a link to a file",
            "echo keep > $HOME/target; ln -s $HOME/target $log",
        ),
        (
            "a second hard link",
            "echo keep > $HOME/target; ln $HOME/target $log",
        ),
        ("others can write", "chmod 777 $HOME/.bravebot"),
    ] {
        let sandbox = Sandbox::with(&scripts(&[
            "echo one >> got; exit 3",
            "echo two >> got; exit 4",
        ]));
        let prepare = format!("log=$HOME/.bravebot/hooks.log; {prepare}");
        assert!(sandbox.shell(&prepare).status().unwrap().success(), "{how}");
        let run = sandbox.fire("turn-finished");
        if how == "others can write" {
            // Then the hooks file is refused as well, and what is wrong is said once.
            run.one_report_says(&["hooks.json not loaded: others can write"]);
            continue;
        }
        let reports = run.reports(3);
        assert!(
            reports[1].starts_with("hooks.log not written: ") && reports[2].contains("status 4"),
            "{how}: {run:#?}"
        );
        assert_eq!(sandbox.written("got"), "one\ntwo\n", "{how}");
        let target =
            fs::read_to_string(sandbox.home().join("target")).unwrap_or("keep\n".to_owned());
        assert_eq!(target, "keep\n", "{how}");
    }
}

/// CASES 48, as an ordinary user.
#[test]
fn a_directory_that_is_read_only_costs_the_log_alone() {
    let sandbox = Sandbox::with(&scripts(&["echo one >> got; exit 3", "exit 4"]));
    let mut command = sandbox.command_of_ordinary_user(&["fire", "turn-finished"]);
    mode(&sandbox.home().join(".bravebot"), 0o555);
    let run = Run::of(&mut command);
    let reports = run.reports(3);
    assert!(
        reports[1].starts_with("hooks.log not written: ")
            && reports[1].contains("permission denied"),
        "{run:#?}"
    );
    assert_eq!(sandbox.written("got"), "one\n");
}

/// SPEC 6.5, 8.5: where root owns the directory, so that the hooks file is pinned, no mend gives it away.
#[test]
fn a_log_in_a_directory_of_roots_is_mended_without_giving_the_directory_away() {
    let sandbox = Sandbox::with(&scripts(&["exit 3"]));
    let mut command = sandbox.command_of_ordinary_user(&["fire", "turn-finished"]);
    if !is_root() {
        return eprintln!("needs root, for a directory that the user cannot write");
    }
    let directory = sandbox.home().join(".bravebot");
    std::os::unix::fs::chown(&directory, Some(0), Some(0)).unwrap();
    let mut fire = || Run::of(&mut command);
    let mend_of = |run: &Run| {
        run.reports(2)[1]
            .split_once("; ")
            .unwrap_or_else(|| panic!("{run:#?}"))
            .1
            .to_owned()
    };

    let mend = mend_of(&fire());
    assert!(
        mend.starts_with("sudo install ") && mend.ends_with("/.bravebot/hooks.log"),
        "{mend}"
    );
    assert!(
        sandbox
            .shell(mend.strip_prefix("sudo ").unwrap())
            .status()
            .unwrap()
            .success()
    );
    fire().reports(1);
    assert_eq!(sandbox.log().len(), 1);

    fs::write(directory.join("hooks.log"), "{}\n".repeat(400_000)).unwrap();
    let mend = mend_of(&fire());
    assert!(mend.starts_with("truncate -s 0 "), "{mend}");
    assert!(sandbox.shell(&mend).status().unwrap().success());
    fire().reports(1);
    assert_eq!(
        (sandbox.log().len(), fs::metadata(&directory).unwrap().uid()),
        (1, 0)
    );
}

/// SPEC 6.5, 8.5: one that is there and cannot be opened, with the command that mends it, as an ordinary user.
#[test]
fn a_log_that_cannot_be_opened_is_said_and_mended_by_its_mend() {
    for closed in [0o000, 0o200, 0o400] {
        let sandbox = Sandbox::with(&scripts(&["exit 3"]));
        let log = sandbox.home().join(".bravebot/hooks.log");
        fs::write(&log, "").unwrap();
        mode(&log, closed);
        let run = Run::of(&mut sandbox.command_of_ordinary_user(&["fire", "turn-finished"]));
        let (_, mend) = run.reports(2)[1]
            .split_once("; ")
            .unwrap_or_else(|| panic!("{run:#?}"));
        assert!(mend.starts_with("chmod u+rw "), "{run:#?}");
        assert!(sandbox.shell(mend).status().unwrap().success());
        Run::of(&mut sandbox.command_of_ordinary_user(&["fire", "turn-finished"])).reports(1);
        assert_eq!(sandbox.log().len(), 1);
    }
}

/// SPEC 8.5: whatever the umask, and whatever the mode was.
#[test]
fn the_log_has_mode_0600() {
    for prepare in [
        "umask 0777",
        "umask 0",
        "> $HOME/.bravebot/hooks.log; chmod 666 $HOME/.bravebot/hooks.log",
    ] {
        let sandbox = Sandbox::with(&scripts(&["exit 3", "exit 4"]));
        Run::of(&mut sandbox.shell(&format!("{prepare}; exec {BINARY} fire turn-finished")))
            .reports(2);
        let metadata = fs::metadata(sandbox.home().join(".bravebot/hooks.log")).unwrap();
        assert_eq!(
            (metadata.mode() & 0o7777, sandbox.log().len()),
            (0o600, 2),
            "{prepare}"
        );
    }
}

/// SPEC 6.5, 8.5: one that cannot become the older one does not grow, and one whose directory is gone is said.
#[test]
fn a_log_that_cannot_be_rotated_or_has_lost_its_directory_is_said() {
    let sandbox = Sandbox::with(&scripts(&["exit 3", "exit 4"]));
    let log = sandbox.home().join(".bravebot/hooks.log");
    fs::create_dir(sandbox.home().join(".bravebot/hooks.log.1")).unwrap();
    fs::write(&log, "{}\n".repeat(400_000)).unwrap();
    let run = sandbox.fire("turn-finished");
    assert!(
        run.reports(3)[1].contains("hooks.log not written: the full log cannot become"),
        "{run:#?}"
    );
    assert_eq!(fs::metadata(&log).unwrap().len(), 1_200_000);

    let sandbox = Sandbox::with(&scripts(&["rm -r $HOME/.bravebot; exit 3"]));
    let run = sandbox.fire("turn-finished");
    assert!(
        run.reports(2)[1].contains(".bravebot does not exist; mkdir"),
        "{run:#?}"
    );
}

/// SPEC 8.5, as root: a log of another user's is not used.
#[test]
fn a_log_that_belongs_to_another_user_is_not_used() {
    if !is_root() {
        return eprintln!("needs root, to give a file away");
    }
    let sandbox = Sandbox::with(&scripts(&["exit 3"]));
    let log = sandbox.home().join(".bravebot/hooks.log");
    fs::write(&log, "").unwrap();
    std::os::unix::fs::chown(&log, Some(65534), None).unwrap();
    let run = sandbox.fire("turn-finished");
    assert!(
        run.reports(2)[1].contains("belongs to user 65534, and not to you; mv"),
        "{run:#?}"
    );
    assert!(sandbox.log().is_empty());
}

/// SPEC 8.5, CASES 49.
#[test]
fn every_line_is_whole_also_when_many_processes_write() {
    // Lines that a page ends in the middle of are seen by halves while they are written.
    let program = format!("/{}", "x".repeat(500));
    let entries = vec![serde_json::json!({"on": "turn-finished", "run": [program]}); 100];
    let sandbox = Sandbox::with(&serde_json::json!({"hooks": entries}).to_string());
    let fire = || {
        sandbox
            .command(&["fire", "turn-finished"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let writers: Vec<_> = (0..4).map(|_| fire()).collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    assert_eq!(sandbox.log().len(), 400);
    let text = fs::read_to_string(sandbox.home().join(".bravebot/hooks.log")).unwrap();
    assert!(!text.contains("\n\n"), "an empty line");
}

/// SPEC 8.5: past 1 MiB it becomes the older one, once, and nothing of that megabyte is lost.
#[test]
fn a_full_log_is_rotated_once_by_however_many_launchers() {
    for _ in 0..10 {
        let sandbox = Sandbox::with(&scripts(&["exit 3"; 3]));
        let (log, older) = (
            sandbox.home().join(".bravebot/hooks.log"),
            sandbox.home().join(".bravebot/hooks.log.1"),
        );
        let full = "{\"old\":true}\n".repeat(1024 * 1024 / 13 + 1);
        fs::write(&log, &full).unwrap();
        let writers: Vec<_> = (0..4)
            .map(|_| {
                sandbox
                    .command(&["fire", "turn-finished"])
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for mut writer in writers {
            assert!(writer.wait().unwrap().success());
        }
        let kept = fs::read_to_string(&older).unwrap();
        assert!(
            kept.starts_with(&full),
            "the older megabyte is lost: {} bytes",
            kept.len()
        );
        let added = kept[full.len()..].lines().count() + sandbox.log().len();
        assert_eq!(added, 12);
        assert!(fs::metadata(&log).unwrap().len() < 10_000);
    }
}

/// SPEC 8.5.
#[test]
fn a_line_after_one_that_the_disk_had_no_room_for_is_whole() {
    let sandbox = Sandbox::with(&scripts(&["exit 3"]));
    fs::write(sandbox.home().join(".bravebot/hooks.log"), "{\"time\":\"20").unwrap();
    sandbox.fire("turn-finished").reports(1);
    let text = fs::read_to_string(sandbox.home().join(".bravebot/hooks.log")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines.len() == 2 && serde_json::from_str::<serde_json::Value>(lines[1]).is_ok(),
        "{text}"
    );
}

/// SPEC 6.5: a limit on the size of files is an error of the write and not the end of the command.
#[test]
fn a_limit_on_the_size_of_files_costs_the_log_alone() {
    let sandbox = Sandbox::with(&scripts(&["exit 3", "exit 4"]));
    fs::write(
        sandbox.home().join(".bravebot/hooks.log"),
        "{}\n".repeat(1000),
    )
    .unwrap();
    let run =
        Run::of(&mut sandbox.shell(&format!("ulimit -f 1; exec {BINARY} fire turn-finished")));
    assert!(
        run.reports(3)[1].starts_with("hooks.log not written: "),
        "{run:#?}"
    );
}

/// SPEC 8.5: `fire` reads the file at each call, and says a problem on the display each time, but keeps it once.
#[test]
fn a_problem_of_the_file_is_logged_once() {
    let sandbox = Sandbox::with(
        r#"{"hooks":[{"on":"stop","run":["true"]},{"on":"turn-finished","run":["true"],"x":1}]}"#,
    );
    for _ in 0..3 {
        sandbox.fire("turn-finished").reports(2);
    }
    let log = sandbox.log();
    assert_eq!(log.len(), 2, "{log:?}");
    for line in &log {
        assert_eq!(
            (&line["failure"], line.get("moment"), line.get("program")),
            (&"file".into(), None, None),
            "{line}"
        );
    }
    // One that is part of another is another.
    sandbox.hooks(r#"{"hooks":[{"on":"sto","run":["true"]}]}"#);
    sandbox.fire("turn-finished").reports(1);
    assert_eq!(sandbox.log().len(), 3);
}

/// SPEC 1.2, CASES 50.
#[test]
fn without_a_file_there_is_no_process_no_output_and_no_log() {
    let sandbox = Sandbox::new();
    sandbox.fire("turn-finished").is_silent_success();
    assert_eq!(
        fs::read_dir(sandbox.home().join(".bravebot"))
            .unwrap()
            .count(),
        0
    );
}
