//! The library as an agent links it (SPEC 2, 5.4, 5.5, 5.7, 6.3, 6.5, 6.6, 7.1).
mod common;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread;

use bravebot_hooks::{Event, Launcher, Moment, Progress, Report, Reporter};
use common::*;

/// Each moment writes its name to `got`.
const EACH: &str = r#"{"hooks":[
    {"on":"turn-started","run":["sh","-c","echo started >> got"]},
    {"on":"tool-finished","run":["sh","-c","echo tool >> got"]},
    {"on":"turn-finished","run":["sh","-c","echo finished >> got"]}]}"#;

/// SPEC 2.1, CASES 45: on return, on `?` and on a panic that unwinds.
#[test]
fn a_turn_is_finished_once_however_it_ends() {
    in_a_process_of_its_own("a_turn_is_finished_once_however_it_ends", EACH, || {
        let (launcher, heard) = launcher();
        drop(launcher.turn("."));
        let early = || -> Result<(), std::io::Error> {
            let turn = launcher.turn(".");
            fs::read("missing")?;
            drop(turn);
            Ok(())
        };
        assert!(early().is_err());
        let panics = catch_unwind(AssertUnwindSafe(|| {
            let turn = launcher.turn(".");
            turn.tool_finished("write_file");
            panic!("in the middle of a turn");
        }));
        assert!(panics.is_err());
        assert_eq!(
            got(),
            "started\nfinished\nstarted\nfinished\nstarted\ntool\nfinished\n"
        );
        assert!(heard.reports().is_empty());
    });
}

/// SPEC 2.3, CASES 45.
#[test]
fn delegates_fire_their_calls_and_turn_finished_comes_last() {
    let hooks = EACH.replace("echo tool >> got", "echo tool >> got; exit 6");
    in_a_process_of_its_own(
        "delegates_fire_their_calls_and_turn_finished_comes_last",
        &hooks,
        || {
            let (launcher, heard) = launcher();
            let turn = launcher.turn(".");
            thread::scope(|threads| {
                for _ in 0..3 {
                    let delegate = turn.delegate();
                    threads.spawn(move || delegate.tool_finished("write_file"));
                }
            });
            drop(turn);
            assert_eq!(got(), "started\ntool\ntool\ntool\nfinished\n");
            assert_eq!(
                heard.reports(),
                ["tool-finished hook \"sh\" exited with status 6"; 3]
            );
        },
    );
}

