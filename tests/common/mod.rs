//! A HOME and a working directory of a test's own, and the real command in them.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses its own part"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bravebot_hooks::{Launcher, Progress, Report, Reporter};

/// The built command.
pub const BINARY: &str = env!("CARGO_BIN_EXE_bravebot-hooks");
/// How long a test waits for what must come: generous, for a machine that is busy with something else.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A new directory. It is not named by the number of this process: the tests start so many that numbers come again.
fn place() -> PathBuf {
    nix::unistd::mkdtemp(&std::env::temp_dir().join("bravebot-hooks-XXXXXX")).unwrap()
}

/// Directories of a test's own, removed at its end.
pub struct Sandbox {
    root: PathBuf,
}

impl Sandbox {
    pub fn new() -> Sandbox {
        // Under nohup, or with `&` in a script, some are ignored, and what is started here would inherit it.
        use nix::sys::signal::Signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
        [SIGHUP, SIGINT, SIGQUIT, SIGTERM]
            .into_iter()
            .for_each(restore_default);
        let sandbox = Sandbox { root: place() };
        for directory in [sandbox.home().join(".bravebot"), sandbox.work()] {
            fs::create_dir_all(&directory).unwrap();
        }
        // Whatever the umask: 0755 all the way, as 1.4 wants it.
        for directory in [
            sandbox.root.clone(),
            sandbox.home(),
            sandbox.home().join(".bravebot"),
            sandbox.work(),
        ] {
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
        self.surrounding(Command::new(BINARY), arguments)
    }

    /// `sh -c SCRIPT` in the same surroundings.
    pub fn shell(&self, script: &str) -> Command {
        self.surrounding(Command::new("sh"), &["-c", script])
    }

    fn surrounding(&self, mut command: Command, arguments: &[&str]) -> Command {
        command
            .args(arguments)
            .current_dir(self.work())
            .stdin(Stdio::null())
            .env_clear();
        command
            .env("HOME", self.home())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.envs(profile());
        command
    }

    /// The command as an ordinary user, who then owns the sandbox: this user, or where that is root another.
    pub fn command_of_ordinary_user(&self, arguments: &[&str]) -> Command {
        if !is_root() {
            return self.command(arguments);
        }
        // The directory of the build need not be one that another user can reach.
        let binary = self.root.join("bravebot-hooks");
        // By another process: one of ours that is open for writing may be inherited by a hook of another test, and is busy.
        assert!(
            Command::new("cp")
                .arg(BINARY)
                .arg(&binary)
                .status()
                .unwrap()
                .success()
        );
        assert!(
            Command::new("chown")
                .args(["-hR", "65534:65534"])
                .arg(&self.root)
                .status()
                .unwrap()
                .success()
        );
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
            .arg(binary);
        self.surrounding(command, arguments)
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
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line:?}")))
            .collect()
    }

    /// What a hook wrote to `name` in the working directory, or nothing where it wrote none.
    pub fn written(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.work().join(name)).unwrap_or_default()).into_owned()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Whatever a test did to the modes.
        let _ = Command::new("chmod")
            .arg("-R")
            .arg("u+rwx")
            .arg(&self.root)
            .stderr(Stdio::null())
            .status();
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
        let Output {
            status,
            stdout,
            stderr,
        } = command.output().unwrap();
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
        assert!(
            self.status == 0 && self.stdout.is_empty() && self.stderr.is_empty(),
            "{self:#?}"
        );
    }

    /// `fire` ended with 0 and said exactly this many lines, each one a report; returned without their prefix.
    #[track_caller]
    pub fn reports(&self, count: usize) -> Vec<&str> {
        assert!(self.status == 0 && self.stdout.is_empty(), "{self:#?}");
        let reports: Vec<&str> = self
            .stderr
            .lines()
            .map(|line| {
                line.strip_prefix("bravebot-hooks: ")
                    .unwrap_or_else(|| panic!("no report: {line:?} {self:#?}"))
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

/// Where coverage is measured, also of what the tests start: the variable that says where to.
pub fn profile() -> Option<(&'static str, std::ffi::OsString)> {
    std::env::var_os("LLVM_PROFILE_FILE").map(|file| ("LLVM_PROFILE_FILE", file))
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
        fs::read_to_string(path)
            .ok()
            .filter(|text| text.ends_with('\n'))
    })
}

/// Whether a process of this number runs; a zombie does not.
pub fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .and_then(|rest| rest.split_ascii_whitespace().next())
        .is_some_and(|s| !"ZX".contains(s))
}

/// Waits until no process of this number runs any more.
#[track_caller]
pub fn ends(pid: &str) {
    assert!(
        pid.trim().parse::<u32>().is_ok_and(|pid| pid > 1),
        "no process id: {pid:?}"
    );
    eventually(&format!("process {} is gone", pid.trim()), || {
        (!is_alive(pid)).then_some(())
    });
}

