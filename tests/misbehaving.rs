//! Hooks that misbehave, and what becomes of each: of the hook, what it started, the launcher and the next hook
//! (SPEC 2.4, 3, 5, 6.1, 6.5).
//!
//! One that became root stands in tests/ending.rs, and one that fires its own moment in tests/recursion.rs.
mod c;
mod common;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use bravebot_hooks::{Event, Launcher, Report, Reporter};
use common::*;
use nix::sys::signal::Signal;

/// A way to misbehave, and what must come of it.
struct Row {
    name: &'static str,
    /// For sh, in the working directory.
    script: &'static str,
    /// Its bound in seconds.
    timeout: u32,
    /// What is reported, line for line; `{home}` and `{work}` stand for the directories.
    said: &'static [&'static str],
    /// What it, or what it started, noted in `got`.
    got: &'static str,
    /// How many processes live on: documented.
    outlive: usize,
    /// Whether the next hook of the moment can run and say so.
    next: bool,
}

/// One of a second that is still running then.
const fn late(name: &'static str, script: &'static str) -> Row {
    early(
        name,
        script,
        &["turn-finished hook \"sh\" was still running after 1 s and was stopped"],
    )
    .within(1)
}

/// One that leaves something in its group.
const fn leaving(name: &'static str, script: &'static str) -> Row {
    early(
        name,
        script,
        &["turn-finished hook \"sh\" ended but left processes behind, which were killed"],
    )
}

/// One that ends before its bound.
const fn early(name: &'static str, script: &'static str, said: &'static [&'static str]) -> Row {
    Row {
        name,
        script,
        timeout: 30,
        said,
        got: "",
        outlive: 0,
        next: true,
    }
}

impl Row {
    const fn within(self, timeout: u32) -> Row {
        Row { timeout, ..self }
    }

    const fn noting(self, got: &'static str) -> Row {
        Row { got, ..self }
    }

    const fn outlived_by(self, outlive: usize) -> Row {
        Row { outlive, ..self }
    }

    const fn keeping_the_next(self) -> Row {
        Row {
            next: false,
            ..self
        }
    }
}

/// `$b` without end, and at most a few at a time: each forks the next and ends, for as long as the test's directory is
/// there. They ignore SIGTERM, and no number lives long enough to be hit.
macro_rules! forking {
    ($then:literal) => {
        concat!(
            "trap '' TERM; touch alive; b() { [ -e alive ] && sleep 0.001 && b & }; ",
            "for chain in 1 2 3 4 5 6 7 8; do b; done; i=0; while [ $i -lt 200 ]; do sleep 340 & i=$((i+1)); done; ",
            $then
        )
    };
}

const GONE: &str = "turn-finished hook \"sh\" could not be started: the working directory cannot be entered: \
    No such file or directory";