/// SPEC 2.4, CASES 30.
#[test]
fn one_launcher_runs_one_moment_at_a_time_whichever_thread_fires_it() {
    let script = "echo start >> got; sleep 0.01; echo end >> got";
    let entry = format!(r#"{{"on":"turn-finished","run":["sh","-c","{script}"]}}"#);
    let hooks = format!(r#"{{"hooks":[{entry},{entry}]}}"#);
    in_a_process_of_its_own(
        "one_launcher_runs_one_moment_at_a_time_whichever_thread_fires_it",
        &hooks,
        || {
            let (launcher, heard) = launcher();
            let barrier = Barrier::new(8);
            thread::scope(|threads| {
                for _ in 0..8 {
                    threads.spawn(|| {
                        barrier.wait();
                        launcher.clone().fire(Event::TurnFinished, here());
                    });
                }
            });
            assert_eq!(got(), "start\nend\n".repeat(16));
            // A moment is not split by another's either.
            assert_eq!(heard.all(), ["+turn-finished sh", "-"].repeat(16));
        },
    );
}

/// SPEC 2.2, 2.5: what the host may ask.
#[test]
fn a_host_can_ask_whether_there_is_anything_to_fire() {
    let hooks = r#"{"hooks":[{"on":"tool-finished","tool":"write_file","run":["true"]}]}"#;
    in_a_process_of_its_own(
        "a_host_can_ask_whether_there_is_anything_to_fire",
        hooks,
        || {
            let (launcher, _) = launcher();
            assert!(launcher.has_hook_for(Event::ToolFinished(Some("write_file"))));
            for event in [
                Event::ToolFinished(Some("run")),
                Event::ToolFinished(None),
                Event::TurnStarted,
                Event::TurnFinished,
            ] {
                assert!(!launcher.has_hook_for(event), "{event:?}");
            }
            assert_eq!(
                Moment::ALL.map(|moment| Moment::named(moment.name())),
                Moment::ALL.map(Some)
            );
        },
    );
}

/// SPEC 1.13, 3.4.
#[test]
fn a_change_after_the_launcher_was_made_has_no_effect() {
    in_a_process_of_its_own(
        "a_change_after_the_launcher_was_made_has_no_effect",
        EACH,
        || {
            let (launcher, _) = launcher();
            let file = Path::new(&std::env::var_os("HOME").unwrap()).join(".bravebot/hooks.json");
            fs::write(
                &file,
                r#"{"hooks":[{"on":"turn-finished","run":["touch","changed"]}]}"#,
            )
            .unwrap();
            launcher.fire(Event::TurnFinished, here());
            fs::remove_file(&file).unwrap();
            launcher.fire(Event::TurnFinished, here());
            assert_eq!(got(), "finished\nfinished\n");
            assert!(!Path::new("changed").exists());
        },
    );
}

/// SPEC 6.5, 2.4: a reporter that panics, and one that fires from inside.
#[test]
fn a_reporter_that_panics_or_fires_does_no_harm() {
    static LAUNCHER: OnceLock<Launcher> = OnceLock::new();
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in a payload");
        }
    }
    struct Panics(AtomicUsize);
    impl Reporter for Panics {
        fn report(&self, _: &Report) {
            self.0.fetch_add(1, Ordering::Relaxed);
            if let Some(launcher) = LAUNCHER.get() {
                launcher.fire(Event::TurnStarted, here());
            }
            panic!("in a reporter");
        }

        fn progress(&self, _: Progress<'_>) {
            // Panics once more where its payload is dropped.
            std::panic::panic_any(Bomb);
        }
    }
    let hooks = EACH
        .replace("echo finished >> got", "echo finished >> got; exit 3")
        .replace("\"hooks\":", "\"x\":1,\"hooks\":");
    in_a_process_of_its_own(
        "a_reporter_that_panics_or_fires_does_no_harm",
        &hooks,
        || {
            let heard = Arc::new(Panics(AtomicUsize::new(0)));
            let launcher = LAUNCHER.get_or_init(|| Launcher::new(Arc::clone(&heard)));
            launcher.fire(Event::TurnFinished, here());
            launcher.fire(Event::TurnFinished, here());
            // In the middle of another panic, too.
            let turn = catch_unwind(AssertUnwindSafe(|| {
                let _turn = launcher.turn(".");
                panic!("in a turn");
            }));
            assert!(turn.is_err());
            assert_eq!(got(), "finished\nfinished\nstarted\nfinished\n");
            assert_eq!(heard.0.load(Ordering::Relaxed), 4);
        },
    );
}

/// SPEC 6.3: which hook runs, and when it is over, before its report.
#[test]
fn a_display_is_told_which_hook_runs_and_when_it_is_over() {
    let hooks = r#"{"hooks":[{"on":"turn-finished","run":["sh","-c","exit 2"]},{"on":"turn-finished","run":["/\u001b"]}]}"#;
    in_a_process_of_its_own(
        "a_display_is_told_which_hook_runs_and_when_it_is_over",
        hooks,
        || {
            let (launcher, heard) = launcher();
            launcher.fire(Event::TurnFinished, here());
            let expected = [
                "+turn-finished sh",
                "-",
                "turn-finished hook \"sh\" exited with status 2",
                "+turn-finished /\\u{1b}",
                "-",
                "turn-finished hook \"/\\u{1b}\" could not be started: no such file",
            ];
            assert_eq!(heard.all(), expected);
        },
    );
}

/// SPEC 6.2: what a display may ask of a report, and no more.
#[test]
fn a_report_names_its_moment_and_its_program() {
    struct Keeps(Mutex<Vec<(Option<Moment>, Option<String>)>>);
    impl Reporter for Keeps {
        fn report(&self, report: &Report) {
            self.0
                .lock()
                .unwrap()
                .push((report.moment(), report.program()));
        }
    }
    let hooks = r#"{"x":1,"hooks":[{"on":"turn-finished","run":["/\u001b"]}]}"#;
    in_a_process_of_its_own("a_report_names_its_moment_and_its_program", hooks, || {
        let kept = Arc::new(Keeps(Mutex::default()));
        Launcher::new(Arc::clone(&kept)).fire(Event::TurnFinished, here());
        let expected = [
            (None, None),
            (Some(Moment::TurnFinished), Some("/\\u{1b}".to_owned())),
        ];
        assert_eq!(*kept.0.lock().unwrap(), expected);
    });
}

