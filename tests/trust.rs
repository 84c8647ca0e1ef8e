//! Who could have chosen the bytes of `hooks.json`, and the command that mends it (SPEC 1.2 to 1.5).
//!
//! Each case is made by a shell script that starts in the sandbox, beside `home`, with umask 022; where a report has a
//! mend it is run, and the hook is then in force or the report is gone.
mod common;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::*;

const HOOKS: &str = r#"{"hooks":[{"on":"turn-finished","run":["sh","-c","echo ran >> ran"]}]}"#;
/// For the cases that start with the file elsewhere.
const AWAY: &str = "mkdir -p dot home/dot; mv home/.bravebot/hooks.json dot/h.json; cp dot/h.json home/dot/h.json\n";
/// An ordinary user where the tests run as root, and one more.
const ORDINARY: u32 = 65534;
const STRANGER: u32 = 65533;

/// What mending comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum After {
    InForce,
    Silent,
}
use After::{InForce, Silent};

/// As the scripts and as the reports name them.
const FILE: &str = "home/.bravebot/hooks.json";
const DIRECTORY: &str = "home/.bravebot";

/// A sandbox with a hook that writes `ran`, changed by a script.
struct Case {
    sandbox: Sandbox,
    home: PathBuf,
    /// Whether everything is done as an ordinary user by `setpriv`.
    drops: bool,
    binary: PathBuf,
    script: String,
}

impl Case {
    fn new(script: &str) -> Case {
        Case::below("home", script)
    }

    /// With another HOME than `home`.
    fn below(home: &str, script: &str) -> Case {
        let sandbox = Sandbox::with(HOOKS);
        let home = sandbox.root().join(home);
        let case = Case {
            sandbox,
            home,
            drops: false,
            binary: BINARY.into(),
            script: script.to_owned(),
        };
        case.sh(script);
        case
    }

    /// As an ordinary user, who owns all of the sandbox but what `script`, run as who runs the tests, changes after.
    fn of_ordinary_user(script: &str, last: &str) -> Case {
        let mut case = Case::new(script);
        if is_root() {
            // Copied by a process of its own: no other test's child can hold it open for writing.
            case.binary = case.sandbox.root().join("bravebot-hooks");
            case.sh(&format!(
                "cp '{BINARY}' bravebot-hooks; chown -hR {ORDINARY}:{ORDINARY} ."
            ));
            case.drops = true;
        }
        case.sh(last);
        case.script += last;
        case
    }

    /// As who runs the tests, in the root of the sandbox.
    #[track_caller]
    fn sh(&self, script: &str) {
        let mut shell = self.sandbox.other(&[
            "sh",
            "-euc",
            &format!("umask 022; b=home/.bravebot; f=$b/hooks.json\n{script}"),
        ]);
        let run = Run::of(shell.current_dir(self.sandbox.root()));
        assert!(
            run.status == 0 && run.stderr.is_empty(),
            "{script}\n{run:#?}"
        );
    }

