#!/usr/bin/env python3
"""The hosts of examples/hosts, run for real with the built command: python3 tests/other_hosts.py [--install]

What is not installed is said and skipped; --install brings it (npm into the build's directory; apt-get as root). A line
for each check; the status is 1 where one failed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
NODE = TARGET / "other-hosts"
PATIENCE = 60

# Each takes the command, the bound in seconds, what the agent's tool "Write" is in hooks.json, and then the callbacks.
# What it reads at the end is still there only if nobody else has read it.
DRIVERS = {
    "python": """
import sys
from hooks import hooks
command, bound, tool, *calls = sys.argv[1:]
callbacks = hooks({"Write": tool}, command, float(bound))
for call in calls:
    name, _, argument = call.partition(":")
    callbacks[name](*([argument] if argument else []))
print(sys.stdin.readline(), end="")
""",
    "typescript": """
import { readFileSync } from "node:fs";
import { hooks } from "./hooks.js";
const [command, bound, tool, ...calls] = process.argv.slice(2);
const { onStart, afterTool, onEnd, onFailure } = hooks(new Map([["Write", tool]]), command, Number(bound) * 1000);
const callbacks = { on_start: onStart, after_tool: afterTool, on_end: onEnd, on_failure: onFailure };
for (const call of calls) {
  const [name, argument] = call.split(":");
  await callbacks[name](argument);
}
process.stdout.write(readFileSync(0));
""",
    "r": """
words <- commandArgs(trailingOnly = TRUE)
source(file.path(Sys.getenv("HOST"), "hooks.R"))
callbacks <- hooks(c(Write = words[3]), words[1], as.numeric(words[2]))
for (call in words[-(1:3)]) {
  parts <- strsplit(call, ":")[[1]]
  do.call(callbacks[[parts[1]]], as.list(parts[-1]))
}
cat(readLines("stdin", 1), sep = "\\n")
""",
}

# Tells what it was given, reads what it can and writes to both streams.
GREEDY = '#!/bin/sh\nprintf "%s\\n" "$@" > "$HOME/words"\ncat > "$HOME/taken"\necho noise\necho said >&2\n'
# Hangs, and goes of SIGKILL alone.
DEAF = '#!/bin/sh\ntrap "" TERM INT\necho $$ > "$HOME/pid"\nexec sleep 323 2> /dev/null\n'


class Place:
    """A HOME of a check's own."""

    def __init__(self, root: Path) -> None:
        self.home = Path(tempfile.mkdtemp(dir=root))
        (self.home / ".bravebot").mkdir()

    def hooks(self, *entries: Dict[str, object]) -> None:
        (self.home / ".bravebot/hooks.json").write_text(json.dumps({"hooks": entries}))

    def program(self, text: str) -> str:
        path = self.home / "command"
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def read(self, name: str) -> str:
        path = self.home / name
        return path.read_text() if path.exists() else ""


class Host:
    """One of the files of examples/hosts, with a driver beside it."""

    def __init__(self, name: str, words: Sequence[str], directory: Path) -> None:
        self.name, self.words, self.directory = name, list(words), directory

    def run(self, place: Place, command: str, bound: int, *calls: str, tool: str = "write_file") -> str:
        """Its standard error. It must have ended well, with its standard input unread and its output to itself."""
        run = subprocess.run(
            [*self.words, command, str(bound), tool, *calls], input="typed\n", text=True, cwd=place.home,
            timeout=PATIENCE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={"HOME": str(place.home), "PATH": os.environ["PATH"], "HOST": str(self.directory)},
        )
        assert (run.returncode, run.stdout) == (0, "typed\n"), run
        return run.stderr


def entry(moment: str, script: str, **more: str) -> Dict[str, object]:
    return {"on": moment, "run": ["sh", "-c", script], **more}


def moments_arrive(host: Host, place: Place, command: str) -> None:
    note = "cat >> moments"
    place.hooks(entry("turn-started", note), entry("tool-finished", note), entry("turn-finished", note),
                entry("tool-finished", "echo write_file >> moments", tool="write_file"),
                entry("turn-finished", "exit 3"))
    calls = ("on_start", "after_tool:Write", "after_tool:Else", "on_end", "on_start", "on_failure")
    said = host.run(place, command, PATIENCE, *calls)
    started, called, finished = (f'{{"event":"{m}"}}\n' for m in ("turn-started", "tool-finished", "turn-finished"))
    expected = f"{started}{called}write_file\n{called}{finished}{started}{finished}"
    assert place.read("moments") == expected, (place.read("moments"), said)
    report = 'bravebot-hooks: turn-finished hook "sh" exited with status 3\n'
    assert said == report * 2, said


