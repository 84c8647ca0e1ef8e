//! What of the environment reaches a hook (SPEC 3.4, 4).
mod common;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;

use common::*;

const COPY: &str = r#"{"hooks":[{"on":"turn-finished","run":["cp","/proc/self/environ","got"]}]}"#;

/// What a hook found, as it found it.
fn found(sandbox: &Sandbox) -> BTreeMap<OsString, OsString> {
    let block = fs::read(sandbox.work().join("got")).unwrap();
    let entries = block.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).map(|entry| {
        let at = entry.iter().position(|byte| *byte == b'=').unwrap();
        (OsStr::from_bytes(&entry[..at]).to_owned(), OsStr::from_bytes(&entry[at + 1..]).to_owned())
    });
    entries.collect()
}

/// The names of the table, from the README, which a test of the table itself holds to it.
fn withheld() -> Vec<&'static str> {
    let rows = include_str!("../README.md").lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    rows.map(|(name, _)| name)
        .filter(|name| name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_'))
        .collect()
}

/// SPEC 3.4, 4.1, CASES 26: absent, not empty, in any case of its letters.
#[test]
fn no_credential_of_an_agent_or_a_model_provider_reaches_a_hook() {
    let names = withheld();
    assert!(
        names.len() >= 90 && names.contains(&"ANTHROPIC_API_KEY") && names.contains(&"CLAUDE_CODE_MESSAGING_TOKEN")
    );
    let sandbox = Sandbox::with(COPY);
    let mut command = sandbox.command(&["fire", "turn-finished"]);
    for name in names {
        let mixed: String =
            name.chars().enumerate().map(|(i, c)| if i % 2 == 0 { c.to_ascii_lowercase() } else { c }).collect();
        command.env(name, "canary").env(name.to_ascii_lowercase(), "canary").env(mixed, "canary");
    }
    command.env("PWD", "/elsewhere").env("OLDPWD", "/elsewhere");
    Run::of(&mut command).is_silent_success();
    let names: Vec<OsString> = found(&sandbox).into_keys().collect();
    assert_eq!(names, ["HOME", "PATH"]);
}

/// SPEC 3.4, 4.2: nothing is added, changed or guessed at.
#[test]
fn everything_else_reaches_it_byte_for_byte() {
    let mut expected: BTreeMap<OsString, OsString> = BTreeMap::new();
    for name in [
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "DBUS_SESSION_BUS_ADDRESS",
        "XDG_RUNTIME_DIR",
        "XDG_SESSION_TYPE",
        "XAUTHORITY",
        "SSH_AUTH_SOCK",
        "SSH_TTY",
        "LANG",
        "LC_ALL",
        "TERM",
        "SHELL",
        "USER",
        "LOGNAME",
        "EDITOR",
        "TMPDIR",
        "TZ",
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "NPM_TOKEN",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_PROFILE",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GITLAB_TOKEN",
        "CARGO_REGISTRY_TOKEN",
        "VAULT_TOKEN",
        "PGPASSWORD",
        "OPENAI_BASE_URL",
        "MY_API_KEY",
        "OPENAI_API_KEY_OLD",
        "pwd",
        "CLAUDECODE",
        "empty name is fine",
        "é",
    ] {
        expected.insert(name.into(), format!("value of {name}\n=\"'$HOME").into());
    }
    expected.insert("EMPTY".into(), "".into());
    expected.insert("BYTES".into(), OsStr::from_bytes(b"\xff\xfe\x01=\x80").to_owned());
    expected.insert(OsStr::from_bytes(b"N\xff").to_owned(), "x".into());
    let sandbox = Sandbox::with(COPY);
    expected.insert("HOME".into(), sandbox.home().into());
    expected.insert("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
    Run::of(sandbox.command(&["fire", "turn-finished"]).envs(&expected)).is_silent_success();
    assert_eq!(found(&sandbox), expected);
}

/// SPEC 4.1.
#[test]
fn a_name_given_with_withhold_is_kept_back_as_well() {
    let sandbox = Sandbox::with(COPY);
    let mut command =
        sandbox.command(&["fire", "turn-finished", "--withhold", "MY_KEY", "--withhold=other", "--withhold", "HOME"]);
    Run::of(command.env("MY_KEY", "canary").env("my_key", "canary").env("OTHER", "canary").env("MY_KEYS", "x"))
        .is_silent_success();
    let names: Vec<OsString> = found(&sandbox).into_keys().collect();
    assert_eq!(names, ["MY_KEYS", "PATH"]);
}
