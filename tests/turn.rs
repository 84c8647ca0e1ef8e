//! `turn` without a terminal (SPEC 8.2, 7.2 and 7.3). With one: terminal.rs.
mod common;
use std::ffi::{CString, OsStr};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use common::*;
use nix::sys::signal::Signal;

/// An agent that notes each signal in `got` and does what it is told through the gate `inbox`; `end` ends it with 7.
const AGENT: &str = r#"
for signal in TERM HUP USR1 USR2 INT QUIT; do trap "echo $signal >> got" $signal; done
exec 9<> inbox
echo $$ > agent
while read -r line <&9; do
    if [ "$line" = end ]; then exit 7; fi
    eval "$line"
done
"#;

/// Hooks that fail in every way there is.
const FAILING: [(&str, &str); 8] = [
    ("turn-started", "exit 7"),
    ("turn-started", "kill -KILL $$"),
    (
        "turn-started",
        "cat; echo hook; echo hook >&2; echo hook > /dev/tty; exit 2",
    ),
    ("turn-started", "sleep 1000 & exit 0"),
    ("turn-finished", "exit 7"),
    ("turn-finished", "kill -SEGV $$"),
    ("turn-finished", "cat; echo hook; echo hook >&2; exit 2"),
    ("turn-finished", "sleep 1000 & exit 0"),
];

/// What stands in `got`, once the agent has done all that was asked of it before.
fn got(sandbox: &Sandbox, inbox: &Gate) -> String {
    inbox.say("echo > asked");
    appears(&sandbox.work().join("asked"));
    fs::remove_file(sandbox.work().join("asked")).unwrap();
    sandbox.written("got")
}

/// SPEC 8.2, 7.3, CASES 40.
#[test]
fn a_turn_ends_with_the_status_of_its_command_between_its_two_moments() {
    for status in [0, 1, 2, 3, 125, 126, 127, 130, 255] {
        for scripts in [&[][..], &FAILING[..]] {
            let sandbox = Sandbox::of_turn(scripts);
            let run = sandbox.run(&[
                "turn",
                "--",
                "sh",
                "-c",
                &format!("echo command >> moments; exit {status}"),
            ]);
            assert_eq!(run.status, status, "{run:#?}");
            assert_eq!(
                sandbox.written("moments"),
                "{\"event\":\"turn-started\"}\ncommand\n{\"event\":\"turn-finished\"}\n",
                "{run:#?}"
            );
            assert_eq!(run.stdout, "", "{run:#?}");
            assert_eq!(run.stderr.lines().count(), scripts.len(), "{run:#?}");
        }
    }
}

/// SPEC 8.2, CASES 40.
#[test]
fn a_command_that_cannot_be_started_is_one_line_and_126_or_127_between_both_moments() {
    let sandbox = Sandbox::of_turn(&[]);
    sandbox.script("no-x", "#!/bin/sh\ntouch ../ran\n");
    mode(&sandbox.root().join("no-x"), 0o644);
    sandbox.script("no-interpreter-line", "touch ../ran\n");
    sandbox.script("no-interpreter", "#!/nowhere/sh\ntouch ../ran\n");
    for (command, status) in [
        ("no-such-program", 127),
        ("../no-such-program", 127),
        ("", 127),
        ("../no-interpreter", 127),
        ("../no-x", 126),
        ("/", 126),
        // A shell would run it; nothing here is one.
        ("../no-interpreter-line", 126),
        ("../no-x/below", 126),
    ] {
        let _ = fs::remove_file(sandbox.work().join("moments"));
        let run = sandbox.run(&["turn", "--", command, "argument"]);
        assert_eq!((run.status, run.stdout.as_str()), (status, ""), "{run:#?}");
        assert!(
            run.stderr.starts_with("bravebot-hooks: ") && run.stderr.lines().count() == 1,
            "{run:#?}"
        );
        assert!(!run.stderr.contains("argument"), "{run:#?}");
        sandbox.has_fired_both_once(&run);
    }
    assert!(!sandbox.root().join("ran").exists());
}

/// SPEC 8.2: found as execvp(3) finds it, relative and empty entries of PATH included.
#[test]
fn a_command_is_found_as_execvp_finds_it() {
    let sandbox = Sandbox::of_turn(&[]);
    for directory in ["first", "second"] {
        fs::create_dir(sandbox.work().join(directory)).unwrap();
        sandbox.script(
            &format!("work/{directory}/agent"),
            &format!("#!/bin/bash\necho {directory} $0\n"),
        );
    }
    sandbox.script("work/here", "#!/bin/sh\necho here\n");
    mode(&sandbox.work().join("first/agent"), 0o644);
    for (path, command) in [
        ("nowhere:first:second:/usr/bin:/bin", "agent"),
        (":/usr/bin:/bin", "here"),
    ] {
        let run = |mut outer: Command| Run::of(outer.env("PATH", path));
        let bare = run(sandbox.other(&["/usr/bin/env", command]));
        let turn = run(sandbox.command(&["turn", "--", command]));
        assert_eq!(bare.status, 0, "{bare:#?}");
        assert_eq!(
            (turn.status, &turn.stdout),
            (0, &bare.stdout),
            "{turn:#?} {bare:#?}"
        );
    }
    // Only a file without the x bit there.
    let run = Run::of(
        sandbox
            .command(&["turn", "--", "agent"])
            .env("PATH", "nowhere:first"),
    );
    assert_eq!(run.status, 126, "{run:#?}");
    // No PATH at all.
    let run = Run::of(sandbox.command(&["turn", "--", "true"]).env_remove("PATH"));
    assert_eq!(run.status, 0, "{run:#?}");
}

