"""Callbacks for an agent in Python: hooks({"Write": "write_file"}) maps its own names of tools to those of hooks.json.

Each waits until the hooks are over, for `bound` seconds and four at most, and never raises because of them.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import Callable, Dict


def hooks(tools: Dict[str, str], command: str = "bravebot-hooks", bound: float = 60) -> Dict[str, Callable[..., None]]:
    def fire(*words: str) -> None:
        try:
            child = subprocess.Popen([command, "fire", *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        except (OSError, ValueError) as error:
            with contextlib.suppress(OSError, ValueError):
                print(f"{command}: {error}", file=sys.stderr, flush=True)
            return
        # SIGTERM first: of that the command ends its hook, of SIGKILL it cannot.
        for patience, then in ((bound, child.terminate), (2, child.kill), (2, lambda: None)):
            try:
                child.wait(patience)
                return
            except subprocess.TimeoutExpired:
                then()

    return {
        "on_start": lambda *_: fire("turn-started"),
        "after_tool": lambda name, *_: fire("tool-finished", *(["--tool", tools[name]] if name in tools else [])),
        "on_end": lambda *_: fire("turn-finished"),
        "on_failure": lambda *_: fire("turn-finished"),
    }
