"""The agents at the versions that docs/agents.md speaks of, from npm and PyPI."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
import time

CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
DIRECTORY = pathlib.Path(os.environ.get("BRAVEBOT_AGENTS_DIR") or pathlib.Path(CACHE, "bravebot-agents"))
BOUND = 600


def version_directory(name: str, version: str) -> pathlib.Path:
    return DIRECTORY / f"{name}-{version}"


def program(name: str, package: str, version: str) -> pathlib.Path:
    """Where the agent's program is once it is installed."""
    at = version_directory(name, version)
    return at / "bin" / name if is_python(package) else at / "node_modules" / ".bin" / name


def is_python(package: str) -> bool:
    return package == "aider-chat"


def install(name: str, package: str, version: str) -> str | None:
    """Installs what is not there yet; why it could not, where it could not."""
    if program(name, package, version).exists():
        return None
    at = version_directory(name, version)
    if is_python(package):
        commands = [[sys.executable, "-m", "venv", str(at)],
                    [str(at / "bin/pip"), "install", "--quiet", "--disable-pip-version-check", f"{package}=={version}"]]
    else:
        commands = [["npm", "install", "--no-fund", "--no-audit", "--no-update-notifier", "--prefix", str(at),
                     f"{package}@{version}"]]
    start = time.monotonic()
    for command in commands:
        try:
            at.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile("w+", errors="replace") as output:
                done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=BOUND)
                output.seek(0)
                said = output.read().strip().splitlines() or ["nothing was said"]
        except (OSError, subprocess.SubprocessError) as error:
            return str(error)
        if done.returncode:
            why = next((line for line in said if "error" in line.lower()), said[-1])
            return f"{command[0]} ended with {done.returncode}: {why}"
    if not program(name, package, version).exists():
        return f"{package} {version} has no program {name}"
    print(f"{name}: installed {package} {version} in {time.monotonic() - start:.0f} s", flush=True)
    return None