/// SPEC 8.2.
#[test]
fn arguments_of_a_command_pass_byte_for_byte() {
    let sandbox = Sandbox::of_turn(&[]);
    let arguments: [&[u8]; 9] = [
        b"a b",
        b"",
        b"\n",
        b"'\"`",
        b"$(id);*%s",
        b"\xff\xfe",
        b"--",
        b"--help",
        b"--directory",
    ];
    let mut command = sandbox.command(&["turn", "--", "printf", "%s\\0"]);
    let output = command
        .args(arguments.map(OsStr::from_bytes))
        .output()
        .unwrap();
    assert_eq!(
        output.stdout,
        arguments
            .map(|argument| [argument, b"\0"].concat())
            .concat(),
        "{command:?} {output:?}"
    );
}

/// SPEC 8.2: every signal that ends a process, but for the two of the C library (32 and 33).
#[test]
fn a_launcher_dies_of_the_signal_that_its_command_died_of() {
    let harmless = [17, 18, 19, 20, 21, 22, 23, 28, 32, 33];
    for signal in (1..=64).filter(|signal| !harmless.contains(signal)) {
        let sandbox = Sandbox::of_turn(&[]);
        // Not bash, which ignores SIGQUIT.
        let script = format!("ulimit -c 0; kill -{signal} $$");
        let run = Beside::start(sandbox.command(&["turn", "--", "sh", "-c", &script])).ends();
        assert_eq!((run.status, run.stderr.as_str()), (-signal, ""), "{run:#?}");
        sandbox.has_fired_both_once(&run);
    }
}

/// SPEC 8.2: also where it was ignored or blocked when the launcher started, and the command undid that.
#[test]
fn a_launcher_dies_of_a_signal_that_it_found_ignored_or_blocked() {
    for found in ["ignore", "block"] {
        for (name, number) in [("INT", 2), ("TERM", 15), ("PIPE", 13), ("RTMIN+3", 37)] {
            let sandbox = Sandbox::of_turn(&[]);
            let (found, undo) = (
                format!("--{found}-signal={name}"),
                format!("--default-signal={name}"),
            );
            let kill = format!("kill -{number} $$");
            let words = [
                "env", &found, BINARY, "turn", "--", "env", &undo, "bash", "-c", &kill,
            ];
            let run = Beside::start(sandbox.other(&words)).ends();
            assert_eq!(run.status, -number, "{run:#?}");
            sandbox.has_fired_both_once(&run);
        }
    }
}

/// SPEC 8.2, CASES 40. (Where core files go to a program, `Beside` still sees that one was made.)
#[test]
fn a_launcher_that_dies_of_sigsegv_leaves_no_core_file() {
    for signal in ["SEGV", "QUIT", "ABRT"] {
        let sandbox = Sandbox::of_turn(&[]);
        let script = format!(
            "ulimit -c unlimited; exec {BINARY} turn -- sh -c 'ulimit -c 0; kill -{signal} $$'"
        );
        let run = Beside::start(sandbox.other(&["bash", "-c", &script])).ends();
        assert!(run.status < 0, "{run:#?}");
        let files: Vec<_> = fs::read_dir(sandbox.work())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(files, ["moments"], "{run:#?}");
        sandbox.has_fired_both_once(&run);
    }
}

/// SPEC 8.2, CASES 43.
#[test]
fn a_signal_sent_to_the_launcher_alone_reaches_the_command() {
    for (signal, name) in [
        (Signal::SIGTERM, "TERM"),
        (Signal::SIGHUP, "HUP"),
        (Signal::SIGUSR1, "USR1"),
        (Signal::SIGUSR2, "USR2"),
        (Signal::SIGINT, "INT"),
        (Signal::SIGQUIT, "QUIT"),
    ] {
        // One that answers it and goes on.
        let sandbox = Sandbox::of_turn(&[]);
        let inbox = sandbox.gate("inbox");
        let turn = Beside::start(sandbox.command(&["turn", "--", "bash", "-c", AGENT]));
        appears(&sandbox.work().join("agent"));
        turn.send(signal);
        appears(&sandbox.work().join("got"));
        assert_eq!(got(&sandbox, &inbox), format!("{name}\n"));
        assert_eq!(sandbox.written("moments").lines().count(), 1);
        inbox.say("end");
        let run = turn.ends();
        assert_eq!(run.status, 7, "{run:#?}");
        sandbox.has_fired_both_once(&run);

        // One that dies of it.
        let sandbox = Sandbox::of_turn(&[]);
        let turn = Beside::start(sandbox.command(&[
            "turn",
            "--",
            "sh",
            "-c",
            "ulimit -c 0; echo > ready; exec sleep 1000",
        ]));
        appears(&sandbox.work().join("ready"));
        turn.send(signal);
        let run = turn.ends();
        assert_eq!(run.status, -(signal as i32), "{run:#?}");
        sandbox.has_fired_both_once(&run);
    }
}

/// SPEC 8.2: none that COMMAND sent, to the launcher or to the group of both.
#[test]
fn a_signal_that_the_command_sends_does_not_come_back() {
    for signal in [
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGUSR2,
        Signal::SIGINT,
        Signal::SIGQUIT,
    ] {
        for (target, own) in [("$PPID", 0), ("0", 1)] {
            let sandbox = Sandbox::of_turn(&[]);
            let inbox = sandbox.gate("inbox");
            let turn = Beside::start(sandbox.command(&["turn", "--", "bash", "-c", AGENT]));
            appears(&sandbox.work().join("agent"));
            inbox.say(&format!("kill -{} {target}", signal as i32));
            got(&sandbox, &inbox);
            has_taken(&turn.pid(), signal);
            // The launcher passes on one after the other: once this one is here, the other would be.
            turn.send(Signal::SIGUSR1);
            eventually("SIGUSR1 has come", || {
                sandbox.written("got").contains("USR1").then_some(())
            });
            let got = got(&sandbox, &inbox);
            let name = signal.as_str().strip_prefix("SIG").unwrap();
            assert_eq!(
                got.lines().filter(|line| *line == name).count(),
                own,
                "{signal} to {target}: {got}"
            );
            inbox.say("end");
            let run = turn.ends();
            assert_eq!(run.status, 7, "{run:#?}");
            sandbox.has_fired_both_once(&run);
        }
    }
}

