//! What the library costs: one hook, a moment without one, reading the file, and the end of a hook.
//!
//! `CARGO_PROFILE_BENCH_OPT_LEVEL=3 cargo bench --bench library [-- ROUNDS]`: as a host is compiled that links it, and
//! not for size as the command is. `SEED` repeats an order. The bench starts itself again in an environment built from
//! nothing, whose HOME is its own. Uses the public API alone.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod contest;

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn main() {}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod linux {
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::Cell;
    use std::ffi::CString;
    use std::fs::{self, File};
    use std::hint::black_box;
    use std::io::Read;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::process::{Command, ExitCode, Stdio, exit};
    use std::thread;
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    use bravebot_hooks::{Event, Launcher, Report, Reporter};
    use nix::sys::stat::Mode;

    use crate::contest::floor::Program;
    use crate::contest::place::{Place, environment, write_hooks};
    use crate::contest::{Contest, Random, rounds, target, timed};

    /// The variable by which the bench knows itself again: its directory.
    const PLACE: &str = "BRAVEBOT_HOOKS_BENCH";
    /// The variable by which it is told to fire this many moments and nothing else.
    const MOMENTS: &str = "BRAVEBOT_HOOKS_BENCH_MOMENTS";

    const AT_ONCE: &str = "int main(void) { return 0; }";
    /// Writes the time at which it ends, as the last thing it does, long after its start is over.
    const STAMP: &str = "#include <fcntl.h>
        #include <sys/mman.h>
        #include <time.h>
        #include <unistd.h>
        int main(int count, char **words) {
            int file = open(words[count - 1], O_RDWR);
            volatile long long *stamp = mmap(0, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            *stamp = 0;
            usleep(2000);
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            *stamp = now.tv_sec * 1000000000LL + now.tv_nsec;
            _exit(0);
        }";
    /// Stays for ever with a child, both with a FIFO open; called with one more word, both ignore SIGTERM.
    const STAY: &str = "#include <fcntl.h>
        #include <signal.h>
        #include <unistd.h>
        int main(int count, char **words) {
            if (count > 2) signal(SIGTERM, SIG_IGN);
            if (open(words[1], O_WRONLY) < 0) return 1;
            fork();
            for (;;) pause();
        }";

    pub(super) fn main() -> ExitCode {
        if let Some(place) = std::env::var_os(PLACE) {
            measure(Path::new(&place));
            return ExitCode::SUCCESS;
        }
        let place = Place::new();
        let home = place.home("home", None);
        place.c("at-once", AT_ONCE);
        place.c("stamp", STAMP);
        place.c("stay", STAY);
        let mut again = Command::new("sh");
        // Room for 10,000 descriptors; and no variable that a hook would not get.
        again.args(["-c", "ulimit -n 10200; unset PWD OLDPWD; exec \"$@\"", "sh"]);
        again
            .arg(std::env::current_exe().unwrap())
            .args(std::env::args_os().skip(1))
            .stdin(Stdio::null());
        again
            .env_clear()
            .envs(environment(&home))
            .env(PLACE, home.parent().unwrap());
        again.envs(std::env::var_os("SEED").map(|seed| ("SEED", seed)));
        // The heap keeps what it had (mallopt(3)): else who allocates pays for the pages that another has given back.
        again
            .env("MALLOC_TRIM_THRESHOLD_", "33554432")
            .env("MALLOC_MMAP_THRESHOLD_", "33554432");
        if again.status().unwrap().success() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }

    fn measure(place: &Path) {
        if let Ok(count) = std::env::var(MOMENTS) {
            return moments(place, count.parse().unwrap());
        }
        let mut random = Random::new();
        let rounds = rounds(1500);
        one_hook("one hook", 1.08, place, rounds, &mut random);
        let many: Result<Vec<File>, _> = (0..10_000).map(|_| File::open("/dev/null")).collect();
        match &many {
            Ok(_) => one_hook(
                "one hook, 10,000 descriptors in the host",
                1.3,
                place,
                rounds,
                &mut random,
            ),
            Err(error) => println!("\nno 10,000 descriptors to be had: {error}"),
        }
        drop(many);
        let touched = black_box(vec![1_u8; 1 << 30]);
        one_hook(
            "one hook, 1 GiB touched in the host",
            1.08,
            place,
            rounds,
            &mut random,
        );
        drop(touched);
        no_hook(place, rounds, &mut random);
        reading(place, rounds, &mut random);
        end_of_a_hook(place, rounds.div_ceil(2), &mut random);
        end_of_a_group(place, rounds.div_ceil(300));
    }

    /// Nothing may go wrong in what is measured: a report ends the bench.
    struct Loud;

    impl Reporter for Loud {
        fn report(&self, report: &Report) {
            println!("{report}");
            exit(1);
        }
    }

    struct Deaf;

    impl Reporter for Deaf {
        fn report(&self, _: &Report) {}
    }

    /// A launcher with this `hooks.json`.
    fn launcher(place: &Path, hooks: &str) -> Launcher {
        write_hooks(&place.join("home"), hooks);
        let launcher = Launcher::new(Loud);
        assert!(
            launcher.has_hook_for(Event::TurnFinished),
            "no hook in force"
        );
        launcher
    }

    fn hook(words: &[&str]) -> String {
        serde_json::json!({"hooks": [{"on": "turn-finished", "run": words, "timeout": 1}]})
            .to_string()
    }

    fn c_string(path: &Path) -> CString {
        CString::new(path.as_os_str().as_bytes()).unwrap()
    }

    const LINE: &[u8] = b"{\"event\":\"turn-finished\"}\n";
    const FLOOR: &str = "floor: posix_spawn, waitpid";
    const SAME_CALLS: &str = "the same calls, without the library";
    const FIRE: &str = "fire";

    /// All start the same static program with the same environment, and return when it is reaped.
    fn one_hook(title: &str, most_of_floor: f64, place: &Path, rounds: usize, random: &mut Random) {
        let path = place.join("at-once");
        let program = Program::new(&path, &[], std::env::vars());
        let name = path.to_str().unwrap();
        let shell = Program::new(Path::new("/bin/sh"), &["-c", name], std::env::vars());
        let launcher = launcher(place, &hook(&[name]));
        let directory = c_string(place);
        let command = || {
            let mut command = Command::new(&path);
            command
                .current_dir(place)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            command
        };
        let polled = || {
            let mut child = command().spawn().unwrap();
            while child.try_wait().unwrap().is_none() {
                thread::sleep(Duration::from_millis(50));
            }
        };
        let outcome = Contest::default()
            .with(FLOOR, || timed(|| program.run()))
            // How far two medians of the same thing lie apart.
            .with("the floor once more", || timed(|| program.run()))
            .with(SAME_CALLS, || {
                timed(|| program.run_as_specified(&directory, LINE))
            })
            .with(FIRE, || timed(|| launcher.fire(Event::TurnFinished, place)))
            .with("std::process::Command", || {
                timed(|| assert!(command().status().unwrap().success()))
            })
            .with("sh -c", || timed(|| shell.run()))
            .rarely(50, "spawn, and try_wait each 50 ms", || timed(polled))
            .run(title, rounds, random);
        outcome.target(FIRE, SAME_CALLS, 1.02);
        outcome.target(FIRE, FLOOR, most_of_floor);
    }

    /// Entries for tools of names of one length, none of which is fired, so that each is compared to its end.
    fn a_thousand(between: &str) -> String {
        let entries = (0..1000)
            .map(|number| format!(r#"{{"on":"tool-finished","tool":"t{number:03}","run":["x"]}}"#));
        format!(
            r#"{{"hooks":[{}]}}"#,
            entries.collect::<Vec<_>>().join(between)
        )
    }

    const OF_NO_ENTRY: Event<'_> = Event::ToolFinished(Some("t00x"));

    /// A launcher without a file, and one with a thousand entries.
    fn idle_launchers(place: &Path) -> [Launcher; 2] {
        let _ = fs::remove_file(place.join("home/.bravebot/hooks.json"));
        let none = Launcher::new(Loud);
        write_hooks(&place.join("home"), &a_thousand(",\n"));
        let many = Launcher::new(Loud);
        assert!(
            many.has_hook_for(Event::ToolFinished(Some("t999"))) && !many.has_hook_for(OF_NO_ENTRY)
        );
        [none, many]
    }

    fn moments(place: &Path, count: usize) {
        let launchers = idle_launchers(place);
        (0..count).for_each(|_| {
            launchers
                .iter()
                .for_each(|launcher| launcher.fire(black_box(OF_NO_ENTRY), place))
        });
    }

    /// A moment for which no hook is in force; each sample is the mean of many.
    fn no_hook(place: &Path, rounds: usize, random: &mut Random) {
        let [none, many] = idle_launchers(place);
        let times = |count: u32, launcher: &Launcher| {
            let fire = || {
                (0..count).for_each(|_| {
                    black_box(launcher).fire(black_box(OF_NO_ENTRY), black_box(place))
                })
            };
            timed(fire) / f64::from(count)
        };
        let allocated = ALLOCATIONS.get();
        times(1000, &none);
        times(1000, &many);
        let allocated = ALLOCATIONS.get() - allocated;
        let [of_none, of_many] = ["no hook in force", "1,000 entries, no match"];
        let outcome = Contest::default()
            .with(of_none, || times(1000, &none))
            .with(of_many, || times(10, &many))
            .run("a moment without a hook", rounds, random);
        target(
            "no hook in force, nanoseconds",
            outcome.median(of_none),
            5.0,
        );
        target(
            "1,000 entries, no match, nanoseconds",
            outcome.median(of_many),
            3000.0,
        );
        target("allocations in 2,000 moments", allocated as f64, 0.0);
        match [0, 1000].map(|count| system_calls(place, count)) {
            [Some(before), Some(after)] => {
                target("system calls in 2,000 moments", after - before, 0.0)
            }
            _ => println!("  system calls: needs strace"),
        }
    }

    /// How many system calls a process makes that fires this many moments.
    fn system_calls(place: &Path, count: usize) -> Option<f64> {
        let trace = place.join("trace");
        let mut strace = Command::new("strace");
        strace
            .arg("-f")
            .arg("-o")
            .arg(&trace)
            .arg(std::env::current_exe().unwrap())
            .env(MOMENTS, count.to_string());
        let traced = strace.status().ok()?.success();
        traced.then(|| {
            fs::read_to_string(&trace)
                .unwrap_or_default()
                .lines()
                .count() as f64
        })
    }

    const VALUE: &str = "serde_json::from_slice into Value";
    const NEW: &str = "Launcher::new, an entry a line";
    const NEW_OF_ONE_LINE: &str = "Launcher::new, all in one line";

    /// A file of 64 KB and a thousand entries, read and judged; with the drop of what was made of it.
    fn reading(place: &Path, rounds: usize, random: &mut Random) {
        let file = place.join("home/.bravebot/hooks.json");
        let [lines, one_line] = [",\n", ","].map(|between| {
            let text = a_thousand(between);
            // A longer command, until the file is full.
            let (short, long) = (r#"["x"]"#, r#"["x","a longer argument"]"#);
            let text = text.replacen(
                short,
                long,
                (65_536 - text.len()) / (long.len() - short.len()),
            );
            write_hooks(&place.join("home"), &text);
            let is_in_force = Launcher::new(Loud).has_hook_for(Event::ToolFinished(Some("t999")));
            assert!(text.len() > 65_500 && is_in_force);
            text
        });
        let value = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
        let launcher = |text: &str| {
            fs::write(&file, text).unwrap();
            timed(|| Launcher::new(Loud))
        };
        let outcome = Contest::default()
            .with(VALUE, || timed(|| value(lines.as_bytes())))
            .with("the bytes alone", || timed(|| fs::read(&file).unwrap()))
            .with("the bytes, and from_slice of them", || {
                timed(|| value(&fs::read(&file).unwrap()))
            })
            .with(NEW, || launcher(&lines))
            .with(NEW_OF_ONE_LINE, || launcher(&one_line))
            .run("a file of 64 KB", rounds, random);
        outcome.target(NEW, VALUE, 1.5);
        outcome.target(NEW_OF_ONE_LINE, VALUE, 1.5);
    }

    const RETURNS: &str = "fire has returned";
    const WAITPID: &str = "waitpid has returned";

    /// From the end of the hook, by its own clock, to the return of who waits for it.
    fn end_of_a_hook(place: &Path, rounds: usize, random: &mut Random) {
        let [path, stamp] = ["stamp", "time"].map(|name| place.join(name));
        fs::write(&stamp, [0; 8]).unwrap();
        let [name, argument] = [&path, &stamp].map(|path| path.to_str().unwrap());
        let program = Program::new(&path, &[argument], std::env::vars());
        let launcher = launcher(place, &hook(&[name, argument]));
        let directory = c_string(place);
        let after = |run: &dyn Fn()| {
            run();
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap()
                .as_nanos() as i64;
            (now - i64::from_ne_bytes(fs::read(&stamp).unwrap()[..8].try_into().unwrap())) as f64
        };
        let outcome = Contest::default()
            .with(WAITPID, || after(&|| program.run()))
            .with("waitpid once more", || after(&|| program.run()))
            .with(SAME_CALLS, || {
                after(&|| program.run_as_specified(&directory, LINE))
            })
            .with(RETURNS, || {
                after(&|| launcher.fire(Event::TurnFinished, place))
            })
            .run("from the exit of the hook", rounds, random);
        outcome.target(RETURNS, WAITPID, 1.1);
    }

    /// From the bound to the end of the group: the last that has the FIFO open is gone.
    fn end_of_a_group(place: &Path, rounds: usize) {
        const BOUND: Duration = Duration::from_secs(1);
        const GRACE: Duration = Duration::from_millis(250);
        println!(
            "\nthe end of a group of two at its bound, the worst of {rounds}, of the 10 ms that are allowed"
        );
        let fifo = place.join("fifo");
        nix::unistd::mkfifo(&fifo, Mode::from_bits_truncate(0o600)).unwrap();
        let [name, argument] =
            [place.join("stay"), fifo.clone()].map(|path| path.to_str().unwrap().to_owned());
        for (what, words, due) in [
            (
                "one that obeys SIGTERM is gone, after the bound",
                vec![&*name, &*argument],
                BOUND,
            ),
            (
                "one that ignores it is gone, after the grace",
                vec![&*name, &*argument, "ignore"],
                BOUND + GRACE,
            ),
        ] {
            write_hooks(&place.join("home"), &hook(&words));
            let launcher = Launcher::new(Deaf);
            let (mut gone, mut returned) = (0.0_f64, 0.0_f64);
            for _ in 0..rounds {
                let begin = Instant::now();
                let late =
                    |end: Duration, due: Duration| (end.as_secs_f64() - due.as_secs_f64()) / 0.01;
                thread::scope(|threads| {
                    let end = threads.spawn(|| {
                        File::open(&fifo)
                            .unwrap()
                            .read_to_end(&mut Vec::new())
                            .unwrap();
                        begin.elapsed()
                    });
                    launcher.fire(Event::TurnFinished, place);
                    returned = returned.max(late(begin.elapsed(), BOUND + GRACE));
                    gone = gone.max(late(end.join().unwrap(), due));
                });
            }
            target(what, gone, 1.0);
            target("    and fire has returned, after the grace", returned, 1.0);
        }
    }

    thread_local! {
        static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    }

    /// The system's allocator, which counts for each thread what it is asked for.
    struct Counting;

    #[global_allocator]
    static COUNTING: Counting = Counting;

    // SAFETY: every call is handed to the system's allocator unchanged; the count is a plain cell of this thread, which
    // needs no allocation and no destructor.
    #[allow(unsafe_code, reason = "the trait is unsafe")]
    unsafe impl GlobalAlloc for Counting {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            ALLOCATIONS.set(ALLOCATIONS.get() + 1);
            // SAFETY: the caller keeps the contract, which is the same.
            unsafe { System.alloc(layout) }
        }

        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            ALLOCATIONS.set(ALLOCATIONS.get() + 1);
            // SAFETY: as above.
            unsafe { System.alloc_zeroed(layout) }
        }

        unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            ALLOCATIONS.set(ALLOCATIONS.get() + 1);
            // SAFETY: as above.
            unsafe { System.realloc(at, layout, size) }
        }

        unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
            // SAFETY: as above.
            unsafe { System.dealloc(at, layout) }
        }
    }
}
