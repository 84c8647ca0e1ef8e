//! Hosts that are strange: signals, descriptors, threads, and a launcher inside a hook inside a launcher (SPEC 2.4,
//! 3.5, 3.6, 5, 8).
//!
//! A C program drives the command; the library is in a process of its own. There is no C program that links the
//! library, which has no C interface: what such a host would bring, SIGPIPE at its default, is brought here.
mod c;
mod common;

use std::fs;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::process::Command;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bravebot_hooks::Event;
use common::*;
use nix::sys::signal::{SIGPIPE, SigSet};
use nix::unistd::{dup, pipe};

/// For sh: notes its input, what it blocks and ignores (but for the C library's own two), and its descriptors.
const LOOK: &str = "IFS= read -r line; IFS= read -r more; open=; \
    for f in /proc/$$/fd/*; do [ -L $f ] && open=\"$open ${f##*/}\"; done; \
    while read -r name mask; do case $name in \
        SigBlk:) blocked=$mask;; SigIgn:) ignored=$((0x$mask & ~0x180000000));; \
    esac; done < /proc/$$/status; \
    echo \"$line$more $blocked $ignored$open\" >> got";

const EVENTS: [Event<'_>; 3] = [
    Event::TurnStarted,
    Event::ToolFinished(None),
    Event::TurnFinished,
];
const MOMENTS: [&str; 3] = ["turn-started", "tool-finished", "turn-finished"];

/// What [`LOOK`] notes in whatever host.
fn looks_right(moment: &str) -> String {
    format!("{{\"event\":\"{moment}\"}} 0000000000000000 0 0 1 2\n")
}

/// A hooks file with these entries: moment, script for sh and bound in seconds.
fn hooks(entries: &[(&str, &str, u32)]) -> String {
    let entry = |(moment, script, timeout): &(&str, &str, u32)| {
        let run = ["sh", "-c", script];
        serde_json::json!({"on": moment, "run": run, "timeout": timeout})
    };
    serde_json::json!({"hooks": entries.iter().map(entry).collect::<Vec<_>>()}).to_string()
}

/// A hooks file in which each moment has one hook that looks.
fn looking() -> String {
    hooks(&MOMENTS.map(|moment| (moment, LOOK, 30)))
}

/// As many descriptors as a strange host has open: ten thousand, or what is allowed less a few.
fn many() -> usize {
    let limits = fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))
        .unwrap();
    let hard: usize = line
        .split_whitespace()
        .nth(1)
        .and_then(|hard| hard.parse().ok())
        .unwrap_or(usize::MAX);
    if hard < 10_200 {
        eprintln!("needs a limit of 10,200 descriptors for all of this, has {hard}");
    }
    hard.saturating_sub(200).min(10_000)
}

/// SPEC 3.5, 3.6, 5.5, 7.2, 8.2, 8.5: driven by a C program that is strange in each way, and in all of them at once.
#[test]
fn in_any_host_the_command_does_its_work_and_its_hooks_see_none_of_it() {
    let open = format!("open={}", many());
    let all = format!("pipe=default child=ignore block close=012 {open}");
    // Whether the host can know how COMMAND ended, and whether it has a standard error.
    let ways = [
        ("", true, true),
        ("pipe=default", true, true),
        ("pipe=ignore", true, true),
        ("child=ignore", false, true),
        ("block", true, true),
        ("close=0", true, true),
        ("close=12", true, false),
        ("close=012", true, false),
        (&open, true, true),
        ("reap", true, true),
        ("reap block close=02", true, false),
        (&all, false, false),
    ];
    let sandbox = Sandbox::with(&hooks(&[
        ("turn-started", LOOK, 30),
        ("turn-finished", LOOK, 30),
        ("turn-finished", "exit 6", 30),
    ]));
    let host = sandbox.root().join("host");
    if !c::compile(include_str!("c/host.c"), &host) {
        return;
    }
    let count = "ls /proc/self/fd | wc -l > open";
    let exits = format!("{count}; exit 5");
    let dies = format!("{count}; kill -KILL $$");
    let (started, finished) = (looks_right("turn-started"), looks_right("turn-finished"));
    let both = format!("{started}{finished}");
    let commands: [(&[&str], &str, &str); 4] = [
        (&["fire", "turn-finished"], "exited 0\n", &finished),
        (&["fire", "tool-finished"], "exited 0\n", ""),
        (&["turn", "--", "sh", "-c", &exits], "exited 5\n", &both),
        (&["turn", "--", "sh", "-c", &dies], "killed 9\n", &both),
    ];
    for (way, can_know, has_stderr) in ways {
        for (start, (arguments, ended, got)) in ["spawn", "fork"]
            .iter()
            .flat_map(|start| commands.map(|c| (start, c)))
        {
            let mut words = vec![host.to_str().unwrap(), start];
            words.extend(
                way.split_whitespace()
                    .chain(["--", BINARY])
                    .chain(arguments.iter().copied()),
            );
            let run = Run::of(&mut sandbox.other(&words));
            let expected = if can_know { ended } else { "lost\n" };
            let about = format!("{run:#?}\n{:#?}", sandbox.log());
            assert!(run.status == 0 && run.stdout.is_empty(), "{about}");
            assert_eq!(
                (
                    sandbox.written("ended").as_str(),
                    sandbox.written("got").as_str()
                ),
                (expected, got),
                "{about}"
            );
            // The log has the report also where there is no standard error.
            let failed = !got.is_empty();
            let logged = sandbox
                .log()
                .iter()
                .filter(|record| record["status"] == 6)
                .count();
            assert_eq!(logged, usize::from(failed), "{about}");
            assert_eq!(
                run.stderr.lines().count(),
                usize::from(failed && has_stderr),
                "{about}"
            );
            // COMMAND has what the host left open.
            if arguments[0] == "turn" && way.contains("open") {
                let open: usize = sandbox.written("open").trim().parse().unwrap();
                assert!(open >= many(), "{open} {about}");
            }
            for file in [
                "work/ended",
                "work/got",
                "work/open",
                "home/.bravebot/hooks.log",
            ] {
                let _ = fs::remove_file(sandbox.root().join(file));
            }
        }
    }
}

