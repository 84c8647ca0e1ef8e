//! What the whole is for, on real input: a formatter after an edit, and a misspelt notifier that is heard of.
mod common;

use std::env;
use std::fs;
use std::process::Command;

use common::*;

/// SPEC 2.1, 2.2, 3.3, 6.3: with `cargo fmt` itself, in a real project.
#[test]
fn cargo_fmt_formats_the_file_that_was_edited_and_a_misspelt_notifier_is_reported() {
    let sandbox = Sandbox::with(
        r#"{"hooks":[{"on":"tool-finished","tool":"write_file","run":["cargo","fmt"]},
            {"on":"turn-finished","run":["notify-sendd","done"]}]}"#,
    );
    // The tools of Rust are found where they are, whatever HOME.
    let home = env::home_dir().unwrap_or_default();
    let of_rust = |command: &mut Command| {
        command.env("PATH", env::var_os("PATH").unwrap_or_default());
        for (name, directory) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            command.env(
                name,
                env::var_os(name).unwrap_or_else(|| home.join(directory).into()),
            );
        }
    };
    let mut version = Command::new("cargo");
    of_rust(
        version
            .args(["fmt", "--version"])
            .current_dir(sandbox.work()),
    );
    if !version.output().is_ok_and(|output| output.status.success()) {
        return eprintln!("needs cargo fmt");
    }
    let manifest = "[package]\nname = \"edited\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    fs::create_dir(sandbox.work().join("src")).unwrap();
    fs::write(sandbox.work().join("Cargo.toml"), manifest).unwrap();
    let ugly = "fn main(){let a=1;println!(\"{a}\")}\n";
    fs::write(sandbox.work().join("src/main.rs"), ugly).unwrap();

    let fire = |arguments: &[&str]| {
        let mut command = sandbox.command(arguments);
        of_rust(&mut command);
        Run::of(&mut command)
    };
    fire(&["fire", "tool-finished", "--tool", "read_file"]).is_silent_success();
    assert_eq!(sandbox.written("src/main.rs"), ugly);
    fire(&["fire", "tool-finished", "--tool", "write_file"]).is_silent_success();
    assert_eq!(
        sandbox.written("src/main.rs"),
        "fn main() {\n    let a = 1;\n    println!(\"{a}\")\n}\n"
    );

    let said =
        "turn-finished hook \"notify-sendd\" could not be started: no program of that name in PATH";
    assert_eq!(fire(&["fire", "turn-finished"]).reports(1), [said]);
    assert!(
        sandbox.log().len() == 1 && sandbox.log()[0]["message"] == said,
        "{:?}",
        sandbox.log()
    );
}