    /// A command as the user of the case. One that waits is killed, one that wants a gigabyte does not get it.
    fn command(&self, words: &[&std::ffi::OsStr]) -> Run {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "60", "prlimit", "--as=1073741824", "--"]);
        if self.drops {
            let id = ORDINARY;
            command.args([
                "setpriv",
                &format!("--reuid={id}"),
                &format!("--regid={id}"),
                "--clear-groups",
                "--",
            ]);
        }
        command
            .args(words)
            .current_dir(self.sandbox.work())
            .stdin(Stdio::null())
            .env_clear();
        Run::of(
            command
                .env("HOME", &self.home)
                .env("PATH", "/usr/local/bin:/usr/bin:/bin")
                .envs(profile()),
        )
    }

    fn fire(&self) -> Run {
        let _ = fs::remove_file(self.sandbox.work().join("ran"));
        self.command(&[
            self.binary.as_os_str(),
            "fire".as_ref(),
            "turn-finished".as_ref(),
        ])
    }

    /// Fires, and nothing is said; whether the hook ran.
    #[track_caller]
    fn runs(&self, about: &dyn std::fmt::Debug) -> bool {
        let run = self.fire();
        let quiet = run.status == 0 && run.stdout.is_empty() && run.stderr.is_empty();
        assert!(quiet, "{about:?}\n{}\n{run:#?}", self.script);
        let ran = self.sandbox.written("ran");
        assert!(ran.is_empty() || ran == "ran\n", "{about:?}\n{ran:?}");
        !ran.is_empty()
    }

    #[track_caller]
    fn is_in_force(&self) {
        assert!(self.runs(&"in force"), "not in force:\n{}", self.script);
    }

    /// No hook, no report, and no log for it.
    #[track_caller]
    fn is_silent(&self) {
        assert!(!self.runs(&"silent"), "in force:\n{}", self.script);
        assert!(
            fs::symlink_metadata(self.home.join(".bravebot/hooks.log")).is_err(),
            "a log:\n{}",
            self.script
        );
    }

    /// No hook, and one report of the file; its text. (That a log in the same place cannot be written either is said as
    /// well: SPEC 6.5.)
    #[track_caller]
    fn refusal(&self) -> String {
        let run = self.fire();
        let (of_file, rest): (Vec<_>, Vec<_>) = run
            .stderr
            .lines()
            .partition(|line| line.starts_with("bravebot-hooks: hooks.json not loaded: "));
        let fits = run.status == 0 && run.stdout.is_empty() && of_file.len() == 1;
        let fits = fits
            && rest
                .iter()
                .all(|line| line.starts_with("bravebot-hooks: hooks.log not written: "));
        assert!(
            fits && rest.len() <= 1 && self.sandbox.written("ran").is_empty(),
            "{}\n{run:#?}",
            self.script
        );
        of_file[0].to_owned()
    }

    /// The report says `what` of `path`, and ends in a mend that begins with `mend`, which comes to `after`.
    #[track_caller]
    fn is_refused(&self, path: &str, what: &str, mend: &str, after: After) {
        let said = self.refusal();
        let path = self.sandbox.root().join(path);
        let mut names = said
            .split([' ', ';'])
            .map(|word| Path::new(word.trim_end_matches(':')));
        let is_named = names.any(|name| {
            name == path
                || (name.is_absolute()
                    && plain(name).is_some_and(|name| Some(name) == plain(&path)))
        });
        assert!(
            said.contains(what) && is_named,
            "expected {what:?}, {path:?}:\n{said}\n{}",
            self.script
        );
        let (_, command) = said
            .rsplit_once("; ")
            .unwrap_or_else(|| panic!("no mend: {said}"));
        assert!(
            command.starts_with(mend),
            "expected {mend:?}:\n{said}\n{}",
            self.script
        );
        self.mend(command);
        assert_eq!(
            self.runs(&said),
            after == InForce,
            "mended:\n{said}\n{}",
            self.script
        );
    }

    /// Runs the mend: as the user of the case, or with the rights that its `sudo` asks for.
    #[track_caller]
    fn mend(&self, command: &str) {
        // Should a mend go astray, not with the rights of who runs the tests.
        let mut paths = command
            .split([' ', '\''])
            .filter(|word| word.starts_with('/'));
        assert!(
            paths.all(|path| Path::new(path).starts_with(self.sandbox.root())),
            "{command}\n{}",
            self.script
        );
        let with_rights = command.strip_prefix("sudo ").filter(|_| is_root());
        let run = match with_rights {
            Some(command) => Run::of(self.sandbox.shell(command).current_dir("/")),
            None => self.command(&["sh", "-c", command].map(AsRef::as_ref)),
        };
        assert!(
            run.status == 0 && run.stderr.is_empty(),
            "{command}\n{}\n{run:#?}",
            self.script
        );
    }
}

/// Each script, the path at fault, and what is said of it.
#[track_caller]
fn are_refused(mend: &str, after: After, cases: &[(&str, &str, &str)]) {
    for (script, path, what) in cases {
        Case::new(script).is_refused(path, what, mend, after);
    }
}

/// The path with its way resolved, but not its last component unless that is `..`.
fn plain(path: &Path) -> Option<PathBuf> {
    match path.file_name() {
        Some(name) => Some(fs::canonicalize(path.parent()?).ok()?.join(name)),
        None => fs::canonicalize(path).ok(),
    }
}

/// `count` links, each to the one before, the first to the file; the text of none grows long.
fn chain(count: u32) -> String {
    format!(
        "{AWAY} at=$PWD/dot/h.json; i=0
        while [ $i -lt {count} ]; do i=$((i+1)); ln -s $at dot/$i; at=$PWD/dot/$i; done; mv $at $f"
    )
}

/// SPEC 1.2, CASES 50.
#[test]
fn what_is_missing_is_no_hooks_no_word_and_no_log() {
    Case::new("rm $f").is_silent();
    Case::new("rm -r $b").is_silent();
    Case::below("nobody", "").is_silent();
    Case::below("no/body", "").is_silent();
    Case::below("to/body", "ln -s work to").is_silent();
    Case::new("mv $b dot; rm dot/hooks.json; ln -s ../dot $b").is_silent();
    let empty = Case::new("rm $f");
    for words in [
        vec!["turn", "--", "true"],
        vec!["fire", "turn-started"],
        vec!["fire", "tool-finished"],
    ] {
        empty.sandbox.run(&words).is_silent_success();
    }
    assert_eq!(
        fs::read_dir(empty.home.join(".bravebot")).unwrap().count(),
        0,
        "something was made"
    );
}

