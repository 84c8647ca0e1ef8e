//! `check`: the file explains itself before anything runs (SPEC 8.3, 1.11, 1.5).
mod common;

use std::fs;

use common::*;
use serde_json::Value;

fn check(sandbox: &Sandbox, arguments: &[&str]) -> Run {
    let run = sandbox.run(&[&["check"], arguments].concat());
    assert!(
        run.stderr.is_empty() && matches!(run.status, 0 | 1),
        "{run:#?}"
    );
    run
}

fn json(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&check(sandbox, &["--json"]).stdout).unwrap()
}

/// The messages of one list of the JSON.
fn messages(json: &Value, list: &str) -> Vec<String> {
    json[list]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["message"].as_str().unwrap().to_owned())
        .collect()
}

/// What people get wrong, from public reports on other agents' hooks and from those agents' documents, rewritten: the file,
/// and the first line of `check`, which names the cause, its place, and what to write.
const THIRTY: &[(&str, &str)] = &[
    (
        r#"{"hooks": [{"on": "turn-finish", "run": ["notify-send", "done"]}]}"#,
        r#"hooks.json:1:19: unknown moment "turn-finish"; did you mean "turn-finished"?"#,
    ),
    (
        "{\"hooks\": [\n  {\"on\": \"Stop\", \"run\": [\"true\"]}\n]}",
        r#"hooks.json:2:10: unknown moment "Stop"; did you mean "turn-finished"?"#,
    ),
    (
        "{\"hooks\": [\r\n  {\"run\": [\"true\"], \"on\": \"PostToolUse\"}\r\n]}",
        r#"hooks.json:2:27: unknown moment "PostToolUse"; did you mean "tool-finished"?"#,
    ),
    (
        "\u{feff}{\"hooks\": [{\"on\": \"UserPromptSubmit\", \"run\": [\"true\"]}]}",
        r#"hooks.json:1:19: unknown moment "UserPromptSubmit"; did you mean "turn-started"?"#,
    ),
    (
        r#"{"hooks": [{"on": "PreToolUse", "run": ["true"]}]}"#,
        r#"hooks.json:1:19: unknown moment "PreToolUse"; there are "turn-started", "tool-finished" and "turn-finished""#,
    ),
    (
        r#"{"hooks": [{"event": "turn-finished", "run": ["true"]}]}"#,
        r#"hooks.json:1:13: unknown key "event"; did you mean "on"?"#,
    ),
    (
        r#"{"hooks": [{"on": "turn-finished", "command": ["true"]}]}"#,
        r#"hooks.json:1:36: unknown key "command"; did you mean "run"?"#,
    ),
    (
        r#"{"hooks": [{"on": "tool-finished", "matcher": "Write", "run": ["true"]}]}"#,
        r#"hooks.json:1:36: unknown key "matcher"; did you mean "tool"?"#,
    ),
    (
        r#"{"hooks": [{"on": "turn-finished", "run": ["true"], "timeoutSec": 5}]}"#,
        r#"hooks.json:1:53: unknown key "timeoutSec"; did you mean "timeout"?"#,
    ),
    (
        r#"{"hooks": [{"on": "turn-finished", "run": "notify-send done"}]}"#,
        r#"hooks.json:1:43: "run" is an array of strings: the program, then each argument, found one string; write ["program", "argument"], nothing splits it"#,
    ),
    (
        r#"{"hooks": [{"on": "turn-finished", "run": []}]}"#,
        r#"hooks.json:1:43: "run" is an array of strings: the program, then each argument, found an empty array"#,
    ),
    (
        r#"{"hooks": [{"on": "turn-finished", "run": ["sleep", 3]}]}"#,
        r#"hooks.json:1:53: "run" is an array of strings: the program, then each argument, found a number among them; put it in quotes"#,
    ),
    (
        r#"{"hooks": [{"on": "turn-finished", "run": ["~/bin/notify"]}]}"#,
        r#"hooks.json:1:44: the program "~/bin/notify" begins with "~/" or "$", and nothing expands them; write the whole path"#,
    ),
    (
        r#"{"hooks": [{"on": "turn-finished", "run": ["$HOME/bin/notify"]}]}"#,
        r#"hooks.json:1:44: the program "$HOME/bin/notify" begins with "~/" or "$", and nothing expands them; write the whole path"#,
    ),
    (
        r#"{"hooks": [{"on": "turn-finished"}]}"#,
        r#"hooks.json:1:12: the entry has no "run": the program, then each argument, as ["program", "argument"]"#,
    ),
    (
        r#"{"hooks": [{"run": ["true"]}]}"#,
        r#"hooks.json:1:12: the entry has no "on": "turn-started", "tool-finished" or "turn-finished""#,
    ),
    (
        r#"{"hooks": [{"on": "tool-finished", "tool": null, "run": ["true"]}]}"#,
        r#"hooks.json:1:44: "tool" is the name of one tool, found null; leave it out to run on every tool"#,
    ),
    (
        r#"{"hooks": [{"on": "tool-finished", "tool": ["a", "b"], "run": ["true"]}]}"#,
        r#"hooks.json:1:44: "tool" is the name of one tool, found an array; write an entry a tool"#,
    ),
    (
        r#"{"hooks": [{"on": "turn-finished", "tool": "run", "run": ["true"]}]}"#,
        r#"hooks.json:1:44: "tool" goes with "tool-finished" alone; a turn has no tool"#,
    ),
    (
        r#"{"hooks": [{"on": "turn-finished", "run": ["true"], "timeout": 5000}]}"#,
        r#"hooks.json:1:64: "timeout" is a whole number of seconds from 1 to 600, in digits alone; this number is not"#,
    ),
    (
        r#"{"hooks": [{"on": "turn-finished", "run": ["true"], "timeout": "10s"}]}"#,
        r#"hooks.json:1:64: "timeout" is a whole number of seconds from 1 to 600, in digits alone, found a string"#,
    ),
    (
        "{\"hooks\": [\n  {\"on\": \"turn-finished\", \"run\": [\"true\"]},\n]}",
        "hooks.json:2:43: not JSON: a comma after the last one; take it out; no hook is in force",
    ),
    (
        "{\n  // a notification\n  \"hooks\": []\n}",
        "hooks.json:2:3: not JSON: a comment; JSON has none, take it out; no hook is in force",
    ),
    (
        "{'hooks': []}",
        "hooks.json:1:2: not JSON: a single quote; JSON has double quotes alone; no hook is in force",
    ),
    (
        "{hooks: []}",
        r#"hooks.json:1:2: not JSON: the key needs double quotes; write "hooks"; no hook is in force"#,
    ),
    (
        "{\"hooks\": [\n  {\"on\": \"turn-finished\" \"run\": [\"true\"]}\n]}",
        "hooks.json:2:25: not JSON: a comma is missing here; no hook is in force",
    ),
    (
        "{\"hooks\": [\n  {\"on\": \"turn-finished\", \"run\": [\"true\"]}\n",
        "hooks.json:1:11: not JSON: the array that begins here is not closed; write ] at its end; no hook is in force",
    ),
    (
        "notify = [\"python3\", \"notify.py\"]\n",
        "hooks.json:1:1: not JSON: this is TOML, as in Codex's config.toml; write {\"hooks\": [{\"on\": \"turn-finished\", \"run\": [\"program\"]}]} here; no hook is in force",
    ),
    (
        "hooks:\n  - on: turn-finished\n",
        "hooks.json:1:1: not JSON: this is YAML; write {\"hooks\": [{\"on\": \"turn-finished\", \"run\": [\"program\"]}]} here; no hook is in force",
    ),
    (
        r#"{"hooks": [{"on": "turn-finished", "run": ["sh", "-c", "echo "S3CRET""]}]}"#,
        r#"hooks.json:1:63: not JSON: text after a string; write \" for a quote inside it, or close the one before with a quote and a comma; no hook is in force"#,
    ),
    (
        "{\"hooks\": [\n  {\"on\": \"turn-finished\", \"run\": [\"true\"],\n  {\"on\": \"turn-finished\", \"run\": [\"true\"]}\n]}",
        "hooks.json:2:3: not JSON: the object that begins here is not closed; write } at its end; no hook is in force",
    ),
    (
        r#"{"hooks": ["on": "turn-finished", "run": ["true"]]}"#,
        "hooks.json:1:16: not JSON: a colon in an array; write { before the key; no hook is in force",
    ),
    (
        r#""hooks": [{"on": "turn-finished", "run": ["true"]}]"#,
        "hooks.json:1:1: not JSON: the braces around the whole file are missing; write { before this and } at the end; no hook is in force",
    ),
    (
        "{\"on\": \"turn-finished\", \"run\": [\"true\"]}\n{\"on\": \"turn-started\", \"run\": [\"true\"]}\n",
        r#"hooks.json:2:1: not JSON: a second value after the file's one object; put all entries into one {"hooks": [...]}; no hook is in force"#,
    ),
    (
        r#"{"on": "turn-finished", "run": ["true"]}"#,
        r#"hooks.json:1:1: an entry stands where the file should; write {"hooks": [{"on": "turn-finished", "run": ["program", "argument"]}]}; no hook is in force"#,
    ),
    (
        r#"{"hooks": [{"on": "turn-finished", "run": ["true"], "args": ["S3CRET"]}]}"#,
        r#"hooks.json:1:53: unknown key "args"; the arguments go into "run", after the program"#,
    ),
    (
        r#"{"hooks": [{"on": "turn-finished", "run": ["true", {S3CRET: 1}]}]}"#,
        "hooks.json:1:53: not JSON: the key needs double quotes; no hook is in force",
    ),
    (
        r#"{"version": 1, "hooks": [{"on": "stop", "run": ["true"]}]}"#,
        r#"hooks.json:1:33: unknown moment "stop"; did you mean "turn-finished"?"#,
    ),
    (
        r#"[{"on": "turn-finished", "run": ["true"]}]"#,
        r#"hooks.json:1:1: the file is {"hooks": [...]}, found an array; no hook is in force"#,
    ),
    (
        r#"{"Hooks": [{"on": "turn-finished", "run": ["true"]}]}"#,
        r#"hooks.json:1:2: unknown key "Hooks", so no hook is in force; did you mean "hooks"?"#,
    ),
    (
        r#"{"hooks": {"PostToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": "S3CRET"}]}], "Stop": []}}"#,
        r#"hooks.json:1:11: this is the hooks file of Claude Code (or Codex or Qwen Code, which share it), and is not read here; write {"hooks": [{"on": "turn-finished", "run": ["program", "argument"]}]}, with "tool-finished" for "PostToolUse", "turn-finished" for "Stop"; no hook is in force"#,
    ),
    (
        r#"{"hooks": {"AfterTool": [], "BeforeModel": []}}"#,
        r#"hooks.json:1:11: this is the hooks file of Gemini CLI, and is not read here; write {"hooks": [{"on": "turn-finished", "run": ["program", "argument"]}]}, with "tool-finished" for "AfterTool", nothing for "BeforeModel"; no hook is in force"#,
    ),
    (
        r#"{"version": 1, "hooks": {"afterFileEdit": [{"command": "S3CRET"}], "stop": []}}"#,
        r#"hooks.json:1:25: this is the hooks file of Cursor, and is not read here; write {"hooks": [{"on": "turn-finished", "run": ["program", "argument"]}]}, with "tool-finished" for "afterFileEdit", "turn-finished" for "stop"; no hook is in force"#,
    ),
    (
        r#"{"version": 1, "hooks": {"agentStop": [{"type": "command", "bash": "S3CRET"}]}}"#,
        r#"hooks.json:1:25: this is the hooks file of GitHub Copilot CLI, and is not read here; write {"hooks": [{"on": "turn-finished", "run": ["program", "argument"]}]}, with "turn-finished" for "agentStop"; no hook is in force"#,
    ),
    (
        r#"{"Stop": [{"hooks": [{"type": "command", "command": "S3CRET"}]}]}"#,
        r#"hooks.json:1:1: this is the hooks file of Claude Code (or Codex or Qwen Code, which share it), and is not read here; write {"hooks": [{"on": "turn-finished", "run": ["program", "argument"]}]}, with "turn-finished" for "Stop"; no hook is in force"#,
    ),
];