/// SPEC 3.5: with the disposition that a C program has, a write to a hook that is gone would kill the host.
#[test]
fn a_host_with_sigpipe_at_its_default_survives_a_thousand_hooks_that_close_their_input() {
    let test =
        "a_host_with_sigpipe_at_its_default_survives_a_thousand_hooks_that_close_their_input";
    let hooks = hooks(&[
        ("turn-started", "exec <&-", 30),
        ("turn-finished", "exec <&- >&- 2>&-; exit 7", 30),
    ]);
    in_a_process_of_its_own(test, &hooks, || {
        restore_default(SIGPIPE);
        SigSet::from(SIGPIPE).thread_unblock().unwrap();
        let (launcher, heard) = launcher();
        for _ in 0..500 {
            launcher.fire(Event::TurnStarted, here());
            launcher.fire(Event::TurnFinished, here());
        }
        assert_eq!(
            heard.reports(),
            ["turn-finished hook \"sh\" exited with status 7"; 500]
        );
        assert!(!is_ignored(SIGPIPE));
    });
}

/// SPEC 3.6, 5.1, 5.7: nor does the one who waits need a signal.
#[test]
fn a_thread_that_blocks_all_signals_fires_ends_and_interrupts_as_any_other() {
    let test = "a_thread_that_blocks_all_signals_fires_ends_and_interrupts_as_any_other";
    let hooks = hooks(&[
        ("turn-started", LOOK, 30),
        ("turn-started", "exit 8", 30),
        ("turn-started", "kill -TERM $$", 30),
        ("turn-started", "echo $$ > late; exec sleep 331", 1),
        ("turn-finished", "echo $$ > pid; exec sleep 332", 30),
    ]);
    in_a_process_started_by(test, &hooks, "exec env --block-signal \"$@\"", || {
        // All but SIGKILL, SIGSTOP and the C library's own two.
        assert_eq!(status_of("thread-self", "SigBlk"), "fffffffe7ffbfeff");
        let (launcher, heard) = launcher();
        launcher.fire(Event::TurnStarted, here());
        let said = [
            "exited with status 8",
            "was killed by SIGTERM",
            "was still running after 1 s and was stopped",
        ];
        assert_eq!(
            heard.reports(),
            said.map(|said| format!("turn-started hook \"sh\" {said}"))
        );
        assert_eq!(got(), looks_right("turn-started"));
        ends(&fs::read_to_string("late").unwrap());
        thread::scope(|threads| {
            threads.spawn(|| {
                appears(Path::new("pid"));
                launcher.interrupt();
            });
            launcher.fire(Event::TurnFinished, here());
        });
        ends(&fs::read_to_string("pid").unwrap());
        assert_eq!(heard.reports().len(), 3);
    });
}