/// SPEC 1.4, CASES 12.
#[test]
fn a_file_behind_links_of_the_user_is_in_force() {
    for way in [
        // The file: inside and outside of HOME, absolute and relative, a chain of two, and with detours.
        "ln -s $PWD/home/dot/h.json $f",
        "ln -s ../dot/h.json $f",
        "ln -s $PWD/dot/h.json $f",
        "ln -s ../../dot/h.json $f",
        "ln -s ../dot/two $f; ln -s h.json home/dot/two",
        "ln -s $PWD/dot/two $f; ln -s ../home/dot/h.json dot/two",
        "ln -s .././/dot/../../home/dot/./h.json $f",
        "ln -s ../../../../../../../../../../../../../../..$PWD/dot/h.json $f",
        // Directories, one with the file a link in turn.
        "rmdir $b; mv dot/h.json dot/hooks.json; ln -s ../dot $b",
        "rmdir $b; mv dot/h.json dot/hooks.json; ln -s $PWD/dot $b",
        "rmdir $b; mv dot/h.json dot/hooks.json; ln -s ../two $b; ln -s dot two",
        "rmdir $b; mkdir -p dot/a/b; mv dot/h.json dot/a/b/hooks.json; ln -s ../dot/a home/a; ln -s a/b $b",
        "rmdir $b; ln -s ../dot $b; ln -s h.json dot/hooks.json",
        // HOME, and the way to it.
        "mv dot/h.json $f; mv home house; ln -s house home",
        "mv dot/h.json $f; mv home house; ln -s $PWD/house two; ln -s two home",
    ] {
        Case::new(&format!("{AWAY}{way}")).is_in_force();
    }
    Case::below("to/home", "mkdir other; mv home other; ln -s other to").is_in_force();
}

/// SPEC 1.1, 1.4: nothing above HOME is judged, however HOME is written.
#[test]
fn home_below_a_directory_that_others_can_write_is_in_force() {
    let open = "mkdir open; chmod 0777 open; mv home open; b=open/$b; f=open/$f\n";
    for home in [
        "open/home",
        "open/home/",
        "open//home/.",
        "./open/../open/home",
    ] {
        Case::below(home, open).is_in_force();
    }
    for way in [
        "ln -s $PWD/open/home/dot/h.json $f",
        "ln -s ../dot/h.json $f",
        "ln -s ../dot/two $f; ln -s $PWD/open/home/dot/../dot/h.json open/home/dot/two",
        "rmdir $b; mv open/home/dot/h.json open/home/dot/hooks.json; ln -s $PWD/open/home/dot $b",
    ] {
        let moved = "mkdir open/home/dot; mv $f open/home/dot/h.json\n";
        Case::below("open/home", &format!("{open}{moved}{way}")).is_in_force();
    }
    if is_root() {
        let theirs = format!("ln -s open way; chown -h {STRANGER} way\n");
        Case::below("way/home", &format!("{open}{theirs}")).is_in_force();
    }
}

/// SPEC 1.4, 1.5, CASES 12.
#[test]
fn forty_links_are_followed_and_one_more_is_refused() {
    let of = |links| {
        let mut case = Case::new(&chain(links));
        // The directory for temporary files may be behind a link itself; those on the way to HOME count too.
        let root = fs::canonicalize(case.sandbox.root()).unwrap();
        case.home = root.join("home");
        case.sh(&format!(
            "for l in dot/* $f; do [ -h $l ] || continue; t=$(readlink $l); ln -sfn {0}${{t#$PWD}} $l; done",
            root.display()
        ));
        case
    };
    of(40).is_in_force();
    for links in [41, 300] {
        of(links).is_refused(FILE, "more than 40 links", "rm ", Silent);
    }
}

/// SPEC 1.2, 1.4, 1.5, CASES 12.
#[test]
fn a_link_that_leads_nowhere_or_to_itself_is_reported() {
    let cases = [
        ("ln -sf no $f", FILE, "nowhere"),
        ("ln -sf ../no/x $f", FILE, "nowhere"),
        ("ln -sf $PWD/no $f", FILE, "nowhere"),
        ("rm -r $b; ln -s ../no $b", DIRECTORY, "nowhere"),
        ("rm -r $b; ln -s no/x/y $b", DIRECTORY, "nowhere"),
        ("ln -sf hooks.json $f", FILE, "loop"),
        ("rm -r $b; ln -s .bravebot $b", DIRECTORY, "loop"),
    ];
    are_refused("rm ", Silent, &cases);
    for (script, what) in [
        ("ln -s no home", "leads nowhere"),
        ("ln -s home home", "loop"),
    ] {
        let said = Case::new(&format!("mv home house; {script}")).refusal();
        assert!(
            said.contains(what) && said.contains("/home") && said.contains("; "),
            "{said}"
        );
    }
}