/// SPEC 5.7.
#[test]
fn an_interrupt_ends_the_moment_that_runs_and_no_later_one() {
    let hooks = r#"{"hooks":[
        {"on":"turn-started","run":["sh","-c","trap 'echo term >> got' TERM; echo go > ready; while :; do sleep 0.01; done"]},
        {"on":"turn-started","run":["sh","-c","echo skipped >> got"]},
        {"on":"turn-finished","run":["sh","-c","echo finished >> got"]}]}"#;
    in_a_process_of_its_own(
        "an_interrupt_ends_the_moment_that_runs_and_no_later_one",
        hooks,
        || {
            let (launcher, heard) = launcher();
            // None is running: nothing is kept for later.
            launcher.interrupt();
            thread::scope(|threads| {
                threads.spawn(|| {
                    appears(Path::new("ready"));
                    launcher.interrupt();
                });
                launcher.fire(Event::TurnStarted, here());
            });
            launcher.interrupt();
            launcher.fire(Event::TurnFinished, here());
            assert_eq!(got(), "term\nfinished\n");
            // Nor is a hook that is skipped announced.
            assert_eq!(
                heard.all(),
                ["+turn-started sh", "-", "+turn-finished sh", "-"]
            );
        },
    );
}

/// SPEC 5.7: also from inside a reporter, before the hook has started.
#[test]
fn an_interrupt_from_a_status_line_keeps_the_hook_from_starting() {
    static LAUNCHER: OnceLock<Launcher> = OnceLock::new();
    struct Interrupts;
    impl Reporter for Interrupts {
        fn report(&self, report: &Report) {
            panic!("{report}");
        }
        fn progress(&self, _: Progress<'_>) {
            LAUNCHER.get().unwrap().interrupt();
        }
    }
    in_a_process_of_its_own(
        "an_interrupt_from_a_status_line_keeps_the_hook_from_starting",
        EACH,
        || {
            LAUNCHER
                .get_or_init(|| Launcher::new(Interrupts))
                .fire(Event::TurnFinished, here());
            assert_eq!(got(), "");
        },
    );
}

/// Descriptors, threads and children of this process.
fn possessions() -> (usize, usize, String) {
    let count = |directory: &str| fs::read_dir(directory).unwrap().count();
    let children = fs::read_to_string(format!("/proc/self/task/{}/children", std::process::id()))
        .unwrap_or_default();
    (count("/proc/self/fd"), count("/proc/self/task"), children)
}

