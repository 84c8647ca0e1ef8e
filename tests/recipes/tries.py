"""Each recipe, fired in a place of its own, and what came of it in the world outside."""

from __future__ import annotations

import json
import os
import pty
import re
import secrets
import select
import shlex
import shutil
import signal
import stat
import subprocess
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Callable

from desktop import Desktop
from document import Section
from place import BOUND, COMMAND, Place, about, ended, expect, wait_for

BELL = b"\a"
SOUND = "/usr/share/sounds/freedesktop/stereo/complete.oga"


@dataclass
class Try:
    section: str
    needs: list[str]
    run: Callable[[Section], str]  # says what was seen


TRIES: list[Try] = []


def recipe(section: str, *needs: str) -> Callable[[Callable[[Section], str]], Callable[[Section], str]]:
    def keep(run: Callable[[Section], str]) -> Callable[[Section], str]:
        TRIES.append(Try(section, list(needs), run))
        return run
    return keep


@recipe("A desktop notification", "notify-send", "dbus-daemon", "dbus-send", "Xvfb", "dunst", "dunstctl")
def notification(section: Section) -> str:
    with Place(section) as place, ExitStack() as stack:
        place.check()
        desktop = Desktop(stack, place.home)
        ways = {"DBUS_SESSION_BUS_ADDRESS": desktop.address, "XDG_RUNTIME_DIR": str(desktop.runtime)}
        for number, (name, value) in enumerate(ways.items(), 1):
            place.environment[name] = value
            expect(not place.fire("turn-finished"), place.reports())
            expect(desktop.shown("The agent is done") == number, f"not shown with {name}")
            del place.environment[name]
        told = place.fire("turn-finished")
        expect(told == ['bravebot-hooks: turn-finished hook "notify-send" exited with status 1'], told)
    return "dunst showed it by either variable alone; with neither it is a report"


@recipe("A bell over SSH")
def bell_on_a_terminal(section: Section) -> str:
    with Place(section) as place:
        place.check()
        ours, theirs = pty.openpty()
        try:
            place.environment["SSH_TTY"] = os.ttyname(theirs)
            expect(not place.fire("turn-finished"), place.reports())
            expect(select.select([ours], [], [], BOUND)[0], "no byte arrived")
            expect(os.read(ours, 64) == BELL, "another byte than a bell arrived")
        finally:
            os.close(ours)
            os.close(theirs)
        del place.environment["SSH_TTY"]
        expect(not place.fire("turn-finished"), place.reports())
    return "one BEL on a pseudo-terminal; without SSH_TTY nothing, and no report"


@recipe("A bell over SSH", "sshd", "ssh", "ssh-keygen")
def bell_through_sshd(section: Section) -> str:
    if os.getuid() != 0:
        return "not through sshd, which gives out terminals as root alone"
    with Place(section) as place, ExitStack() as stack:
        settings = server_settings(place, stack)
        variables = [f"{name}={value}" for name, value in place.environment.items()]
        fire = ["env", *variables, str(COMMAND), "fire", "turn-finished"]
        for command, arrives in ((["true"], b""), (fire, BELL)):
            done = subprocess.run(client(place, settings, command), stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=BOUND)
            expect(done.returncode == 0 and done.stdout == arrives, done)
    return "one BEL at the client of a real sshd"


def server_settings(place: Place, stack: ExitStack) -> Path:
    """The settings of an sshd for one connection and one key."""
    if not os.path.isdir("/run/sshd"):  # it insists on it
        os.mkdir("/run/sshd", 0o755)
        stack.callback(os.rmdir, "/run/sshd")
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place.home / key)], check=True)
    return place.write(place.home / "sshd_config", f"""\
HostKey {place.home}/host
AuthorizedKeysFile {place.home}/user.pub
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PrintMotd no
PrintLastLog no
""")


def client(place: Place, settings: Path, command: list[str]) -> list[str]:
    """An ssh that starts the sshd on a pipe: no port is opened, and nobody else can connect."""
    server = shlex.join([str(shutil.which("sshd")), "-i", "-e", "-f", str(settings)]) + " 2>/dev/null"
    options = [f"ProxyCommand={server}", f"UserKnownHostsFile={place.home}/known", "StrictHostKeyChecking=no",
               "IdentitiesOnly=yes", "LogLevel=ERROR"]
    return ["ssh", "-F", "none", "-tt", "-i", str(place.home / "user"),
            *(word for option in options for word in ("-o", option)),
            "root@localhost", shlex.join(command)]