/// SPEC 8.2: a process of the command's own is somebody else.
#[test]
fn a_signal_from_a_child_of_the_command_is_passed_on() {
    let sandbox = Sandbox::of_turn(&[]);
    let inbox = sandbox.gate("inbox");
    let turn = Beside::start(sandbox.command(&["turn", "--", "bash", "-c", AGENT]));
    appears(&sandbox.work().join("agent"));
    inbox.say("env kill -TERM $PPID; true");
    appears(&sandbox.work().join("got"));
    assert_eq!(got(&sandbox, &inbox), "TERM\n");
    inbox.say("end");
    assert_eq!(turn.ends().status, 7);
}

/// SPEC 8.2.
#[test]
fn signals_pending_when_the_command_has_ended_do_not_end_the_last_hooks() {
    for signal in [
        Signal::SIGINT,
        Signal::SIGQUIT,
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGUSR1,
    ] {
        let sandbox = Sandbox::of_turn(&[("turn-finished", "echo > last")]);
        let inbox = sandbox.gate("inbox");
        let turn = Beside::start(sandbox.command(&["turn", "--", "bash", "-c", AGENT]));
        let agent = appears(&sandbox.work().join("agent"));
        turn.send(Signal::SIGSTOP);
        is_in_state(&turn.pid(), "T");
        inbox.say("end");
        is_in_state(&agent, "Z");
        turn.send(signal);
        turn.send(Signal::SIGCONT);
        let run = turn.ends();
        assert_eq!((run.status, run.stderr.as_str()), (7, ""), "{run:#?}");
        assert_eq!(sandbox.written("last"), "\n", "{signal}");
        sandbox.has_fired_both_once(&run);
    }
}

/// SPEC 8.2: ignored signals stay ignored, for the launcher and for COMMAND.
#[test]
fn under_nohup_nobody_hears_of_a_hang_up() {
    let sandbox = Sandbox::of_turn(&[(
        "turn-started",
        "echo > first; read line < gate; echo > passed",
    )]);
    let (gate, inbox) = (sandbox.gate("gate"), sandbox.gate("inbox"));
    let turn = Beside::start(sandbox.other(&["nohup", BINARY, "turn", "--", "bash", "-c", AGENT]));
    appears(&sandbox.work().join("first"));
    turn.send(Signal::SIGHUP);
    gate.say("go");
    let agent = appears(&sandbox.work().join("agent"));
    assert_eq!(sandbox.written("passed"), "\n");
    turn.send(Signal::SIGHUP);
    send(&agent, Signal::SIGHUP);
    turn.send(Signal::SIGUSR1);
    appears(&sandbox.work().join("got"));
    assert_eq!(got(&sandbox, &inbox), "USR1\n");
    inbox.say("end");
    let run = turn.ends();
    assert_eq!(run.status, 7, "{run:#?}");
    sandbox.has_fired_both_once(&run);
}

/// SPEC 8.2: a shell without job control starts with `&` what ignores SIGINT and SIGQUIT.
#[test]
fn started_in_the_background_of_a_script_nobody_hears_of_an_interrupt() {
    let sandbox = Sandbox::of_turn(&[
        (
            "turn-started",
            "echo > first; read line < gate; echo > passed",
        ),
        (
            "turn-finished",
            "echo > last; read line < gate; echo > done",
        ),
    ]);
    let (gate, inbox) = (sandbox.gate("gate"), sandbox.gate("inbox"));
    let script = format!(
        "'{BINARY}' turn -- bash -c \"$AGENT\" & echo $! > launcher.tmp; mv launcher.tmp launcher; wait $!; exit $?"
    );
    let mut shell = sandbox.other(&["sh", "-c", &script]);
    shell.env("AGENT", AGENT);
    let shell = Beside::start(shell);
    let launcher = appears(&sandbox.work().join("launcher"));
    let interrupt = || {
        for signal in [Signal::SIGINT, Signal::SIGQUIT] {
            send(&launcher, signal);
        }
    };
    appears(&sandbox.work().join("first"));
    interrupt();
    gate.say("go");
    let agent = appears(&sandbox.work().join("agent"));
    assert_eq!(sandbox.written("passed"), "\n");
    interrupt();
    for signal in [Signal::SIGINT, Signal::SIGQUIT] {
        send(&agent, signal);
    }
    send(&launcher, Signal::SIGUSR1);
    appears(&sandbox.work().join("got"));
    assert_eq!(got(&sandbox, &inbox), "USR1\n");
    inbox.say("end");
    appears(&sandbox.work().join("last"));
    interrupt();
    gate.say("go");
    let run = shell.ends();
    assert_eq!(run.status, 7, "{run:#?}");
    assert_eq!(sandbox.written("done"), "\n");
    sandbox.has_fired_both_once(&run);
}