/// SPEC 3.6, 5.1, 5.7: the launcher's own descriptors are far above 1024 (FD_SETSIZE) then.
#[test]
fn a_host_with_ten_thousand_inheritable_descriptors_leaks_none_and_keeps_the_bound() {
    let test = "a_host_with_ten_thousand_inheritable_descriptors_leaks_none_and_keeps_the_bound";
    let hooks = hooks(&[
        ("turn-started", LOOK, 30),
        ("turn-started", "exec sleep 333", 1),
        ("turn-started", "exit 9", 30),
        ("turn-finished", "echo $$ > pid; exec sleep 334", 30),
    ]);
    in_a_process_started_by(test, &hooks, "ulimit -n $(ulimit -Hn); exec \"$@\"", || {
        let null = fs::File::open("/dev/null").unwrap();
        // dup(2) leaves close-on-exec out.
        let _open: Vec<_> = (0..many()).map(|_| dup(&null).unwrap()).collect();
        let (launcher, heard) = launcher();
        launcher.fire(Event::TurnStarted, here());
        let said = [
            "was still running after 1 s and was stopped",
            "exited with status 9",
        ];
        assert_eq!(
            heard.reports(),
            said.map(|said| format!("turn-started hook \"sh\" {said}"))
        );
        thread::scope(|threads| {
            threads.spawn(|| {
                appears(Path::new("pid"));
                launcher.interrupt();
            });
            launcher.fire(Event::TurnFinished, here());
        });
        ends(&fs::read_to_string("pid").unwrap());
        assert_eq!(
            (heard.reports().len(), got()),
            (2, looks_right("turn-started"))
        );
    });
}

/// Runs `body` while others do each of these over and over.
fn while_others(each: &[&(dyn Fn() + Sync)], body: impl FnOnce()) {
    let over = AtomicBool::new(false);
    thread::scope(|threads| {
        for one in each {
            threads.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    one();
                }
            });
        }
        // Also where an assertion fails.
        let result = catch_unwind(AssertUnwindSafe(body));
        over.store(true, Ordering::Relaxed);
        result.unwrap_or_else(|panic| resume_unwind(panic));
    });
}

/// From 16 bytes to what malloc(3) maps by itself.
fn allocate_and_free() {
    black_box(
        (0..64)
            .map(|n| vec![1_u8; 16 << (n % 15)])
            .collect::<Vec<_>>(),
    );
}

/// The descriptors of a child that the host starts by other means than the launcher.
fn descriptors_of_a_child() -> String {
    let list = "for f in /proc/$$/fd/*; do [ -L $f ] && echo ${f##*/}; done";
    Run::of(Command::new("sh").args(["-c", list])).stdout
}

/// SPEC 2.4, 5.4: and what the host starts meanwhile has no descriptor of the launcher's.
#[test]
fn thirty_two_threads_that_allocate_fire_one_launcher() {
    in_a_process_of_its_own(
        "thirty_two_threads_that_allocate_fire_one_launcher",
        &looking(),
        || {
            let before = descriptors_of_a_child();
            let child = || assert_eq!(descriptors_of_a_child(), before);
            let (launcher, heard) = launcher();
            let begin = Barrier::new(32);
            while_others(&[&allocate_and_free, &allocate_and_free, &child], || {
                thread::scope(|threads| {
                    for number in 0..32 {
                        let (launcher, begin) = (launcher.clone(), &begin);
                        threads.spawn(move || {
                            begin.wait();
                            for _ in 0..15 {
                                launcher.fire(EVENTS[number % 3], here());
                                allocate_and_free();
                            }
                        });
                    }
                });
            });
            assert_eq!(heard.reports(), [""; 0]);
            let got = got();
            assert_eq!(got.lines().count(), 32 * 15);
            for (moment, threads) in MOMENTS.iter().zip([11, 11, 10]) {
                assert_eq!(
                    got.matches(&looks_right(moment)).count(),
                    threads * 15,
                    "{moment} {got}"
                );
            }
        },
    );
}

/// SPEC 2.4, 3.5, 3.6: launchers of their own are not serialised, so that hooks are started while others are; each has
/// its own input, its own directory and no descriptor of another's, also none that comes and goes meanwhile.
#[test]
fn thirty_two_launchers_fire_at_once_and_share_nothing() {
    in_a_process_of_its_own(
        "thirty_two_launchers_fire_at_once_and_share_nothing",
        &looking(),
        || {
            let inheritable = || {
                let null = fs::File::open("/dev/null").unwrap();
                black_box((dup(&null).unwrap(), pipe().unwrap(), dup(&null).unwrap()));
            };
            let begin = Barrier::new(32);
            while_others(&[&inheritable, &inheritable, &allocate_and_free], || {
                thread::scope(|threads| {
                    for number in 0..32 {
                        let begin = &begin;
                        threads.spawn(move || {
                            let directory = Path::new(".").join(number.to_string());
                            fs::create_dir(&directory).unwrap();
                            let (launcher, heard) = launcher();
                            begin.wait();
                            for _ in 0..15 {
                                launcher.fire(EVENTS[number % 3], &directory);
                                allocate_and_free();
                            }
                            let got = fs::read_to_string(directory.join("got")).unwrap();
                            assert_eq!(
                                (heard.reports(), got),
                                (vec![], looks_right(MOMENTS[number % 3]).repeat(15))
                            );
                        });
                    }
                });
            });
            assert_eq!(
                nix::sys::wait::waitpid(None, None),
                Err(nix::errno::Errno::ECHILD)
            );
        },
    );
}