/// SPEC 1.5: one command, also where several links lead on to what is at fault.
#[test]
fn of_a_chain_of_links_that_goes_wrong_the_mend_takes_the_first() {
    let chain = |end: &str| format!("ln -sf two $f; ln -s {end} $b/two");
    let cases = [
        (chain("no"), "leads nowhere"),
        (chain("hooks.json"), "a loop"),
        (chain("/proc/self/cwd/x"), "/proc"),
    ];
    are_refused(
        "rm ",
        Silent,
        &cases
            .each_ref()
            .map(|(script, what)| (script.as_str(), FILE, *what)),
    );
    let cases = [
        (chain("../../work"), "a directory"),
        (chain("/dev/null"), "a device"),
    ];
    are_refused(
        "mv ",
        Silent,
        &cases
            .each_ref()
            .map(|(script, what)| (script.as_str(), FILE, *what)),
    );
}

/// SPEC 1.4, 1.5, CASES 15.
#[test]
fn what_others_can_write_is_refused_until_the_mend() {
    let cases = [
        ("chmod 0666 $f", FILE, "mode 0666"),
        ("chmod 0664 $f", FILE, "mode 0664"),
        ("chmod 0602 $f", FILE, "mode 0602"),
        // Somebody can reach it, through the directory or by another name.
        ("chmod 0664 $f; chmod 0710 $b", FILE, "mode 0664"),
        ("chmod 0602 $f; chmod 0701 $b", FILE, "mode 0602"),
        ("chmod 0664 $f; chmod 0700 $b; ln $f two", FILE, "mode 0664"),
        ("chmod 1777 $b; chmod 0666 $f", FILE, "mode 0666"),
        ("chmod 0775 $b", DIRECTORY, "mode 0775"),
        ("chmod 0777 $b", DIRECTORY, "mode 0777"),
        ("chmod 0702 $b", DIRECTORY, "mode 0702"),
        ("chmod 2770 $b", DIRECTORY, "mode 2770"),
        ("chmod 0775 home", "home", "mode 0775"),
        ("chmod 0777 home", "home", "mode 0777"),
    ];
    are_refused("chmod go-w ", InForce, &cases);
}

/// SPEC 1.4, 1.5, CASES 12, 15.
#[test]
fn a_link_through_what_others_can_write_is_refused_until_the_mend() {
    for (way, path) in [
        // The directory of the link is closed, that of the target is not.
        (
            "chmod 0700 $b; chmod 0666 dot/h.json; ln -s ../../dot/h.json $f",
            "dot/h.json",
        ),
        ("mv dot open; ln -s $PWD/open/dot/h.json $f", "open"),
        ("mv dot open; ln -s ../../open/dot/h.json $f", "open"),
        (
            "mv dot/h.json open/hooks.json; rmdir $b; ln -s ../open $b",
            "open",
        ),
        // A link stands in it, though its target does not; and a step into it and out again.
        ("ln -s ../dot/h.json open/h; ln -s ../../open/h $f", "open"),
        ("ln -s ../../open/../dot/h.json $f", "open"),
        // Inside of HOME it is no better.
        ("chmod 0777 home/dot; ln -s ../dot/h.json $f", "home/dot"),
        (
            "chmod 0777 home/dot; ln -s $PWD/home/dot/h.json $f",
            "home/dot",
        ),
    ] {
        let case = Case::new(&format!("{AWAY}mkdir open; chmod 0777 open; {way}"));
        case.is_refused(path, "others can write", "chmod go-w ", InForce);
    }
}

/// SPEC 1.4, 1.5: HOME is exempt from a look above it, a link that leaves HOME is not.
#[test]
fn a_link_that_leaves_home_below_a_directory_that_others_can_write_is_refused() {
    for (home, way) in [
        ("open/home", "ln -s ../../dot/h.json $f"),
        ("open/home", "ln -s $PWD/open/dot/h.json $f"),
        ("open/home", "ln -s $PWD/open/home/../dot/h.json $f"),
        // Out and in again.
        (
            "open/home",
            "mv open/dot/h.json open/home; ln -s ../../home/h.json $f",
        ),
        // The one at fault is further up than the link climbs.
        (
            "open/in/home",
            "mkdir open/in; mv open/home open/dot open/in; ln -s ../../dot/h.json open/in/$d",
        ),
        (
            "open/a/b/home",
            "mkdir -p open/a/b; mv open/home open/dot open/a/b; ln -s ../../dot/h.json open/a/b/$d",
        ),
    ] {
        let start = "mkdir open open/dot; chmod 0777 open; mv $f open/dot/h.json; mv home open; d=$f; f=open/$f\n";
        Case::below(home, &format!("{start}{way}")).is_refused(
            "open",
            "mode 0777",
            "chmod go-w ",
            InForce,
        );
    }
}