/// SPEC 8.2: 128 + n where it survives its own signal, as process 1 does.
#[test]
fn as_process_1_a_launcher_ends_with_128_and_the_signal() {
    if !is_root() {
        eprintln!("left out: only root makes a pid namespace everywhere");
        return;
    }
    for mount in [&[][..], &["--mount-proc"]] {
        for (script, status) in [
            ("kill -TERM $$", 143),
            // Sent by another process to the launcher, passed on.
            ("(kill -TERM 1); read line < gate", 143),
            ("kill -KILL $$", 137),
            ("kill -35 $$", 163),
            ("ulimit -c 0; kill -SEGV $$", 139),
            ("kill -TERM 1; exit 3", 3),
            ("exit 3", 3),
        ] {
            let sandbox = Sandbox::of_turn(&[]);
            let _gate = sandbox.gate("gate");
            let words = ["unshare", "--pid", "--fork", "--kill-child"];
            let turn = [BINARY, "turn", "--", "bash", "-c", script];
            let run = Beside::start(sandbox.other(&[&words[..], mount, &turn].concat())).ends();
            assert_eq!((run.status, run.stderr.as_str()), (status, ""), "{run:#?}");
            sandbox.has_fired_both_once(&run);
        }
    }
}

/// SPEC 8.2.
#[test]
fn a_signal_during_turn_started_ends_its_hooks_and_no_command_starts() {
    for signal in [
        Signal::SIGINT,
        Signal::SIGQUIT,
        Signal::SIGTERM,
        Signal::SIGHUP,
    ] {
        let sandbox = Sandbox::of_turn(&[
            ("turn-started", "echo $$ > hook; read line < gate"),
            ("turn-started", "echo > next"),
            ("turn-finished", "echo > last"),
        ]);
        let _gate = sandbox.gate("gate");
        let turn = Beside::start(sandbox.command(&["turn", "--", "touch", "command"]));
        let hook = appears(&sandbox.work().join("hook"));
        turn.send(signal);
        let run = turn.ends();
        assert_eq!(
            (run.status, run.stderr.as_str()),
            (-(signal as i32), ""),
            "{run:#?}"
        );
        assert!(!is_alive(&hook), "{run:#?}");
        assert_eq!(sandbox.written("last"), "\n", "{run:#?}");
        for skipped in ["next", "command"] {
            assert!(!sandbox.work().join(skipped).exists(), "{skipped} {run:#?}");
        }
        sandbox.has_fired_both_once(&run);
    }
}

/// SPEC 8.2, CASES 41.
#[test]
fn a_signal_during_turn_finished_ends_its_hooks_and_nothing_else() {
    for signal in [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM] {
        for (command, status) in [("exit 3", 3), ("kill -KILL $$", -9)] {
            let sandbox = Sandbox::of_turn(&[
                ("turn-finished", "echo $$ > hook; read line < gate"),
                ("turn-finished", "echo > next"),
            ]);
            let _gate = sandbox.gate("gate");
            let turn = Beside::start(sandbox.command(&["turn", "--", "sh", "-c", command]));
            let hook = appears(&sandbox.work().join("hook"));
            turn.send(signal);
            let run = turn.ends();
            assert_eq!((run.status, run.stderr.as_str()), (status, ""), "{run:#?}");
            assert!(
                !is_alive(&hook) && !sandbox.work().join("next").exists(),
                "{run:#?}"
            );
            sandbox.has_fired_both_once(&run);
        }
    }
}

/// SPEC 8.2: that is how a terminal goes away, and the person still wants to know.
#[test]
fn a_hang_up_during_turn_finished_does_not_end_its_hooks() {
    let sandbox = Sandbox::of_turn(&[(
        "turn-finished",
        "trap 'echo > ended' TERM; echo > hook; read line < gate; echo > done",
    )]);
    let gate = sandbox.gate("gate");
    let turn = Beside::start(sandbox.command(&["turn", "--", "sh", "-c", "exit 3"]));
    appears(&sandbox.work().join("hook"));
    for _ in 0..3 {
        turn.send(Signal::SIGHUP);
        has_taken(&turn.pid(), Signal::SIGHUP);
    }
    gate.say("go");
    let run = turn.ends();
    assert_eq!((run.status, run.stderr.as_str()), (3, ""), "{run:#?}");
    assert!(
        sandbox.written("done") == "\n" && !sandbox.work().join("ended").exists(),
        "{run:#?}"
    );
    sandbox.has_fired_both_once(&run);
}

/// SPEC 8.2, 7.2, CASES 51.
#[test]
fn wrong_usage_is_125_and_runs_nothing() {
    let sandbox = Sandbox::of_turn(&[]);
    for arguments in [
        &["turn"][..],
        &["turn", "--"],
        &["turn", "touch", "ran"],
        &["turn", "x", "--", "touch", "ran"],
        &["turn", "--nonsense", "--", "touch", "ran"],
        &["turn", "-x", "--", "touch", "ran"],
        &["turn", "--tool", "x", "--", "touch", "ran"],
        &["turn", "--detach", "--", "touch", "ran"],
        &["turn", "--directory"],
        &["turn", "--directory=", "--", "touch", "ran"],
        &["turn", "--withhold", "", "--", "touch", "ran"],
        &["turn", "--withhold", "A=b", "--", "touch", "ran"],
    ] {
        let run = sandbox.run(arguments);
        assert_eq!((run.status, run.stdout.as_str()), (125, ""), "{run:#?}");
        assert!(
            run.stderr.starts_with("bravebot-hooks: ") && run.stderr.lines().count() == 1,
            "{run:#?}"
        );
        assert!(
            !sandbox.work().join("ran").exists() && sandbox.written("moments").is_empty(),
            "{run:#?}"
        );
    }
}

/// SPEC 8.2, 1.2, CASES 50.
#[test]
fn without_a_file_there_is_the_command_and_nothing_else() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["turn", "--", "sh", "-c", "echo out; echo err >&2; exit 3"]);
    assert_eq!(
        (run.status, run.stdout.as_str(), run.stderr.as_str()),
        (3, "out\n", "err\n"),
        "{run:#?}"
    );
    assert_eq!(
        fs::read_dir(sandbox.home().join(".bravebot"))
            .unwrap()
            .count(),
        0
    );
}

