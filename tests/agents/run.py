#!/usr/bin/env python3
"""Runs real agents against a mock model, with the snippets of docs/agents.md, and checks what becomes of the moments.

usage: run.py [--install] [--write] [AGENT]...

--install  installs what is missing, pinned, from npm and PyPI into $BRAVEBOT_AGENTS_DIR (~/.cache/bravebot-agents)
--write    writes the table of docs/agents.md; with all agents
The command that is tested is $BRAVEBOT_HOOKS, or that of target/debug or target/release. 0: all checks hold, agents
that are not installed left aside; 1: one does not.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import sys

sys.dont_write_bytecode = True  # the checkout stays as it is

import checks
import document
import install
from agents import AGENTS
from sandbox import only_loopback

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tested_command() -> pathlib.Path:
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    named = os.environ.get("BRAVEBOT_HOOKS")
    built = [target / profile / "bravebot-hooks" for profile in ("debug", "release")]
    for path in [pathlib.Path(named)] if named else built:
        if path.is_file():
            return path.resolve()
    sys.exit("no bravebot-hooks: build it, or name it in BRAVEBOT_HOOKS")


def main() -> int:
    names = [agent.name for agent in AGENTS]
    parser = argparse.ArgumentParser(description="real agents, a mock model, and the snippets of docs/agents.md")
    parser.add_argument("--install", action="store_true", help="install what is missing")
    parser.add_argument("--write", action="store_true", help="write the table of docs/agents.md")
    parser.add_argument("agent", nargs="*", help=f"of {', '.join(names)}; all without")
    arguments = parser.parse_args()
    unknown = set(arguments.agent) - set(names)
    if unknown or arguments.write and arguments.agent:
        parser.error(f"no such agent: {', '.join(unknown)}" if unknown else "--write goes with all agents")
    chosen = [agent for agent in AGENTS if not arguments.agent or agent.name in arguments.agent]
    command = tested_command()

    ready = []
    for agent in chosen:
        why = install.install(agent.name, agent.package, agent.version) if arguments.install else None
        program = install.program(agent.name, agent.package, agent.version)
        if program.exists():
            ready.append((agent, program))
        else:
            print(f"{agent.name}: " + (f"cannot be installed here: {why}" if why else "is not installed; --install"))

    if not only_loopback():
        print("not root: no network of its own, the agents could reach others", flush=True)
    reports = [checks.check(agent, program, command, arguments.write) for agent, program in ready]
    failures = sum(report.failures for report in reports)
    print(f"{len(reports)} agents, {failures} checks failed", flush=True)
    if arguments.write and not failures and len(ready) == len(AGENTS):
        document.write_table(checks.table([report.cells for report in reports]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
