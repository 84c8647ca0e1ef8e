//! One system call fails, at each place where the launcher makes it (SPEC 1.12, 2.4, 5.4, 6.1, 6.5, 7.2).
//!
//! strace(1) injects the failure, so the code is the one that ships. Without `-f` it sees the launcher alone: no call of
//! a hook, of its loader or of a process on the way is ever hit. Which calls there are, and how many the dynamic loader makes
//! before them, is learned from a plain trace. The process between vfork and exec is seen with `-f`, which `-b execve` ends as
//! the hook's program begins.
mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::panic::catch_unwind;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use bravebot_hooks::Event;
use common::*;

/// The errors that this call can really give, at a time when what it asks for is there; from the kernel or from a filter
/// of system calls (seccomp(2)), as containers have it. None: a call that cannot fail, or whose failure would be a lie.
fn errors(call: &str) -> &'static [&'static str] {
    match call {
        "openat" => &[
            "EMFILE", "ENFILE", "ENOMEM", "EACCES", "EPERM", "EINTR", "EIO",
        ],
        "read" | "pread64" => &["EINTR", "EIO", "ENOMEM", "EPERM"],
        "write" => &[
            "EINTR", "EIO", "ENOSPC", "EDQUOT", "EFBIG", "EAGAIN", "EPIPE",
        ],
        "pipe2" => &["EMFILE", "ENFILE", "ENOMEM", "EPERM"],
        "splice" => &["EAGAIN", "EINVAL", "EPIPE", "ENOMEM", "ENOSYS"],
        "poll" | "ppoll" => &["EINTR", "ENOMEM", "EINVAL"],
        "clone3" => &["EAGAIN", "ENOMEM", "EPERM"],
        // Not ECHILD: where it is true the child has ended.
        "waitid" => &["EINTR", "EINVAL", "ENOSYS", "EPERM"],
        "pidfd_open" => &[
            "EMFILE", "ENFILE", "ENOMEM", "ENODEV", "ENOSYS", "EPERM", "ESRCH",
        ],
        "pidfd_send_signal" => &["EINVAL", "ENOSYS", "EPERM", "EACCES"],
        "signalfd4" => &["EMFILE", "ENFILE", "ENOMEM", "EINVAL", "ENODEV"],
        "fcntl" => &["EMFILE", "EINVAL", "EPERM"],
        "fstat" | "newfstatat" | "statx" | "fstatfs" => {
            &["EACCES", "EIO", "ENOMEM", "EOVERFLOW", "ENOSYS"]
        }
        "access" | "faccessat" | "faccessat2" => &["EACCES", "EIO", "ENOMEM", "EPERM", "ENOSYS"],
        "getcwd" => &["ENOENT", "EACCES", "ENOMEM"],
        "getdents64" => &["EIO", "ENOMEM", "EACCES"],
        "flock" => &["EAGAIN", "EINTR", "ENOLCK"],
        "renameat" | "renameat2" => &["EACCES", "EIO", "ENOSPC", "EROFS", "EBUSY"],
        "fchmod" => &["EPERM", "EIO", "EROFS"],
        "getrandom" => &["EAGAIN", "EINTR", "ENOSYS"],
        "getsid" => &["EPERM", "ESRCH", "ENOSYS"],
        "prctl" => &["EINVAL", "EPERM"],
        "ioctl" => &["EIO", "EPERM"],
        "prlimit64" => &["EPERM", "EINVAL"],
        "rt_sigaction" | "rt_sigprocmask" => &["EINVAL", "EPERM"],
        "mmap" | "mprotect" | "mremap" => &["ENOMEM", "EAGAIN"],
        "futex" | "clock_nanosleep" => &["EINTR"],
        "setsid" => &["EPERM"],
        "dup2" | "dup3" => &["EBUSY", "EINTR", "EMFILE"],
        "fchdir" => &["EACCES", "EIO", "ENOTDIR", "EPERM"],
        "close_range" => &["EINVAL", "EMFILE", "ENOMEM", "ENOSYS", "EPERM"],
        "execve" => &[
            "EACCES", "EAGAIN", "EIO", "ELOOP", "EMFILE", "ENOEXEC", "ENOMEM", "EPERM", "ETXTBSY",
            "E2BIG",
        ],
        _ => &[],
    }
}