/// SPEC 1.4, CASES 15.
#[test]
fn what_others_cannot_reach_or_replace_is_in_force() {
    for script in [
        "chmod 0664 $f; chmod 0700 $b",
        "chmod 0666 $f; chmod 0700 $b",
        "chmod 0666 $f; chmod 0744 $b",
        "chmod 1777 $b",
        "chmod 3775 $b",
        "chmod 1777 home",
        "mkdir shared; chmod 1777 shared; mv $b shared/b; ln -s ../shared/b $b",
        "mkdir shared; chmod 1777 shared; mv $f shared; ln -s $PWD/shared/hooks.json $f",
        // Others may read.
        "chmod 0755 $f; ln $f two",
        "chmod 0444 $f",
    ] {
        Case::new(script).is_in_force();
    }
}

/// SPEC 1.4: who can make a name there can link to another file of this user's, and there is no telling who did.
#[test]
fn a_second_name_of_what_lies_in_a_sticky_directory_is_refused_and_moved_away() {
    let linked = |script: &str| format!("{AWAY}{script}");
    let of_link = linked("chmod 1777 $b; ln -s ../../dot/h.json $f; ln -P $f two");
    let of_target = linked("chmod 1777 dot; ln dot/h.json two; ln -s $PWD/dot/h.json $f");
    let of_directory = linked(
        "rmdir $b; mv dot/h.json dot/hooks.json; ln -s ../dot $b; ln -P $b two; chmod 1777 home",
    );
    let cases = [
        ("chmod 1777 $b; ln $f two", FILE, "second hard link"),
        ("chmod 1770 $b; ln $f $b/two", FILE, "second hard link"),
        (&of_link, FILE, "second hard link"),
        (&of_target, "dot/h.json", "second hard link"),
        (&of_directory, DIRECTORY, "second hard link"),
    ];
    are_refused("mv ", Silent, &cases);
    // Where nobody else makes names, it is this user's own.
    Case::new(&linked(
        "ln -s ../../dot/h.json $f; ln -P $f two; ln dot/h.json three",
    ))
    .is_in_force();
}

/// SPEC 1.3, 1.5, CASES 11. Nothing waits, nothing is read without end, and what a link leads to is left where it is.
#[test]
fn what_is_no_file_is_refused_at_once_and_moved_away_by_its_name() {
    let cases = [
        ("rm $f; mkfifo $f", FILE, "a FIFO"),
        ("mkfifo fifo; ln -sf ../../fifo $f", "fifo", "a FIFO"),
        ("rm $f; mkdir $f", FILE, "a directory"),
        ("ln -sf ../../work $f", "work", "a directory"),
        ("ln -sf .. $f", FILE, "a directory"),
        ("ln -sf / $f", FILE, "a directory"),
        ("ln -sf /dev/zero $f", "/dev/zero", "a device"),
        ("ln -sf /dev/null $f", "/dev/null", "a device"),
        ("ln -sf /dev/tty $f", "/dev/tty", "a device"),
        ("rm -r $b; echo > $b", DIRECTORY, "not a directory"),
        ("rm -r $b; mkfifo $b", DIRECTORY, "not a directory"),
        (
            "rm -r $b; ln -s /dev/null $b",
            "/dev/null",
            "not a directory",
        ),
        ("mv $f dot; ln -s ../../dot/x $f", "dot", "not a directory"),
    ];
    are_refused("mv ", Silent, &cases);
    // What procfs calls a link leads where a process is, not where it says.
    let cases = [
        ("ln -sf /proc/self/cwd/x $f", FILE, "/proc/self"),
        ("ln -sf /dev/fd/0 $f", FILE, "/proc/self"),
    ];
    are_refused("rm ", Silent, &cases);
    let case = Case::new("rm $f");
    let listener = UnixListener::bind(case.sandbox.file()).unwrap();
    case.is_refused(FILE, "a socket", "mv ", Silent);
    drop(listener);
    for (device, number) in [("/dev/zero", (1, 5)), ("/dev/null", (1, 3))] {
        let device = fs::metadata(device).unwrap().rdev();
        assert_eq!(
            (nix::sys::stat::major(device), nix::sys::stat::minor(device)),
            number
        );
    }
}

