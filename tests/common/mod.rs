//! A HOME and a working directory of a test's own, and the real command in them.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The built command.
pub const BINARY: &str = env!("CARGO_BIN_EXE_bravebot-hooks");
/// How long a test waits for what must come: generous, for a machine that is busy with something else.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Directories of a test's own, removed at its end.
pub struct Sandbox {
    root: PathBuf,
}

impl Sandbox {
    pub fn new() -> Sandbox {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("bravebot-hooks-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let root = std::env::temp_dir().join(name);
        let sandbox = Sandbox { root };
        for directory in [sandbox.home().join(".bravebot"), sandbox.work()] {
            fs::create_dir_all(&directory).unwrap();
        }
        // Whatever the umask: 0755 all the way, as 1.4 wants it.
        for directory in [sandbox.root.clone(), sandbox.home(), sandbox.home().join(".bravebot"), sandbox.work()] {
            mode(&directory, 0o755);
        }
        sandbox
    }

    /// With this `hooks.json`.
    pub fn with(hooks: &str) -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.hooks(hooks);
        sandbox
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    pub fn file(&self) -> PathBuf {
        self.home().join(".bravebot/hooks.json")
    }

    pub fn hooks(&self, text: impl AsRef<[u8]>) {
        fs::write(self.file(), text).unwrap();
        mode(&self.file(), 0o644);
    }

    /// A script in the root of the sandbox, executable.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root.join(name);
        fs::write(&path, text).unwrap();
        mode(&path, 0o755);
        path
    }

    /// The command with an environment built from nothing, in the working directory.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(arguments).current_dir(self.work()).stdin(Stdio::null()).env_clear();
        command.env("HOME", self.home()).env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&mut self.command(arguments))
    }

    pub fn fire(&self, moment: &str) -> Run {
        self.run(&["fire", moment])
    }

    /// The lines of the turn log, each parsed.
    pub fn log(&self) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(self.home().join(".bravebot/hooks.log")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line:?}"))).collect()
    }

    /// What a hook wrote to `name` in the working directory, or nothing where it wrote none.
    pub fn written(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.work().join(name)).unwrap_or_default()).into_owned()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Whatever a test did to the modes.
        let _ = Command::new("chmod").arg("-R").arg("u+rwx").arg(&self.root).stderr(Stdio::null()).status();
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// How a command ended and what it wrote.
#[derive(Debug)]
pub struct Run {
    pub command: String,
    /// The exit status, or minus the signal.
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    pub fn of(command: &mut Command) -> Run {
        let shown = format!("{command:?}");
        let Output { status, stdout, stderr } = command.output().unwrap();
        Run {
            command: shown,
            status: status.code().unwrap_or_else(|| -status.signal().unwrap()),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        }
    }

    /// Nothing was said and nothing went wrong.
    #[track_caller]
    pub fn is_silent_success(&self) {
        assert!(self.status == 0 && self.stdout.is_empty() && self.stderr.is_empty(), "{self:#?}");
    }

    /// `fire` ended with 0 and said exactly this many lines, each one a report; returned without their prefix.
    #[track_caller]
    pub fn reports(&self, count: usize) -> Vec<&str> {
        assert!(self.status == 0 && self.stdout.is_empty(), "{self:#?}");
        let reports: Vec<&str> = self
            .stderr
            .lines()
            .map(|line| {
                line.strip_prefix("bravebot-hooks: ").unwrap_or_else(|| panic!("no report: {line:?} {self:#?}"))
            })
            .collect();
        assert_eq!(reports.len(), count, "{self:#?}");
        reports
    }

    /// The one report holds each of these.
    #[track_caller]
    pub fn one_report_says(&self, parts: &[&str]) {
        let report = self.reports(1)[0];
        for part in parts {
            assert!(report.contains(part), "expected {part:?} in {report:?}");
        }
    }
}

pub fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Waits until `ready` gives something; panics after [`PATIENCE`].
#[track_caller]
pub fn eventually<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(begin.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until `path` is there, and returns what it holds; a hook writes it in one go (`echo x > tmp; mv tmp path`), or
/// ends it with a newline.
#[track_caller]
pub fn appears(path: &Path) -> String {
    eventually(&format!("{} is written", path.display()), || {
        fs::read_to_string(path).ok().filter(|text| text.ends_with('\n'))
    })
}

/// Whether a process of this number runs; a zombie does not.
pub fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().next()).is_some_and(|s| !"ZX".contains(s))
}

/// Waits until no process of this number runs any more.
#[track_caller]
pub fn ends(pid: &str) {
    assert!(pid.trim().parse::<u32>().is_ok_and(|pid| pid > 1), "no process id: {pid:?}");
    eventually(&format!("process {} is gone", pid.trim()), || (!is_alive(pid)).then_some(()));
}