/// The anonymous memory of this process in KiB, counted page by page, since /proc/self/status lags behind.
fn memory() -> usize {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = rollup
        .lines()
        .find_map(|line| line.strip_prefix("Anonymous:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// SPEC 5.4, CASES 37: successes, failures, and programs that cannot start. As many fires as BRAVEBOT_HOOKS_FIRES says.
#[test]
fn ten_thousand_fires_leave_no_descriptor_no_thread_and_no_zombie() {
    #[derive(Default)]
    struct Counts(AtomicUsize);
    impl Reporter for Counts {
        fn report(&self, _: &Report) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let hooks = r#"{"hooks":[{"on":"turn-started","run":["true"]},{"on":"turn-started","run":["false"]},
        {"on":"turn-started","run":["/missing"]},{"on":"turn-finished","run":["true"]}]}"#;
    let fires: usize =
        std::env::var("BRAVEBOT_HOOKS_FIRES").map_or(10_000, |fires| fires.parse().unwrap());
    let host = format!("BRAVEBOT_HOOKS_FIRES={fires} exec \"$@\"");
    let test = "ten_thousand_fires_leave_no_descriptor_no_thread_and_no_zombie";
    in_a_process_started_by(test, hooks, &host, || {
        let heard = Arc::new(Counts::default());
        let launcher = Launcher::new(Arc::clone(&heard));
        let fire = |number| {
            launcher.fire(
                if number % 10 == 0 {
                    Event::TurnStarted
                } else {
                    Event::TurnFinished
                },
                here(),
            )
        };
        // By then every buffer and cache has the size it keeps.
        let warm = fires / 10;
        (0..warm).for_each(fire);
        let before = (possessions(), memory());
        (warm..fires).for_each(fire);
        let after = (possessions(), memory());
        assert_eq!(after.0, before.0);
        // Not one page is needed; the allocator gets some room. In 9,000 fires this is 15 bytes a fire, less than any
        // allocation takes.
        assert!(
            after.1 <= before.1 + 128,
            "{} KiB after {warm} fires, {} KiB after {fires}",
            before.1,
            after.1
        );
        assert_eq!(heard.0.load(Ordering::Relaxed), 2 * fires.div_ceil(10));
        // Nothing of ours is left to be waited for.
        assert_eq!(
            nix::sys::wait::waitpid(None, None),
            Err(nix::errno::Errno::ECHILD)
        );
    });
}

/// SPEC 5.5: the host ignores SIGCHLD, so the kernel reaps.
#[test]
fn a_host_that_ignores_sigchld_gets_no_hang_and_no_false_report() {
    let hooks = r#"{"hooks":[{"on":"turn-finished","run":["true"]},{"on":"turn-finished","run":["false"]},
        {"on":"turn-finished","run":["sh","-c","echo x >> got; sleep 0.01"]},
        {"on":"turn-started","run":["sleep","315"],"timeout":1}]}"#;
    let test = "a_host_that_ignores_sigchld_gets_no_hang_and_no_false_report";
    in_a_process_started_by(test, hooks, "exec env --ignore-signal=CHLD \"$@\"", || {
        assert!(is_ignored(nix::sys::signal::SIGCHLD));
        let (launcher, heard) = launcher();
        for _ in 0..100 {
            launcher.fire(Event::TurnFinished, here());
        }
        assert_eq!((heard.reports(), got()), (vec![], "x\n".repeat(100)));
        launcher.fire(Event::TurnStarted, here());
        assert_eq!(
            heard.reports(),
            ["turn-started hook \"sleep\" was still running after 1 s and was stopped"]
        );
    });
}

/// SPEC 5.5: the host reaps every child, whosever it is.
#[test]
fn a_host_that_reaps_every_child_gets_no_hang_and_no_false_report() {
    let hooks = r#"{"hooks":[{"on":"turn-finished","run":["true"]},{"on":"turn-finished","run":["sh","-c","echo x >> got"]},
        {"on":"turn-started","run":["sleep","316"],"timeout":1}]}"#;
    in_a_process_of_its_own(
        "a_host_that_reaps_every_child_gets_no_hang_and_no_false_report",
        hooks,
        || {
            struct Over<'a>(&'a AtomicBool);
            impl Drop for Over<'_> {
                fn drop(&mut self) {
                    self.0.store(true, Ordering::Relaxed);
                }
            }
            let over = AtomicBool::new(false);
            thread::scope(|threads| {
                threads.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        let _ = nix::sys::wait::waitpid(
                            None,
                            Some(nix::sys::wait::WaitPidFlag::WNOHANG),
                        );
                    }
                });
                // Also where an assertion fails.
                let _over = Over(&over);
                let (launcher, heard) = launcher();
                for _ in 0..200 {
                    launcher.fire(Event::TurnFinished, here());
                }
                assert_eq!((heard.reports(), got()), (vec![], "x\n".repeat(200)));
                launcher.fire(Event::TurnStarted, here());
                assert_eq!(
                    heard.reports(),
                    ["turn-started hook \"sleep\" was still running after 1 s and was stopped"]
                );
            });
        },
    );
}

/// SPEC 3.5, 3.6: a host that has closed its own streams, so that whatever is opened next takes their numbers.
#[test]
fn a_host_without_standard_streams_gives_a_hook_all_three() {
    let script = "cat > got && echo x && echo y >&2 && for i in 0 1 2; do readlink /proc/$$/fd/$i | grep -c null; done >> got";
    let hooks = serde_json::json!({"hooks": [{"on": "turn-finished", "run": ["sh", "-c", format!("{script}; true")]}]});
    let test = "a_host_without_standard_streams_gives_a_hook_all_three";
    in_a_process_of_its_own(test, &hooks.to_string(), || {
        use nix::unistd::{close, dup, dup2_stderr, dup2_stdin, dup2_stdout};
        let kept = (
            dup(std::io::stdin()).unwrap(),
            dup(std::io::stdout()).unwrap(),
            dup(std::io::stderr()).unwrap(),
        );
        (0..3).for_each(|stream| close(stream).unwrap());
        let (launcher, heard) = launcher();
        launcher.fire(Event::TurnFinished, here());
        dup2_stdin(&kept.0).unwrap();
        dup2_stdout(&kept.1).unwrap();
        dup2_stderr(&kept.2).unwrap();
        assert_eq!(
            (heard.reports(), got().as_str()),
            (vec![], "{\"event\":\"turn-finished\"}\n0\n0\n1\n")
        );
    });
}