/// SPEC 1.4, 1.5, CASES 15. Only root can give something to another user.
#[test]
fn what_belongs_to_a_third_user_is_refused_until_the_mend() {
    if !is_root() {
        return;
    }
    let linked = format!("{AWAY}ln -s ../../dot/h.json $f\n");
    let linked_in_sticky = format!("{linked}chmod 1777 $b\n");
    let chained = format!("{AWAY}chmod 1777 dot; ln -s h.json dot/two; ln -s ../../dot/two $f\n");
    for (script, path, mend) in [
        ("", FILE, "chown"),
        ("", DIRECTORY, "chown"),
        ("chmod 0700 $b\n", FILE, "chown"),
        ("chmod 1777 $b\n", FILE, "chown"),
        ("chmod 1777 home\n", DIRECTORY, "chown"),
        (&linked, FILE, "chown -h"),
        (&linked, "dot", "chown"),
        (&linked, "dot/h.json", "chown"),
        ("mv $b dot; ln -s ../dot $b\n", DIRECTORY, "chown -h"),
        // Where anybody can make a link, at each place on the way.
        (&linked_in_sticky, FILE, "chown -h"),
        (&chained, "dot/two", "chown -h"),
        (&chained, "dot/h.json", "chown"),
        (
            "chmod 1777 home; mv $b dot; ln -s ../dot $b\n",
            DIRECTORY,
            "chown -h",
        ),
    ] {
        let give = format!("chown -h {STRANGER} {path}");
        let what = format!("belongs to user {STRANGER}");
        let case = Case::new(&format!("{script}{give}"));
        case.is_refused(path, &what, &format!("{mend} 0 "), InForce);
        let case = Case::of_ordinary_user(script, &give);
        case.is_refused(path, &what, &format!("sudo {mend} {ORDINARY} "), InForce);
    }
    let said = Case::new(&format!("chown {STRANGER} home")).refusal();
    assert!(
        said.contains(&format!("belongs to user {STRANGER}")) && said.contains("; "),
        "{said}"
    );
}

/// SPEC 1.5: handing a HOME over to who happens to run in it, root after `sudo` say, would lock its owner out.
#[test]
fn no_mend_takes_a_home_from_its_owner() {
    if !is_root() {
        return;
    }
    let said = Case::new(&format!("chown {STRANGER} home")).refusal();
    assert!(!said.contains("chown"), "{said}");
}

/// SPEC 1.4: root could choose the bytes anyhow.
#[test]
fn what_belongs_to_root_is_in_force_for_an_ordinary_user() {
    if !is_root() {
        return;
    }
    for last in [
        "chown -hR 0:0 home",
        "chown 0 $b",
        "chown 0 $f; chmod 1777 home",
    ] {
        Case::of_ordinary_user("", last).is_in_force();
    }
    Case::of_ordinary_user(&format!("{AWAY}ln -s ../../dot/h.json $f"), "chown -h 0 $f")
        .is_in_force();
    // As /tmp is.
    Case::of_ordinary_user(
        &format!("{AWAY}chmod 1777 dot; ln -s $PWD/dot/h.json $f"),
        "chown 0:0 dot",
    )
    .is_in_force();
}

/// SPEC 1.4, 1.5, CASES 11, 15.
#[test]
fn an_ordinary_user_is_told_what_cannot_be_read_or_searched() {
    let linked = format!("{AWAY}ln -s ../../dot/h.json $f\n");
    for (script, last, path, what, mend) in [
        ("", "chmod 0000 $f", FILE, "cannot be read", "chmod u+r "),
        ("", "chmod 0200 $f", FILE, "cannot be read", "chmod u+r "),
        (
            "",
            "chmod 0000 $b",
            DIRECTORY,
            "cannot be searched",
            "chmod u+x ",
        ),
        (
            "",
            "chmod 0600 $b",
            DIRECTORY,
            "cannot be searched",
            "chmod u+x ",
        ),
        (
            "",
            "chmod 0600 home",
            "home",
            "cannot be searched",
            "chmod u+x ",
        ),
        (
            &linked,
            "chmod 0600 dot",
            "dot",
            "cannot be searched",
            "chmod u+x ",
        ),
        (
            &linked,
            "chmod 0000 dot/h.json",
            "dot/h.json",
            "cannot be read",
            "chmod u+r ",
        ),
        ("", "chmod 0775 $b", DIRECTORY, "mode 0775", "chmod go-w "),
        ("", "chmod 0666 $f", FILE, "mode 0666", "chmod go-w "),
    ] {
        Case::of_ordinary_user(script, last).is_refused(path, what, mend, InForce);
    }
    Case::of_ordinary_user("", "").is_in_force();
    Case::of_ordinary_user("", "chmod 0664 $f; chmod 0700 $b").is_in_force();
}

