//! Small C programs, compiled when a test runs: cc(1) is there, since the linker of Rust is called through it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Makes `program` of this source; says so and gives false where there is no cc. CI insists on one.
#[must_use]
pub(crate) fn compile(source: &str, program: &Path) -> bool {
    let mut command = Command::new("cc");
    command
        .args(["-Wall", "-Wextra", "-pthread", "-x", "c", "-", "-o"])
        .arg(program);
    let Ok(mut cc) = command.stdin(Stdio::piped()).spawn() else {
        assert!(std::env::var_os("CI").is_none(), "CI needs a cc");
        eprintln!("needs cc");
        return false;
    };
    cc.stdin
        .take()
        .unwrap()
        .write_all(source.as_bytes())
        .unwrap();
    assert!(cc.wait().unwrap().success(), "{command:?}");
    true
}