/// SPEC 1.13: the file is read once, before the first moment.
#[test]
fn a_change_of_the_file_during_the_turn_is_not_seen() {
    let sandbox = Sandbox::of_turn(&[]);
    let run = sandbox.run(&[
        "turn",
        "--",
        "sh",
        "-c",
        "echo '{}' > ~/.bravebot/hooks.json",
    ]);
    run.is_silent_success();
    sandbox.has_fired_both_once(&run);
}

/// Runs the launcher with exactly this environment, and `cat /proc/self/environ` as its command.
fn environment_of_a_command(sandbox: &Sandbox, environment: &[CString]) -> Vec<u8> {
    use nix::fcntl::OFlag;
    use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, posix_spawn};
    use nix::sys::stat::Mode;
    let words = [BINARY, "turn", "--", "/bin/cat", "/proc/self/environ"]
        .map(|word| CString::new(word).unwrap());
    let output = sandbox.root().join("environment");
    let mut actions = PosixSpawnFileActions::init().unwrap();
    actions
        .add_open(
            1,
            output.as_path(),
            OFlag::O_WRONLY | OFlag::O_CREAT,
            Mode::from_bits_truncate(0o600),
        )
        .unwrap();
    let attributes = PosixSpawnAttr::init().unwrap();
    let pid = posix_spawn(
        words[0].as_c_str(),
        &actions,
        &attributes,
        &words,
        environment,
    )
    .unwrap();
    let status = nix::sys::wait::waitpid(pid, None).unwrap();
    assert_eq!(status, nix::sys::wait::WaitStatus::Exited(pid, 0));
    fs::read(output).unwrap()
}

fn environment(sandbox: &Sandbox, entries: &[&[u8]]) -> Vec<CString> {
    let home = [b"HOME=", sandbox.home().as_os_str().as_bytes()].concat();
    let entries = entries
        .iter()
        .map(|entry| entry.to_vec())
        .chain([home, b"PATH=/usr/bin:/bin".to_vec()]);
    entries.map(|entry| CString::new(entry).unwrap()).collect()
}

/// SPEC 8.2: nothing is withheld from COMMAND, added or put in another order.
#[test]
fn a_command_has_the_environment_of_the_launcher_byte_for_byte() {
    let sandbox = Sandbox::new();
    let environment = environment(
        &sandbox,
        &[
            b"BYTES=\xff\xfe\n\x1b[31m",
            b"\xff\xfe=name",
            b"EMPTY=",
            b"TWICE=1",
            b"TWICE=2",
            b"=odd=1",
            b"OPENAI_API_KEY=canary",
            b"ANTHROPIC_API_KEY=canary",
            b"GITHUB_TOKEN=canary",
            b"PWD=/somewhere/else",
            b"OLDPWD=/somewhere",
            b"_=/usr/bin/bravebot-hooks",
        ],
    );
    let expected: Vec<u8> = environment
        .iter()
        .flat_map(|entry| entry.to_bytes_with_nul())
        .copied()
        .collect();
    let found = environment_of_a_command(&sandbox, &environment);
    assert!(
        found == expected,
        "{}\n{}",
        String::from_utf8_lossy(&found),
        String::from_utf8_lossy(&expected)
    );
}

/// SPEC 8.2: entries that are no assignments too.
#[test]
fn a_command_has_what_else_stands_in_the_environment() {
    let sandbox = Sandbox::new();
    let environment = environment(&sandbox, &[b"NO_EQUALS_SIGN", b"=odd", b"", b"LAST=1"]);
    let expected: Vec<u8> = environment
        .iter()
        .flat_map(|entry| entry.to_bytes_with_nul())
        .copied()
        .collect();
    let found = environment_of_a_command(&sandbox, &environment);
    assert!(
        found == expected,
        "{}\n{}",
        String::from_utf8_lossy(&found),
        String::from_utf8_lossy(&expected)
    );
}

/// SPEC 8.2, 4.1: a key that hooks do not get is the agent's to have, also one of `--withhold`.
#[test]
fn api_keys_are_withheld_from_hooks_and_not_from_the_command() {
    let sandbox = Sandbox::of_turn(&[
        ("turn-started", "env > hook"),
        ("turn-finished", "env >> hook"),
    ]);
    let mut command = sandbox.command(&["turn", "--withhold", "MINE", "--", "env"]);
    command
        .env("OPENAI_API_KEY", "canary-1")
        .env("MINE", "canary-2")
        .env("OTHER", "passes");
    let run = Run::of(&mut command);
    assert_eq!(run.status, 0, "{run:#?}");
    assert!(
        run.stdout.contains("OPENAI_API_KEY=canary-1\n") && run.stdout.contains("MINE=canary-2\n"),
        "{run:#?}"
    );
    let hook = sandbox.written("hook");
    assert!(
        !hook.contains("canary") && hook.matches("OTHER=passes\n").count() == 2,
        "{hook}"
    );
}

/// What `/proc/self/status` says of signals and rights, but for the C library's own two signals (3.6).
fn attributes(status: &str) -> Vec<String> {
    let names = [
        "Umask",
        "SigBlk",
        "SigIgn",
        "SigCgt",
        "CapInh",
        "CapPrm",
        "CapEff",
        "CapAmb",
        "NoNewPrivs",
        "Seccomp",
    ];
    let fields = status
        .lines()
        .filter_map(|line| line.split_once(":\t"))
        .filter(|(name, _)| names.contains(name));
    fields
        .map(|(name, value)| {
            let masked = u64::from_str_radix(value, 16)
                .ok()
                .filter(|_| name.starts_with("Sig"));
            masked.map_or(format!("{name} {value}"), |mask| {
                format!("{name} {:016x}", mask & !(0b11 << 31))
            })
        })
        .collect()
}