/// SPEC 8.3, 1.11, CASES 2, 4, 5, 8, 9, 10, 16.
#[test]
fn the_first_line_names_the_true_cause_and_its_place() {
    const { assert!(THIRTY.len() >= 30) };
    for (file, first) in THIRTY {
        let sandbox = Sandbox::with(file);
        let run = check(&sandbox, &[]);
        assert_eq!(
            (run.status, run.stdout.lines().next()),
            (1, Some(*first)),
            "{file}\n{run:#?}"
        );
        assert!(!run.stdout.contains("S3CRET"), "{run:#?}");
        // What `fire` says is the same.
        let said = sandbox.fire("turn-finished");
        assert!(
            said.stderr.contains(&format!("bravebot-hooks: {first}\n")),
            "{said:#?}"
        );
    }
}

/// SPEC 8.3: each entry in the order of the file, in force or not, and where its program is now.
#[test]
fn every_entry_is_shown_in_its_order_with_where_its_program_is() {
    let sandbox = Sandbox::with(
        "{\"hooks\": [\n {\"on\":\"tool-finished\",\"tool\":\"write_file\",\"run\":[\"tool\",\"S3CRET\"]},\n \
         {\"on\":\"stop\",\"run\":[\"x\"]},\n {\"on\":\"turn-finished\",\"run\":[\"missing\"]}]}",
    );
    let tool = sandbox.script("tool", "#!/bin/sh\ntouch ran\n");
    let path = format!("{}:/usr/bin:/bin", sandbox.root().display());
    let run = Run::of(sandbox.command(&["check"]).env("PATH", &path));
    let shown = tool.to_str().unwrap();
    let blocks = [
        "line 2: in force",
        "line 3: not in force",
        "line 4: in force",
        shown,
        "not found",
    ];
    assert!(
        blocks.iter().all(|part| run.stdout.contains(part)),
        "{run:#?}"
    );
    assert!(
        run.stdout.contains("2 of 3 entries in force") && !run.stdout.contains("S3CRET"),
        "{run:#?}"
    );

    let json = json(&sandbox);
    assert_eq!(
        (&json["version"], &json["exists"], &json["file"]),
        (&1.into(), &true.into(), &sandbox.file().to_str().into())
    );
    let entries = json["entries"].as_array().unwrap();
    let of = |entry: &Value| {
        ["line", "column", "in_force", "moment", "tool", "program"].map(|key| entry[key].clone())
    };
    let expected = [
        serde_json::json!([2, 2, true, "tool-finished", "write_file", "tool"]),
        serde_json::json!([3, 2, false, null, null, "x"]),
        serde_json::json!([4, 2, true, "turn-finished", null, "missing"]),
    ];
    assert_eq!(
        entries
            .iter()
            .map(|entry| Value::from(of(entry).to_vec()))
            .collect::<Vec<_>>(),
        expected
    );
    assert!(!sandbox.work().join("ran").exists());
}