/// SPEC 1.5: what only root can mend is said to be mended by root.
#[test]
fn an_ordinary_user_is_told_a_mend_that_mends_what_belongs_to_root() {
    if !is_root() {
        return;
    }
    for (last, path, what) in [
        ("chown 0:0 $b; chmod 0777 $b", DIRECTORY, "mode 0777"),
        ("chown 0:0 $f; chmod 0666 $f", FILE, "mode 0666"),
        ("chown 0:0 $f; chmod 0600 $f", FILE, "cannot be read"),
        (
            "chown 0:0 $b; chmod 0700 $b",
            DIRECTORY,
            "cannot be searched",
        ),
    ] {
        Case::of_ordinary_user("", last).is_refused(path, what, "sudo ", InForce);
    }
}

/// SPEC 1.4, 1.5. Only root can make the copy.
#[test]
fn a_launcher_with_differing_ids_has_no_hooks_and_says_so() {
    if !is_root() {
        return;
    }
    for (bit, which, owner) in [
        ("u+s", "-u", format!("{ORDINARY}:0")),
        ("g+s", "-g", format!("0:{ORDINARY}")),
    ] {
        let give = format!("chown {owner} bravebot-hooks id; chmod {bit} bravebot-hooks id");
        let mut case = Case::new(&format!(
            "cp '{BINARY}' bravebot-hooks; cp \"$(command -v id)\" id; {give}"
        ));
        let id = case.sandbox.root().join("id");
        if case
            .command(&[id.as_os_str(), which.as_ref()])
            .stdout
            .trim()
            == "0"
        {
            eprintln!(
                "not tested: such bits mean nothing in {}",
                case.sandbox.root().display()
            );
            return;
        }
        case.binary = case.sandbox.root().join("bravebot-hooks");
        let said = case.refusal();
        let mend = said.rsplit_once("; ").unwrap().1;
        assert!(
            said.contains("real and effective") && mend.contains("chmod ug-s /"),
            "{said}"
        );
        // As root already, and there may be no sudo.
        case.sh(mend.strip_prefix("sudo ").unwrap_or(mend));
        case.is_in_force();
    }
}

/// SPEC 6.4: also where the path, and the mend with it, is as long as a path can be.
#[test]
fn a_refusal_of_the_longest_path_is_one_short_line() {
    let mut case = Case::new("");
    let parent = case
        .sandbox
        .root()
        .join(format!("{}/", "\u{e9}\n".repeat(80)).repeat(15));
    fs::create_dir_all(&parent).unwrap();
    fs::rename(case.sandbox.home(), parent.join("home")).unwrap();
    case.home = parent.join("home");
    mode(&case.home.join(".bravebot"), 0o777);
    let said = case.refusal();
    assert!(
        said.contains("others can write to ") && said.ends_with('…') && said.len() < 4096,
        "{said}"
    );
}

