//! `turn` at a terminal: a real pseudo-terminal, with and without a shell that has job control (SPEC 8.2 and 8.6).
mod common;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};

use common::*;
use nix::fcntl::OFlag;
use nix::pty::{PtyMaster, grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::sys::signal::Signal;

/// An agent that notes each signal of the terminal in `got` and does what it is told through the gate `inbox`; `end`
/// ends it with 7.
const AGENT: &str = r#"
for signal in INT QUIT USR1; do trap "echo $signal >> got" $signal; done
exec 9<> inbox
echo $$ > agent
while read -r line <&9; do
    if [ "$line" = end ]; then exit 7; fi
    eval "$line"
done
"#;

/// The person's side of a terminal.
struct Terminal {
    master: PtyMaster,
    shown: Vec<u8>,
}

impl Terminal {
    /// Starts `words` as the leader of a session that has a new terminal.
    fn of(sandbox: &Sandbox, words: &[&str]) -> (Terminal, Beside) {
        Terminal::with(sandbox, words, |_| {})
    }

    fn with(
        sandbox: &Sandbox,
        words: &[&str],
        setting: impl FnOnce(&mut Command),
    ) -> (Terminal, Beside) {
        // Close-on-exec from the first moment: what a test beside this one starts must not hold the terminal.
        let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
        let master = posix_openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let slave = ptsname_r(&master).unwrap();
        let slave = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(OFlag::O_NOCTTY.bits())
            .open(slave)
            .unwrap();
        let mut command = sandbox.other(&[&["setsid", "--ctty"], words].concat());
        let stream = || Stdio::from(slave.try_clone().unwrap());
        command
            .stdin(stream())
            .stdout(stream())
            .stderr(stream())
            .env("TERM", "xterm")
            .env("AGENT", AGENT);
        setting(&mut command);
        (
            Terminal {
                master,
                shown: Vec::new(),
            },
            Beside::start_as_it_is(command),
        )
    }

    fn types(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    /// All that has been written to it until now.
    fn shown(&mut self) -> String {
        let mut bytes = [0; 4096];
        // Nothing now (EAGAIN), or nobody has it open any more (EIO).
        while let Ok(read) = self.master.read(&mut bytes) {
            self.shown.extend_from_slice(&bytes[..read]);
            if read == 0 {
                break;
            }
        }
        String::from_utf8_lossy(&self.shown).into_owned()
    }

    #[track_caller]
    fn shows(&mut self, text: &str) {
        self.shows_times(1, text);
    }

    #[track_caller]
    fn shows_times(&mut self, times: usize, text: &str) {
        let begin = std::time::Instant::now();
        while self.shown().matches(text).count() < times {
            assert!(
                begin.elapsed() < PATIENCE,
                "waited in vain for {text:?}, {times} times, in {:?}",
                self.shown()
            );
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    /// What was started ends, with what the terminal has shown as its output.
    #[track_caller]
    fn sees_the_end_of(&mut self, mut beside: Beside) -> Run {
        let mut run = eventually("the command at the terminal ends", || {
            self.shown();
            beside.end()
        });
        run.stdout = self.shown();
        run
    }

    /// The window is closed.
    fn goes_away(self) {}
}

/// A shell with job control; its prompts are `<1>`, `<2>` and so on.
fn shell(sandbox: &Sandbox) -> (Terminal, Beside) {
    let words = ["bash", "--norc", "--noprofile", "--noediting", "-i"];
    let (mut terminal, shell) = Terminal::with(sandbox, &words, |command| {
        command
            .env("PS1", "<\\#>")
            .env("HISTFILE", "")
            .env("HOOKS", BINARY);
    });
    terminal.shows("<1>");
    (terminal, shell)
}

/// SPEC 8.2, CASES 39.
#[test]
fn ctrl_c_ends_the_command_and_the_launcher_dies_of_it_after_turn_finished() {
    for (key, signal) in [("\x03", Signal::SIGINT), ("\x1c", Signal::SIGQUIT)] {
        let sandbox = Sandbox::of_turn(&[]);
        let command = "ulimit -c 0; echo > ready; exec sleep 1000";
        let (mut terminal, turn) =
            Terminal::of(&sandbox, &[BINARY, "turn", "--", "sh", "-c", command]);
        appears(&sandbox.work().join("ready"));
        terminal.types(key);
        let run = terminal.sees_the_end_of(turn);
        assert_eq!(run.status, -(signal as i32), "{run:#?}");
        assert!(!run.stdout.contains("bravebot-hooks"), "{run:#?}");
        sandbox.has_fired_both_once(&run);
    }
}

/// SPEC 8.2: what the terminal sends reaches COMMAND by itself, and not once more through the launcher.
#[test]
fn an_agent_that_answers_ctrl_c_itself_goes_on_and_gets_it_once() {
    for (key, name, signal) in [
        ("\x03", "INT", Signal::SIGINT),
        ("\x1c", "QUIT", Signal::SIGQUIT),
    ] {
        let sandbox = Sandbox::of_turn(&[]);
        let inbox = sandbox.gate("inbox");
        let (mut terminal, turn) =
            Terminal::of(&sandbox, &[BINARY, "turn", "--", "bash", "-c", AGENT]);
        appears(&sandbox.work().join("agent"));
        // The launcher is held until COMMAND has answered, so that a second one could not be lost in the first.
        turn.send(Signal::SIGSTOP);
        is_in_state(&turn.pid(), "T");
        terminal.types(key);
        appears(&sandbox.work().join("got"));
        turn.send(Signal::SIGCONT);
        has_taken(&turn.pid(), signal);
        // The launcher passes on one after the other: once this one is here, the other would be.
        turn.send(Signal::SIGUSR1);
        eventually("SIGUSR1 has come", || {
            sandbox.written("got").contains("USR1").then_some(())
        });
        inbox.say("echo > asked");
        appears(&sandbox.work().join("asked"));
        assert_eq!(sandbox.written("got"), format!("{name}\nUSR1\n"));
        assert_eq!(sandbox.written("moments").lines().count(), 1);
        inbox.say("end");
        let run = terminal.sees_the_end_of(turn);
        assert_eq!(run.status, 7, "{run:#?}");
        sandbox.has_fired_both_once(&run);
    }
}

/// SPEC 8.2: a script around the launcher stops, or goes on, as it would with COMMAND alone.
#[test]
fn a_script_around_the_launcher_ends_at_ctrl_c_when_the_command_died_of_it() {
    for (command, status) in [
        ("echo > ready; exec sleep 1000", -2),
        ("trap 'exit 0' INT; echo > ready; read line < gate", 5),
    ] {
        for launcher in ["", "$HOOKS turn --"] {
            let sandbox = Sandbox::of_turn(&[]);
            let _gate = sandbox.gate("gate");
            let script = format!("{launcher} sh -c \"$COMMAND\"; echo went-on; exit 5");
            let (mut terminal, shell) =
                Terminal::with(&sandbox, &["bash", "-c", &script], |outer| {
                    outer.env("HOOKS", BINARY).env("COMMAND", command);
                });
            appears(&sandbox.work().join("ready"));
            // It sleeps nowhere but where it waits for its child; before that a Ctrl-C would be for itself.
            is_in_state(&shell.pid(), "S");
            terminal.types("\x03");
            let run = terminal.sees_the_end_of(shell);
            assert_eq!(run.status, status, "{run:#?}");
            assert_eq!(run.stdout.contains("went-on"), status == 5, "{run:#?}");
            if !launcher.is_empty() {
                sandbox.has_fired_both_once(&run);
            }
        }
    }
}

/// SPEC 8.2.
#[test]
fn ctrl_c_during_turn_started_ends_its_hooks_and_no_command_starts() {
    let sandbox = Sandbox::of_turn(&[("turn-started", "echo $$ > hook; read line < gate")]);
    let _gate = sandbox.gate("gate");
    let (mut terminal, turn) = Terminal::of(&sandbox, &[BINARY, "turn", "--", "touch", "command"]);
    let hook = appears(&sandbox.work().join("hook"));
    terminal.types("\x03");
    let run = terminal.sees_the_end_of(turn);
    assert_eq!(run.status, -2, "{run:#?}");
    assert!(
        !is_alive(&hook) && !sandbox.work().join("command").exists(),
        "{run:#?}"
    );
    sandbox.has_fired_both_once(&run);
}

/// SPEC 8.2, CASES 41.
#[test]
fn ctrl_c_during_turn_finished_ends_its_hooks_and_nothing_else() {
    let sandbox = Sandbox::of_turn(&[("turn-finished", "echo $$ > hook; read line < gate")]);
    let _gate = sandbox.gate("gate");
    let (mut terminal, turn) =
        Terminal::of(&sandbox, &[BINARY, "turn", "--", "sh", "-c", "exit 3"]);
    let hook = appears(&sandbox.work().join("hook"));
    terminal.types("\x03");
    let run = terminal.sees_the_end_of(turn);
    assert_eq!(run.status, 3, "{run:#?}");
    assert!(!is_alive(&hook), "{run:#?}");
    sandbox.has_fired_both_once(&run);
}

/// SPEC 8.2.
#[test]
fn when_the_terminal_goes_away_turn_finished_fires_and_is_not_ended() {
    // One that dies of it, one that reads the end of its input, one that goes on.
    for (command, status) in [
        ("echo > ready; exec sleep 1000", -1),
        ("trap '' HUP; echo > ready; cat > /dev/null; exit 3", 3),
        (
            "trap 'exit 4' HUP; echo > ready; while :; do read line < gate; done",
            4,
        ),
    ] {
        let sandbox =
            Sandbox::of_turn(&[("turn-finished", "echo > last; read line < end; echo > done")]);
        let (_gate, end) = (sandbox.gate("gate"), sandbox.gate("end"));
        let (terminal, turn) = Terminal::of(&sandbox, &[BINARY, "turn", "--", "sh", "-c", command]);
        appears(&sandbox.work().join("ready"));
        terminal.goes_away();
        appears(&sandbox.work().join("last"));
        turn.send(Signal::SIGHUP);
        has_taken(&turn.pid(), Signal::SIGHUP);
        end.say("go");
        let run = turn.ends();
        assert_eq!(run.status, status, "{run:#?}");
        assert_eq!(sandbox.written("done"), "\n", "{run:#?}");
        sandbox.has_fired_both_once(&run);
    }
}

/// SPEC 8.2: here the shell gets the hang-up and hands it on, so that the group is sent several, one after the other. None of
/// them may reach a hook that is just being started, before it has its session.
#[test]
fn when_the_terminal_of_a_shell_goes_away_turn_finished_fires() {
    let sandbox = Sandbox::of_turn(&[("turn-finished", "echo > done")]);
    let (mut terminal, _shell) = shell(&sandbox);
    terminal.types("$HOOKS turn -- sh -c 'echo > ready; exec sleep 1000'\n");
    appears(&sandbox.work().join("ready"));
    terminal.goes_away();
    appears(&sandbox.work().join("done"));
    sandbox.has_fired_both_once(&"");
}

/// SPEC 8.2.
#[test]
fn ctrl_z_gives_the_shell_its_prompt_and_fg_goes_on() {
    let sandbox = Sandbox::of_turn(&[]);
    let (mut terminal, shell) = shell(&sandbox);
    terminal.types("$HOOKS turn -- sh -c 'echo $$ $PPID > pids; exec cat'\n");
    let pids = appears(&sandbox.work().join("pids"));
    let (agent, launcher) = pids.split_once(' ').unwrap();
    for (typed, prompt) in [("one\n", "<2>"), ("two\n", "<3>"), ("three\n", "<4>")] {
        terminal.types(typed);
        // Once as the terminal's echo, once from COMMAND.
        let line = typed.trim();
        terminal.shows_times(2, line);
        terminal.types("\x1a");
        terminal.shows(prompt);
        is_in_state(agent, "T");
        is_in_state(launcher, "T");
        terminal.types("fg\n");
        is_in_state(agent, "SR");
        is_in_state(launcher, "SR");
    }
    assert_eq!(sandbox.written("moments").lines().count(), 1);
    terminal.types("\x04");
    terminal.shows("<5>");
    terminal.types("exit $?\n");
    let run = terminal.sees_the_end_of(shell);
    assert_eq!(run.status, 0, "{run:#?}");
    sandbox.has_fired_both_once(&run);
}

/// SPEC 8.2.
#[test]
fn a_stopped_turn_goes_on_in_the_background_and_comes_back() {
    let sandbox = Sandbox::of_turn(&[]);
    let inbox = sandbox.gate("inbox");
    let (mut terminal, shell) = shell(&sandbox);
    terminal.types("$HOOKS turn -- bash -c \"$AGENT\"\n");
    let agent = appears(&sandbox.work().join("agent"));
    terminal.types("\x1a");
    terminal.shows("<2>");
    is_in_state(&agent, "T");
    terminal.types("bg\n");
    terminal.shows("<3>");
    inbox.say("echo > behind");
    appears(&sandbox.work().join("behind"));
    terminal.types("fg\n");
    terminal.shows("fg\r\n$HOOKS turn");
    // The terminal is its own again once its group is the foreground group.
    inbox.say(
        "while [ $(cut -d ' ' -f 5 /proc/$$/stat) != $(cut -d ' ' -f 8 /proc/$$/stat) ]; do :; done; echo > before",
    );
    appears(&sandbox.work().join("before"));
    terminal.types("\x03");
    appears(&sandbox.work().join("got"));
    inbox.say("end");
    terminal.shows("<4>");
    terminal.types("exit $?\n");
    let run = terminal.sees_the_end_of(shell);
    assert_eq!(run.status, 7, "{run:#?}");
    assert_eq!(sandbox.written("got"), "INT\n");
    sandbox.has_fired_both_once(&run);
}

/// SPEC 8.2: in raw mode Ctrl-Z is a character, and the program stops itself; the shell hears of it from the launcher.
#[test]
fn a_raw_mode_command_that_stops_itself_gives_the_shell_its_prompt_and_fg_goes_on() {
    for signal in ["STOP", "TSTP"] {
        for target in ["$$", "0"] {
            let sandbox = Sandbox::of_turn(&[]);
            sandbox.script(
                "agent",
                &format!(
                    "#!/bin/bash\nwhile :; do\nstty raw -echo\nprintf '[raw]'\nkey=$(dd bs=1 count=1 2> /dev/null)\n\
                     if [ \"$key\" = q ]; then stty sane; exit 3; fi\nkill -{signal} {target}\nprintf '[on]'\ndone\n"
                ),
            );
            let (mut terminal, shell) = shell(&sandbox);
            terminal.types("$HOOKS turn -- ../agent\n");
            for (round, prompt) in ["<2>", "<3>", "<4>"].into_iter().enumerate() {
                terminal.shows_times(round + 1, "[raw]");
                terminal.types("\x1a");
                terminal.shows(prompt);
                terminal.types("fg\n");
                terminal.shows_times(round + 1, "[on]");
            }
            terminal.shows_times(4, "[raw]");
            assert_eq!(sandbox.written("moments").lines().count(), 1);
            terminal.types("q");
            terminal.shows("<5>");
            terminal.types("exit $?\n");
            let run = terminal.sees_the_end_of(shell);
            assert_eq!(run.status, 3, "{run:#?}");
            sandbox.has_fired_both_once(&run);
        }
    }
}

/// SPEC 8.2.
#[test]
fn ctrl_c_at_a_shell_ends_the_turn_and_the_shell_sees_the_signal() {
    let sandbox = Sandbox::of_turn(&[]);
    let (mut terminal, shell) = shell(&sandbox);
    terminal.types("$HOOKS turn -- sh -c 'echo > ready; exec sleep 1000'\n");
    appears(&sandbox.work().join("ready"));
    terminal.types("\x03");
    terminal.shows("<2>");
    terminal.types("exit $?\n");
    let run = terminal.sees_the_end_of(shell);
    assert_eq!(run.status, 130, "{run:#?}");
    sandbox.has_fired_both_once(&run);
}

/// SPEC 8.2: in the background it stops when it reads the terminal, as COMMAND alone does.
#[test]
fn a_command_in_the_background_stops_when_it_reads_the_terminal() {
    let sandbox = Sandbox::of_turn(&[]);
    let (mut terminal, shell) = shell(&sandbox);
    terminal.types("$HOOKS turn -- sh -c 'echo $$ $PPID > pids; exec cat' &\n");
    terminal.shows("<2>");
    let pids = appears(&sandbox.work().join("pids"));
    let (agent, launcher) = pids.split_once(' ').unwrap();
    is_in_state(agent, "T");
    is_in_state(launcher, "T");
    // The shell hears of it a little later than this test sees it, and would not continue a job that it thinks is running.
    terminal.types("while ! jobs | grep -q Stopped; do :; done; echo heard-$((1 + 1))\n");
    terminal.shows("heard-2");
    terminal.types("fg\n");
    is_in_state(agent, "SR");
    terminal.types("word\n");
    terminal.shows_times(2, "word");
    terminal.types("\x04");
    terminal.shows("<4>");
    terminal.types("exit $?\n");
    let run = terminal.sees_the_end_of(shell);
    assert_eq!(run.status, 0, "{run:#?}");
    sandbox.has_fired_both_once(&run);
}

/// SPEC 8.2: in the launcher's own process group, so the terminal is COMMAND's.
#[test]
fn a_command_has_the_terminal_as_if_started_alone() {
    let sandbox = Sandbox::of_turn(&[]);
    let script = "test -t 0 && test -t 1 && test -t 2 && stty size > /dev/tty && \
        test $(cut -d ' ' -f 5 /proc/$$/stat) = $(cut -d ' ' -f 8 /proc/$$/stat) && read line && echo got-$line; exit $?";
    let (mut terminal, turn) = Terminal::of(&sandbox, &[BINARY, "turn", "--", "sh", "-c", script]);
    terminal.types("word\n");
    terminal.shows("got-word");
    let run = terminal.sees_the_end_of(turn);
    assert_eq!(run.status, 0, "{run:#?}");
    sandbox.has_fired_both_once(&run);
}

/// SPEC 8.6: the hook runs until the line has been seen, and the line is gone when COMMAND starts and at the end.
#[test]
fn a_hook_that_runs_longer_than_a_second_shows_a_line_that_disappears() {
    let sandbox = Sandbox::of_turn(&[
        ("turn-started", "read line < gate"),
        ("turn-finished", "read line < gate; echo hidden; exit 7"),
    ]);
    let gate = sandbox.gate("gate");
    let begin = std::time::Instant::now();
    let (mut terminal, turn) = Terminal::of(&sandbox, &[BINARY, "turn", "--", "echo", "command"]);
    terminal.shows("turn-started hook \"sh\"");
    assert!(begin.elapsed().as_secs() >= 1, "{:?}", terminal.shown());
    gate.say("go");
    terminal.shows("command");
    terminal.shows("turn-finished hook \"sh\"");
    gate.say("go");
    let run = terminal.sees_the_end_of(turn);
    assert_eq!(run.status, 0, "{run:#?}");
    assert!(!run.stdout.contains("hidden"), "{run:#?}");
    // What a person sees in the end: a carriage return begins the line anew, and the escape erases the rest of it.
    let mut screen = vec![String::new()];
    let text = run.stdout.replace("\x1b[?7l", "").replace("\x1b[?7h", "");
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let line = screen.last_mut().unwrap();
        if let Some(after) = rest.strip_prefix("\r\n") {
            screen.push(String::new());
            rest = after;
        } else if let Some(after) = rest.strip_prefix("\r\x1b[K") {
            line.clear();
            rest = after;
        } else if let Some(after) = rest
            .strip_prefix("\x1b[K")
            .or_else(|| rest.strip_prefix('\r'))
        {
            rest = after;
        } else {
            line.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    assert_eq!(screen.len(), 3, "{screen:?} {run:#?}");
    assert_eq!(
        (screen[0].as_str(), screen[2].as_str()),
        ("command", ""),
        "{screen:?} {run:#?}"
    );
    assert!(
        screen[1].starts_with("bravebot-hooks: turn-finished hook \"sh\""),
        "{screen:?} {run:#?}"
    );
    sandbox.has_fired_both_once(&run);
}

/// SPEC 8.6: not where a line cannot be taken back: on a pipe, in a file, with TERM=dumb or none.
#[test]
fn no_status_line_is_shown_where_it_could_not_disappear() {
    let hooks = [
        ("turn-started", "echo > first; read line < gate"),
        ("turn-finished", "exit 7"),
    ];
    let plain = [
        Sandbox::of_turn(&hooks),
        Sandbox::of_turn(&hooks),
        Sandbox::of_turn(&hooks),
        Sandbox::of_turn(&hooks),
    ];
    let gates: Vec<Gate> = plain.iter().map(|sandbox| sandbox.gate("gate")).collect();
    let turn = [BINARY, "turn", "--", "true"];
    let mut dumb = Terminal::with(&plain[0], &turn, |command| {
        command.env("TERM", "dumb");
    });
    let mut without = Terminal::with(&plain[1], &turn, |command| {
        command.env_remove("TERM");
    });
    let to_file = Beside::start(plain[2].command(&turn[1..]));
    let mut to_pipe = plain[3].command(&turn[1..]);
    let to_pipe = to_pipe
        .env("TERM", "xterm")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    for sandbox in &plain {
        appears(&sandbox.work().join("first"));
    }
    // One that does show it, and began after those: by then they have had their second.
    let sandbox = Sandbox::of_turn(&hooks);
    let gate = sandbox.gate("gate");
    let (mut terminal, last) = Terminal::of(&sandbox, &turn);
    terminal.shows("turn-started hook \"sh\"");
    for gate in gates.iter().chain([&gate]) {
        gate.say("go");
    }
    terminal.sees_the_end_of(last);
    let piped = to_pipe.wait_with_output().unwrap();
    for shown in [
        dumb.0.sees_the_end_of(dumb.1).stdout,
        without.0.sees_the_end_of(without.1).stdout,
        to_file.ends().stderr,
        String::from_utf8_lossy(&piped.stderr).into_owned(),
    ] {
        assert!(
            !shown.contains("turn-started") && !shown.contains('\x1b'),
            "{shown:?}"
        );
        assert!(
            shown.starts_with("bravebot-hooks: turn-finished hook \"sh\"")
                && shown.lines().count() == 1,
            "{shown:?}"
        );
    }
}

/// SPEC 8.6: what ends the hook takes the line away as well.
#[test]
fn ctrl_c_takes_the_status_line_away() {
    let sandbox = Sandbox::of_turn(&[("turn-finished", "read line < gate")]);
    let _gate = sandbox.gate("gate");
    let (mut terminal, turn) = Terminal::of(&sandbox, &[BINARY, "turn", "--", "true"]);
    terminal.shows("turn-finished hook \"sh\"");
    terminal.types("\x03");
    let run = terminal.sees_the_end_of(turn);
    assert_eq!(run.status, 0, "{run:#?}");
    assert!(run.stdout.ends_with("\r\x1b[K"), "{run:#?}");
    sandbox.has_fired_both_once(&run);
}

/// SPEC 8.2, 6.5: a launcher in the background that has something to say is not stopped by `stty tostop`.
#[test]
fn a_launcher_in_the_background_is_not_stopped_by_its_own_report() {
    let sandbox = Sandbox::of_turn(&[("turn-started", "exit 7"), ("turn-finished", "exit 8")]);
    let (mut terminal, shell) = shell(&sandbox);
    terminal.types("stty tostop\n");
    terminal.shows("<2>");
    terminal.types("$HOOKS turn -- true &\n");
    terminal.shows("<3>");
    eventually("the turn is over", || {
        (sandbox.log().len() == 2).then_some(())
    });
    terminal.types("wait %1; exit $?\n");
    let run = terminal.sees_the_end_of(shell);
    assert_eq!(run.status, 0, "{run:#?}");
    sandbox.has_fired_both_once(&run);
}
