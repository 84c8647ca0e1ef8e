"""docs/notification.png: a turn in a terminal, and the notification at its end, as they were on the screen."""

from __future__ import annotations

import shlex
import subprocess
from contextlib import ExitStack

import document
from desktop import Desktop
from place import COMMAND, ROOT, Place, wait_for

PICTURE = ROOT / "docs" / "notification.png"
NEEDS = ["cargo", "notify-send", "dbus-daemon", "Xvfb", "dunst", "dunstctl", "xterm", "xsetroot", "import", "optipng",
         "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"]
AGENT = """\
#!/bin/sh
echo "agent: writing main.rs"
printf 'fn main( {\\n' > main.rs
bravebot-hooks fire tool-finished --tool write_file
echo "agent: done"
"""
# The shell itself shows the command before it runs it. The terminal answers the question for its status when it has
# come to it, past all that was printed before. The last line waits for a key that never comes.
SESSION = """\
PS4='$ '
set -x
bravebot-hooks turn -- agent
{ set +x; } 2>/dev/null
printf '$ '
stty -icanon -echo
printf '\\033[5n'
head -c 4 > /dev/null
touch {ready}
read -r key
"""
TERMINAL = ["-fa", "DejaVu Sans Mono", "-fs", "10", "-geometry", "93x6+14+14", "-b", "14", "-bw", "0", "+sb", "-uc",
            "-bg", "#1f2a33", "-fg", "#e9edf0", "-cr", "#e9edf0"]
SCREEN = "800x158"


def make() -> int:
    """Makes it from the recipes of the document, a formatter's that fails here and the notification's."""
    recipes = document.sections()
    entries = ",\n".join(recipes[title].entries.strip() for title in ("Rust", "A desktop notification"))
    with Place(document.Section("", entries)) as place, ExitStack() as stack:
        desktop = Desktop(stack, place.home, SCREEN)
        ready = place.home / "ready"
        (place.home / "bin").mkdir()
        (place.home / "bin" / "bravebot-hooks").symlink_to(COMMAND)
        place.write(place.home / "bin" / "agent", AGENT, 0o755)
        place.write(place.project / "Cargo.toml", '[package]\nname = "p"\n[[bin]]\nname = "p"\npath = "main.rs"\n')
        place.write(place.project / "main.rs", "fn main() {}\n")
        desktop.environment.update(place.environment, PATH=f"{place.home}/bin:{place.environment['PATH']}")
        session = SESSION.replace("{ready}", shlex.quote(str(ready)))
        subprocess.run(["xsetroot", "-solid", "#c9d3db"], env=desktop.environment, check=True)
        desktop.start(["xterm", *TERMINAL, "-e", "sh", "-c", session], cwd=place.project)
        wait_for("the end of the turn", ready.exists)
        desktop.wait_until_shown()
        PICTURE.write_bytes(wait_for("a picture that stays", lambda: the_same_twice(desktop)))
        subprocess.run(["optipng", "-quiet", "-o7", "-strip", "all", str(PICTURE)], check=True)
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size} bytes")
    return 0


def the_same_twice(desktop: Desktop) -> bytes:
    """The screen, if a second look shows the same: windows draw when they please."""
    first = look(desktop)
    return first if first == look(desktop) else b""


def look(desktop: Desktop) -> bytes:
    command = ["import", "-window", "root", "-strip", "-colors", "48", "+dither", "png8:-"]
    return subprocess.run(command, env=desktop.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          check=True).stdout