/// How strace sees the launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    /// The launcher, which has one thread.
    Launcher,
    /// Each process from its start to its program.
    Child,
}

/// Where a system call fails, and how.
#[derive(Clone, Debug)]
struct Fault {
    sight: Sight,
    call: String,
    /// As strace counts: in each thread and process, from 1.
    nth: usize,
    error: &'static str,
    /// Only where the call is about this file.
    path: Option<&'static str>,
}

/// Three hooks, each with a mark that it has run: one that fails, one that succeeds, one that leaves a process behind.
const HOOKS: [(&str, &str); 3] = [("sh", "first"), ("touch", "second"), ("/bin/sh", "third")];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with(
        r#"{"hooks":[{"on":"turn-finished","run":["sh","-c","echo > first; exit 3"],"timeout":2},
            {"on":"turn-finished","run":["touch","second"],"timeout":2},
            {"on":"turn-finished","run":["/bin/sh","-c","echo > third; sleep 321 & exit 0"],"timeout":2}]}"#,
    );
    // Full, so that it is rotated.
    let log = sandbox.home().join(".bravebot/hooks.log");
    fs::write(
        &log,
        format!("{{\"old\":\"{}\"}}\n", "x".repeat(1024 * 1024)),
    )
    .unwrap();
    mode(&log, 0o600);
    sandbox
}

/// `fire` under strace with these options, and the lines of the trace. What hangs is killed, and has no status 0.
fn trace(sandbox: &Sandbox, sight: Sight, options: &[String]) -> (Run, Vec<String>) {
    let to = sandbox.root().join("trace");
    let patience = PATIENCE.as_secs().to_string();
    let mut command = sandbox.other(&[
        "timeout",
        "--signal=KILL",
        &patience,
        "strace",
        "--quiet=all",
        "-s",
        "64",
        "-o",
    ]);
    command.arg(&to).args(match sight {
        Sight::Launcher => &[][..],
        Sight::Child => &["-f", "-b", "execve"],
    });
    let run = Run::of(
        command
            .args(options)
            .args(["--", BINARY, "fire", "turn-finished"]),
    );
    (
        run,
        fs::read_to_string(to)
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect(),
    )
}

fn has_strace() -> bool {
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
    }
    works
}

/// The name of the call that a line of a trace begins.
fn call_of(line: &str) -> Option<&str> {
    let (name, _) = line.split_once('(')?;
    name.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        .then_some(name)
}

/// What tells this call from others of its name: its arguments, less numbers and what was read or written.
fn kind_of(line: &str) -> String {
    let arguments = line
        .rsplit_once(") ")
        .map_or(line, |(arguments, _)| arguments);
    let strings = !["read(", "write(", "pread64("]
        .iter()
        .any(|name| line.starts_with(name));
    let arguments = if strings {
        arguments
    } else {
        arguments.split('"').next().unwrap_or_default()
    };
    let arguments = arguments.split(['{', '[']).next().unwrap_or_default();
    arguments
        .chars()
        .filter(|c| !c.is_ascii_hexdigit())
        .collect()
}

