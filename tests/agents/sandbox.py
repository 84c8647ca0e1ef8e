"""A HOME that is thrown away, an environment built from nothing, and processes that are bounded and leave none behind.

Processes are known by a mark in their environment, which every child of an agent inherits. Only marked ones are ended,
by their number.
"""
from __future__ import annotations

import ctypes
import fcntl
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass
from typing import Callable

BOUND = 60.0
MARK = "BRAVEBOT_AGENTS_MARK"

# Of these each agent has one or more of its own; a hook is to have none of them.
CANARIES = {name: f"canary-{name.lower()}" for name in (
    "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "COPILOT_PROVIDER_API_KEY",
    "CLAUDE_CODE_MESSAGING_TOKEN", "CLINE_API_KEY", "OPENCODE_API_KEY", "DASHSCOPE_API_KEY")}


def only_loopback() -> bool:
    """Moves this process into a network namespace that has `lo` alone; False where it may not."""
    if os.geteuid() or ctypes.CDLL(None, use_errno=True).unshare(0x40000000):  # CLONE_NEWNET
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        up = struct.pack("16sH14x", b"lo", 1)  # IFF_UP
        fcntl.ioctl(any_socket, 0x8914, up)  # SIOCSIFFLAGS
    return True


def wait_for(condition: Callable[[], bool], bound: float = BOUND) -> bool:
    end = time.monotonic() + bound
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@dataclass
class Ended:
    """How an agent ended. `status` is negative for a signal."""
    status: int | None
    stdout: str
    stderr: str


class Sandbox:
    def __init__(self, command: pathlib.Path) -> None:
        self.mark = uuid.uuid4().hex
        # A name of letters and digits: agents make others of the rest.
        self.root = pathlib.Path(tempfile.gettempdir()).resolve() / f"bravebot{self.mark[:8]}"
        self.root.mkdir(mode=0o700)
        self.home, self.project = self.root / "home", self.root / "project"
        self.lines, self.environment_of_hook = self.root / "lines", self.root / "environment"
        for directory in (self.home, self.project, self.root / "bin", self.root / "tmp"):
            directory.mkdir(mode=0o700)
        (self.project / "notes.txt").write_text("a project\n")
        # Copied, so that the agent finds it by its bare name, as the snippets write it.
        shutil.copy(command, self.root / "bin" / "bravebot-hooks")
        self.env = {
            "HOME": str(self.home), "PATH": f"{self.root / 'bin'}:{os.environ.get('PATH', os.defpath)}",
            "TMPDIR": str(self.root / "tmp"), "LANG": "C.UTF-8", "TERM": "dumb", "SHELL": "/bin/bash", "USER": "tester",
            "NO_COLOR": "1", MARK: self.mark, **CANARIES}

    def write(self, path: str, text: str, executable: bool = False) -> None:
        """`path` begins with ~/."""
        file = self.home / path[2:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if executable:
            file.chmod(0o700)

    def hooks(self, entries: list[dict[str, object]]) -> None:
        self.write("~/.bravebot/hooks.json", json.dumps({"hooks": entries}))
        # Whatever the umask of whoever runs this.
        (self.home / ".bravebot").chmod(0o700)

    def log(self) -> list[str]:
        """The messages of hooks.log."""
        file = self.home / ".bravebot" / "hooks.log"
        return [json.loads(line)["message"] for line in file.read_text().splitlines()] if file.exists() else []

    def run(self, argv: list[str], typed: str = "", interrupt: Callable[[], bool] | None = None) -> Ended:
        """Runs an agent to its end; SIGINT goes to its group, as from Ctrl-C, once `interrupt` holds."""
        in_, out, err = self.root / "stdin", self.root / "stdout", self.root / "stderr"
        in_.write_text(typed)
        with in_.open("rb") as stdin, out.open("wb") as stdout, err.open("wb") as stderr:
            agent = subprocess.Popen(argv, cwd=self.project, env=self.env, stdin=stdin, stdout=stdout, stderr=stderr,
                                     start_new_session=True)
        if interrupt and wait_for(lambda: interrupt() or agent.poll() is not None) and agent.poll() is None:
            os.killpg(agent.pid, signal.SIGINT)
        status: int | None = None
        if wait_for(lambda: agent.poll() is not None, bound=2 * BOUND):
            status = agent.returncode
        else:
            os.killpg(agent.pid, signal.SIGKILL)
            agent.wait()
        return Ended(status, out.read_text(errors="replace"), err.read_text(errors="replace"))

    def marked(self) -> dict[int, str]:
        """Every living process that an agent of this sandbox started, and its command line."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and self.mark.encode() in (entry / "environ").read_bytes():
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(entry.name)] = command.decode(errors="replace")
            except OSError:
                continue  # It has ended, or is another user's.
        return found

    def left(self, agents_own: tuple[str, ...] = ()) -> list[str]:
        """What is left running once all has had time to end; what the agent leaves by itself is ended, not counted."""
        def others() -> list[str]:
            return [line for line in self.marked().values() if not any(word in line for word in agents_own)]
        wait_for(lambda: not others())
        left = others()
        for step in (signal.SIGTERM, signal.SIGKILL):
            for pid in self.marked():
                try:
                    os.kill(pid, step)
                except ProcessLookupError:
                    pass
            if wait_for(lambda: not self.marked(), 5):
                break
        return left

    def close(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
