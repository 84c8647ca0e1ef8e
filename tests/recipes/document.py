"""What docs/recipes.md gives to copy: the entries of each section, and the files that it says to make."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "recipes.md"
HOME = "/home/me"  # the word of the document for a home


@dataclass
class File:
    path: str
    mode: int
    text: str


@dataclass
class Section:
    title: str
    entries: str = ""
    files: list[File] = field(default_factory=list)


def sections() -> dict[str, Section]:
    """The sections that hold an entry, by title."""
    found: dict[str, Section] = {}
    section = Section("")
    prose = ""
    for paragraph in paragraphs(DOCUMENT.read_text()):
        if paragraph.startswith("#"):
            section = Section(paragraph.lstrip("#").strip())
        elif not paragraph.startswith("    "):
            prose = paragraph
        elif paragraph.startswith('    {"on"'):
            assert not section.entries, f"two blocks of entries in {section.title!r}"
            section.entries = copied(paragraph)
            found[section.title] = section
        elif f"`{HOME}/" in prose:
            section.files.append(file(prose, copied(paragraph)))
    return found


def paragraphs(text: str) -> list[str]:
    return [paragraph.rstrip() for paragraph in re.split(r"\n\n+", text)]


def copied(paragraph: str) -> str:
    return "".join(line[4:] + "\n" for line in paragraph.splitlines())


def file(prose: str, text: str) -> File:
    """The file that the paragraph before its text names, with the mode that it gives."""
    path = re.findall(rf"`({HOME}/[^`]*)`", prose)[-1]
    mode = re.findall(r"mode (?:is )?(0[0-7]{3})", prose)[-1]
    return File(path, int(mode, 8), text)