const CATALOGUE: &[Row] = &[
    // Still running at the bound.
    late(
        "ignores what it can",
        "trap '' HUP INT QUIT TERM USR1 USR2 PIPE ALRM TSTP TTIN TTOU CONT; while :; do sleep 341; done",
    ),
    late("blocks what it can", "exec env --block-signal sleep 342"),
    late("spins", "trap '' TERM; while :; do :; done"),
    late("forks without end", forking!("while :; do sleep 343; done")),
    late("answers TERM with another child", "trap 'sleep 344 & wait' TERM; while :; do sleep 345; done"),
    late("obeys TERM, and its child does not", "(trap '' TERM; while :; do sleep 346; done) & exec sleep 347"),
    late(
        "obeys TERM, and its child needs 100 ms to clean up",
        "sh -c 'trap \"sleep 0.1; echo cleaned >> got; exit\" TERM; touch ready; while :; do sleep 0.01; done' & \
         while [ ! -e ready ]; do sleep 0.01; done; exec sleep 348",
    )
    .noting("cleaned\n"),
    late("stops itself and ignores TERM", "trap '' TERM; kill -STOP $$; while :; do sleep 349; done"),
    late("waits for a child that stops itself", "sh -c 'kill -STOP $$; echo woken >> got' & wait"),
    late("waits for what it keeps open itself", "exec 3> /proc/self/fd/0; cat >> got")
        .noting("{\"event\":\"turn-finished\"}\n"),
    late("has 300 zombies and hangs", "exec ../hook hang 300").noting("had them\n"),
    late("traces its launcher", "exec ../hook trace"),
    late("starts a session and hangs", "setsid sleep 350 & trap '' TERM; while :; do sleep 351; done").outlived_by(1),
    // Ended before it, and left something.
    leaving("forks without end and ends", forking!("exit 0")),
    leaving("ends while a child has its streams", "sleep 352 <&0 & exit 0"),
    leaving(
        "forks twice",
        "sh -c 'sh -c \"trap : TERM; touch ready; while :; do sleep 353; done\" &'; while [ ! -e ready ]; do :; done",
    ),
    leaving("leaves a child that is stopped", "sleep 354 & kill -STOP $!; exit 0"),
    // Documented: out of reach.
    early("leaves a child in a group of its own", "exec ../hook group", &[]).outlived_by(1),
    early(
        "leaves a child in a session of its own",
        "setsid sh -c 'touch ready; exec sleep 355' & while [ ! -e ready ]; do sleep 0.01; done",
        &[],
    )
    .outlived_by(1),
    // Harmless.
    early("cannot leave its own group", "exec ../hook leave", &[]).noting("stayed\n"),
    early("has 300 zombies and ends", "exec ../hook zombies 300", &[]).noting("had them\n"),
    early("closes its input at once", "exec <&-", &[]),
    early("closes all", "exec <&- >&- 2>&-; echo on >> got", &[]).noting("on\n"),
    early("writes to its input", "echo x >&0 || echo refused >> got", &[]).noting("refused\n"),
    early("floods", "head -c 100000000 /dev/zero | tee /dev/stderr; echo dry >> got", &[]).noting("dry\n"),
    early("dies with its parent", "exec setpriv --pdeathsig KILL sh -c 'sleep 0.1; echo lived >> got'", &[])
        .noting("lived\n"),
    early("renames its launcher", "echo other > /proc/$PPID/comm || echo refused >> got", &[]).noting("refused\n"),
    early("removes the file of hooks", "rm ../home/.bravebot/hooks.json", &[]),
    early("writes another file of hooks", "echo '{}' > ../home/.bravebot/hooks.json", &[]),
    // Hurts itself.
    early("kills its group", "sleep 356 & kill -KILL 0", &["turn-finished hook \"sh\" was killed by SIGKILL"]),
    early("terminates its group", "sleep 357 & kill -TERM 0", &["turn-finished hook \"sh\" was killed by SIGTERM"]),
    early(
        "limits its time",
        "ulimit -S -c 0; ulimit -S -t 1; while :; do :; done",
        &["turn-finished hook \"sh\" was killed by SIGXCPU"],
    ),
    early(
        "limits its files",
        "ulimit -c 0; ulimit -f 0; echo x > large",
        &["turn-finished hook \"sh\" was killed by SIGXFSZ"],
    ),
    early(
        "limits its descriptors",
        "ulimit -n 3; ls > /dev/null || exit 4",
        &["turn-finished hook \"sh\" exited with status 4"],
    ),
    // Hurts the launcher's surroundings.
    early(
        "removes where the log is",
        "rm -r ../home/.bravebot; exit 3",
        &[
            "turn-finished hook \"sh\" exited with status 3",
            "hooks.log not written: {home}/.bravebot does not exist; mkdir -m 0755 {home}/.bravebot",
        ],
    ),
    early("removes the turn's directory", "rm -r \"$PWD\"", &[GONE]).keeping_the_next(),
    // The next runs where the turn's directory is now.
    early("renames the turn's directory", "mv ../work ../elsewhere", &[]).keeping_the_next(),
    early("puts another in the place of the turn's directory", "mv ../work ../elsewhere; mkdir ../work", &[])
        .keeping_the_next(),
    early(
        "takes the descriptors from its launcher",
        "prlimit --pid $PPID --nofile=3",
        &[
            "turn-finished hook \"sh\" could not be started: the working directory cannot be entered: \
             Too many open files",
            "hooks.log not written: /: Too many open files; ulimit -n 1024",
        ],
    )
    .keeping_the_next(),
    early(
        "takes the files from its launcher",
        "prlimit --pid $PPID --fsize=0; exit 3",
        &[
            "turn-finished hook \"sh\" exited with status 3",
            "hooks.log not written: {home}/.bravebot/hooks.log: File too large; ulimit -f unlimited",
            "turn-finished hook \"sh\" was killed by SIGXFSZ",
        ],
    )
    .keeping_the_next(),
];