/// SPEC 8.7: the library does not look whether it is inside a hook, so its hooks run, once; the command below it looks,
/// and sees through it.
#[test]
fn a_library_host_inside_a_hook_of_the_command_fires_and_a_command_inside_its_hook_does_not() {
    let test =
        "a_library_host_inside_a_hook_of_the_command_fires_and_a_command_inside_its_hook_does_not";
    if std::env::var_os("INSIDE").is_some() {
        let (launcher, heard) = launcher();
        launcher.fire(Event::TurnFinished, here());
        return assert_eq!(heard.reports(), [""; 0]);
    }
    let inner = format!(
        "{} {test} --exact > inner 2>&1",
        std::env::current_exe().unwrap().display()
    );
    let below = format!(
        "echo ran >> got; {BINARY} fire turn-finished 2>> said; {BINARY} fire turn-started 2>> said"
    );
    let sandbox = Sandbox::with(&hooks(&[
        ("turn-started", &inner, 30),
        ("turn-finished", &below, 30),
    ]));
    let run = Run::of(
        sandbox
            .command(&["fire", "turn-started"])
            .env("INSIDE", "1"),
    );
    assert!(
        run.status == 0 && run.stderr.is_empty(),
        "{run:#?} {}",
        sandbox.written("inner")
    );
    let said = "bravebot-hooks: no hook fired: this runs inside a hook already, and would go round without end\n";
    assert_eq!(
        (
            sandbox.written("got").as_str(),
            sandbox.written("said").as_str()
        ),
        ("ran\n", &*said.repeat(2))
    );
}

/// SPEC 5.1, 8.1, 8.2: the bound of the outer hook is SIGTERM for the launcher in it, which ends its own hook, or
/// COMMAND, and dies; and all are gone. (Where the inner hook ignores SIGTERM, its grace ends later than that of its
/// launcher: it may live on, as 5.8 has it.)
#[test]
fn a_launcher_inside_a_hook_that_is_late_ends_with_what_it_started() {
    let test = "a_launcher_inside_a_hook_that_is_late_ends_with_what_it_started";
    let turn = "exec $0 turn -- sh -c 'echo $$ > command; exec sleep 335'".replace("$0", BINARY);
    let fire = format!("exec {BINARY} fire turn-finished");
    let hooks = hooks(&[
        ("turn-started", &fire, 2),
        (
            "turn-finished",
            "[ -e command ] || { echo $$ > hook; exec sleep 336; }",
            30,
        ),
        ("tool-finished", &turn, 2),
    ]);
    in_a_process_of_its_own(test, &hooks, || {
        let (launcher, heard) = launcher();
        let late = |moment: &str| {
            format!("{moment} hook \"sh\" was still running after 2 s and was stopped")
        };
        launcher.fire(Event::TurnStarted, here());
        ends(&fs::read_to_string("hook").unwrap());
        launcher.fire(Event::ToolFinished(None), here());
        ends(&fs::read_to_string("command").unwrap());
        assert_eq!(
            heard.reports(),
            [late("turn-started"), late("tool-finished")]
        );
    });
}

/// SPEC 5.8: documented. A library host does not hear SIGTERM unless it listens: it dies, and its hook lives on.
#[test]
fn the_hook_of_a_library_host_that_dies_of_the_bound_is_nobodys() {
    let test = "the_hook_of_a_library_host_that_dies_of_the_bound_is_nobodys";
    if std::env::var_os("INSIDE").is_some() {
        return launcher().0.fire(Event::TurnFinished, here());
    }
    let inner = format!(
        "exec {} {test} --exact > inner 2>&1",
        std::env::current_exe().unwrap().display()
    );
    let sandbox = Sandbox::with(&hooks(&[
        ("turn-started", &inner, 2),
        ("turn-finished", "echo $$ > pid; exec sleep 337", 30),
    ]));
    let run = Run::of(
        sandbox
            .command(&["fire", "turn-started"])
            .env("INSIDE", "1"),
    );
    run.one_report_says(&["was still running after 2 s and was stopped"]);
    let survivor = sandbox.written("pid");
    assert!(is_alive(&survivor), "{run:#?} {}", sandbox.written("inner"));
    send(&survivor, nix::sys::signal::SIGKILL);
}