/// SPEC 8.3, CASES 20, 44: each warning, and that it neither fails nor stops anything.
#[test]
fn what_was_probably_not_meant_is_a_warning() {
    let sandbox = Sandbox::new();
    let at = |name: &str| sandbox.root().join(name).display().to_string();
    mode(&sandbox.script("plain", "#!/bin/sh\n"), 0o644);
    mode(&sandbox.script("open", "#!/bin/sh\n"), 0o777);
    sandbox.script("lost", "#!/no/such/interpreter -x\n");
    fs::create_dir(sandbox.root().join("shared")).unwrap();
    sandbox.script("shared/tool", "#!/bin/sh\n");
    mode(&sandbox.root().join("shared"), 0o777);
    fs::create_dir(sandbox.work().join("bin")).unwrap();
    sandbox.script("work/bin/mine", "#!/bin/sh\n");
    sandbox.script("work/fmt.sh", "#!/bin/sh\n");
    sandbox.script("bare", "true\n");
    nix::unistd::mkfifo(&sandbox.root().join("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    for (target, link) in [("work/fmt.sh", "link"), ("shared/tool", "wide")] {
        std::os::unix::fs::symlink(sandbox.root().join(target), sandbox.root().join(link)).unwrap();
    }
    let entry = |run: &[&str], more: &str| {
        format!(
            "{{\"on\":\"turn-finished\",\"run\":{}{more}}}",
            serde_json::json!(run)
        )
    };
    let tool = |tool: &str| {
        format!(
            "{{\"on\":\"tool-finished\",\"tool\":{},\"run\":[\"true\"]}}",
            serde_json::json!(tool)
        )
    };
    let (plain, open, lost, shared) = (at("plain"), at("open"), at("lost"), at("shared/tool"));
    for (text, place, parts) in [
        (
            entry(&["missing"], ""),
            "2:30",
            &["\"missing\" now: no program of that name in PATH"][..],
        ),
        (
            entry(&[&plain], ""),
            "2:30",
            &["permission denied", "chmod +x"],
        ),
        // Neither waited for, nor to be made executable.
        (
            entry(&[&at("fifo")], ""),
            "2:30",
            &["permission denied (it, or what runs it, is not executable here)"],
        ),
        (
            entry(&["/dev/null"], ""),
            "2:30",
            &["permission denied (it, or what runs it, is not executable here)"],
        ),
        (
            entry(&[&lost], ""),
            "2:30",
            &["needs \"/no/such/interpreter\", which does not exist"],
        ),
        (
            entry(&[&open], ""),
            "2:30",
            &["others can write to", "(mode 0777); chmod go-w"],
        ),
        (
            entry(&[&shared], ""),
            "2:30",
            &["others can write to", "/shared (mode 0777); chmod go-w"],
        ),
        (
            entry(&["./fmt.sh"], ""),
            "2:30",
            &["\"./fmt.sh\" is taken from the turn's directory: the checkout chooses"],
        ),
        (
            entry(&["./none.sh"], ""),
            "2:30",
            &["\"./none.sh\" is taken from the turn's directory: the checkout chooses"],
        ),
        (
            entry(&["mine"], ""),
            "2:30",
            &[
                "\"mine\" is \"",
                "in the working directory: the checkout chooses what it runs",
            ],
        ),
        (
            entry(&["true", "~/S3CRET"], ""),
            "2:37",
            &["an argument begins with \"~/\" or \"$\", and nothing expands it"],
        ),
        (
            entry(&["true", "a", "$S3CRET"], ""),
            "2:41",
            &["an argument begins with \"~/\" or \"$\", and nothing expands it"],
        ),
        (
            entry(&["true"], ",\"timeout\":60"),
            "2:48",
            &["a timeout of 60 s is above the bound; 30 s hold"],
        ),
        (
            entry(&["sh", "-c", "echo $S3CRET"], ""),
            "2:30",
            &["\"sh\" with -c is a shell, named on purpose"],
        ),
        (
            entry(&["/bin/bash", "-lc", "S3CRET"], ""),
            "2:30",
            &["\"/bin/bash\" with -c is a shell"],
        ),
        (
            tool("write_file "),
            "2:30",
            &["\"write_file \" has blanks around it"],
        ),
        (
            tool("write_*"),
            "2:30",
            &["\"write_*\" is compared byte for byte"],
        ),
        (
            entry(&["notify-send done"], ""),
            "2:30",
            &["nothing splits it; write [\"program\", \"argument\"]"],
        ),
        (
            entry(&["A=b", "true"], ""),
            "2:30",
            &["an assignment is none; write [\"env\", \"NAME=value\", \"program\"]"],
        ),
        (
            entry(&["echo", "S3CRET", "|", "cat"], ""),
            "2:46",
            &["an argument is a sign of the shell, and no shell reads it"],
        ),
        (
            entry(&["C:\temp"], ""),
            "2:30",
            &["the program holds a control character"],
        ),
        (
            entry(&[&at("bare")], ""),
            "2:30",
            &["is not a program: its first line is no \"#!\""],
        ),
        (
            entry(&[&at("link")], ""),
            "2:30",
            &["lies in the working directory: the checkout chooses what it runs"],
        ),
        (
            entry(&[&at("wide")], ""),
            "2:30",
            &["/shared (mode 0777); chmod go-w"],
        ),
        (
            tool("a,b"),
            "2:30",
            &["is compared byte for byte, and is no pattern or list"],
        ),
        (
            tool("Write_File"),
            "2:30",
            &["\"Write_File\" is compared byte for byte; did you mean \"write_file\"?"],
        ),
        (
            "{\"on\":\"tool-finished\",\"run\":[\"true\"]}".to_owned(),
            "2:1",
            &["runs after every tool call"],
        ),
        (
            format!("{0},\n{0}", entry(&["true"], "")),
            "3:1",
            &["the same as the entry on line 2, so it runs twice"],
        ),
    ] {
        sandbox.hooks(format!("{{\"hooks\":[\n{text}]}}"));
        let path = format!("{}/bin:/usr/bin:/bin", sandbox.work().display());
        let run = Run::of(sandbox.command(&["check", "--json"]).env("PATH", path));
        let json: Value = serde_json::from_str(&run.stdout).unwrap();
        let warnings = messages(&json, "warnings");
        let fits = |warning: &&String| {
            warning.starts_with(&format!("hooks.json:{place}: "))
                && parts.iter().all(|part| warning.contains(part))
        };
        assert_eq!(
            warnings.iter().filter(fits).count(),
            1,
            "{text}\n{place} {parts:?}\n{warnings:#?}"
        );
        assert!(
            run.status == 0 && !run.stdout.contains("S3CRET"),
            "{run:#?}"
        );
        let bare = json["entries"][0]["program"]
            .as_str()
            .is_some_and(|program| !program.contains('/'));
        let path_says = warnings
            .iter()
            .filter(|warning| warning.starts_with("PATH has "))
            .count();
        assert_eq!(path_says, usize::from(bare), "{warnings:#?}");
    }
    // What is meant has none.
    sandbox.hooks(format!(
        "{{\"hooks\":[{},{}]}}",
        tool("write_file"),
        entry(&["true", "a", ""], ",\"timeout\":30")
    ));
    assert_eq!(messages(&json(&sandbox), "warnings"), Vec::<String>::new());
}

/// SPEC 8.3: a file that a link has lie in the checkout is the checkout's to write.
#[test]
fn a_hooks_file_in_the_checkout_is_a_warning() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.work().join("h.json"), r#"{"hooks":[]}"#).unwrap();
    mode(&sandbox.work().join("h.json"), 0o644);
    std::os::unix::fs::symlink("../../work/h.json", sandbox.file()).unwrap();
    let warnings = messages(&json(&sandbox), "warnings");
    assert!(
        warnings.len() == 1 && warnings[0].contains("the checkout chooses the hooks"),
        "{warnings:#?}"
    );
    // In HOME, it lies where it belongs.
    let sandbox = Sandbox::with(r#"{"hooks":[]}"#);
    let run = Run::of(
        sandbox
            .command(&["check", "--json"])
            .current_dir(sandbox.home()),
    );
    assert!(
        messages(&serde_json::from_str(&run.stdout).unwrap(), "warnings").is_empty(),
        "{run:#?}"
    );
}

/// SPEC 8.3: names, never values; and `--withhold` counts.
#[test]
fn the_withheld_names_that_are_set_now_are_shown() {
    let sandbox = Sandbox::with(r#"{"hooks":[]}"#);
    let mut command = sandbox.command(&["check", "--withhold", "MY_KEY"]);
    let run = Run::of(command.envs([
        ("OPENAI_API_KEY", "S3CRET"),
        ("My_Key", "S3CRET"),
        ("GITHUB_TOKEN", "x"),
    ]));
    assert!(
        run.stdout
            .contains("withheld from hooks\n  My_Key\n  OPENAI_API_KEY\n"),
        "{run:#?}"
    );
    assert!(
        !run.stdout.contains("S3CRET") && !run.stdout.contains("GITHUB_TOKEN") && run.status == 0,
        "{run:#?}"
    );
}

/// SPEC 8.3: where the log is, how many reports it holds, and the last one.
#[test]
fn the_log_is_shown_with_its_last_report() {
    let sandbox =
        Sandbox::with(r#"{"hooks":[{"on":"turn-finished","run":["sh","-c","exit 101"]}]}"#);
    assert!(check(&sandbox, &[]).stdout.contains("hooks.log: 0 reports"));
    assert!(
        !sandbox.home().join(".bravebot/hooks.log").exists(),
        "check made a log"
    );
    sandbox.fire("turn-finished").reports(1);
    sandbox.fire("turn-finished").reports(1);
    let run = check(&sandbox, &[]);
    let last = json(&sandbox)["log"]["last"].clone();
    let (time, message) = (last["time"].as_str().unwrap(), &last["message"]);
    assert_eq!(message, "turn-finished hook \"sh\" exited with status 101");
    let shown = format!(
        "2 reports\n  the last, {time}: turn-finished hook \"sh\" exited with status 101\n"
    );
    assert!(run.stdout.contains(&shown), "{run:#?}");
    // Of the report, not of the file.
    let log = sandbox.home().join(".bravebot/hooks.log");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replace(&text[9..19], "2001-02-03")).unwrap();
    assert!(
        check(&sandbox, &[])
            .stdout
            .contains("the last, 2001-02-03T")
    );
    assert_eq!(json(&sandbox)["log"]["reports"], 2);
    assert!(
        json(&sandbox)["log"]["last"]["time"]
            .as_str()
            .unwrap()
            .starts_with("2001-02-03T")
    );
}

/// SPEC 8.3: no file is no failure, and the two commands that it gives make one that is in force.
#[test]
fn without_a_file_check_says_where_it_would_be_and_how_to_begin() {
    let sandbox = Sandbox::new();
    fs::remove_dir(sandbox.home().join(".bravebot")).unwrap();
    let run = check(&sandbox, &[]);
    assert!(
        run.status == 0
            && run
                .stdout
                .starts_with(&format!("{}: no such file", sandbox.file().display())),
        "{run:#?}"
    );
    let (_, pasted) = run.stdout.split_once("commands:\n\n").unwrap();
    let (pasted, _) = pasted.split_once("\nlog\n").unwrap();
    // Whatever the person's umask.
    assert!(
        sandbox
            .shell(&format!("umask 0002\n{pasted}"))
            .status()
            .unwrap()
            .success()
    );
    let json = json(&sandbox);
    assert!(
        messages(&json, "problems").is_empty() && json["entries"].as_array().unwrap().len() == 2,
        "{json:#}"
    );
    let run = Run::of(sandbox.command(&["check"]).env_remove("HOME"));
    assert!(
        run.status == 0 && run.stdout.starts_with("HOME is not set"),
        "{run:#?}"
    );
}

/// SPEC 1.5, 8.3: a refusal is the first line, with its mend.
#[test]
fn a_file_that_is_refused_is_the_first_line_with_its_mend() {
    let sandbox = Sandbox::with(r#"{"hooks":[{"on":"turn-finished","run":["true"]}]}"#);
    mode(&sandbox.file(), 0o666);
    let run = check(&sandbox, &[]);
    let first = run.stdout.lines().next().unwrap();
    let mend = format!("chmod go-w {}", sandbox.file().display());
    assert!(
        run.status == 1 && first.starts_with("hooks.json not loaded: ") && first.ends_with(&mend),
        "{run:#?}"
    );
    assert!(sandbox.shell(&mend).status().unwrap().success());
    assert_eq!(check(&sandbox, &[]).status, 0);
}

/// SPEC 8.3: color on a terminal alone, and not where NO_COLOR is set or the terminal has none.
#[test]
fn color_is_for_terminals() {
    let sandbox = Sandbox::with(
        "{\"hooks\":[\n{\"on\":\"turn-finished\",\"run\":[\"true\"]},\n{\"on\":\"stop\",\"run\":[\"x\"]}]}",
    );
    let at_terminal = |variables: &str| {
        let line = format!("{variables} {BINARY} check");
        let mut command = sandbox.other(&["script", "-qec", &line, "/dev/null"]);
        Run::of(command.env_remove("TERM")).stdout
    };
    let colored = at_terminal("TERM=xterm");
    assert!(
        colored.starts_with("\u{1b}[31mhooks.json:3:7: ")
            && colored.contains("\u{1b}[31mline 3: not in force"),
        "{colored}"
    );
    for variables in ["TERM=xterm NO_COLOR=1", "TERM=dumb", ""] {
        let plain = at_terminal(variables);
        assert!(
            !plain.contains('\u{1b}')
                && plain.contains("  line 2: in force\r\n    moment   turn-finished"),
            "{variables}: {plain}"
        );
    }
    assert!(!check(&sandbox, &[]).stdout.contains('\u{1b}'));
}

/// SPEC 8.3.
#[test]
fn check_refuses_what_it_does_not_know() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["check", "x"][..],
        &["check", "--nonsense"],
        &["check", "--json=1"],
        &["check", "--tool", "x"],
    ] {
        let run = sandbox.run(arguments);
        assert!(
            run.status == 1 && run.stdout.is_empty() && run.stderr.contains("wrong usage"),
            "{run:#?}"
        );
    }
}