/// Of each call that it makes often: the first, the last, one in the middle, and the first of each kind; of
/// the others, and with BRAVEBOT_HOOKS_EVERY_CALL in the environment, all.
fn faults_of_launcher() -> Vec<Fault> {
    let sight = Sight::Launcher;
    let (run, lines) = trace(&sandbox(), sight, &[]);
    run.reports(2);
    // The first call of the launcher's own; what is before it is the dynamic loader's.
    let begins = lines
        .iter()
        .position(|line| line.starts_with("rt_sigprocmask(SIG_BLOCK, [PIPE TTOU XFSZ]"));
    let begins = begins.unwrap_or_else(|| panic!("{lines:#?}"));
    let mut counts = BTreeMap::<&str, usize>::new();
    let mut places = BTreeMap::<&str, Vec<usize>>::new();
    let mut kinds = BTreeSet::new();
    let mut chosen = BTreeSet::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(call) = call_of(line) else { continue };
        let nth = counts.entry(call).or_default();
        *nth += 1;
        if at >= begins {
            places.entry(call).or_default().push(*nth);
            if kinds.insert(kind_of(line)) {
                chosen.insert((call, *nth));
            }
        }
    }
    let every = std::env::var_os("BRAVEBOT_HOOKS_EVERY_CALL").is_some();
    for (call, nths) in &places {
        let some = [nths[0], nths[nths.len() / 2], nths[nths.len() - 1]];
        chosen.extend(
            if every || nths.len() <= 8 {
                nths
            } else {
                &some[..]
            }
            .iter()
            .map(|nth| (*call, *nth)),
        );
    }
    let fault = |call: &str, nth, error| Fault {
        sight,
        call: call.to_owned(),
        nth,
        error,
        path: None,
    };
    chosen
        .iter()
        .flat_map(|(call, nth)| {
            errors(call)
                .iter()
                .map(move |error| fault(call, *nth, error))
        })
        .collect()
}

/// Of each call between vfork and exec that is only made there, and of the exec.
fn faults_of_child() -> Vec<Fault> {
    let (run, lines) = trace(&sandbox(), Sight::Child, &[]);
    run.reports(2);
    let mut counts = BTreeMap::<(&str, &str), usize>::new();
    let mut children = BTreeSet::new();
    for line in &lines {
        let Some((pid, rest)) = line.split_once(' ') else {
            continue;
        };
        let Some(call) = call_of(rest.trim_start()) else {
            continue;
        };
        *counts.entry((call, pid)).or_default() += 1;
        if call == "setsid" {
            children.insert(pid);
        }
    }
    assert_eq!(children.len(), 3, "{lines:#?}");
    let mut most = BTreeMap::<&str, [usize; 2]>::new();
    for ((call, pid), count) in counts {
        let most = &mut most.entry(call).or_default()[usize::from(children.contains(pid))];
        *most = count.max(*most);
    }
    let mut faults = Vec::new();
    let mut fault = |call: &str, nth, path| {
        for error in errors(call) {
            faults.push(Fault {
                sight: Sight::Child,
                call: call.to_owned(),
                nth,
                error,
                path,
            });
        }
    };
    for (call, [of_launcher, of_child]) in most {
        let nths = of_launcher + 1..=of_child;
        BTreeSet::from_iter([*nths.start(), *nths.end()])
            .into_iter()
            .filter(|nth| nths.contains(nth))
            .for_each(|nth| fault(call, nth, None));
    }
    fault("execve", 1, Some("/usr/bin/sh"));
    fault("execve", 1, Some("/usr/bin/touch"));
    faults
}

impl Fault {
    /// Lets it happen, and checks what must hold whatever fails; whether it did happen.
    fn happens(&self) -> bool {
        let Fault {
            sight,
            call,
            nth,
            error,
            path,
        } = self;
        let mut options = vec![
            "-e".to_owned(),
            format!("inject={call}:error={error}:when={nth}"),
        ];
        if let Some(path) = path {
            options.extend(["-P".to_owned(), (*path).to_owned()]);
        }
        let sandbox = sandbox();
        let (run, lines) = trace(&sandbox, *sight, &options);
        let log = sandbox.log();
        let about = || format!("{self:?}\n{run:#?}\n{log:#?}\n{lines:#?}");

        assert!(run.status == 0 && run.stdout.is_empty(), "{}", about());
        let display: Vec<&str> = run.stderr.lines().collect();
        assert!(
            display
                .iter()
                .all(|line| line.starts_with("bravebot-hooks: ")),
            "{}",
            about()
        );
        // Those of two hooks, and one of the fault.
        assert!(display.len() <= 3 && log.len() <= 4, "{}", about());

        let mut said = run.stderr.clone();
        log.iter()
            .filter_map(|line| line["message"].as_str())
            .for_each(|message| said.push_str(message));
        let of_all = ["hooks.json not loaded: ", "no hook fired: "]
            .iter()
            .any(|text| said.contains(text));
        for (program, mark) in HOOKS {
            let has_run = sandbox.work().join(mark).exists();
            let is_said = said.contains(&format!("hook \"{program}\""));
            assert!(
                has_run || is_said || of_all,
                "{mark} did not run, and nothing says why: {}",
                about()
            );
            assert!(
                is_said || !has_run || mark != "first",
                "{mark} failed, and nothing says so: {}",
                about()
            );
        }
        nothing_runs_in(&sandbox, &about);
        lines.iter().any(|line| {
            line.contains("(INJECTED)")
                && line.contains(&format!("{call}("))
                && line.contains(error)
        })
    }
}