/// SPEC 1.5, 6.4: the mend is a command for a shell also where the path is not plain.
#[test]
fn a_mend_quotes_the_path() {
    let names: &[&[u8]] = &[
        b"a b",
        b"it's",
        b"$(touch got)",
        b"`touch got`",
        b"a;touch got",
        b"*",
        b"~",
        b"-rf",
        b"\xc3\xa9",
        b"a\\b",
        b"say \"hi\"",
        b"a\nb",
        b"tab\tbed",
        b"\xff",
        b"\xe2\x80\xaeabc",
        b"\x1b[31m",
    ];
    let mut wrong = Vec::new();
    for name in names {
        let mut case = Case::new("");
        let parent = case.sandbox.root().join(std::ffi::OsStr::from_bytes(name));
        fs::create_dir(&parent).unwrap();
        fs::rename(case.sandbox.home(), parent.join("home")).unwrap();
        case.home = parent.join("home");
        let file = case.home.join(".bravebot/hooks.json");
        mode(&file, 0o666);
        let said = case.refusal();
        let (_, command) = said
            .split_once(" (mode 0666); ")
            .unwrap_or_else(|| panic!("{said}"));
        let run = case.command(&["sh", "-c", command].map(AsRef::as_ref));
        let is_mended = fs::metadata(&file).unwrap().permissions().mode() & 0o777 == 0o644;
        let is_plain = said.chars().all(|c| !c.is_control() && c != '\u{202e}');
        if !is_mended || !is_plain || case.sandbox.work().join("got").exists() {
            wrong.push(format!(
                "{}\n    {said}\n    {}",
                name.escape_ascii(),
                run.stderr
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// SPEC 1.4, 1.5: in a user namespace, whoever is not mapped is one and the same number, and so is this user where it is not.
#[test]
fn in_a_user_namespace_an_owner_who_is_not_known_is_said_to_be_so() {
    if !is_root() {
        return eprintln!("needs root, to give a file away");
    }
    let sandbox = Sandbox::with(r#"{"hooks":[{"on":"turn-finished","run":["touch","ran"]}]}"#);
    std::os::unix::fs::chown(sandbox.file(), Some(1234), None).unwrap();
    let within = |namespace: &str, user: &str| {
        let script = format!(
            "exec setpriv --reuid={user} --clear-groups unshare {namespace} {} fire turn-finished",
            copy_in(&sandbox)
        );
        Run::of(&mut sandbox.shell(&script))
    };
    let run = within("--user --map-user=5", "0");
    if run.stderr.starts_with("unshare:") {
        return eprintln!("needs user namespaces");
    }
    // Outside, this user is 0.
    let unknown = "belongs to a user who is not known in this user namespace (shown as 65534): mend it outside; chown 0 ";
    run.one_report_says(&[unknown]);
    for directory in [sandbox.home(), sandbox.home().join(".bravebot")] {
        std::os::unix::fs::chown(directory, Some(2000), None).unwrap();
    }
    let run = within("--user --map-user=5", "2000");
    assert!(
        run.stderr.contains("mend it outside; chown 2000 "),
        "{run:#?}"
    );
    // Not mapped itself, every file of such an owner would pass for this user's.
    for user in ["1234", "2000"] {
        within("--user", user).one_report_says(&["this user is not known in its user namespace"]);
    }
    assert!(!sandbox.work().join("ran").exists());
}

/// SPEC 1.4: of root's as of an ordinary user's; and what only looks like nobody's is not taken for anybody's.
#[test]
fn in_a_user_namespace_what_belongs_to_this_user_is_in_force() {
    let fires = |case: &Case, map: &str| {
        let fire = [
            "unshare",
            "--user",
            map,
            case.binary.to_str().unwrap(),
            "fire",
            "turn-finished",
        ];
        let run = case.command(&fire.map(AsRef::as_ref));
        if run.stderr.starts_with("unshare:") {
            eprintln!("needs user namespaces: {}", run.stderr);
            return None;
        }
        Some(run)
    };
    for map in ["--map-root-user", "--map-user=1000"] {
        let linked = format!("{AWAY}ln -s $PWD/home/dot/h.json $f");
        let cases = [
            Case::new(""),
            Case::new(&linked),
            Case::of_ordinary_user("", ""),
            Case::of_ordinary_user(&linked, ""),
            Case::of_ordinary_user("chmod 0666 $f; chmod 0700 $b", ""),
        ];
        for case in cases {
            let Some(run) = fires(&case, map) else { return };
            run.is_silent_success();
            assert_eq!(
                case.sandbox.written("ran"),
                "ran\n",
                "{map}\n{}",
                case.script
            );
        }
        // `/` is root's, who is nobody there, where this user is not root.
        let outside = Case::of_ordinary_user(&format!("{AWAY}ln -s $PWD/dot/h.json $f"), "");
        let Some(run) = fires(&outside, map) else {
            return;
        };
        let of_file = run
            .stderr
            .lines()
            .find(|line| line.contains("hooks.json not loaded: / belongs to a user who is not"));
        let of_file = of_file.filter(|line| line.contains("; rm /"));
        assert!(
            run.status == 0 && of_file.is_some() && outside.sandbox.written("ran").is_empty(),
            "{map}\n{run:#?}"
        );
    }
}

/// SPEC 1.4: there, whatever belongs to somebody who is not mapped looks as if it were this user's.
#[test]
fn in_a_user_namespace_whoever_has_nobodys_number_has_no_hooks() {
    let nobody = fs::read_to_string("/proc/sys/kernel/overflowuid").unwrap();
    let map = format!("--map-user={}", nobody.trim());
    let others = format!("chown {STRANGER} $f");
    for last in [&*others, ""]
        .iter()
        .filter(|last| is_root() || last.is_empty())
    {
        let case = Case::of_ordinary_user("", last);
        let fire = [
            "unshare",
            "--user",
            &map,
            case.binary.to_str().unwrap(),
            "fire",
            "turn-finished",
        ];
        let run = case.command(&fire.map(AsRef::as_ref));
        if run.stderr.starts_with("unshare:") {
            return eprintln!("needs user namespaces: {}", run.stderr);
        }
        let says_so = run
            .stderr
            .contains("hooks.json not loaded: this user is not known in its user namespace");
        assert!(
            run.status == 0 && says_so && case.sandbox.written("ran").is_empty(),
            "{}\n{run:#?}",
            case.script
        );
    }
}

/// A copy of the command that any user can reach.
fn copy_in(sandbox: &Sandbox) -> String {
    let copy = sandbox.root().join("command").display().to_string();
    assert!(
        std::process::Command::new("cp")
            .args([BINARY, &copy])
            .status()
            .unwrap()
            .success()
    );
    copy
}
