//! The file and its directory are swapped while they are read (SPEC 1.3, 1.4).
//!
//! The swaps are made with this user's own rights, as by a tool that has them: who else could make them has been refused
//! already. What is read must be what was judged.
mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use bravebot_hooks::{Event, Launcher, Report, Reporter};
use common::*;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

const TEST: &str = "what_is_swapped_while_it_is_read_is_never_another_users_choice";
const GOOD: &str = r#"{"hooks":[{"on":"turn-finished","run":["true"]}]}"#;
const PLANTED: &str =
    r#"{"hooks":[{"on":"tool-finished","tool":"planted","run":["touch","planted"]}]}"#;

/// Loads in all, unless `BRAVEBOT_HOOKS_RACES` says how many.
const LOADS: usize = 20_000;

/// What is swapped, with what, and whether only root can make that. A script makes it, as `$o`; `evil NAME` makes a file
/// of the attacker's, `lax NAME` a directory of theirs that holds a file of this user's.
type Swap = (&'static str, &'static str, bool);
/// Swapped both ways.
const FILES: &[Swap] = &[
    (FILE, "evil $o", false),
    ("../dot/hooks.json", "dot; evil $o", false),
    (FILE, "evil away; ln -s ../../away $o", false),
    (FILE, "lax away; ln -s ../../away/hooks.json $o", false),
    (
        FILE,
        "cp planted away; ln -s ../../away $o; chown -h 65534 $o",
        true,
    ),
    (FILE, "mkfifo $o", false),
    (FILE, "mkfifo away; ln -s ../../away $o", false),
    (FILE, "ln -s /dev/zero $o", false),
    (FILE, "ln -s hooks.json $o", false),
];
/// A directory has no second link, and is not renamed over.
const DIRECTORIES: &[Swap] = &[
    (FILE, "mkdir $o", false),
    (DIRECTORY, "lax $o", false),
    (DIRECTORY, "lax away; ln -s ../away $o", false),
    (DIRECTORY, "mkdir $o; evil $o/hooks.json", false),
    (
        DIRECTORY,
        "mkdir away; evil away/hooks.json; ln -s ../away $o",
        false,
    ),
    (
        DIRECTORY,
        "mkdir $o; cp planted $o/hooks.json; chown 65534 $o",
        true,
    ),
    (DIRECTORY, "mkfifo $o", false),
    ("../dot", "dot; lax $o", false),
];
const FILE: &str = ".bravebot/hooks.json";
const DIRECTORY: &str = ".bravebot";

/// How the two change places.
#[derive(Clone, Copy, Debug)]
enum By {
    Exchange,
    /// rename(2) over what is there, of another link to one and then the other.
    Rename,
}

/// What came of the loads.
#[derive(Debug, Default)]
struct Tally {
    good: usize,
    refused: usize,
    /// Of those, how many were surely swapped between the look and the open: a link has another reason at each.
    caught: usize,
    reasons: BTreeSet<String>,
}

impl Tally {
    /// One load: the file is in force, or there is one reason why it is not.
    fn load(&mut self) {
        let reasons = Arc::new(Reasons::default());
        let launcher = Launcher::new(Arc::clone(&reasons));
        let planted = Event::ToolFinished(Some("planted"));
        launcher.fire(planted, Path::new("."));
        assert!(
            !launcher.has_hook_for(planted),
            "the attacker's hook was in force"
        );
        let is_good = launcher.has_hook_for(Event::TurnFinished);
        let reasons = std::mem::take(&mut *reasons.0.lock().unwrap());
        assert_eq!(reasons.len(), usize::from(!is_good), "{reasons:?}");
        self.good += usize::from(is_good);
        self.refused += usize::from(!is_good);
        self.caught += reasons
            .iter()
            .filter(|reason| reason.contains(Errno::ELOOP.desc()))
            .count();
        self.reasons.extend(reasons);
    }
}

#[derive(Default)]
struct Reasons(Mutex<Vec<String>>);

impl Reporter for Reasons {
    fn report(&self, report: &Report) {
        self.0.lock().unwrap().push(report.to_string());
    }
}

/// Loads `wanted` times, and on until it was a race, while this thread swaps `place` and `other`.
fn race(place: &Path, other: &Path, by: By, wanted: usize, caught: usize) -> Tally {
    let loads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&loads);
    let loader = thread::spawn(move || {
        let (mut tally, begin) = (Tally::default(), Instant::now());
        let was_race =
            |tally: &Tally| tally.good > 0 && tally.refused > 0 && tally.caught >= caught;
        while counted.load(Relaxed) < wanted || !was_race(&tally) && begin.elapsed() < PATIENCE {
            tally.load();
            counted.fetch_add(1, Relaxed);
        }
        assert!(was_race(&tally), "no race: {tally:#?}");
        tally
    });
    let originals = [place.with_extension("a"), place.with_extension("b")];
    if let By::Rename = by {
        fs::rename(other, &originals[0]).unwrap();
        fs::hard_link(place, &originals[1]).unwrap();
    }
    let (mut last, mut since) = (0, Instant::now());
    let mut turns = originals.iter().cycle();
    while !loader.is_finished() {
        match by {
            By::Exchange => exchange(place, other).unwrap(),
            By::Rename => {
                fs::hard_link(turns.next().unwrap(), other).unwrap();
                fs::rename(other, place).unwrap();
            }
        }
        let now = loads.load(Relaxed);
        if now != last {
            (last, since) = (now, Instant::now());
        }
        assert!(since.elapsed() < PATIENCE, "a load hangs");
    }
    loader.join().unwrap()
}

