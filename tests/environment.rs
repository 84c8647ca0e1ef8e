//! What of the environment reaches a hook, and that what is withheld gets nowhere else either (SPEC 3.4, 4, 6.2, 6.6).
mod common;

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bravebot_hooks::{Event, Launcher, Progress, Report, Reporter};
use common::*;
use nix::fcntl::OFlag;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, posix_spawn};
use nix::sys::stat::Mode;
use nix::sys::wait::{WaitStatus, waitpid};
use serde_json::json;

const COPY: &str = r#"{"hooks":[{"on":"turn-finished","run":["cp","/proc/self/environ","got"]}]}"#;

/// What a hook found, as it found it.
fn found(sandbox: &Sandbox) -> Vec<CString> {
    let block = fs::read(sandbox.work().join("got")).unwrap();
    block
        .split_inclusive(|byte| *byte == 0)
        .map(|entry| CString::from_vec_with_nul(entry.to_vec()).unwrap())
        .collect()
}

/// The names of the table, from the README, which a test of the table itself holds to it.
fn withheld() -> Vec<&'static str> {
    let rows = include_str!("../README.md")
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    rows.map(|(name, _)| name)
        .filter(|name| {
            name.bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        })
        .collect()
}

/// What no hook may be given, in the value of a variable.
const KEY: &str = "c4nary";
/// What no report, log or trace may hold: in each argument of each hook.
const ARGUMENT: &str = "4rgument";
/// The same of the tool that has finished.
const TOOL: &str = "t00l";

