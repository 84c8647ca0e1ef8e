"""docs/agents.md as what is tested: the snippets are taken out of it, and the table is written into it."""
from __future__ import annotations

import pathlib
import re

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "agents.md"
BEGIN, END = "<!-- written by tests/agents/run.py --write -->", "<!-- end of what tests/agents/run.py writes -->"


def section(title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError(f"{DOCUMENT} has no section {title!r}")
    return found[1]


def snippets(title: str, which: str = "") -> list[tuple[str, str]]:
    """Each file of an agent's section and what is to be pasted into it.

    A snippet is a fenced block below a line that is the file's name, `which` and a colon.
    """
    pattern = rf"^`(~/[^`]+)`{re.escape(which)}:\n\n```\w+\n(.*?)^```$"
    found = re.findall(pattern, section(title), re.MULTILINE | re.DOTALL)
    if not found:
        raise ValueError(f"{DOCUMENT} has no snippet for {title!r}")
    return found


def table() -> str:
    return DOCUMENT.read_text().split(BEGIN)[1].split(END)[0].strip()


def write_table(text: str) -> None:
    before, rest = DOCUMENT.read_text().split(BEGIN)
    DOCUMENT.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}")
