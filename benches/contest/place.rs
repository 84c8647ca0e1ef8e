//! Directories of a bench's own, removed at its end, and the programs in them, compiled when it begins.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub struct Place(PathBuf);

impl Place {
    pub fn new() -> Place {
        let place = Place(
            nix::unistd::mkdtemp(&std::env::temp_dir().join("bravebot-hooks-bench-XXXXXX"))
                .unwrap(),
        );
        mode(&place.0, 0o755);
        place
    }

    /// A directory to be HOME, with this `hooks.json`.
    pub fn home(&self, name: &str, hooks: Option<&str>) -> PathBuf {
        let home = self.0.join(name);
        fs::create_dir_all(home.join(".bravebot")).unwrap();
        // Whatever the umask: others must not be able to write.
        for path in [&home, &home.join(".bravebot")] {
            mode(path, 0o755);
        }
        if let Some(text) = hooks {
            write_hooks(&home, text);
        }
        home
    }

    /// A static program of this C.
    pub fn c(&self, name: &str, source: &str) -> PathBuf {
        self.compile(name, source, "cc", &["-O2", "-static", "-x", "c", "-"])
    }

    /// A program of this Rust, made as `cargo build --release` makes the command.
    pub fn rust(&self, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        let as_release = [
            "-Copt-level=s",
            "-Clto=fat",
            "-Ccodegen-units=1",
            "-Cstrip=symbols",
            "--edition=2024",
            "-",
        ];
        let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
        self.compile(name, source, &compiler, &[&as_release[..], flags].concat())
    }

    fn compile(&self, name: &str, source: &str, compiler: &str, flags: &[&str]) -> PathBuf {
        let program = self.0.join(name);
        let mut command = Command::new(compiler);
        command
            .args(flags)
            .arg("-o")
            .arg(&program)
            .stdin(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{compiler} is needed: {error}"));
        child
            .stdin
            .take()
            .unwrap()
            .write_all(source.as_bytes())
            .unwrap();
        assert!(child.wait().unwrap().success(), "{command:?}");
        program
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn write_hooks(home: &Path, text: &str) {
    let file = home.join(".bravebot/hooks.json");
    fs::write(&file, text).unwrap();
    mode(&file, 0o644);
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// An environment of usual size: HOME, PATH and forty more.
pub fn environment(home: &Path) -> Vec<(String, String)> {
    let more = (0..40).map(|number| {
        (
            format!("VARIABLE_{number:02}"),
            "a value of the usual length".to_owned(),
        )
    });
    let home = home.to_str().unwrap().to_owned();
    [
        ("HOME".to_owned(), home),
        ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
    ]
    .into_iter()
    .chain(more)
    .collect()
}