@recipe("A sound that outlives the turn", "setsid", "paplay", "parec", "pactl", "pulseaudio", SOUND)
def sound(section: Section) -> str:
    with Place(section) as place, ExitStack() as stack:
        place.check()
        runtime = place.home / "runtime"
        runtime.mkdir(mode=0o700)
        place.environment["XDG_RUNTIME_DIR"] = str(runtime)

        def start(command: list[str], output: int) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(command, env=place.environment, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.DEVNULL)
            stack.callback(ended, process)
            return process

        server = start(["pulseaudio", "-n", "--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1", "-L",
                        "module-native-protocol-unix", "-L", "module-null-sink sink_name=out"], subprocess.DEVNULL)
        wait_for("pulseaudio", lambda: start(["pactl", "info"], subprocess.DEVNULL).wait(BOUND) == 0)
        recorder = start(["parec", "--raw", "--latency-msec=20", "--device=out.monitor"], subprocess.PIPE)
        expect(recorder.stdout and recorder.stdout.read(1), "nothing is recorded")
        server.send_signal(signal.SIGSTOP)  # so that the sound cannot be over before it is looked at
        expect(not place.fire("turn-finished"), place.reports())
        player = wait_for("the player", lambda: place.processes("paplay"))[0]
        expect(os.getsid(player) == player, "the player has no session of its own")
        server.send_signal(signal.SIGCONT)
        heard = threading.Thread(target=until_heard, args=(recorder,), daemon=True)
        heard.start()
        heard.join(BOUND)
        expect(not heard.is_alive(), "silence was recorded")
        wait_for("the end of the sound", lambda: not place.processes("paplay"))
        expect(not place.reports(), place.reports())
    return "the turn ended, the player lived on in a session of its own, and its sound was recorded"


def until_heard(recorder: subprocess.Popen[bytes]) -> None:
    while recorder.stdout and not any(recorder.stdout.read(4096)):
        pass


def formatted(section: Section, files: dict[str, str], judge: list[list[str]], broken: str, statuses: list[int]) -> str:
    """Formats a project for `write_file` and for no other tool, to the satisfaction of the formatter's own check, and
    reports `statuses` when the file `broken` cannot be parsed."""
    with Place(section) as place:
        place.check()
        for name, text in files.items():
            place.write(place.project / name, text)

        def tidy() -> bool:
            return all(subprocess.run(command, cwd=place.project, env=place.environment, stdin=subprocess.DEVNULL,
                                      capture_output=True).returncode == 0 for command in judge)

        expect(not tidy(), "the project was in order before")
        expect(not place.fire("tool-finished", "read_file") and not tidy(), "formatted for another tool")
        expect(not place.fire("tool-finished", "write_file"), place.reports())
        expect(tidy(), "not formatted")
        place.write(place.project / broken, "function (((\n")
        place.fire("tool-finished", "write_file")
        expect([report.get("status") for report in place.reports()] == statuses, place.reports())
    return f"a project formatted, and a file that cannot be parsed is a report of status {statuses[0]}"


