"""A home that is thrown away, with one recipe in it, and the built command that fires it there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Iterator, Optional, TypeVar

from document import HOME, Section

T = TypeVar("T")
BOUND = 60.0  # seconds; for what takes a moment on an idle machine
ROOT = Path(__file__).resolve().parents[2]
BUILT = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
COMMANDS = [command for command in BUILT.glob("*/bravebot-hooks") if command.parent.name in ("debug", "release")]
if not COMMANDS:
    sys.exit(f"no command in {BUILT}: cargo build")
COMMAND = max(COMMANDS, key=lambda command: command.stat().st_mtime)


class Place:
    """Everything in it, its processes too, is gone when it is left."""

    def __init__(self, section: Section, changes: Optional[dict[str, str]] = None) -> None:
        self.home = Path(os.path.realpath(tempfile.mkdtemp(prefix="recipe-")))
        self.project = self.home / "project"
        self.log = self.home / ".bravebot" / "hooks.log"
        self.changes = {HOME: str(self.home), **(changes or {})}
        self.environment = environment(self.home)
        self.project.mkdir()
        (self.home / ".bravebot").mkdir(mode=0o755)
        for file in section.files:
            self.write(Path(self.filled(file.path)), self.filled(file.text), file.mode)
        self.write(self.home / ".bravebot" / "hooks.json", f'{{"hooks": [\n{self.filled(section.entries)}]}}\n', 0o644)

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes():
            kill(process, signal.SIGKILL)
        shutil.rmtree(self.home, ignore_errors=True)

    def filled(self, text: str) -> str:
        """The words of the document that stand for something of the reader's, as they are here."""
        for word, value in self.changes.items():
            text = text.replace(word, value)
        return text

    def write(self, path: Path, text: str, mode: int = 0o644) -> Path:
        """Writes a file whose mode is right from the start."""
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        return path

    def fire(self, moment: str, tool: str = "") -> list[str]:
        """Fires a moment in the project, and returns the reports."""
        arguments = ["fire", moment] + (["--tool", tool] if tool else [])
        return self.run([str(COMMAND), *arguments])

    def turn(self, *agent: str) -> list[str]:
        return self.run([str(COMMAND), "turn", "--", *agent])

    def run(self, command: list[str]) -> list[str]:
        done = subprocess.run(command, cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=3 * BOUND)
        expect(done.returncode == 0 and not done.stdout, f"{command}: {done}")
        return done.stderr.splitlines()

    def check(self) -> None:
        """Every entry is in force, by the command's own word."""
        done = subprocess.run([str(COMMAND), "check", "--json"], cwd=self.project, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BOUND)
        said = json.loads(done.stdout)
        in_force = all(entry["in_force"] and entry["found"] for entry in said["entries"])
        expect(done.returncode == 0 and said["entries"] and in_force, done.stdout)

    def reports(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def processes(self, name: str = "") -> list[int]:
        """The living processes of this place, those named `name` alone if it is given."""
        mark = f"HOME={self.home}".encode()
        return [pid for pid in pids()
                if mark in about(pid, "environ").split(b"\0")
                and (not name or about(pid, "comm").strip() == name.encode())]


def environment(home: Path) -> dict[str, str]:
    """Little more than PATH; the tools of Rust are found where they are."""
    passed = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LANG": "C.UTF-8"}
    for name, directory in (("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")):
        passed[name] = os.environ.get(name) or os.path.expanduser(f"~/{directory}")
    return passed


def pids() -> Iterator[int]:
    return (int(entry) for entry in os.listdir("/proc") if entry.isdigit())


def about(pid: int, what: str) -> bytes:
    """A file of /proc/PID; of a process that is gone or a stranger's, nothing."""
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return b""


def kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def ended(process: subprocess.Popen[Any]) -> None:
    """Ends a process that was started here, and waits for it."""
    for number in (signal.SIGCONT, signal.SIGTERM):
        process.send_signal(number)
    try:
        process.wait(BOUND)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()


def wait_for(what: str, condition: Callable[[], T]) -> T:
    """The first value of `condition` that is true."""
    end = time.monotonic() + BOUND
    while not (value := condition()):
        expect(time.monotonic() < end, f"waited in vain for {what}")
        time.sleep(0.02)
    return value


def expect(holds: object, otherwise: object) -> None:
    if not holds:
        raise AssertionError(otherwise)
