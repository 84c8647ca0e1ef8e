"""What has to hold of every agent, each check a line, and the row of the document that the observations make."""
from __future__ import annotations

import pathlib
from dataclasses import dataclass, field

import document
from agents import Agent
from mock import Script
from observe import Entry, Seen, see
from sandbox import CANARIES

STARTED, FINISHED, TOOL = "turn-started", "turn-finished", "tool-finished"
WRITE, RUN = f"{TOOL} write_file", f"{TOOL} run"
PRINTED = "printed-by-a-hook"

# A turn that writes a file, runs a command and does something else.
ONE_TURN = [STARTED, WRITE, TOOL, RUN, TOOL, TOOL, FINISHED]


def line(moment: str, text: str, tool: str | None = None) -> Entry:
    entry: Entry = {"on": moment, "run": ["sh", "-c", 'echo "$1" >> "$0"', "LINES", text]}
    return {**entry, "tool": tool} if tool else entry


# The one file that serves every agent.
RECORDING = [
    line(STARTED, STARTED), line(TOOL, WRITE, "write_file"), line(TOOL, RUN, "run"), line(TOOL, TOOL),
    line(FINISHED, FINISHED),
    {"on": FINISHED, "run": ["cp", "/proc/self/environ", "ENVIRONMENT"]}]

# One that fails, one that hangs until its bound, one that prints, before those that record.
MISBEHAVING = [
    {"on": moment, **entry} for moment in (STARTED, TOOL, FINISHED) for entry in (
        {"run": ["sh", "-c", "exit 3"]}, {"run": ["sleep", "1000"], "timeout": 1},
        {"run": ["sh", "-c", f"echo {PRINTED}; echo {PRINTED} >&2; exit 2"]})] + RECORDING


@dataclass
class Report:
    name: str
    failures: int = 0
    cells: list[str] = field(default_factory=list)

    def check(self, what: str, holds: bool, seen: object = "") -> None:
        self.failures += not holds
        print(f"{'ok    ' if holds else 'FAILED'} {self.name}: {what}{'' if holds else f': {seen}'}", flush=True)


def check(agent: Agent, program: pathlib.Path, command: pathlib.Path, write: bool) -> Report:
    report = Report(agent.name)
    bare = see(agent, program, command, [], snippet=None)
    report.check("a turn without hooks succeeds", bare.ended.status == 0 and (bare.made or agent.turns_alone), bare)

    recorded = see(agent, program, command, RECORDING)
    expected = [FINISHED] if agent.turns_alone else ONE_TURN
    check_moments(report, agent, "a turn fires its moments, each once", recorded, expected)
    check_same(report, "hooks", bare, recorded)
    check_environment(report, recorded)

    misbehaving = see(agent, program, command, MISBEHAVING)
    check_moments(report, agent, "hooks that fail, hang and print keep none from running", misbehaving, expected)
    check_same(report, "hooks that fail, hang and print", bare, misbehaving)
    report.check("what a hook prints is nowhere", PRINTED not in misbehaving.raw)
    report.check("what failed is in the log", all(
        any(part in message for message in misbehaving.log)
        for part in ("still running after 1 s", "status 3", "status 2")), misbehaving.log)

    refused = Script(status=400)
    tool = see(agent, program, command, RECORDING, failing=True)
    failed = see(agent, program, command, MISBEHAVING, script=refused)
    interrupted = see(agent, program, command, MISBEHAVING, script=Script(hangs=True), interrupt=True)

    for what, script in (("", None), (" that fails", refused), (" that is interrupted", Script(hangs=True))):
        turn = see(agent, program, command, RECORDING, snippet=None, turn=True, script=script,
                   interrupt=script is not None and script.hangs)
        fires = turn.lines == [STARTED, FINISHED]
        report.check(f"`turn` fires both moments of a turn{what}, each once", fires, turn)
        if not what and agent.session is None:
            check_same(report, "`turn`", bare, turn)

    seen = [bare, recorded, misbehaving, tool, failed, interrupted]
    report.check("nothing is left running", not any(each.left for each in seen), [each.left for each in seen])
    report.cells = [
        f"{agent.title} {agent.version}", times(recorded, STARTED), tools(recorded), tools(tool),
        times(recorded, FINISHED), times(failed, FINISHED), times(interrupted, FINISHED)]
    if agent.instead:
        other = see(agent, program, command, RECORDING, snippet=agent.instead)
        report.check(f"the snippet{agent.instead} fires `{FINISHED}` alone", other.lines == [FINISHED], other)
        check_same(report, f"the snippet{agent.instead}", bare, other)
    if not write:
        seen_row = row(report.cells)
        report.check("the row of the document is what was seen", seen_row in document.table(), seen_row)
    return report


def check_moments(report: Report, agent: Agent, what: str, seen: Seen, expected: list[str]) -> None:
    holds = seen.lines == expected if agent.in_order else sorted(seen.lines) == sorted(expected)
    report.check(what, holds, (seen.lines, seen.ended, seen.log))


def check_same(report: Report, what: str, bare: Seen, seen: Seen) -> None:
    report.check(f"{what}: the agent's status and answer are the same", (bare.ended.status, bare.answer) == (
        seen.ended.status, seen.answer), (bare.ended, seen.ended))
    report.check(f"{what}: the same reaches the model", bare.bodies == seen.bodies,
                 difference(bare.bodies, seen.bodies))


def check_environment(report: Report, seen: Seen) -> None:
    leaked = [name for name, value in CANARIES.items() if value in seen.environment]
    report.check("a hook has no key of the agent", bool(seen.environment) and not leaked, leaked or "no environment")


def difference(one: list[str], other: list[str]) -> str:
    """Where the first two that differ do so."""
    for left, right in zip(one, other):
        if left != right:
            at = next((at for at, (a, b) in enumerate(zip(left, right)) if a != b), min(len(left), len(right)))
            return f"{left[max(0, at - 80):at + 160]!r} and {right[max(0, at - 80):at + 160]!r}"
    return f"{len(one)} and {len(other)} requests"


def times(seen: Seen, moment: str) -> str:
    count = seen.lines.count(moment)
    return {0: "no", 1: "yes"}.get(count, f"{count} times")


def tools(seen: Seen) -> str:
    named = [word for word, text in (("`write_file`", WRITE), ("`run`", RUN)) if text in seen.lines]
    return ", ".join(named + ["other"] * (seen.lines.count(TOOL) > len(named))) or "no"


def row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


HEAD = ["agent", "`turn-started`", "`tool-finished`", "of a call that failed", "`turn-finished`", "after a failed turn",
        "after Ctrl-C"]


def table(rows: list[list[str]]) -> str:
    return "\n".join([row(HEAD), row(["---"] * len(HEAD)), *map(row, rows)])