/// SPEC 8.2: SIGPIPE as it was, whichever that is; blocked stays blocked, ignored stays ignored.
#[test]
fn a_command_has_the_signal_mask_and_the_ignored_signals_of_the_launcher() {
    for scripts in [&[][..], &FAILING[..]] {
        let sandbox = Sandbox::of_turn(scripts);
        for settings in [
            &[][..],
            &["--ignore-signal=PIPE"],
            &["--default-signal=PIPE"],
            &["--block-signal=PIPE"],
            &["--ignore-signal=HUP,INT,QUIT,TERM,USR1,TSTP,TTIN,TTOU,XFSZ,WINCH,RTMIN+5"],
            &[
                "--block-signal=HUP,INT,QUIT,TERM,USR1,TSTP,TTIN,TTOU,XFSZ,CHLD,CONT,WINCH,RTMIN+5,RTMAX",
            ],
            &["--ignore-signal=USR2", "--block-signal=USR2"],
        ] {
            let with = |words: &[&str]| sandbox.other(&[&["env"], settings, words].concat());
            let bare = Run::of(&mut with(&["cat", "/proc/self/status"]));
            let turn = Run::of(&mut with(&[
                BINARY,
                "turn",
                "--",
                "cat",
                "/proc/self/status",
            ]));
            assert_eq!((bare.status, turn.status), (0, 0), "{bare:#?} {turn:#?}");
            assert_eq!(
                attributes(&turn.stdout),
                attributes(&bare.stdout),
                "{settings:?}"
            );
        }
    }
}

/// SPEC 8.2: a launcher that hears of no child would know no status.
#[test]
fn sigchld_ignored_at_the_start_is_at_its_default_in_the_command_and_no_status_is_lost() {
    let sandbox = Sandbox::of_turn(&[
        ("turn-started", "exit 7"),
        ("turn-finished", "kill -KILL $$"),
    ]);
    for setting in ["--ignore-signal=CHLD", "--block-signal=CHLD"] {
        let script = "cat /proc/$$/status; exit 3";
        let run = Beside::start(
            sandbox.other(&["env", setting, BINARY, "turn", "--", "sh", "-c", script]),
        )
        .ends();
        assert_eq!(run.status, 3, "{run:#?}");
        let ignored = attributes(&run.stdout)
            .into_iter()
            .find_map(|line| line.strip_prefix("SigIgn ").map(String::from));
        assert_eq!(ignored.as_deref(), Some("0000000000000000"), "{run:#?}");
        assert!(
            run.stderr.contains('7')
                && run.stderr.contains("SIGKILL")
                && run.stderr.lines().count() == 2,
            "{run:#?}"
        );
    }
}

/// SPEC 8.2.
#[test]
fn a_command_has_the_limits_the_priority_and_the_umask_of_the_launcher() {
    let sandbox = Sandbox::of_turn(&FAILING);
    let shown = "cat /proc/$$/limits; nice; umask; pwd; grep -c . /proc/$$/cgroup";
    let with = |words: &str| {
        let outer = format!(
            "ulimit -c unlimited; ulimit -Sn 200; ulimit -St 1000; umask 0031; exec nice -n 3 {words}"
        );
        Run::of(sandbox.other(&["bash", "-c", &outer]).env("SHOWN", shown))
    };
    let (bare, turn) = (
        with("bash -c \"$SHOWN\""),
        with(&format!("{BINARY} turn -- bash -c \"$SHOWN\"")),
    );
    assert_eq!((bare.status, turn.status), (0, 0), "{bare:#?} {turn:#?}");
    assert_eq!(turn.stdout, bare.stdout);
}

/// SPEC 8.2: closed streams stay closed, inherited descriptors stay open, and none of the launcher's own is among them.
#[test]
fn a_command_has_the_descriptors_of_the_launcher_and_no_other() {
    // All names first; what is opened later to write them down is another process's, or gone by then.
    let listing = r#"for name in /proc/$$/fd/*; do names+="$name "; done
        for name in $names; do echo "${name##*/}" >> "$OUTPUT"; readlink "$name" >> "$OUTPUT"; done"#;
    for scripts in [&[][..], &FAILING[..]] {
        let sandbox = Sandbox::of_turn(scripts);
        // A pipe with a name: the launcher opens those again for itself, and the listing shows the same one each time.
        let _gate = sandbox.gate("stderr");
        for closed in [
            "",
            "0<&-",
            "1>&-",
            "2>&-",
            "0<&- 1>&-",
            "0<&- 2>&-",
            "1>&- 2>&-",
            "0<&- 1>&- 2>&-",
        ] {
            for more in ["", "7</dev/zero 9>>nine 200<. 3<>three"] {
                let with = |launcher: &str| {
                    let _ = fs::remove_file(sandbox.work().join("listing"));
                    let script =
                        format!("exec {closed} {more}; exec {launcher} bash -c \"$LISTING\"");
                    let mut command = sandbox.other(&["bash", "-c", &script]);
                    command.env("LISTING", listing).env("OUTPUT", "listing");
                    let stderr = fs::OpenOptions::new()
                        .read(true)
                        .write(true)
                        .open(sandbox.work().join("stderr"));
                    let status = command
                        .stdout(Stdio::null())
                        .stderr(stderr.unwrap())
                        .status()
                        .unwrap();
                    let listing = sandbox.written("listing");
                    assert!(!listing.is_empty(), "{status} {command:?}");
                    listing
                };
                let (bare, turn) = (with(""), with(&format!("{BINARY} turn --")));
                assert_eq!(bare.contains("7\n/dev/zero\n"), !more.is_empty(), "{bare}");
                assert_eq!(
                    bare.starts_with("0\n/dev/null\n"),
                    !closed.contains('0'),
                    "{bare}"
                );
                assert_eq!(turn, bare, "{closed} {more} {scripts:?}");
            }
        }
    }
}