/// SPEC 1.12, 2.4, 5.4, 6.1, 6.5, 7.2: a fault ends in one report or in success, and the other hooks run.
#[test]
fn whichever_system_call_fails_it_is_said_and_the_next_hook_runs() {
    if !has_strace() {
        return;
    }
    let mut faults = faults_of_launcher();
    faults.extend(faults_of_child());
    let (all, calls) = (
        faults.len(),
        BTreeSet::from_iter(faults.iter().map(|fault| fault.call.clone())).len(),
    );
    let queue = Mutex::new(faults.into_iter());
    let ended = Mutex::new([0, 0, 0]);
    let next = || queue.lock().unwrap().next();
    let work = || {
        while let Some(fault) = next() {
            // What is wrong is written at once, and the others are still tried.
            let end = catch_unwind(|| fault.happens()).map_or(2, usize::from);
            ended.lock().unwrap()[end] += 1;
        }
    };
    thread::scope(|threads| {
        (0..2).for_each(|_| drop(threads.spawn(work)));
    });
    let [not, happened, wrong] = ended.into_inner().unwrap();
    println!("{happened} faults of {all} happened, in {calls} system calls");
    assert_eq!(wrong, 0, "of {all} faults");
    assert!(happened > 400 && not < all / 10, "{happened} of {all}");
}

/// What is asked again until it is answered: here too a call may fail.
fn surely<T>(ask: impl Fn() -> io::Result<T>) -> T {
    eventually("it is answered", || ask().ok())
}

/// Descriptors, threads and children of this process.
fn possessions() -> (usize, usize, String) {
    let count = |directory| {
        surely(|| {
            Ok(fs::read_dir(directory)?
                .collect::<io::Result<Vec<_>>>()?
                .len())
        })
    };
    let children =
        surely(|| fs::read_to_string(format!("/proc/self/task/{}/children", std::process::id())));
    (count("/proc/self/fd"), count("/proc/self/task"), children)
}