/// SPEC 4.1: a host adds its own names.
#[test]
fn a_host_adds_names_to_withhold() {
    let hooks = r#"{"hooks":[{"on":"turn-finished","run":["cp","/proc/self/environ","got"]}]}"#;
    let test = "a_host_adds_names_to_withhold";
    in_a_process_started_by(test, hooks, "MY_AGENT_KEY=canary exec \"$@\"", || {
        assert_eq!(std::env::var("MY_AGENT_KEY").as_deref(), Ok("canary"));
        let launcher = Launcher::withholding(["my_agent_key".into()], Heard::default());
        launcher.fire(Event::TurnFinished, here());
        assert!(
            got().contains("PATH=") && !got().contains("canary"),
            "{}",
            got()
        );
    });
}

/// SPEC 6.6: a span a hook, warn for a report, debug otherwise; and never an argument, a value or a tool's name.
#[test]
fn the_same_facts_go_to_tracing_and_no_more() {
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};

    #[derive(Clone, Default)]
    struct Subscriber(Arc<Mutex<Vec<String>>>);
    struct Text<'a>(&'a mut String);
    impl Visit for Text<'_> {
        fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
            self.0.push_str(&format!(" {field}={value:?}"));
        }
    }
    impl tracing::Subscriber for Subscriber {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, span: &Attributes<'_>) -> Id {
            let mut text = format!("span {}", span.metadata().name());
            span.record(&mut Text(&mut text));
            self.0.lock().unwrap().push(text);
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            let mut text = event.metadata().level().to_string();
            event.record(&mut Text(&mut text));
            self.0.lock().unwrap().push(text);
        }
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }
    let hooks = r#"{"x":1,"hooks":[{"on":"tool-finished","tool":"S3CRET-tool","run":["sh","-c","exit 3","S3CRET"]},
        {"on":"tool-finished","run":["true","S3CRET"]}]}"#;
    in_a_process_started_by(
        "the_same_facts_go_to_tracing_and_no_more",
        hooks,
        "VALUE=S3CRET exec \"$@\"",
        || {
            let subscriber = Subscriber::default();
            tracing::subscriber::with_default(subscriber.clone(), || {
                launcher()
                    .0
                    .fire(Event::ToolFinished(Some("S3CRET-tool")), here());
            });
            let lines = subscriber.0.lock().unwrap().clone();
            let expected = [
                "WARN message=hooks.json:1:2: unknown key \"x\" is ignored; the file has \"hooks\" and may have \"$schema\"",
                "span hook moment=\"tool-finished\" program=sh",
                "WARN message=tool-finished hook \"sh\" exited with status 3",
                "span hook moment=\"tool-finished\" program=true",
                "DEBUG message=the hook is over",
            ];
            assert_eq!(lines, expected);
        },
    );
}

/// SPEC 6.5: a subscriber is the host's own code like a display.
#[test]
fn a_trace_that_panics_does_no_harm() {
    struct Panics;
    impl tracing::Subscriber for Panics {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, _: &tracing::Event<'_>) {
            panic!("in an event");
        }
        fn enter(&self, _: &tracing::span::Id) {
            panic!("in a span");
        }
        fn exit(&self, _: &tracing::span::Id) {}
    }
    let hooks = EACH.replace("echo finished >> got", "echo finished >> got; exit 3");
    in_a_process_of_its_own("a_trace_that_panics_does_no_harm", &hooks, || {
        let (launcher, heard) = launcher();
        tracing::subscriber::with_default(Panics, || drop(launcher.turn(".")));
        assert_eq!(got(), "started\nfinished\n");
        assert_eq!(heard.reports().len(), 1);
    });
}