/// The processes whose working directory lies in the sandbox, also where that was removed.
fn inhabitants(sandbox: &Sandbox) -> Vec<String> {
    let root = fs::canonicalize(sandbox.root()).unwrap();
    let lives_here = |process: &fs::DirEntry| {
        let directory = fs::read_link(process.path().join("cwd"));
        // A zombie has no directory any more.
        directory.is_ok_and(|directory| directory.starts_with(&root))
    };
    let processes = fs::read_dir("/proc").unwrap().flatten().filter(lives_here);
    processes
        .filter_map(|process| process.file_name().into_string().ok())
        .collect()
}

/// Kills what lives in the sandbox when the test is over, whatever came of it.
struct Cleared<'a>(&'a Sandbox);

impl Drop for Cleared<'_> {
    fn drop(&mut self) {
        for pid in inhabitants(self.0) {
            let _ = nix::sys::signal::kill(
                nix::unistd::Pid::from_raw(pid.parse().unwrap()),
                Signal::SIGKILL,
            );
        }
    }
}

/// A hooks file of turn-finished hooks for sh.
fn scripts(scripts: &[(&str, u32)]) -> String {
    let entries = scripts.iter().map(
        |(script, timeout)| serde_json::json!({"on": "turn-finished", "run": ["sh", "-c", script], "timeout": timeout}),
    );
    serde_json::json!({"hooks": entries.collect::<Vec<_>>()}).to_string()
}

/// What follows each: it reads its input, and notes its own number and all children of the launcher, zombies too.
const NEXT: &str = "cat > input; echo $$ > number; cat /proc/$PPID/task/*/children > children";

/// What came of it against what must; `Err` says what did not hold.
fn hold(row: &Row, hook: Option<&Path>) -> Result<(), String> {
    let sandbox = Sandbox::with(&scripts(&[(row.script, row.timeout), (NEXT, 30)]));
    let _cleared = Cleared(&sandbox);
    if let Some(hook) = hook {
        fs::hard_link(hook, sandbox.root().join("hook")).unwrap();
    }
    let run = sandbox.fire("turn-finished");
    let expected: Vec<String> = row
        .said
        .iter()
        .map(|said| {
            let said = said.replace("{home}", sandbox.home().to_str().unwrap());
            format!(
                "bravebot-hooks: {}\n",
                said.replace("{work}", sandbox.work().to_str().unwrap())
            )
        })
        .collect();
    let must = |holds: bool, what: &str| {
        if holds {
            Ok(())
        } else {
            Err(format!(
                "{}: {what}: {run:#?} {:#?}",
                row.name,
                sandbox.log()
            ))
        }
    };
    must(
        run.status == 0 && run.stdout.is_empty(),
        "fire ends with 0 and no output",
    )?;
    must(run.stderr == expected.concat(), "what is reported")?;
    eventually(
        &format!("{} of {} live on: {run:#?}", row.outlive, row.name),
        || (inhabitants(&sandbox).len() == row.outlive).then_some(()),
    );
    must(
        !row.next || sandbox.written("input") == "{\"event\":\"turn-finished\"}\n",
        "the next has run",
    )?;
    must(
        sandbox.written("children").trim() == sandbox.written("number").trim(),
        "the launcher has no other child",
    )?;
    let got = [sandbox.work(), sandbox.root().join("elsewhere")]
        .map(|at| fs::read_to_string(at.join("got")));
    must(
        got.into_iter().flatten().collect::<String>() == row.got,
        "what is noted",
    )
}