/// SPEC 5.4, 2.4, 6.1: in a host that lives on, and whose calls fail now and then.
#[test]
fn after_any_faults_a_host_has_no_more_descriptors_threads_and_children_than_before() {
    const TEST: &str =
        "after_any_faults_a_host_has_no_more_descriptors_threads_and_children_than_before";
    const FIRES: usize = 20;
    const LEAST: usize = 10;
    let hooks = r#"{"hooks":[{"on":"turn-finished","run":["false"]},
        {"on":"turn-finished","run":["sh","-c","echo x >> got"]},{"on":"turn-finished","run":["/missing"]},
        {"on":"turn-finished","run":["/bin/sh","-c","sleep 323 & exit 0"]}]}"#;
    let host = || {
        let (launcher, heard) = launcher();
        launcher.fire(Event::TurnFinished, ".".as_ref());
        let before = possessions();
        (1..FIRES).for_each(|_| launcher.fire(Event::TurnFinished, ".".as_ref()));
        assert_eq!(possessions(), before);
        assert_eq!(
            nix::sys::wait::waitpid(None, None),
            Err(nix::errno::Errno::ECHILD)
        );
        let reports = heard.reports();
        for (program, ran) in [
            ("false", 0),
            ("sh", surely(|| fs::read_to_string("got")).lines().count()),
            ("/missing", 0),
        ] {
            let said = reports
                .iter()
                .filter(|report| report.contains(&format!("hook \"{program}\"")))
                .count();
            assert!(
                ran + said >= FIRES,
                "{program}: {ran} ran, and {said} are said: {reports:#?}"
            );
        }
        // Each read of it makes it longer.
        let trace = surely(|| {
            let file = fs::File::open("trace")?;
            let length = file.metadata()?.len();
            io::read_to_string(file.take(length))
        });
        let injected = trace
            .lines()
            .filter(|line| line.contains("(INJECTED)"))
            .count();
        assert!(injected >= LEAST, "{injected} of\n{trace}");
    };
    if std::env::var_os("BRAVEBOT_HOOKS_TEST").is_some() {
        return in_a_process_of_its_own(TEST, hooks, host);
    }
    if !has_strace() {
        return;
    }
    // From which call on, later than any that makes the launcher, and each how manieth after it.
    let faults = [
        ("openat", "EMFILE", "60+7"),
        ("openat", "EINTR", "61+5"),
        ("pipe2", "EMFILE", "3+3"),
        ("pidfd_open", "ENOSYS", "2+2"),
        ("pidfd_open", "EMFILE", "1+3"),
        ("clone3", "EAGAIN", "4+3"),
        ("?poll,?ppoll", "ENOMEM", "2+2"),
        ("waitid", "EINTR", "2+3"),
        ("waitid", "EINVAL", "3+4"),
        ("write", "EIO", "15+3"),
        ("fcntl", "EMFILE", "40+9"),
        ("?fstat,?newfstatat", "ENOMEM", "60+7"),
        ("?faccessat,?faccessat2", "EACCES", "1+1"),
        ("pidfd_send_signal", "EPERM", "2+3"),
        ("read", "EIO", "60+31"),
        ("?statx", "EACCES", "60+31"),
        ("getdents64", "EIO", "2+3"),
        ("mmap", "ENOMEM", "35+2"),
    ];
    let queue = Mutex::new(faults.iter());
    let next = || queue.lock().unwrap().next();
    let work = || {
        while let Some((calls, error, when)) = next() {
            let strace = format!(
                "strace -f -b execve --quiet=all -o trace -e inject={calls}:error={error}:when={when}"
            );
            in_a_process_started_by(TEST, hooks, &format!("exec {strace} \"$@\""), || ());
        }
    };
    thread::scope(|threads| {
        (0..2).for_each(|_| drop(threads.spawn(work)));
    });
    println!(
        "{} hosts of {FIRES} fires each, with {LEAST} faults or more in each",
        faults.len()
    );
}

/// SPEC 5.4: one that cannot be killed is given up, and is no zombie once it has ended.
#[test]
fn a_hook_that_could_not_be_killed_is_reaped_when_it_has_ended() {
    const TEST: &str = "a_hook_that_could_not_be_killed_is_reaped_when_it_has_ended";
    let hooks = r#"{"hooks":[{"on":"turn-finished","run":["true"]},
        {"on":"turn-started","run":["sh","-c","echo $$ > pid; read -r line < go"],"timeout":1}]}"#;
    let host = || {
        let (launcher, heard) = launcher();
        nix::unistd::mkfifo("go", nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        launcher.fire(Event::TurnStarted, ".".as_ref());
        let reports = heard.reports();
        assert!(
            reports.len() == 1 && reports[0].contains("could not be killed"),
            "{reports:#?}"
        );
        let pid = fs::read_to_string("pid").unwrap();
        // Looked at while it runs, and again when it has ended.
        launcher.fire(Event::TurnFinished, ".".as_ref());
        assert!(is_alive(&pid));
        fs::write("go", "\n").unwrap();
        is_in_state(&pid, "Z");
        launcher.fire(Event::TurnFinished, ".".as_ref());
        assert_eq!(status_of(&pid, "State"), "");
    };
    if std::env::var_os("BRAVEBOT_HOOKS_TEST").is_some() {
        return in_a_process_of_its_own(TEST, hooks, host);
    }
    if has_strace() {
        let strace =
            "strace -f -b execve --quiet=all -o trace -e inject=pidfd_send_signal,kill:error=EPERM";
        in_a_process_started_by(TEST, hooks, &format!("exec {strace} \"$@\""), || ());
    }
}
