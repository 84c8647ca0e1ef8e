"""A session bus, a screen and a notification daemon, all real, of the caller's own."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Optional

from place import ended, wait_for

DUNSTRC = """\
[global]
    font = DejaVu Sans 11
    width = 200
    height = 100
    origin = bottom-right
    offset = 30x32
    padding = 12
    horizontal_padding = 14
    frame_width = 1
    frame_color = "#5b7083"
    corner_radius = 4
    separator_height = 0
    format = "<b>%s</b>"
    markup = full
    icon_position = off
    timeout = 0
[urgency_normal]
    background = "#f4f6f8"
    foreground = "#1f2a33"
    timeout = 0
"""


class Desktop:
    """`runtime` is its XDG_RUNTIME_DIR; the bus is the socket `bus` in it, as in a login session."""

    def __init__(self, stack: ExitStack, directory: Path, screen: str = "800x600") -> None:
        self.runtime = directory / "runtime"
        self.runtime.mkdir(mode=0o700)
        self.address = f"unix:path={self.runtime}/bus"
        self.environment = {**os.environ, "DBUS_SESSION_BUS_ADDRESS": self.address, "HOME": str(directory),
                            "XDG_RUNTIME_DIR": str(self.runtime), "LANG": "C.UTF-8"}
        self.stack = stack
        self.start(["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address={self.address}"])
        wait_for("the bus", (self.runtime / "bus").exists)
        self.environment["DISPLAY"] = self.display(screen)
        settings = directory / "dunstrc"
        settings.write_text(DUNSTRC)
        self.start(["dunst", "-config", str(settings)])
        wait_for("dunst", lambda: self.ask("dunstctl", "count", "displayed").strip().isdigit())

    def start(self, command: list[str], cwd: Optional[Path] = None, pass_fds: tuple[int, ...] = ()) -> None:
        process = subprocess.Popen(command, env=self.environment, cwd=cwd, pass_fds=pass_fds, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.stack.callback(ended, process)

    def display(self, screen: str) -> str:
        """The X server picks a number that is free, and says it when it is ready."""
        reader, writer = os.pipe()
        self.start(["Xvfb", "-displayfd", str(writer), "-screen", "0", f"{screen}x24", "-nolisten", "tcp"],
                   pass_fds=(writer,))
        os.close(writer)
        with os.fdopen(reader) as number:
            return f":{number.readline().strip()}"

    def ask(self, *command: str) -> str:
        return subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True).stdout

    def wait_until_shown(self) -> None:
        wait_for("a notification on the screen", lambda: self.ask("dunstctl", "count", "displayed").strip() == "1")

    def shown(self, summary: str) -> int:
        """Waits until a notification is on the screen, takes it away, and counts those with `summary` that were."""
        before = self.ask("dunstctl", "count", "history")
        self.wait_until_shown()
        self.ask("dunstctl", "close-all")
        wait_for("the history", lambda: self.ask("dunstctl", "count", "history") != before)
        history = self.ask("dbus-send", "--print-reply=literal", "--dest=org.freedesktop.Notifications",
                           "/org/freedesktop/Notifications", "org.dunstproject.cmd0.NotificationListHistory")
        return len(re.findall(rf"summary\s+variant\s+{re.escape(summary)}\s", history))