RUST = {"Cargo.toml": '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/main.rs": 'mod part;\nfn main(){let a=part::a();println!("{a}")}\n', "src/part.rs": "pub fn a()->u8{1}\n"}
GO = {"go.mod": "module p\n\ngo 1.19\n", "main.go": "package main\nfunc main(){ println( part() ) }\n",
      "part.go": "package main\nfunc part() int {return 1}\n"}
PYTHON = {"pyproject.toml": '[project]\nname = "p"\nversion = "0.1.0"\n',
          "p/main.py": "import os\n\n\n\nprint( unknown )\n"}
WEB = {"package.json": '{"name":"p"}\n', "main.js": "let a={b:1}\n", "main.css": "a{color:red}\n", "a.md": "* a\n* b\n"}

RUST_JUDGE = ["cargo", "fmt", "--check"]
GO_JUDGE = ["sh", "-c", "[ -z \"$(gofmt -l .)\" ]"]
PYTHON_JUDGE = ["ruff", "format", "--check", "."]
WEB_JUDGE = ["prettier", "--check", "."]


@recipe("Rust", "cargo")
def rust(section: Section) -> str:
    return formatted(section, RUST, [RUST_JUDGE], "src/part.rs", [1])


@recipe("Go", "gofmt")
def go(section: Section) -> str:
    return formatted(section, GO, [GO_JUDGE], "part.go", [2])


@recipe("Python", "ruff")
def python(section: Section) -> str:
    # The import is the first entry's to remove, the blank lines below it the second's: both pass in that order alone.
    unused = ["ruff", "check", "--select", "F401", "."]
    return formatted(section, PYTHON, [unused, PYTHON_JUDGE], "p/part.py", [2])


@recipe("JavaScript, CSS, Markdown", "prettier")
def prettier(section: Section) -> str:
    return formatted(section, WEB, [WEB_JUDGE], "part.js", [2])


@recipe("Whatever the project is", "cargo", "gofmt", "ruff", "prettier")
def whatever(section: Section) -> str:
    with Place(section) as place:
        expect(not place.fire("tool-finished", "write_file"), place.reports())
        expect(not list(place.project.iterdir()), "something was written")
    everything = {**RUST, **GO, **PYTHON, **WEB}
    judges = [RUST_JUDGE, GO_JUDGE, PYTHON_JUDGE, WEB_JUDGE]
    said = formatted(section, everything, judges, "part.js", [2])
    return f"an empty directory left alone; four languages in one: {said}"


@recipe("A webhook", "curl")
def webhook(section: Section) -> str:
    token = secrets.token_hex(16)
    with ExitStack() as stack:
        server = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), Receiver))
        address = f"http://127.0.0.1:{server.server_port}"
        place = stack.enter_context(Place(section, {"https://hooks.example.com": address, "TOKEN": token}))
        place.check()
        mode = stat.S_IMODE((place.home / ".bravebot" / "webhook").stat().st_mode)
        expect(mode == 0o600, oct(mode))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stack.callback(server.shutdown)

        Receiver.place, Receiver.status = place, 200
        expect(not place.fire("turn-finished"), place.reports())
        expect(Receiver.token == f"Bearer {token}", f"the server got {Receiver.token!r}")
        expect(Receiver.body == {"text": "The agent is done"}, Receiver.body)
        expect(str(place.home).encode() in Receiver.shown, "curl was not looked at")
        expect(token.encode() not in Receiver.shown, "the token is in the arguments or the environment of curl")

        Receiver.status = 500
        said = "\n".join(place.fire("turn-finished")) + place.log.read_text()
        expect([report["status"] for report in place.reports()] == [22], said)
        expect(not any(word in said for word in (token, address, "--config", "/webhook")), said)
    return "received with its token, which neither ps nor the environment of curl has; a 500 is a report of status 22"


class Receiver(BaseHTTPRequestHandler):
    """Looks at curl while it waits for the answer."""

    place: Place
    status: int
    token: str
    body: object
    shown: bytes

    def do_POST(self) -> None:
        kind = type(self)
        kind.token = self.headers["Authorization"]
        kind.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        curl, = self.place.processes("curl")
        kind.shown = about(curl, "cmdline") + about(curl, "environ")
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@recipe("A line in a log")
def log(section: Section) -> str:
    with Place(section) as place:
        place.check()
        agent = f"#!/bin/sh\n{shlex.quote(str(COMMAND))} fire tool-finished --tool any\n"
        agent = str(place.write(place.home / "agent", agent, 0o755))
        expect(not place.turn(agent), place.reports())
        lines = (place.home / "agent-moments.log").read_text().splitlines()
        line = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} \{"event":"([a-z-]+)"\} (.*)')
        parts = [match.groups() if (match := line.fullmatch(text)) else text for text in lines]
        moments = ("turn-started", "tool-finished", "turn-finished")
        expect(parts == [(moment, str(place.project)) for moment in moments], lines)
    return "a line for each moment of a turn, in order"