/// SPEC 5.1, 5.3, 5.4, 2.4: the catalogue.
#[test]
fn whatever_a_hook_does_its_ending_is_the_stated_one_and_the_next_runs() {
    let place = Sandbox::new();
    let hook = place.root().join("hook");
    let hook = c::compile(include_str!("c/hook.c"), &hook).then_some(hook);
    let rows: Vec<&Row> = CATALOGUE
        .iter()
        .filter(|row| hook.is_some() || !row.script.contains("../hook"))
        .collect();
    let taken = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    // Most of them wait for their bound.
    thread::scope(|threads| {
        for _ in 0..6 {
            threads.spawn(|| {
                while let Some(row) = rows.get(taken.fetch_add(1, Ordering::Relaxed)) {
                    // Again on a machine so busy that a process does not get to run within the bound or the grace.
                    let again = if row.timeout == 1 { 4 } else { 0 };
                    if let Err(first) = hold(row, hook.as_deref())
                        && !(0..again).any(|_| hold(row, hook.as_deref()).is_ok())
                    {
                        failed.lock().unwrap().push(first);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Fires, and returns the log: standard error misses what a slow reader has no room for (6.5).
fn logged(sandbox: &Sandbox) -> Vec<String> {
    let run = sandbox.fire("turn-finished");
    assert!(run.status == 0 && run.stdout.is_empty(), "{run:#?}");
    sandbox
        .log()
        .iter()
        .map(|record| record["message"].as_str().unwrap().to_owned())
        .collect()
}

/// SPEC 6.1, 6.2: a report for each status but 0.
#[test]
fn each_of_256_statuses_is_reported_but_0() {
    let exits: Vec<String> = (0..256).map(|status| format!("exit {status}")).collect();
    let sandbox = Sandbox::with(&scripts(
        &exits
            .iter()
            .map(|exit| (exit.as_str(), 30))
            .collect::<Vec<_>>(),
    ));
    let expected: Vec<String> = (1..256)
        .map(|status| format!("turn-finished hook \"sh\" exited with status {status}"))
        .collect();
    assert_eq!(logged(&sandbox), expected);
}

/// SPEC 6.1, 6.2, signal(7): a report with the name for each signal that kills; none for those that do nothing.
#[test]
fn each_of_64_signals_is_reported_by_its_name_if_it_kills() {
    // SIGCHLD, SIGCONT, SIGURG and SIGWINCH are ignored by default; a stop from anything but SIGSTOP is discarded in an
    // orphaned group, which a session without a terminal is; the C library leaves its own two ignored.
    let does_nothing = [17, 18, 20, 21, 22, 23, 28, 32, 33];
    let kills: Vec<String> = (1..=64)
        .map(|signal| format!("ulimit -c 0; kill -{signal} $$"))
        .collect();
    let bound = |index: usize| {
        if index + 1 == Signal::SIGSTOP as usize {
            1
        } else {
            30
        }
    };
    let sandbox = Sandbox::with(&scripts(
        &kills
            .iter()
            .enumerate()
            .map(|(index, kill)| (kill.as_str(), bound(index)))
            .collect::<Vec<_>>(),
    ));
    let expected: Vec<String> = (1..=64)
        .filter(|signal| !does_nothing.contains(signal))
        .map(|signal| {
            let end = match Signal::try_from(signal) {
                Ok(Signal::SIGSTOP) => "was still running after 1 s and was stopped".to_owned(),
                Ok(signal) => format!("was killed by {signal}"),
                Err(_) => format!("was killed by SIGRTMIN+{}", signal - 34),
            };
            format!("turn-finished hook \"sh\" {end}")
        })
        .collect();
    assert_eq!(logged(&sandbox), expected);
}

/// SPEC 8.1, 5.8: a hook can kill its launcher as every program of this user can. Of the signals that it hears it dies
/// with its hook and without a word; of others the hook lives on: documented.
#[test]
fn a_hook_that_kills_its_launcher_keeps_the_next_from_running() {
    for (signal, outlive) in [
        (Signal::SIGINT, 0),
        (Signal::SIGQUIT, 0),
        (Signal::SIGTERM, 0),
        (Signal::SIGHUP, 0),
        (Signal::SIGKILL, 1),
        (Signal::SIGUSR1, 1),
        (Signal::SIGSEGV, 1),
    ] {
        let script = format!(
            "kill -{} $PPID; trap '' TERM; exec sleep 360",
            signal as i32
        );
        let sandbox = Sandbox::with(&scripts(&[(&script, 30), (NEXT, 30)]));
        let _cleared = Cleared(&sandbox);
        let run = sandbox.fire("turn-finished");
        let is_silent = run.stdout.is_empty() && run.stderr.is_empty() && sandbox.log().is_empty();
        assert!(
            run.status == -(signal as i32) && is_silent,
            "{signal} {run:#?}"
        );
        eventually(&format!("{outlive} live on after {signal}"), || {
            (inhabitants(&sandbox).len() == outlive).then_some(())
        });
        assert_eq!(sandbox.written("input"), "", "{signal}");
    }
}

/// SPEC 5.1, 5.8: no bound is kept meanwhile, and one that has ended when the launcher looks again is not late.
#[test]
fn a_hook_that_stops_its_launcher_is_not_late_when_it_has_ended_meanwhile() {
    let sandbox = Sandbox::with(&scripts(&[
        ("echo $$ $PPID > pids; kill -STOP $PPID; sleep 1.5", 1),
        (NEXT, 30),
    ]));
    let beside = Beside::start(sandbox.command(&["fire", "turn-finished"]));
    let pids = appears(&sandbox.work().join("pids"));
    let (hook, launcher) = pids.trim().split_once(' ').unwrap();
    is_in_state(launcher, "T");
    is_in_state(hook, "Z");
    send(launcher, Signal::SIGCONT);
    beside.ends().is_silent_success();
    assert_eq!(sandbox.written("input"), "{\"event\":\"turn-finished\"}\n");
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Reporter for Heard {
    fn report(&self, report: &Report) {
        self.0.lock().unwrap().push(report.to_string());
    }
}

/// SPEC 3.1, 5.6, 6.2: another thread puts one thing after the other in the place of the program: two versions, one
/// that is being written, one that is not executable, a text without "#!", and nothing. (A script would be opened again
/// by its interpreter, after the launcher's part; these are compiled.)
#[test]
fn a_program_that_is_replaced_while_it_starts_runs_whole_or_is_one_report() {
    let test = "a_program_that_is_replaced_while_it_starts_runs_whole_or_is_one_report";
    let hooks = r#"{"hooks":[{"on":"turn-started","run":["./program"]},{"on":"turn-finished","run":["program"]}]}"#;
    in_a_process_started_by(test, hooks, "PATH=$PWD:$PATH exec \"$@\"", || {
        let source =
            |mark: &str| format!("#define MARK \"{mark}\\n\"\n{}", include_str!("c/mark.c"));
        if !["one", "two", "busy", "plain"]
            .iter()
            .all(|name| c::compile(&source(name), Path::new(name)))
        {
            return;
        }
        mode(Path::new("plain"), 0o644);
        fs::write("text", "echo text >> got\n").unwrap();
        mode(Path::new("text"), 0o755);
        // For as long as it is in the program's place, and longer.
        let _writer = fs::OpenOptions::new().write(true).open("busy").unwrap();
        let heard = Arc::new(Heard::default());
        let launcher = Launcher::new(Arc::clone(&heard));
        let over = AtomicBool::new(false);
        thread::scope(|threads| {
            threads.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    for version in ["one", "busy", "two", "plain", "one", "text", "two"] {
                        fs::hard_link(version, "new").unwrap();
                        fs::rename("new", "program").unwrap();
                        thread::yield_now();
                    }
                    fs::remove_file("program").unwrap();
                }
            });
            for _ in 0..500 {
                launcher.fire(Event::TurnStarted, Path::new("."));
                launcher.fire(Event::TurnFinished, Path::new("."));
            }
            over.store(true, Ordering::Relaxed);
        });
        let (reports, got) = (
            heard.0.lock().unwrap().clone(),
            fs::read_to_string("got").unwrap(),
        );
        // Missing when it is started, and there again when the reason is looked for: then its interpreter is blamed.
        let reasons = [
            "interpreter",
            "no such file",
            "no program of that name in PATH",
            "permission denied",
            "busy",
            "not a program",
        ];
        for report in &reports {
            assert!(
                reasons.iter().any(|reason| report.contains(reason)),
                "{report}"
            );
        }
        assert!(
            got.lines().all(|line| line == "one" || line == "two"),
            "{got}"
        );
        assert_eq!(got.lines().count() + reports.len(), 1000);
        assert!(
            !got.is_empty() && !reports.is_empty(),
            "{} reports",
            reports.len()
        );
    });
}