/// The processes whose program has this file name.
pub fn processes_with(name: &str) -> Vec<i32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let of = |process: fs::DirEntry| {
        let pid = process.file_name().to_str()?.parse().ok()?;
        (fs::read_to_string(process.path().join("comm")).ok()?.trim() == name).then_some(pid)
    };
    processes.filter_map(of).collect()
}

/// For `turn`.
impl Sandbox {
    /// Hooks that note each turn moment in `moments`, and after them these: a moment and a script for sh each.
    pub fn of_turn(scripts: &[(&str, &str)]) -> Sandbox {
        let noting = [
            ("turn-started", "cat >> moments"),
            ("turn-finished", "cat >> moments"),
        ];
        let hooks: Vec<_> = noting
            .iter()
            .chain(scripts)
            .map(|(moment, script)| serde_json::json!({"on": moment, "run": ["sh", "-c", script]}))
            .collect();
        Sandbox::with(&serde_json::json!({ "hooks": hooks }).to_string())
    }

    /// Any program, with the same environment and directory as [`Sandbox::command`].
    pub fn other(&self, words: &[&str]) -> Command {
        self.surrounding(Command::new(words[0]), &words[1..])
    }

    /// Each turn moment has fired once, in their order.
    #[track_caller]
    pub fn has_fired_both_once(&self, about: &dyn std::fmt::Debug) {
        let expected = "{\"event\":\"turn-started\"}\n{\"event\":\"turn-finished\"}\n";
        assert_eq!(
            self.written("moments"),
            expected,
            "{about:#?}\n{:#?}",
            self.log()
        );
    }

    /// A FIFO in the working directory: what reads from it waits for [`Gate::say`].
    pub fn gate(&self, name: &str) -> Gate {
        let path = self.work().join(name);
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::from_bits_truncate(0o666)).unwrap();
        // Open for both, so that nothing here waits and nothing that is said gets lost.
        Gate(
            fs::OpenOptions::new()
                .read(true)
                .write(true)
                .open(path)
                .unwrap(),
        )
    }
}

/// See [`Sandbox::gate`].
pub struct Gate(fs::File);

impl Gate {
    pub fn say(&self, line: &str) {
        std::io::Write::write_all(&mut &self.0, format!("{line}\n").as_bytes()).unwrap();
    }
}

/// A command that runs beside the test, with its output in files; killed with its process group at the end of the test.
pub struct Beside {
    child: std::process::Child,
    command: String,
    output: Option<[fs::File; 2]>,
}

impl Beside {
    /// In a process group of its own, so that what it sends to its group is nothing to the test.
    pub fn start(mut command: Command) -> Beside {
        use std::os::unix::process::CommandExt;
        let place = place();
        let output = ["stdout", "stderr"].map(|stream| {
            fs::OpenOptions::new()
                .read(true)
                .append(true)
                .create_new(true)
                .open(place.join(stream))
                .unwrap()
        });
        fs::remove_dir_all(place).unwrap();
        command
            .process_group(0)
            .stdout(output[0].try_clone().unwrap())
            .stderr(output[1].try_clone().unwrap());
        let mut beside = Beside::start_as_it_is(command);
        beside.output = Some(output);
        beside
    }

    /// With the streams and the group that the command says; it makes itself a group leader (setsid).
    pub fn start_as_it_is(mut command: Command) -> Beside {
        let shown = format!("{command:?}");
        Beside {
            child: command.spawn().unwrap(),
            command: shown,
            output: None,
        }
    }

    pub fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// To the process alone.
    pub fn send(&self, signal: nix::sys::signal::Signal) {
        send(&self.pid(), signal);
    }

    /// Its end, once it has come: what it wrote is in the [`Run`].
    pub fn end(&mut self) -> Option<Run> {
        let status = self.child.try_wait().unwrap()?;
        assert!(!status.core_dumped(), "left a core file: {}", self.command);
        let [stdout, stderr] = self.output.take().map_or_else(Default::default, |files| {
            files.map(|mut file| {
                let mut bytes = Vec::new();
                std::io::Seek::rewind(&mut file).unwrap();
                std::io::Read::read_to_end(&mut file, &mut bytes).unwrap();
                String::from_utf8_lossy(&bytes).into_owned()
            })
        });
        let status = status.code().unwrap_or_else(|| -status.signal().unwrap());
        Some(Run {
            command: self.command.clone(),
            status,
            stdout,
            stderr,
        })
    }

    #[track_caller]
    pub fn ends(mut self) -> Run {
        eventually(&format!("{} ends", self.command), || self.end())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        use nix::sys::signal::{Signal, killpg};
        // Reaped already, the number could be another's.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = killpg(
                nix::unistd::Pid::from_raw(self.child.id().cast_signed()),
                Signal::SIGKILL,
            );
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

pub fn send(pid: &str, signal: nix::sys::signal::Signal) {
    let number: i32 = pid.trim().parse().unwrap();
    assert!(number > 1, "no process id: {pid:?}");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(number), signal).unwrap();
}

