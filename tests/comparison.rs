//! The same checks for this launcher and for what one writes without it: the table of SECURITY.md comes from here.
//!
//! Each cell is one host process that launches one hook; what is observed is the answer. The others are written as a
//! careful programmer writes them with the standard library. With `BRAVEBOT_HOOKS_WRITE=1` the table is written anew.
mod common;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use bravebot_hooks::{Event, Launcher, Report, Reporter};
use common::*;
use nix::sys::signal::{SIGINT, SIGKILL, SIGUSR1, kill};
use nix::unistd::Pid;

const TEST: &str = "the_table_of_other_launchers_is_what_is_observed";
const EVENT: &[u8] = b"{\"event\":\"turn-finished\"}\n";
/// How long a launch is watched where the document says that the check does not hold; else for as long as it may take
/// on a busy machine. What is then seen is the answer in either case.
const WATCHED: Duration = Duration::from_secs(12);

/// The columns, in their order: a name, and how it launches a hook and waits for it.
type Launch = fn(&Hook) -> io::Result<()>;
const LAUNCHERS: [(&str, Launch); 4] = [
    ("`bravebot-hooks`", ours),
    ("`Command`, `wait_with_output`, `kill`", wait_and_kill),
    ("`sh -c`", shell),
    ("`spawn`, `try_wait`, `kill`", poll_and_kill),
];

struct Hook {
    words: Vec<String>,
    bound: Duration,
}

/// The library, with a display that writes to standard error.
fn ours(_: &Hook) -> io::Result<()> {
    struct Display;
    impl Reporter for Display {
        fn report(&self, report: &Report) {
            let _ = writeln!(io::stderr(), "report: {report}");
        }
    }
    Launcher::new(Display).fire(Event::TurnFinished, ".".as_ref());
    Ok(())
}

/// The event and end of file; one that does not read it is no failure.
fn tell(child: &mut Child) {
    let _ = child.stdin.take().unwrap().write_all(EVENT);
}