def words_arrive_as_they_are_and_streams_are_kept(host: Host, place: Place, _: str) -> None:
    tool = "a b;$(touch owned)'\"\\*"
    said = host.run(place, place.program(GREEDY), PATIENCE, "after_tool:Write", tool=tool)
    assert place.read("words") == f"fire\ntool-finished\n--tool\n{tool}\n", place.read("words")
    assert (place.read("taken"), said) == ("", "said\n"), (place.read("taken"), said)


def a_missing_command_is_said_and_harms_nothing(host: Host, place: Place, _: str) -> None:
    said = host.run(place, str(place.home / "missing"), PATIENCE, "on_start", "after_tool:Write", "on_end")
    assert len(said.splitlines()) == 3 and str(place.home / "missing") in said, said


def a_hook_that_hangs_ends_at_the_bound_of_the_host(host: Host, place: Place, command: str) -> None:
    place.hooks(entry("turn-finished", 'echo $$ > pid; exec sleep 324'))
    is_gone_after(host, place, command)


def a_command_that_hangs_and_ignores_sigterm_is_killed(host: Host, place: Place, _: str) -> None:
    is_gone_after(host, place, place.program(DEAF))


def is_gone_after(host: Host, place: Place, command: str) -> None:
    # On a busy machine a second may be over before anything has started.
    for bound in (1, 4, 16):
        host.run(place, command, bound, "on_end")
        if place.read("pid"):
            break
    pid, begin = int(place.read("pid")), time.monotonic()
    while is_alive(pid):
        if time.monotonic() - begin > PATIENCE:
            os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"process {pid} lives on")
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX"


CHECKS: List[Callable[[Host, Place, str], None]] = [
    moments_arrive,
    words_arrive_as_they_are_and_streams_are_kept,
    a_missing_command_is_said_and_harms_nothing,
    a_hook_that_hangs_ends_at_the_bound_of_the_host,
    a_command_that_hangs_and_ignores_sigterm_is_killed,
]


def install() -> None:
    subprocess.run(["npm", "install", "--silent", "--prefix", NODE, "typescript@5", "@types/node@20"], check=True)
    if not shutil.which("Rscript"):
        subprocess.run(["apt-get", "update", "-q"], check=True)
        subprocess.run(["apt-get", "install", "-qy", "--no-install-recommends", "r-base-core"], check=True)


def prepare(name: str, root: Path) -> Optional[Host]:
    """The host with its driver, or None where what runs it is not installed."""
    directory = Path(tempfile.mkdtemp(dir=root))
    source = {"python": "hooks.py", "typescript": "hooks.ts", "r": "hooks.R"}[name]
    shutil.copy(ROOT / "examples/hosts" / source, directory)
    driver = directory / {"python": "driver.py", "typescript": "driver.mjs", "r": "driver.R"}[name]
    driver.write_text(DRIVERS[name])
    if name == "python":
        return Host(name, [sys.executable, str(driver)], directory)
    if name == "r":
        return Host(name, ["Rscript", str(driver)], directory) if shutil.which("Rscript") else None
    compiler = NODE / "node_modules/.bin/tsc"
    if not (shutil.which("node") and compiler.exists()):
        return None
    (directory / "package.json").write_text('{"type": "module"}')
    subprocess.run([compiler, "--strict", "--erasableSyntaxOnly", "--module", "nodenext", "--target", "es2022",
                    "--typeRoots", NODE / "node_modules/@types", "--types", "node", directory / source], check=True)
    return Host(name, ["node", str(driver)], directory)


def built() -> str:
    subprocess.run(["cargo", "build", "--quiet", "--bin", "bravebot-hooks"], cwd=ROOT, check=True)
    return str(TARGET / "debug/bravebot-hooks")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", action="store_true", help="install what is missing")
    parser.add_argument("--command", help="the command to test; without it, it is built")
    arguments = parser.parse_args()
    os.umask(0o022)
    if arguments.install:
        install()
    command = os.path.abspath(arguments.command) if arguments.command else built()
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as root:
        for name in DRIVERS:
            host = prepare(name, Path(root))
            if host is None:
                print(f"skipped  {name}: not installed (--install)", flush=True)
                skipped += len(CHECKS)
                continue
            for check in CHECKS:
                what = f"{name}: {check.__name__.replace('_', ' ')}"
                try:
                    check(host, Place(Path(root)), command)
                    passed += 1
                    print(f"ok       {what}", flush=True)
                except (AssertionError, subprocess.SubprocessError, OSError, ValueError) as error:
                    failed += 1
                    print(f"FAILED   {what}: {error!r}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
