"""The programs that the recipes need, and where they come from."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

# What is not here is called in Debian as the program is.
PACKAGES = {
    "Xvfb": "xvfb", "dbus-daemon": "dbus", "dbus-send": "dbus", "dunstctl": "dunst", "notify-send": "libnotify-bin",
    "gofmt": "golang-go", "import": "imagemagick", "pactl": "pulseaudio-utils",
    "paplay": "pulseaudio-utils", "parec": "pulseaudio-utils", "setsid": "util-linux", "ssh": "openssh-client",
    "ssh-keygen": "openssh-client", "sshd": "openssh-server",
    "xsetroot": "x11-xserver-utils",
    "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf": "fonts-dejavu-core",
    "/usr/share/sounds/freedesktop/stereo/complete.oga": "sound-theme-freedesktop",
}
FETCHED = {"ruff": "pip install ruff", "prettier": "npm install prettier", "cargo": "rustup"}


def missing(needs: list[str]) -> list[str]:
    return [need for need in needs if not there(need)]


def there(need: str) -> bool:
    return os.path.exists(need) if "/" in need else shutil.which(need) is not None


def how(needs: list[str]) -> str:
    """How to get them, in words."""
    packages = sorted({PACKAGES.get(need, need) for need in needs if need not in FETCHED})
    apt = ["apt-get install " + " ".join(packages)] if packages else []
    return "; ".join(apt + [FETCHED[need] for need in needs if need in FETCHED])


def install(needs: list[str], directory: str) -> None:
    """Packages go into the system, which takes root; ruff and prettier into `directory`, which is thrown away."""
    wanted = missing(needs)
    packages = {PACKAGES.get(need, need) for need in wanted if need not in FETCHED}
    if "prettier" in wanted and not there("npm"):
        packages.add("npm")
    if packages:
        run("apt-get", "update", "-qq")
        run("apt-get", "install", "-qq", "-y", "--no-install-recommends", *sorted(packages))
    if "ruff" in wanted:
        run(sys.executable, "-m", "pip", "install", "--quiet", "--root-user-action=ignore", "--target",
            f"{directory}/pip", "ruff")
    if "prettier" in wanted:
        run("npm", "install", "--silent", "--prefix", f"{directory}/npm", "prettier")
    os.environ["PATH"] += f":{directory}/pip/bin:{directory}/npm/node_modules/.bin"


def run(*command: str) -> None:
    """Its errors are shown and its progress is not."""
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