/// What it writes is taken, so that it does not wait for ever; killed at its bound.
fn wait_and_kill(hook: &Hook) -> io::Result<()> {
    let mut command = Command::new(&hook.words[0]);
    command
        .args(&hook.words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    tell(&mut child);
    let pid = Pid::from_raw(child.id().cast_signed());
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    match receiver.recv_timeout(hook.bound) {
        Ok(output) => output.map(drop),
        Err(_) => {
            let _ = kill(pid, SIGKILL);
            Err(io::ErrorKind::TimedOut.into())
        }
    }
}

/// A line of the shell, as many agents take it; everything is inherited.
fn shell(hook: &Hook) -> io::Result<()> {
    let line = if hook.words[0] == "sh" {
        hook.words[2].clone()
    } else {
        hook.words.join(" ")
    };
    Command::new("sh").arg("-c").arg(line).status().map(drop)
}

/// What it writes goes nowhere; looked at twenty times a second, killed at its bound.
fn poll_and_kill(hook: &Hook) -> io::Result<()> {
    let mut command = Command::new(&hook.words[0]);
    command
        .args(&hook.words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn()?;
    tell(&mut child);
    let begin = Instant::now();
    while child.try_wait()?.is_none() {
        if begin.elapsed() >= hook.bound {
            child.kill()?;
            child.wait()?;
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// A row: what is promised, the shell script that starts the host (`RUN`), the hook, its bound in seconds, and whether
/// what is seen keeps the promise; `None` where the hook did not get to run, so that nothing is to be seen.
struct Check {
    promise: &'static str,
    host: &'static str,
    words: &'static [&'static str],
    bound: u64,
    holds: fn(&Seen) -> Option<bool>,
}

const RUN: &str = "\"$HOST\" \"$TEST\" --exact --nocapture";

/// For a hook that is a script of the shell.
macro_rules! script {
    ($script:literal) => {
        &["sh", "-c", $script]
    };
}

const CHECKS: [Check; 18] = [
    Check {
        promise: "a hook that hangs is gone at its bound",
        host: "exec RUN",
        words: script!("echo $$ > pid; exec sleep 340"),
        bound: 2,
        holds: |seen| seen.is_gone("pid"),
    },
    Check {
        promise: "so is one that ignores SIGTERM and has stopped itself",
        host: "exec RUN",
        words: script!("trap '' TERM; echo $$ > pid; kill -STOP $$; while :; do sleep 341; done"),
        bound: 2,
        holds: |seen| seen.is_gone("pid"),
    },
    Check {
        promise: "so is what it started",
        host: "exec RUN",
        words: script!("sleep 342 & echo $! > pid; wait"),
        bound: 2,
        holds: |seen| seen.is_gone("pid"),
    },
    Check {
        promise: "it gets SIGTERM first, and time to clean up",
        host: "exec RUN",
        words: script!(
            "trap 'echo > cleaned; exit' TERM; sleep 345 & echo $! > child; echo $$ > pid; wait"
        ),
        bound: 2,
        holds: |seen| seen.is_gone("pid").map(|gone| gone && seen.has("cleaned")),
    },
    Check {
        promise: "what a hook leaves behind is gone when it ends",
        host: "exec RUN",
        words: script!("sleep 343 > /dev/null 2>&1 & echo $! > pid"),
        bound: 30,
        holds: |seen| seen.is_gone("pid"),
    },
    Check {
        promise: "the turn goes on when a hook ends, whoever still holds its output",
        host: "exec RUN",
        words: script!("sleep 344 & echo $! > pid"),
        bound: 30,
        holds: |seen| {
            seen.is_written("pid")
                .then_some(seen.returned.is_some() && !seen.is_late())
        },
    },
    Check {
        promise: "waiting costs nothing: no polling",
        host: "exec RUN",
        words: &["sleep", "4"],
        bound: 30,
        holds: |seen| seen.returned.as_ref().map(|returned| returned.woken <= 15),
    },
    Check {
        promise: "output without end costs the agent no memory",
        host: "exec > /dev/null; exec RUN",
        words: &["head", "-c", "50000000", "/dev/zero"],
        bound: 30,
        holds: |seen| {
            seen.returned
                .as_ref()
                .map(|returned| returned.grown_kib <= 16_384)
        },
    },
    Check {
        promise: "what a hook writes is not shown",
        host: "exec RUN",
        words: script!("echo SHOWN; echo SHOWN >&2; echo > wrote"),
        bound: 30,
        holds: |seen| {
            seen.is_written("wrote")
                .then_some(!seen.output.contains("SHOWN"))
        },
    },
    Check {
        promise: "it does not read what was typed for the agent",
        host: "exec RUN",
        words: script!("cat > copy; mv copy got"),
        bound: 30,
        holds: |seen| {
            seen.is_written("got")
                .then_some(seen.text("got").as_bytes() == EVENT)
        },
    },
    Check {
        promise: "it has no terminal to draw on, read from or be interrupted by",
        host: "exec script -qec 'exec RUN' /dev/null",
        words: script!("(: < /dev/tty) && echo terminal > got || echo none > got"),
        bound: 30,
        holds: |seen| {
            seen.is_written("got")
                .then_some(seen.text("got") == "none\n")
        },
    },
    Check {
        promise: "it has no credential of the agent",
        host: "export ANTHROPIC_API_KEY=canary; exec RUN",
        words: script!("echo \"${ANTHROPIC_API_KEY-none}\" > got"),
        bound: 30,
        holds: |seen| {
            seen.is_written("got")
                .then_some(seen.text("got") == "none\n")
        },
    },
    Check {
        promise: "it has no descriptor that the agent left open",
        host: "exec 9< /etc/passwd; exec RUN",
        words: script!("[ -e /proc/$$/fd/9 ] && echo open > got || echo none > got"),
        bound: 30,
        holds: |seen| {
            seen.is_written("got")
                .then_some(seen.text("got") == "none\n")
        },
    },
    Check {
        promise: "signals that the agent ignores are at their default",
        host: "trap '' USR1 INT; exec RUN",
        words: script!("grep SigIgn: /proc/self/status > got"),
        bound: 30,
        holds: |seen| {
            let mask =
                u64::from_str_radix(seen.text("got").split_whitespace().nth(1)?, 16).unwrap();
            let [usr1, int] = [SIGUSR1, SIGINT].map(|signal| 1 << (signal as u64 - 1));
            Some(mask & (usr1 | int) == 0)
        },
    },
    Check {
        promise: "an agent that ignores SIGCHLD is told of no failure that was none",
        host: "exec env --ignore-signal=CHLD RUN",
        words: script!("echo > got"),
        bound: 30,
        holds: |seen| {
            seen.is_written("got")
                .then_some(seen.returned.is_some() && !seen.output.contains("report: "))
        },
    },
    Check {
        promise: "a text without `#!` is not handed to a shell",
        host: "exec RUN",
        words: &["./text"],
        bound: 30,
        holds: |seen| seen.returned.as_ref().map(|_| !seen.has("ran")),
    },
    Check {
        promise: "`$(...)` and `;` in an argument are text",
        host: "exec RUN",
        words: &["echo", "$(touch ran); touch ran"],
        bound: 30,
        holds: |seen| seen.returned.as_ref().map(|_| !seen.has("ran")),
    },
    Check {
        promise: "a relative entry of `PATH` does not choose the program",
        host: "PATH=.:$PATH; exec RUN",
        words: &["tool"],
        bound: 30,
        holds: |seen| seen.returned.as_ref().map(|_| !seen.has("ran")),
    },
];

/// What became of one launch, once it is over or has been watched for long enough.
struct Seen {
    returned: Option<Returned>,
    patience: Duration,
    output: String,
    /// Ended with its process group when this is dropped, if it has not returned; before the directories go, where it would write.
    _host: Beside,
    sandbox: Sandbox,
}

/// What the host says when the launch has returned.
struct Returned {
    /// How often its threads have waited for something meanwhile.
    woken: u64,
    /// How much more memory it has needed at most.
    grown_kib: u64,
}

impl Seen {
    fn path(&self, name: &str) -> PathBuf {
        self.sandbox.work().join(name)
    }

    fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    fn text(&self, name: &str) -> String {
        self.sandbox.written(name)
    }

    fn is_written(&self, name: &str) -> bool {
        self.text(name).ends_with('\n')
    }

    /// Whether the launch has returned at the bound alone.
    fn is_late(&self) -> bool {
        ["still running", "timed out"]
            .iter()
            .any(|said| self.output.contains(said))
    }

    /// Whether the launch has returned, and this process with it.
    fn is_gone(&self, pid: &str) -> Option<bool> {
        let is_gone = || (!is_alive(&self.text(pid))).then_some(());
        self.is_written(pid)
            .then(|| self.returned.is_some() && within(self.patience, is_gone).is_some())
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        // Some launchers leave them running.
        for pid in ["pid", "child"].map(|name| self.text(name)) {
            if pid.ends_with('\n') && is_alive(&pid) {
                send(&pid, SIGKILL);
            }
        }
    }
}

fn within<T>(time: Duration, mut ready: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    loop {
        let value = ready();
        if value.is_some() || begin.elapsed() > time {
            return value;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn see(check: &Check, column: usize, patience: Duration) -> Seen {
    let hook =
        serde_json::json!({"on": "turn-finished", "run": check.words, "timeout": check.bound});
    let sandbox = Sandbox::with(&serde_json::json!({"hooks": [hook]}).to_string());
    sandbox.script("work/text", "touch ran\n");
    sandbox.script("work/tool", "#!/bin/sh\ntouch ran\n");
    let typed = sandbox.root().join("typed");
    fs::write(&typed, "typed\n").unwrap();
    let mut command = sandbox.shell(&check.host.replace("RUN", RUN));
    command
        .env("HOST", std::env::current_exe().unwrap())
        .env("TEST", TEST)
        .env("LAUNCHER", column.to_string());
    command.stdin(fs::File::open(typed).unwrap());
    let mut host = Beside::start(command);
    let to = sandbox.root().join("returned");
    let mut ended = None;
    let returned = within(patience, || {
        ended = ended.take().or_else(|| host.end());
        let text = fs::read_to_string(&to).ok()?;
        let mut fields = text
            .strip_suffix('\n')?
            .split(' ')
            .map(|field| field.parse::<u64>().unwrap());
        let mut next = || fields.next().unwrap();
        Some(Returned {
            woken: next(),
            grown_kib: next(),
        })
    });
    // One that has returned ends; what it wrote is there then.
    let run = if returned.is_some() {
        ended.or_else(|| Some(eventually("the host ends", || host.end())))
    } else {
        ended
    };
    let output = run.map_or_else(String::new, |run| run.stdout + &run.stderr);
    Seen {
        sandbox,
        returned,
        patience,
        output,
        _host: host,
    }
}

/// In the process of the host: launches the hook of its `HOME`, and says when that has returned and what it cost.
fn be_host(column: usize) {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    let file: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(home.join(".bravebot/hooks.json")).unwrap())
            .unwrap();
    let entry = &file["hooks"][0];
    let words = entry["run"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap().to_owned())
        .collect();
    let hook = Hook {
        words,
        bound: Duration::from_secs(entry["timeout"].as_u64().unwrap()),
    };
    let woken = || {
        let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
        let of = |path: &Path| fs::read_to_string(path.join("status")).unwrap_or_default();
        threads
            .map(|thread| number(&of(&thread.path()), "voluntary_ctxt_switches"))
            .sum::<u64>()
    };
    let most = || number(&fs::read_to_string("/proc/self/status").unwrap(), "VmHWM");
    let before = (woken(), most());
    let result = LAUNCHERS[column].1(&hook);
    let (woken, grown) = (woken().saturating_sub(before.0), most() - before.1);
    if let Err(error) = result {
        let _ = writeln!(io::stderr(), "report: {error}");
    }
    let to = home.join("../returned");
    fs::write(&to, format!("{woken} {grown}\n")).unwrap();
}

/// A field of a status in /proc.
fn number(status: &str, field: &str) -> u64 {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .unwrap_or("0");
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Whether the check holds for the launcher of this column. Again where the machine was so busy that the hook did not
/// get to run before its bound, or had no 250 ms of it to clean up in.
fn answer(check: &Check, column: usize, is_expected: bool) -> bool {
    let patience = if is_expected { PATIENCE } else { WATCHED };
    for last in [false, false, false, false, true] {
        match (check.holds)(&see(check, column, patience)) {
            Some(answer) if answer || last || !is_expected => return answer,
            _ => {}
        }
    }
    panic!(
        "{} was never to be seen with {}",
        check.promise, LAUNCHERS[column].0
    );
}

/// The table, and what does not hold for us; `written` is the one there is.
fn table(written: &str) -> (String, Vec<&'static str>) {
    let is_expected = |row: usize, column: usize| {
        let row = written
            .lines()
            .find(|line| line.starts_with(&format!("| {} |", CHECKS[row].promise)));
        row.and_then(|row| row.split(" | ").nth(column + 1))
            .is_some_and(|cell| cell.starts_with("yes"))
    };
    let cells: Vec<(usize, usize)> = (0..CHECKS.len())
        .flat_map(|row| (0..LAUNCHERS.len()).map(move |c| (row, c)))
        .collect();
    let next = AtomicUsize::new(0);
    let answers = thread::scope(|threads| {
        // Most of them wait most of the time.
        let work = || {
            let mut answers = Vec::new();
            while let Some(&(row, column)) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                answers.push((
                    (row, column),
                    answer(&CHECKS[row], column, is_expected(row, column)),
                ));
            }
            answers
        };
        let workers: Vec<_> = (0..8).map(|_| threads.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap())
            .collect::<std::collections::BTreeMap<_, _>>()
    });
    let mut text = format!(
        "| |{}\n| --- |{}\n",
        LAUNCHERS.map(|(name, _)| format!(" {name} |")).concat(),
        " --- |".repeat(LAUNCHERS.len())
    );
    let mut ours_not = Vec::new();
    for (row, check) in CHECKS.iter().enumerate() {
        let cells = [0, 1, 2, 3].map(|column| {
            if answers[&(row, column)] {
                " yes |"
            } else {
                " **no** |"
            }
        });
        text.push_str(&format!("| {} |{}\n", check.promise, cells.concat()));
        if !answers[&(row, 0)] {
            ours_not.push(check.promise);
        }
    }
    (text, ours_not)
}

const BEGIN: &str = "<!-- written by tests/comparison.rs -->\n";
const END: &str = "<!-- end of what tests/comparison.rs writes -->\n";

/// SPEC 3, 4.1, 5: what SECURITY.md says of this launcher, and of the others.
#[test]
fn the_table_of_other_launchers_is_what_is_observed() {
    if let Ok(column) = std::env::var("LAUNCHER") {
        return be_host(column.parse().unwrap());
    }
    let document = include_str!("../SECURITY.md");
    let (before, rest) = document
        .split_once(BEGIN)
        .expect("SECURITY.md has the mark");
    let (written, after) = rest
        .split_once(END)
        .expect("SECURITY.md has the mark of the end");
    let (table, ours_not) = table(written);
    assert!(ours_not.is_empty(), "does not hold: {ours_not:#?}");
    let section = format!("\n{table}\n");
    if std::env::var_os("BRAVEBOT_HOOKS_WRITE").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("SECURITY.md");
        fs::write(path, [before, BEGIN, &section, END, after].concat()).unwrap();
    } else {
        assert!(
            written == section,
            "SECURITY.md should have, as BRAVEBOT_HOOKS_WRITE=1 writes it:\n{table}"
        );
    }
}