/// A field of `/proc/PID/status`.
pub fn status_of(pid: &str, field: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{}/status", pid.trim())).unwrap_or_default();
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    value.unwrap_or_default().trim().to_owned()
}

/// Waits until the process of this number is in one of these states (`T` stopped, `Z` ended).
#[track_caller]
pub fn is_in_state(pid: &str, states: &str) {
    eventually(
        &format!("process {} is in a state of {states}", pid.trim()),
        || {
            status_of(pid, "State")
                .starts_with(|state| states.contains(state))
                .then_some(())
        },
    );
}

/// Whether this signal was sent to the process and it has not taken it yet.
pub fn is_pending(pid: &str, signal: nix::sys::signal::Signal) -> bool {
    is_in_set(pid, "ShdPnd", signal)
}

/// Whether this process ignores this signal.
pub fn is_ignored(signal: nix::sys::signal::Signal) -> bool {
    is_in_set("self", "SigIgn", signal)
}

fn is_in_set(pid: &str, set: &str, signal: nix::sys::signal::Signal) -> bool {
    let set = u64::from_str_radix(&status_of(pid, set), 16).unwrap();
    set & (1 << (signal as i32 - 1)) != 0
}

/// Gives this signal its default action, in the whole process.
#[allow(unsafe_code, reason = "nix cannot know what an action runs")]
pub fn restore_default(signal: nix::sys::signal::Signal) {
    use nix::sys::signal::{SigHandler, signal as set_action};
    // SAFETY: the default action runs no code of this process.
    unsafe { set_action(signal, SigHandler::SigDfl) }.unwrap();
}

/// Waits until the process has taken this signal.
#[track_caller]
pub fn has_taken(pid: &str, signal: nix::sys::signal::Signal) {
    eventually(&format!("process {pid} has taken {signal}"), || {
        (!is_pending(pid, signal)).then_some(())
    });
}

/// Runs `body` in a process of its own, whose HOME has this `hooks.json`: the library reads HOME once, and a test must
/// not change the environment of others. `test` is the name of the calling test.
#[track_caller]
pub fn in_a_process_of_its_own(test: &str, hooks: &str, body: impl FnOnce()) {
    in_a_process_started_by(test, hooks, "exec \"$@\"", body);
}

/// As [`in_a_process_of_its_own`], started by a shell script that ends in `exec "$@"`.
#[track_caller]
pub fn in_a_process_started_by(test: &str, hooks: &str, script: &str, body: impl FnOnce()) {
    if std::env::var_os("BRAVEBOT_HOOKS_TEST").is_some_and(|name| name == *test) {
        return body();
    }
    let sandbox = Sandbox::with(hooks);
    let mut command = sandbox.shell(script);
    command
        .arg("sh")
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"]);
    let run = Run::of(command.env("BRAVEBOT_HOOKS_TEST", test));
    assert!(
        run.status == 0 && run.stdout.contains("1 passed"),
        "{run:#?}\nlog: {:#?}",
        sandbox.log()
    );
}

/// Waits until no process works in the directory of the hooks.
#[track_caller]
pub fn nothing_runs_in(sandbox: &Sandbox, about: &dyn Fn() -> String) {
    let runs = || {
        let of = |process: fs::DirEntry| {
            (fs::read_link(process.path().join("cwd")).ok()? == sandbox.work())
                .then(|| process.file_name())
        };
        fs::read_dir("/proc").unwrap().flatten().find_map(of)
    };
    if runs().is_some() {
        eventually(&format!("nothing runs on: {}", about()), || {
            runs().is_none().then_some(())
        });
    }
}

/// Keeps everything that it hears, in order.
#[derive(Default)]
pub struct Heard(Mutex<Vec<String>>);

impl Heard {
    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub fn reports(&self) -> Vec<String> {
        self.all()
            .into_iter()
            .filter(|line| !line.starts_with('+') && line != "-")
            .collect()
    }
}

impl Reporter for Heard {
    fn report(&self, report: &Report) {
        self.0.lock().unwrap().push(report.to_string());
    }

    fn progress(&self, progress: Progress<'_>) {
        self.0.lock().unwrap().push(match progress {
            Progress::Started { moment, program } => format!("+{moment} {program}"),
            Progress::Over => "-".to_owned(),
        });
    }
}

pub fn launcher() -> (Launcher, Arc<Heard>) {
    let heard = Arc::new(Heard::default());
    (Launcher::new(Arc::clone(&heard)), heard)
}

pub fn here() -> &'static Path {
    Path::new(".")
}

pub fn got() -> String {
    fs::read_to_string("got").unwrap_or_default()
}