/// SPEC 8.2.
#[test]
fn a_command_is_a_child_in_the_launchers_own_process_group_and_session() {
    let sandbox = Sandbox::of_turn(&[]);
    let script = r#"cut -d " " -f 4-8 /proc/$$/stat; cut -d " " -f 1,5-8 /proc/$PPID/stat"#;
    let run = Beside::start(sandbox.command(&["turn", "--", "sh", "-c", script])).ends();
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines.len() == 2 && lines[0] == lines[1], "{run:#?}");
}

/// SPEC 8.2, CASES 42.
#[test]
fn the_streams_of_a_command_are_the_same_bytes_with_and_without_hooks() {
    // Every byte, lines without an end, more than a pipe holds.
    let input: Vec<u8> = (0..300_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let script = "echo begin >&2; tee copy; cat copy >&2; printf 'no newline'; exit 3";
    let streams = |mut command: Command| {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut stdin, mut stderr) = (child.stdin.take().unwrap(), child.stderr.take().unwrap());
        let (mut out, mut err) = (Vec::new(), Vec::new());
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let _ = stdin.write_all(&input);
                drop(stdin);
            });
            threads.spawn(|| stderr.read_to_end(&mut err).unwrap());
            child.stdout.take().unwrap().read_to_end(&mut out).unwrap();
        });
        assert_eq!(child.wait().unwrap().code(), Some(3), "{command:?}");
        (out, err)
    };
    let without = Sandbox::new();
    let (expected_out, expected_err) = streams(without.other(&["sh", "-c", script]));
    assert!(expected_out.len() > input.len() && expected_err.len() > input.len());
    for scripts in [&[][..], &FAILING[..]] {
        let sandbox = Sandbox::of_turn(scripts);
        let (out, err) = streams(sandbox.command(&["turn", "--", "sh", "-c", script]));
        assert!(
            out == expected_out,
            "{} and {} bytes",
            out.len(),
            expected_out.len()
        );
        let reports = err
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|line| line.starts_with(b"bravebot-hooks: "));
        // What stands before COMMAND's own bytes and after them: its last line has no end, so the two are cut off whole.
        let begin = err
            .windows(6)
            .position(|bytes| bytes == b"begin\n")
            .unwrap();
        assert!(
            err[begin..].starts_with(&expected_err),
            "{} and {} bytes",
            err.len(),
            expected_err.len()
        );
        let around = [&err[..begin], &err[begin + expected_err.len()..]].concat();
        assert!(
            around.is_empty() == scripts.is_empty(),
            "{}",
            String::from_utf8_lossy(&around)
        );
        assert!(
            around
                .split_inclusive(|byte| *byte == b'\n')
                .all(|line| line.starts_with(b"bravebot-hooks: ")),
            "{}",
            String::from_utf8_lossy(&around)
        );
        assert!(reports.count() <= scripts.len());
    }
}

/// SPEC 7.2: the launcher's own input is never read; all of it is COMMAND's.
#[test]
fn the_input_of_a_turn_is_left_to_the_command() {
    let sandbox = Sandbox::of_turn(&[
        ("turn-started", "cat > first"),
        ("turn-finished", "cat > last"),
    ]);
    fs::write(sandbox.work().join("input"), "one\ntwo\n").unwrap();
    let input = fs::File::open(sandbox.work().join("input")).unwrap();
    let mut command = sandbox.command(&["turn", "--", "head", "-c", "4"]);
    command.stdin(input.try_clone().unwrap());
    let run = Run::of(&mut command);
    assert_eq!(run.stdout, "one\n", "{run:#?}");
    let mut rest = String::new();
    (&input).read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "two\n");
    assert_eq!(
        sandbox.written("first") + &sandbox.written("last"),
        sandbox.written("moments")
    );
}

/// SPEC 8.2.
#[test]
fn a_directory_is_for_the_hooks_alone() {
    for name in ["../elsewhere", "absolute"] {
        let sandbox = Sandbox::of_turn(&[
            ("turn-started", "pwd > first"),
            ("turn-finished", "pwd > last; exit 7"),
        ]);
        let elsewhere = sandbox.root().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let directory = if name == "absolute" {
            elsewhere.to_str().unwrap()
        } else {
            name
        };
        let run = sandbox.run(&["turn", "--directory", directory, "--", "pwd"]);
        assert_eq!(
            (run.status, run.stdout.trim_end()),
            (0, sandbox.work().to_str().unwrap()),
            "{run:#?}"
        );
        for file in ["first", "last"] {
            let written = fs::read_to_string(elsewhere.join(file)).unwrap();
            assert_eq!(written.trim_end(), elsewhere.to_str().unwrap(), "{run:#?}");
        }
    }
    // One that is gone costs the hooks, not the turn.
    let sandbox = Sandbox::of_turn(&[]);
    let run = sandbox.run(&[
        "turn",
        "--directory",
        "nowhere",
        "--",
        "sh",
        "-c",
        "pwd; exit 3",
    ]);
    assert_eq!(
        (run.status, run.stdout.trim_end()),
        (3, sandbox.work().to_str().unwrap()),
        "{run:#?}"
    );
    assert_eq!(run.stderr.lines().count(), 2, "{run:#?}");
}