fn entry(name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> CString {
    CString::new([name.as_ref(), b"=", value.as_ref()].concat()).unwrap()
}

/// Each withheld name as it is, again, in small letters, mixed, and as it is once more; no two values are the same.
fn canaries() -> Vec<CString> {
    let names = withheld();
    assert!(
        names.len() >= 90
            && names.contains(&"ANTHROPIC_API_KEY")
            && names.contains(&"CLAUDE_CODE_MESSAGING_TOKEN")
    );
    let forms = |name: &str| {
        let mixed = |(i, c): (usize, char)| {
            if i % 2 == 0 {
                c.to_ascii_lowercase()
            } else {
                c
            }
        };
        let mixed = name.chars().enumerate().map(mixed).collect();
        [
            name.to_owned(),
            name.to_owned(),
            name.to_ascii_lowercase(),
            mixed,
            name.to_owned(),
        ]
    };
    let forms = names.into_iter().flat_map(forms).enumerate();
    // With bytes that are no text behind it.
    forms
        .map(|(n, form)| entry(form, [format!("{KEY}-{n}").as_bytes(), b"\n\xff="].concat()))
        .collect()
}

/// The names of a desktop session and of developers' tools.
const KEPT: &str = "DISPLAY WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS XAUTHORITY ICEAUTHORITY XDG_RUNTIME_DIR
    XDG_SESSION_ID XDG_SESSION_TYPE XDG_SESSION_CLASS XDG_CURRENT_DESKTOP XDG_DATA_DIRS XDG_CONFIG_DIRS XDG_CONFIG_HOME
    XDG_DATA_HOME XDG_CACHE_HOME XDG_STATE_HOME XDG_SEAT XDG_VTNR XDG_MENU_PREFIX DESKTOP_SESSION KDE_FULL_SESSION
    KDE_SESSION_VERSION GNOME_SETUP_DISPLAY GNOME_KEYRING_CONTROL GTK_MODULES QT_QPA_PLATFORM QT_ACCESSIBILITY
    SESSION_MANAGER PULSE_SERVER SSH_AUTH_SOCK SSH_AGENT_PID SSH_CONNECTION SSH_TTY SSH_ASKPASS GPG_AGENT_INFO GPG_TTY
    LANG LANGUAGE LC_ALL LC_CTYPE LC_TIME LC_MESSAGES TERM COLORTERM TERM_PROGRAM VTE_VERSION TMUX STY SHELL USER LOGNAME
    MAIL EDITOR VISUAL PAGER LESS BROWSER TMPDIR TZ http_proxy HTTPS_PROXY no_proxy ALL_PROXY GITHUB_TOKEN GH_TOKEN
    GITLAB_TOKEN NPM_TOKEN CARGO_REGISTRY_TOKEN AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE
    GOOGLE_APPLICATION_CREDENTIALS VAULT_TOKEN PGPASSWORD KUBECONFIG VIRTUAL_ENV JAVA_HOME GOPATH OPENAI_BASE_URL
    OPENAI_API_KEY_OLD MY_OPENAI_API_KEY MY_API_KEY CLAUDECODE pwd oldpwd";

/// Each of them, and some names that are none, with values of every kind.
fn kept() -> Vec<CString> {
    let values = [
        "",
        "=",
        "a=b=c",
        "x\ny\n",
        "\u{1b}[31m\t",
        "'\"`$HOME $(touch no);",
        " blanks ",
        "é😀",
        "%s\\0",
        "~/*",
    ];
    let odd: [&[u8]; 4] = [b"a name with blanks", "é".as_bytes(), b"N\xff", b"=leading"];
    let names = KEPT.split_whitespace().map(str::as_bytes).chain(odd);
    let bytes = |n: usize| {
        if n.is_multiple_of(3) {
            &b"\xff\xfe\x01=\x80"[..]
        } else {
            b""
        }
    };
    names
        .enumerate()
        .map(|(n, name)| {
            entry(
                name,
                [values[n % values.len()].as_bytes(), bytes(n)].concat(),
            )
        })
        .collect()
}

/// `HOME`, `PATH` and all that is kept, as it reaches a hook.
fn expected(sandbox: &Sandbox) -> Vec<CString> {
    let home = entry("HOME", sandbox.home().as_os_str().as_bytes());
    [
        vec![home, entry("PATH", "/usr/local/bin:/usr/bin:/bin")],
        kept(),
    ]
    .concat()
}

/// That and all that is not: the canaries between the others, `PWD`, and once more what is kept with other values.
fn host(sandbox: &Sandbox) -> Vec<CString> {
    let (kept, mut canaries) = (expected(sandbox), canaries());
    let again = KEPT
        .split_whitespace()
        .map(|name| entry(name, "the second does not count"));
    let mut host: Vec<CString> = Vec::new();
    let share = canaries.len() / kept.len();
    for entry in kept {
        host.extend(canaries.drain(..share));
        host.push(entry);
    }
    host.extend(["PWD", "OLDPWD", "PWD"].map(|name| entry(name, "/elsewhere")));
    host.extend(again);
    host.extend(canaries);
    host
}

/// Runs `program` with exactly this environment: std's Command can hold no name twice.
fn run(sandbox: &Sandbox, environment: &[CString], program: &Path, arguments: &[&str]) -> Run {
    let words: Vec<CString> = [program.to_str().unwrap()]
        .iter()
        .chain(arguments)
        .map(|word| CString::new(word.as_bytes()).unwrap())
        .collect();
    let [out, err] = ["stdout", "stderr"].map(|stream| sandbox.root().join(stream));
    let mut actions = PosixSpawnFileActions::init().unwrap();
    actions
        .add_open(0, "/dev/null", OFlag::O_RDONLY, Mode::empty())
        .unwrap();
    for (stream, path) in [(1, &out), (2, &err)] {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_TRUNC;
        actions
            .add_open(stream, path, flags, Mode::from_bits_truncate(0o644))
            .unwrap();
    }
    let attributes = PosixSpawnAttr::init().unwrap();
    let pid = posix_spawn(program, &actions, &attributes, &words, environment).unwrap();
    let status = match waitpid(pid, None).unwrap() {
        WaitStatus::Exited(_, status) => status,
        WaitStatus::Signaled(_, signal, _) => -(signal as i32),
        other => panic!("{other:?}"),
    };
    let read = |path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    Run {
        command: format!("{arguments:?}"),
        status,
        stdout: read(out),
        stderr: read(err),
    }
}

fn command(sandbox: &Sandbox, environment: &[CString], arguments: &[&str]) -> Run {
    let work = sandbox.work();
    let (subcommand, rest) = arguments.split_at(1);
    run(
        sandbox,
        environment,
        BINARY.as_ref(),
        &[subcommand, &["--directory", work.to_str().unwrap()], rest].concat(),
    )
}

/// SPEC 3.4, 4.1, CASES 26: absent, not empty, every copy and in any case of its letters.
#[test]
fn no_credential_of_an_agent_or_a_model_provider_reaches_a_hook() {
    let sandbox = Sandbox::with(COPY);
    let [home, path] = [&expected(&sandbox)[0], &expected(&sandbox)[1]];
    let environment = [
        canaries(),
        vec![home.clone()],
        canaries(),
        vec![path.clone()],
        canaries(),
    ]
    .concat();
    command(&sandbox, &environment, &["fire", "turn-finished"]).is_silent_success();
    assert_eq!(found(&sandbox), [home.clone(), path.clone()]);
}

/// SPEC 3.4, 4.2: nothing is added, changed, moved or guessed at, and of a name that stands twice the first counts.
#[test]
fn everything_else_reaches_it_byte_for_byte() {
    let sandbox = Sandbox::with(COPY);
    command(&sandbox, &host(&sandbox), &["fire", "turn-finished"]).is_silent_success();
    assert_eq!(found(&sandbox), expected(&sandbox));
}

/// Hooks of `moment` that copy what they are given and then end in each way there is a report for, hooks that cannot be
/// started in each way there is, and entries with each kind of mistake; with the number of mistakes and of hooks.
fn hooks_that_fail(sandbox: &Sandbox, moment: &str) -> (String, usize, usize) {
    let at = |name: &str| sandbox.root().join(name).to_str().unwrap().to_owned();
    for (name, text) in [
        ("plain", "#!/bin/sh\n"),
        ("text", "true\n"),
        ("lost", "#!/no/such\n"),
    ] {
        sandbox.script(name, text);
    }
    mode(&sandbox.root().join("plain"), 0o644);
    let copies = [
        "",
        "exit 3",
        "kill -KILL $$",
        "exec sleep 332",
        "sleep 333 & exit 0",
    ]
    .map(|end| {
        vec![
            "sh".to_owned(),
            "-c".to_owned(),
            format!(": {ARGUMENT}; cat /proc/$$/environ /proc/$$/cmdline - >> got; {end}"),
        ]
    });
    let programs = [
        "no-such-program",
        "/missing",
        &at("plain"),
        &at("text"),
        &at("lost"),
        &at("work"),
        &at("busy"),
        "true",
    ];
    let programs = programs.map(|program| {
        vec![
            program.to_owned(),
            format!("~/{ARGUMENT}"),
            format!("${ARGUMENT}"),
        ]
    });
    let runs: Vec<_> = copies.into_iter().chain(programs).collect();
    let hooks = runs.len();
    let in_force = runs.into_iter().map(|mut run| {
        run.push(ARGUMENT.to_owned());
        let bound = if run.iter().any(|word| word.ends_with("sleep 332")) {
            2
        } else {
            30
        };
        json!({"on": moment, "run": run, "timeout": bound})
    });
    let mistakes = [
        json!({"run": format!("program {ARGUMENT}")}),
        json!({"run": ["program", 3, ARGUMENT]}),
        json!({"run": ["program", [ARGUMENT]]}),
        json!({"run": ["program", format!("{ARGUMENT}\0")]}),
        json!({"run": ["", ARGUMENT]}),
        json!({"run": ["~/program", ARGUMENT]}),
        json!({"run": {"program": ARGUMENT}}),
        json!({"run": ["program", ARGUMENT], "timeout": ARGUMENT}),
        json!({"run": ["program", ARGUMENT], "tool": [ARGUMENT]}),
        json!({"run": ["program", ARGUMENT], "env": {"NAME": ARGUMENT}}),
        json!({"run": ["program"], "args": [ARGUMENT]}),
        json!({"command": ["program", ARGUMENT]}),
        json!({"command": format!("program {ARGUMENT}")}),
        json!({"on": [ARGUMENT], "run": ["program", ARGUMENT]}),
        json!({"on": "turn-finish", "run": ["program", ARGUMENT]}),
        json!({"on": "turn-started", "tool": "run", "run": ["program", ARGUMENT]}),
        json!([ARGUMENT]),
        json!(ARGUMENT),
    ];
    // And a key at the root, and two of the next.
    let count = mistakes.len() + 3;
    let mistakes = mistakes.map(|mut mistake| {
        if let Some(entry) = mistake.as_object_mut() {
            entry.entry("on").or_insert(json!(moment));
        }
        mistake
    });
    // What no object of the parser can hold, and one for this tool alone.
    let raw = [
        format!(r#"{{"on":"{moment}","run":["program"],"run":["program","{ARGUMENT}"]}}"#),
        format!(r#"{{"on":"{moment}","run":["\ud800","{ARGUMENT}"]}}"#),
        format!(r#"{{"on":"tool-finished","tool":"{TOOL}","run":["false"]}}"#),
    ];
    let entries = in_force
        .chain(mistakes)
        .map(|entry| entry.to_string())
        .chain(raw)
        .collect::<Vec<_>>()
        .join(",");
    (
        format!(r#"{{"unknown":"{ARGUMENT}","hooks":[{entries}]}}"#),
        count,
        hooks,
    )
}

/// Files of which no hook is in force, each with an argument in it.
fn files_that_fail() -> Vec<Vec<u8>> {
    let entry = format!(r#"{{"on":"turn-finished","run":["program","{ARGUMENT}"]}}"#);
    let texts = [
        format!(r#"{{"hooks":[{entry}],}}"#),
        format!(r#"{{"hooks":[{entry}"#),
        format!(r#"{{"hooks":[{entry}]}} {ARGUMENT}"#),
        format!(r#"{{"hooks":[{entry}],"hooks":[{entry}]}}"#),
        format!(r#"{{"hooks":{ARGUMENT}}}"#),
        format!(r#"{{"hooks":"{ARGUMENT}"}}"#),
        format!(r#"{{"hooks":["{ARGUMENT}\q"]}}"#),
        format!("{{\"hooks\":[\"{ARGUMENT}\n\"]}}"),
        format!(r#"{{"hooks":[{{"on":"turn-finished","run":["program" "{ARGUMENT}"]}}]}}"#),
        format!(r#"{{"hooks":[{{"on":"turn-finished","run":["program",'{ARGUMENT}']}}]}}"#),
        format!(
            r#"{{"hooks":{{"Stop":[{{"hooks":[{{"type":"command","command":"program {ARGUMENT}"}}]}}]}}}}"#
        ),
        format!(r#"{{"version":1,"hooks":{{"stop":[{{"command":"program {ARGUMENT}"}}]}}}}"#),
        format!(r#"{{"notify":["program","{ARGUMENT}"]}}"#),
        format!("notify = [\"program\", \"{ARGUMENT}\"]"),
        format!("hooks:\n  - run: {ARGUMENT}\n"),
        format!("// {ARGUMENT}\n{{}}"),
        format!(r#"{{"hoks":["{ARGUMENT}"]}}"#),
        format!(r#"["{ARGUMENT}"]"#),
        format!(r#""{ARGUMENT}""#),
        ARGUMENT.to_owned(),
        entry,
    ];
    let no_text = [b"{\"hooks\":[\"", ARGUMENT.as_bytes(), b"\xff\"]}"].concat();
    texts
        .into_iter()
        .map(String::into_bytes)
        .chain([no_text])
        .collect()
}

#[track_caller]
fn holds_none_of(text: &[u8], words: &[&str], about: &str) {
    let text = String::from_utf8_lossy(text);
    for word in words {
        let at = text
            .find(word)
            .map(|at| text[..at].rfind('\n').map_or(0, |line| line + 1));
        assert!(
            at.is_none(),
            "{word} in {about}: {}",
            text[at.unwrap()..].lines().next().unwrap_or_default()
        );
    }
}

/// What the hooks found is what it should be, each time, and no canary: as many of them as copied it.
#[track_caller]
fn hooks_found_no_canary(sandbox: &Sandbox, moment: &str, copies: usize) {
    let got = fs::read(sandbox.work().join("got")).unwrap();
    let environment: Vec<u8> = expected(sandbox)
        .iter()
        .flat_map(|entry| entry.to_bytes_with_nul().to_vec())
        .collect();
    assert_eq!(
        got.windows(environment.len())
            .filter(|window| *window == environment)
            .count(),
        copies,
        "{moment}"
    );
    assert_eq!(
        String::from_utf8_lossy(&got)
            .matches(&format!("\0{{\"event\":\"{moment}\"}}\n"))
            .count(),
        copies
    );
    holds_none_of(&got, &[KEY, TOOL], "what a hook was given");
    fs::remove_file(sandbox.work().join("got")).unwrap();
}

/// SPEC 3.4, 4.1, 6.2, 7.4, 8.3, CASES 25, 26, 46: in one sweep, whatever becomes of a hook or of the file.
#[test]
fn no_canary_is_in_a_hook_a_report_the_log_or_check() {
    let sandbox = Sandbox::new();
    let environment = [
        host(&sandbox),
        vec![entry("W1THHELD", KEY), entry("w1thheld", KEY)],
    ]
    .concat();
    let withhold = ["--withhold", "W1thheld"];
    let log = || fs::read(sandbox.home().join(".bravebot/hooks.log")).unwrap_or_default();
    let _writer = fs::OpenOptions::new()
        .write(true)
        .open(sandbox.script("busy", "#!/bin/sh\n"))
        .unwrap();
    for (moment, arguments) in [
        (
            "tool-finished",
            &["fire", "tool-finished", "--tool", TOOL][..],
        ),
        (
            "turn-finished",
            &["turn", "--", "cat", "/proc/self/environ"],
        ),
    ] {
        let (text, mistakes, hooks) = hooks_that_fail(&sandbox, moment);
        sandbox.hooks(text);
        let arguments = [&arguments[..1], &withhold, &arguments[1..]].concat();
        let run = command(&sandbox, &environment, &arguments);
        // All hooks but two, which end well; and the one for this tool.
        let reports = mistakes + hooks - 2 + usize::from(arguments.contains(&TOOL));
        assert!(
            run.status == 0 && run.stderr.lines().count() == reports,
            "{reports} {}",
            run.stderr
        );
        if arguments.contains(&"--") {
            // COMMAND has it all, and so had the launcher.
            let all: Vec<u8> = environment
                .iter()
                .flat_map(|entry| entry.to_bytes_with_nul().to_vec())
                .collect();
            assert!(
                run.stdout == String::from_utf8_lossy(&all),
                "COMMAND was not given the whole environment"
            );
        } else {
            assert_eq!(run.stdout, "");
        }
        hooks_found_no_canary(&sandbox, moment, 5);
        holds_none_of(
            run.stderr.as_bytes(),
            &[KEY, ARGUMENT, TOOL, "1thheld"],
            "standard error",
        );
        holds_none_of(&log(), &[KEY, ARGUMENT, TOOL, "1thheld"], "the log");
        let failures: BTreeSet<String> = sandbox
            .log()
            .iter()
            .map(|line| line["failure"].as_str().unwrap().to_owned())
            .collect();
        let every = [
            "exited",
            "file",
            "killed",
            "left-running",
            "not-started",
            "timed-out",
        ];
        assert!(failures.iter().eq(every), "{failures:?}");

        let run = command(
            &sandbox,
            &environment,
            &["fire", moment, "--directory", "/missing"],
        );
        assert!(run.stderr.contains("cannot be entered"), "{run:#?}");
        holds_none_of(run.stderr.as_bytes(), &[KEY, ARGUMENT], "standard error");
        for json in [&["check"][..], &["check", "--json"]] {
            let run = command(&sandbox, &environment, &[json, &withhold].concat());
            // It names what is withheld, and the tools and programs of the file.
            assert!(
                run.stdout.contains("ANTHROPIC_API_KEY") && run.stdout.contains("w1thheld"),
                "{run:#?}"
            );
            holds_none_of(
                format!("{}{}", run.stdout, run.stderr).as_bytes(),
                &[KEY, ARGUMENT],
                "check",
            );
        }
    }
    for text in files_that_fail() {
        sandbox.hooks(&text);
        for arguments in [
            &["fire", "turn-finished"][..],
            &["check"],
            &["check", "--json"],
        ] {
            let run = command(&sandbox, &environment, arguments);
            let said = format!("{}{}", run.stdout, run.stderr);
            assert!(
                said.contains("hooks.json"),
                "{}: {run:#?}",
                String::from_utf8_lossy(&text)
            );
            holds_none_of(
                said.as_bytes(),
                &[KEY, ARGUMENT],
                &format!("{arguments:?} of {}", String::from_utf8_lossy(&text)),
            );
        }
        holds_none_of(&log(), &[KEY, ARGUMENT], "the log");
    }
}

/// Keeps every span, field and event of every target at every level, and what the reporter hears.
#[derive(Clone, Default)]
struct Everything(Arc<Mutex<Vec<String>>>);

impl Everything {
    fn keep(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    fn traced(&self, metadata: &tracing::Metadata<'_>, record: impl FnOnce(&mut Fields)) {
        let mut fields = Fields(format!("{metadata:?}"));
        record(&mut fields);
        self.keep(fields.0);
    }
}

struct Fields(String);

impl tracing::field::Visit for Fields {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        self.0.push_str(&format!(" {field}={value:?}"));
    }
}

impl tracing::Subscriber for Everything {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        self.traced(span.metadata(), |fields| span.record(fields));
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        let mut fields = Fields(String::new());
        values.record(&mut fields);
        self.keep(fields.0);
    }
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        self.traced(event.metadata(), |fields| event.record(fields));
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

impl Reporter for Everything {
    fn report(&self, report: &Report) {
        self.keep(format!("heard {report} {report:?} {:?}", report.program()));
    }

    fn progress(&self, progress: Progress<'_>) {
        self.keep(format!("{progress:?}"));
    }
}

/// SPEC 6.2, 6.6: the library with the same environment and hooks; also what its dependencies trace.
#[test]
fn no_canary_is_in_a_trace_or_in_what_a_reporter_hears() {
    let test = "no_canary_is_in_a_trace_or_in_what_a_reporter_hears";
    if std::env::var_os("BRAVEBOT_HOOKS_TEST").is_some_and(|name| name == test) {
        let everything = Everything::default();
        tracing::subscriber::set_global_default(everything.clone()).unwrap();
        let launcher = Launcher::withholding(["W1thheld".into()], everything.clone());
        let work = Path::new(&std::env::var_os("HOME").unwrap()).join("../work");
        let turn = launcher.turn(&work);
        turn.tool_finished(TOOL);
        turn.delegate().tool_finished(TOOL);
        drop(turn);
        launcher.fire(Event::ToolFinished(Some(TOOL)), "/missing".as_ref());
        let kept = everything.0.lock().unwrap().clone();
        let [warned, spans, heard] = ["Level(Warn)", "kind: Kind(SPAN)", "heard "]
            .map(|word| kept.iter().filter(|text| text.contains(word)).count());
        let [mistakes, hooks] = ["MISTAKES", "HOOKS"]
            .map(|count| std::env::var(count).unwrap().parse::<usize>().unwrap());
        // Twice all hooks but two, which end well; and with the one for this tool. In the last directory none starts.
        let reports = mistakes + 2 * (hooks - 1) + hooks + 1;
        assert_eq!((warned, heard, spans), (reports, reports, 3 * (hooks + 1)));
        kept.iter().for_each(|text| {
            holds_none_of(
                text.as_bytes(),
                &[KEY, ARGUMENT, TOOL, "1thheld"],
                "a trace",
            )
        });
        return;
    }
    let sandbox = Sandbox::new();
    let (text, mistakes, hooks) = hooks_that_fail(&sandbox, "tool-finished");
    sandbox.hooks(text);
    let counts = [
        entry("MISTAKES", mistakes.to_string()),
        entry("HOOKS", hooks.to_string()),
    ];
    let own = [
        &[entry("BRAVEBOT_HOOKS_TEST", test), entry("W1THHELD", KEY)],
        &counts[..],
    ]
    .concat();
    let environment = [host(&sandbox), own].concat();
    let run = run(
        &sandbox,
        &environment,
        &std::env::current_exe().unwrap(),
        &[test, "--exact", "--nocapture"],
    );
    assert!(
        run.status == 0 && run.stdout.contains("1 passed"),
        "{run:#?}"
    );
    holds_none_of(
        &fs::read(sandbox.work().join("got")).unwrap(),
        &[KEY, TOOL],
        "what a hook was given",
    );
}

/// SPEC 4.1.
#[test]
fn a_name_given_with_withhold_is_kept_back_as_well() {
    let sandbox = Sandbox::with(COPY);
    let mut command = sandbox.command(&[
        "fire",
        "turn-finished",
        "--withhold",
        "MY_KEY",
        "--withhold=other",
        "--withhold",
        "HOME",
    ]);
    Run::of(
        command
            .env("MY_KEY", "canary")
            .env("my_key", "canary")
            .env("OTHER", "canary")
            .env("MY_KEYS", "x"),
    )
    .is_silent_success();
    let mut found = found(&sandbox);
    found.sort();
    assert_eq!(
        found,
        [
            entry("MY_KEYS", "x"),
            entry("PATH", "/usr/local/bin:/usr/bin:/bin")
        ]
    );
}
