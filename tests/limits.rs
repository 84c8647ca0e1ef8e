//! Limits of a process, and file systems that are full or read-only (SPEC 1.12, 2.4, 5.4, 6.1, 6.5, 7.2).
//!
//! Where a limit is too low for the dynamic loader there is no launcher yet, and the loader says so with status 127. Where
//! the address space has room for the loader and next to none for more, the first allocation ends the launcher by SIGABRT,
//! with a line of the standard library's: nothing has been started by then. Above that, what must hold is what holds
//! always: each hook has run or is said not to have, and nothing runs on.
mod common;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use common::*;

/// Two hooks, each with a mark that it has run: one fails and leaves a process behind, one succeeds.
const HOOKS: &str = r#"{"hooks":[{"on":"turn-finished","run":["sh","-c","sleep 324 & exit 3"],"timeout":5},
    {"on":"turn-finished","run":["touch","second"],"timeout":5}]}"#;

/// `fire` as an ordinary user, under what `prlimit` makes of this limit.
fn fire_under(sandbox: &Sandbox, limit: &str) -> Command {
    let whole = sandbox.command_of_ordinary_user(&["fire", "turn-finished"]);
    let mut words: Vec<OsString> = [whole.get_program()]
        .into_iter()
        .chain(whole.get_args())
        .map(OsStr::to_owned)
        .collect();
    if is_root() {
        // Of a number of its own each time, so that it has no other process, and none that is only not reaped yet.
        static NEXT: AtomicU32 = AtomicU32::new(54_321);
        let user = NEXT.fetch_add(1, Ordering::Relaxed);
        let owner = format!("{user}:{user}");
        assert!(
            Command::new("chown")
                .args(["-hR", &owner])
                .arg(sandbox.root())
                .status()
                .unwrap()
                .success()
        );
        words[1..3]
            .clone_from_slice(&["--reuid", "--regid"].map(|flag| format!("{flag}={user}").into()));
    }
    // After the change of the user, which a limit would forbid.
    let at = words.len() - 3;
    words.splice(at..at, ["prlimit", limit, "--"].map(OsString::from));
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .current_dir(sandbox.work())
        .stdin(Stdio::null())
        .env_clear();
    command.envs(
        whole
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    command
}

/// What must hold whatever the limit; whether the second hook has run.
#[track_caller]
fn holds(run: &Run, sandbox: &Sandbox) -> bool {
    let log = sandbox.log();
    let about = || format!("{run:#?}\n{log:#?}");
    assert!(run.status == 0 && run.stdout.is_empty(), "{}", about());
    assert!(
        run.stderr
            .lines()
            .all(|line| line.starts_with("bravebot-hooks: ")),
        "{}",
        about()
    );
    // One a hook, and one of the log.
    assert!(
        run.stderr.lines().count() <= 3 && log.len() <= 2,
        "{}",
        about()
    );
    let says = |text| {
        run.stderr.contains(text)
            || log
                .iter()
                .any(|line| line["message"].to_string().contains(text))
    };
    let of_all = says("hooks.json not loaded: ") || says("no hook fired: ");
    // It fails where it runs.
    assert!(
        of_all || says("hook \"sh\""),
        "the first did not run, and nothing says why: {}",
        about()
    );
    let has_run = sandbox.work().join("second").exists();
    assert!(
        of_all || has_run || says("hook \"touch\""),
        "the second did not run, and nothing says why: {}",
        about()
    );
    nothing_runs_in(sandbox, &about);
    has_run
}

/// SPEC 1.12, 2.4, 6.1, 6.5.
#[test]
fn with_few_descriptors_every_hook_has_run_or_is_said_not_to_have() {
    let mut ran = 0;
    for limit in 3..=30 {
        for to_pipe in [true, false] {
            let sandbox = Sandbox::with(HOOKS);
            let mut command = fire_under(&sandbox, &format!("--nofile={limit}"));
            let run = if to_pipe {
                Run::of(&mut command)
            } else {
                Beside::start(command).ends()
            };
            if limit < 4 {
                assert!(
                    run.status == 127
                        && run.stderr.contains("error while loading shared libraries"),
                    "{run:#?}"
                );
            } else {
                ran += u32::from(holds(&run, &sandbox));
            }
        }
    }
    println!("the next hook ran under {ran} of 54 limits");
    // A launcher with its log, its signals and a hook has some ten open.
    assert!(ran >= 30, "{ran}");
}

/// SPEC 2.4, 6.1: where no thread, no hook, or no process of a hook's own is to be had.
#[test]
fn with_few_processes_every_hook_has_run_or_is_said_not_to_have() {
    let ran = (1..=8).map(|limit| {
        let sandbox = Sandbox::with(HOOKS);
        let run = Run::of(&mut fire_under(&sandbox, &format!("--nproc={limit}")));
        holds(&run, &sandbox)
    });
    let ran: Vec<bool> = ran.collect();
    println!("the next hook ran under each limit from 1: {ran:?}");
    // Where it is not the test that chose the user, others of that user count too.
    assert!(!ran[0] && (!is_root() || ran[7]), "{ran:?}");
}

/// SPEC 2.4, 5.4, 6.1: where memory runs out before the launcher can say so, nothing has begun.
#[test]
fn with_little_memory_every_hook_has_run_or_is_said_not_to_have_or_nothing_began() {
    const PAGE: u64 = 4096;
    let fire = |pages: u64| {
        let sandbox = Sandbox::with(HOOKS);
        let run = Run::of(&mut fire_under(&sandbox, &format!("--as={}", pages * PAGE)));
        (run, sandbox)
    };
    // The kernel's own refusal to execute, and the loader's.
    let is_not_loaded = |pages| {
        let (run, sandbox) = fire(pages);
        assert!(sandbox.log().is_empty() || run.status == 0, "{run:#?}");
        matches!(run.status, 127) || run.status < 0 && run.stderr.is_empty()
    };
    let (mut too_few, mut enough) = (1, 1 << 18);
    while too_few + 1 < enough {
        let middle = u64::midpoint(too_few, enough);
        *(if is_not_loaded(middle) {
            &mut too_few
        } else {
            &mut enough
        }) = middle;
    }
    let (mut aborted, mut ran, mut last_abort) = (0, 0, enough);
    // Page by page first, then in ever larger steps, up to a gigabyte.
    let all: Vec<u64> = (0..128)
        .chain((7..=18).map(|step| 1 << step))
        .map(|more| enough + more)
        .collect();
    for pages in &all {
        let (run, sandbox) = fire(*pages);
        if run.status == -(nix::sys::signal::SIGABRT as i32) {
            assert!(
                run.stdout.is_empty() && run.stderr.starts_with("memory allocation of "),
                "{run:#?}"
            );
            assert!(
                sandbox.log().is_empty() && !sandbox.work().join("second").exists(),
                "{run:#?}"
            );
            nothing_runs_in(&sandbox, &|| format!("{run:#?}"));
            (aborted, last_abort) = (aborted + 1, *pages);
        } else {
            ran += u32::from(holds(&run, &sandbox));
        }
    }
    println!(
        "of {} limits from {} KiB on, {aborted} ended in SIGABRT, the last at {} KiB; the next hook ran under {ran}",
        all.len(),
        enough * 4,
        last_abort * 4
    );
    assert!(last_abort < enough + 256 && ran >= 16, "{last_abort} {ran}");
}

/// SPEC 6.5, 8.5: in a mount namespace of the test's own. What the disk had room for of a line does not spoil the next.
#[test]
fn a_log_on_a_full_or_read_only_file_system_is_said_once_and_is_whole_again_later() {
    let unshare = if is_root() {
        &["unshare", "-m"][..]
    } else {
        &["unshare", "-r", "-m"]
    };
    let may_mount = Sandbox::new()
        .other(unshare)
        .args(["mount", "-t", "tmpfs", "tmpfs", "/mnt"])
        .output();
    if !may_mount.is_ok_and(|output| output.status.success()) {
        assert!(
            std::env::var_os("CI").is_none() || !is_root(),
            "CI needs to mount as root"
        );
        return eprintln!("needs a mount namespace");
    }
    let fill = "dd if=/dev/zero of=$at/fill bs=4096 2> /dev/null";
    let (full, read_only) = (
        "ENOSPC: No space left on device",
        "EROFS: Read-only file system",
    );
    let cut = format!(
        "head -c 4085 /dev/zero | tr '\\0' ' ' > $at/hooks.log; echo {{}} >> $at/hooks.log; {fill}"
    );
    let old = format!(
        "head -c 1048600 /dev/zero | tr '\\0' ' ' > $at/hooks.log; echo {{}} >> $at/hooks.log; {fill}"
    );
    for (how, size, prepare, mend, reason) in [
        ("full", "size=64k", fill, "rm $at/fill", full),
        (
            "full in the middle of a line",
            "size=64k",
            &cut,
            "rm $at/fill",
            full,
        ),
        (
            "full, with a log that is to be rotated",
            "size=1100k",
            &old,
            "rm $at/fill",
            full,
        ),
        (
            "without inodes",
            "nr_inodes=8",
            "while true > $at/$((i+=1)); do :; done 2> /dev/null",
            "rm $at/1",
            full,
        ),
        (
            "read-only",
            "size=64k",
            "mount -o remount,bind,ro $at",
            "mount -o remount,bind,rw $at",
            read_only,
        ),
        (
            "read-only with all of HOME",
            "size=64k",
            "mount --rbind $HOME $HOME; mount -o remount,bind,ro $HOME; mount -o remount,bind,ro $at",
            "mount -o remount,bind,rw $at",
            read_only,
        ),
    ] {
        let sandbox = Sandbox::with(HOOKS);
        let script = format!(
            "at=$HOME/.bravebot; cp $at/hooks.json ..; mount -t tmpfs -o mode=755,{size} tmpfs $at || exit 90
            cp ../hooks.json $at; chmod 644 $at/hooks.json; touch $at/1; rm $at/1
            {prepare}
            {BINARY} fire turn-finished 2> ../one || exit 91
            ls second || exit 92
            {mend} || exit 93
            {BINARY} fire turn-finished 2> ../two || exit 94
            cat $at/hooks.log"
        );
        let run = Run::of(sandbox.other(unshare).args(["sh", "-c", &script]));
        let [one, two] = ["one", "two"]
            .map(|name| fs::read_to_string(sandbox.root().join(name)).unwrap_or_default());
        let about = format!("{how}: {run:#?}\n{one}\n{two}");
        assert_eq!(run.status, 0, "{about}");
        let failed = "bravebot-hooks: turn-finished hook \"sh\" exited with status 3";
        let said: Vec<&str> = one.lines().collect();
        assert!(said.len() == 2 && said[0] == failed, "{about}");
        let (_, reason) = reason.split_once(": ").unwrap();
        assert!(
            said[1].starts_with("bravebot-hooks: hooks.log not written: ")
                && said[1].contains(reason),
            "{about}"
        );
        assert_eq!(two.lines().collect::<Vec<_>>(), [failed], "{about}");
        // The first line of the output is that of ls; at most one line of the log is a part of one.
        let lines = run
            .stdout
            .lines()
            .skip(1)
            .map(serde_json::from_str::<serde_json::Value>);
        let lines: Vec<_> = lines.collect();
        assert!(
            lines.iter().filter(|line| line.is_err()).count()
                <= usize::from(how.contains("middle")),
            "{about}"
        );
        let last = lines.last().unwrap_or_else(|| panic!("{about}"));
        assert!(
            last.as_ref().is_ok_and(|line| line["status"] == 3),
            "{about}"
        );
        nothing_runs_in(&sandbox, &|| format!("{run:#?}"));
    }
}