/// SPEC 3.3: COMMAND can move the turn's directory, and not choose another for the hooks.
#[test]
fn a_command_that_puts_another_directory_in_its_place_changes_nothing_for_the_hooks() {
    let sandbox = Sandbox::of_turn(&[("turn-finished", "touch ran")]);
    let swap = "cd ..; mv work moved; mkdir work";
    sandbox
        .run(&["turn", "--", "sh", "-c", swap])
        .is_silent_success();
    assert!(sandbox.root().join("moved/ran").exists() && !sandbox.work().join("ran").exists());
}

/// SPEC 8.2, also where the launcher found SIGTSTP ignored or blocked.
#[test]
fn a_launcher_stops_and_goes_on_with_its_command() {
    for (stop, found) in [
        ("STOP", ""),
        ("TSTP", ""),
        ("STOP", "--ignore-signal=TSTP"),
        ("STOP", "--block-signal=TSTP"),
    ] {
        let sandbox = Sandbox::of_turn(&[]);
        let inbox = sandbox.gate("inbox");
        let mut command = sandbox.other(&["env"]);
        command
            .args((!found.is_empty()).then_some(found))
            .args([BINARY, "turn", "--", "bash", "-c", AGENT]);
        let turn = Beside::start(command);
        let agent = appears(&sandbox.work().join("agent"));
        for round in ["1", "2", "3"] {
            inbox.say(&format!(
                "kill -{stop} $$; echo {round} > round; mv round round-{round}"
            ));
            is_in_state(&agent, "T");
            is_in_state(&turn.pid(), "T");
            turn.send(Signal::SIGCONT);
            appears(&sandbox.work().join(format!("round-{round}")));
        }
        assert_eq!(sandbox.written("moments").lines().count(), 1);
        inbox.say("end");
        let run = turn.ends();
        assert_eq!(run.status, 7, "{run:#?}");
        sandbox.has_fired_both_once(&run);
    }
}

/// SPEC 8.2: COMMAND that asks to be traced by its parent stops for it at its exec (ptrace(2)), and has not ended.
#[test]
fn a_command_that_stops_to_be_traced_has_not_ended() {
    if std::env::var_os("TRACED").is_some() {
        fs::write("traced", format!("{}\n", std::process::id())).unwrap();
        nix::sys::ptrace::traceme().unwrap();
        unreachable!("{}", Command::new("true").exec());
    }
    let sandbox = Sandbox::of_turn(&[]);
    let this = std::env::current_exe().unwrap();
    let mut command = sandbox.command(&["turn", "--", this.to_str().unwrap()]);
    command.args(["a_command_that_stops_to_be_traced_has_not_ended", "--exact"]);
    command.env("TRACED", "1");
    let turn = Beside::start(command);
    let traced = appears(&sandbox.work().join("traced"));
    is_in_state(&traced, "t");
    // It waits, and has not gone on to its last moment.
    is_in_state(&turn.pid(), "S");
    assert_eq!(sandbox.written("moments").lines().count(), 1);
    send(&traced, Signal::SIGKILL);
    let run = turn.ends();
    assert_eq!(run.status, -9, "{run:#?}");
    sandbox.has_fired_both_once(&run);
}

/// SPEC 8.2: nobody could continue it, so the kernel discards the stop.
#[test]
fn in_an_orphaned_group_a_launcher_does_not_stop() {
    let sandbox = Sandbox::of_turn(&[]);
    let inbox = sandbox.gate("inbox");
    let turn = Beside::start_as_it_is(
        sandbox.other(&["setsid", BINARY, "turn", "--", "bash", "-c", AGENT]),
    );
    let agent = appears(&sandbox.work().join("agent"));
    inbox.say("kill -STOP $$; echo > on");
    is_in_state(&agent, "T");
    has_taken(&turn.pid(), Signal::SIGCHLD);
    // It still passes on what comes.
    for signal in [Signal::SIGUSR1, Signal::SIGUSR2] {
        turn.send(signal);
        eventually("the signal is passed on", || {
            is_pending(&agent, signal).then_some(())
        });
    }
    send(&agent, Signal::SIGCONT);
    appears(&sandbox.work().join("on"));
    inbox.say("end");
    let run = turn.ends();
    assert_eq!(run.status, 7, "{run:#?}");
    sandbox.has_fired_both_once(&run);
}

/// SPEC 8.2: a process that somebody else left to the launcher is not COMMAND.
#[test]
fn a_child_that_the_launcher_did_not_start_is_not_taken_for_the_command() {
    let sandbox = Sandbox::of_turn(&[]);
    // The shell starts children and becomes the launcher, which inherits them.
    let script = format!(
        "(exit 9) & true & '{BINARY}' turn -- true & exec '{BINARY}' turn -- sh -c 'read x < gate; exit 3'"
    );
    let gate = sandbox.gate("gate");
    let turn = Beside::start(sandbox.other(&["sh", "-c", &script]));
    eventually("both turns have begun", || {
        (sandbox.written("moments").matches("started").count() == 2).then_some(())
    });
    gate.say("go");
    let run = turn.ends();
    assert_eq!(run.status, 3, "{run:#?}");
    assert_eq!(
        sandbox.written("moments").matches("started").count(),
        2,
        "{run:#?}"
    );
}

/// SPEC 5.4, 8.2: a launcher that ends leaves no hook behind and does not wait for what COMMAND left.
#[test]
fn what_a_command_leaves_running_is_its_own_affair() {
    let sandbox = Sandbox::of_turn(&[]);
    let script = "read line < gate & echo $! > left; exit 3";
    let gate = sandbox.gate("gate");
    let mut command = sandbox.command(&["turn", "--", "bash", "-c", script]);
    command
        .process_group(0)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    assert_eq!(command.status().unwrap().code(), Some(3), "{command:?}");
    let left = appears(&sandbox.work().join("left"));
    assert!(is_alive(&left));
    gate.say("go");
    ends(&left);
}