fn exchange(one: &Path, other: &Path) -> Result<(), Errno> {
    renameat2(AT_FDCWD, one, AT_FDCWD, other, RenameFlags::RENAME_EXCHANGE)
}

/// SPEC 1.3, 1.4.
#[test]
fn what_is_swapped_while_it_is_read_is_never_another_users_choice() {
    if std::env::var_os("BRAVEBOT_HOOKS_TEST").is_some() {
        return races();
    }
    // In a process of its own: the library takes HOME from the environment.
    let sandbox = Sandbox::new();
    let executable = std::env::current_exe().unwrap();
    let mut command =
        sandbox.other(&[executable.to_str().unwrap(), TEST, "--exact", "--nocapture"]);
    command.env("BRAVEBOT_HOOKS_TEST", TEST);
    command.envs(
        std::env::vars_os().filter(|(name, _)| name == "BRAVEBOT_HOOKS_RACES" || name == "CI"),
    );
    let run = Run::of(&mut command);
    assert!(
        run.status == 0 && run.stdout.contains("1 passed"),
        "{run:#?}"
    );
    assert!(!sandbox.work().join("planted").exists(), "{run:#?}");
    eprint!("{}", run.stderr);
}

fn races() {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    // It is removed again and again.
    let is_sandbox = home
        .parent()
        .unwrap()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .starts_with("bravebot-hooks-");
    assert!(is_sandbox, "{home:?}");
    let loads = std::env::var("BRAVEBOT_HOOKS_RACES").map_or(LOADS, |loads| loads.parse().unwrap());
    let can_exchange = ["one", "other"].map(|name| home.join(name));
    can_exchange
        .iter()
        .for_each(|path| fs::write(path, "").unwrap());
    let can_exchange = exchange(&can_exchange[0], &can_exchange[1]);
    if let Err(error) = can_exchange {
        assert!(
            std::env::var_os("CI").is_none() || !is_root(),
            "CI needs RENAME_EXCHANGE: {error}"
        );
        eprintln!("needs a file system with RENAME_EXCHANGE for most of it: {error}");
    }
    let swaps: Vec<_> = DIRECTORIES
        .iter()
        .map(|swap| (swap, By::Exchange))
        .chain(
            FILES
                .iter()
                .flat_map(|swap| [(swap, By::Exchange), (swap, By::Rename)]),
        )
        .filter(|((.., needs_root), _)| is_root() || !needs_root)
        .filter(|(_, by)| can_exchange.is_ok() || matches!(by, By::Rename))
        .collect();
    let (begin, mut all) = (Instant::now(), Tally::default());
    for (index, ((place, script, _), by)) in swaps.iter().enumerate() {
        let place = home.join(place);
        let other = place.with_extension("other");
        make(&home, &other, script);
        // The last is with a link, and goes on until one has been caught.
        let caught = usize::from(index + 1 == swaps.len() && all.caught == 0);
        let tally = race(&place, &other, *by, loads.div_ceil(swaps.len()), caught);
        eprintln!(
            "{by:?}: {script}: {} in force, {} refused, {:#?}",
            tally.good, tally.refused, tally.reasons
        );
        all.good += tally.good;
        all.refused += tally.refused;
        all.caught += tally.caught;
        all.reasons.extend(tally.reasons);
    }
    let Tally {
        good,
        refused,
        caught,
        reasons,
    } = all;
    eprintln!(
        "{} swaps, {good} loads in force, {refused} refused for {} reasons, {caught} of them between look and open, {:.1?}",
        swaps.len(),
        reasons.len(),
        begin.elapsed()
    );
}

/// A HOME as it should be, and `$o`.
fn make(home: &Path, other: &Path, script: &str) {
    let start = r#"umask 022; b=$HOME/.bravebot; o=$1
        rm -rf "$HOME" away dot planted; mkdir -p "$b"; printf %s "$2" > "$b/hooks.json"; printf %s "$3" > planted
        evil() { cp planted "$1"; if [ "$(id -u)" = 0 ]; then chown 65534 "$1"; else chmod 0666 "$1"; fi; }
        lax() { mkdir "$1"; cp planted "$1/hooks.json"; chmod 0777 "$1"; }
        dot() { mkdir dot; mv "$b/hooks.json" dot; ln -s ../../dot/hooks.json "$b"; }"#;
    let mut command = std::process::Command::new("sh");
    command
        .args(["-euc", &format!("{start}\n{script}"), "sh"])
        .arg(other)
        .args([GOOD, PLANTED]);
    Run::of(command.current_dir(home.parent().unwrap())).is_silent_success();
}
