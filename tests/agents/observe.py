"""One run of an agent in a sandbox, and all that is to be seen of it afterwards."""
from __future__ import annotations

import json
import pathlib
import re
from dataclasses import dataclass
from typing import Any

import document
from agents import Agent
from mock import Mock, Script
from sandbox import Ended, Sandbox

Entry = dict[str, Any]


@dataclass
class Seen:
    ended: Ended
    answer: str                 # what a person sees on standard output, less what differs each time
    bodies: list[str]           # what reached the model, likewise
    raw: str                    # both, and standard error, as they were
    lines: list[str]            # what hooks wrote
    log: list[str]              # what hooks.log says
    environment: str            # of a hook that copied it
    made: bool                  # the tools did their work
    left: list[str]             # processes that are still there


def see(agent: Agent, program: pathlib.Path, command: pathlib.Path, hooks: list[Entry], *, snippet: str | None = "",
        turn: bool = False, script: Script | None = None, failing: bool = False, interrupt: bool = False) -> Seen:
    """Runs one turn, with the agent's snippet or its other one, or below `bravebot-hooks turn`, or with neither."""
    sandbox = Sandbox(command)
    script = script or Script((agent.failing if failing else agent.calls)(sandbox.project), agent.answer)
    mock = Mock(script)
    try:
        agent.prepare(sandbox, mock.port)
        if snippet is not None:
            paste(sandbox, document.snippets(agent.title, snippet))
        if hooks:
            sandbox.hooks(json.loads(json.dumps(hooks).replace("LINES", str(sandbox.lines))
                                     .replace("ENVIRONMENT", str(sandbox.environment_of_hook))))
        start = agent.argv if turn or agent.session is None else agent.session
        argv = (["bravebot-hooks", "turn", "--"] if turn else []) + start(str(program))
        ended = sandbox.run(argv, "" if turn else agent.typed, mock.asked.is_set if interrupt else None)
        left = sandbox.left(agent.leaves)
        return Seen(
            ended, same(ended.stdout, sandbox),
            sorted(same(json.dumps(body, sort_keys=True), sandbox) for body in mock.bodies),
            ended.stdout + ended.stderr + json.dumps(mock.bodies), read(sandbox.lines).splitlines(), sandbox.log(),
            read(sandbox.environment_of_hook), (sandbox.project / "made.txt").exists(), left)
    finally:
        mock.close()
        sandbox.close()


def paste(sandbox: Sandbox, snippets: list[tuple[str, str]]) -> None:
    """Does with each snippet of the document what a person does: into a new file, or beside what is there already."""
    for path, text in snippets:
        file = sandbox.home / path[2:]
        if file.exists() and file.suffix == ".json":
            text = json.dumps({**json.loads(file.read_text()), **json.loads(text)})
        elif file.exists():
            text += file.read_text()
        sandbox.write(path, text, executable=text.startswith("#!"))


def read(file: pathlib.Path) -> str:
    return file.read_text(errors="replace") if file.exists() else ""


def same(text: str, sandbox: Sandbox) -> str:
    """Less the names, numbers and times that differ from run to run."""
    text = text.replace(str(sandbox.root), "ROOT").replace(sandbox.root.name, "ROOT").replace(sandbox.mark, "MARK")
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<![0-9a-z])[0-9a-f]{12,}(?![0-9a-z])"
                  r"|(?<=Chunk ID: )[0-9a-f]+", "ID", text)
    return re.sub(r"[0-9]+(\.[0-9]+)?", "0", text)
