"""Tries every recipe of docs/recipes.md: python3 tests/recipes [--install] [--picture].

The entry is taken from the document, put into the hooks.json of a home that is thrown away, and fired by the built
command (cargo build). Its effect is looked for outside: on a notification daemon, a terminal, a web server,
in a file.
A recipe whose tools are missing is skipped; with --install they are fetched, and then it may not be.
--picture makes docs/notification.png again instead.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the checkout stays as it is

import document
import picture
import tools
from tries import TRIES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 tests/recipes", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", action="store_true", help="fetch what is missing: apt-get (as root), pip, npm")
    parser.add_argument("--picture", action="store_true", help="make docs/notification.png")
    options = parser.parse_args()
    os.environ["PATH"] += ":/usr/sbin"  # where sshd is
    os.umask(0o022)
    with tempfile.TemporaryDirectory(prefix="recipe-tools-") as directory:
        needs = picture.NEEDS if options.picture else [need for each in TRIES for need in each.needs]
        if options.install:
            tools.install(needs, directory)
        if not options.picture:
            return try_all(skipping_fails=options.install)
        if missing := tools.missing(needs):
            sys.exit(f"no picture without {', '.join(missing)} ({tools.how(missing)})")
        return picture.make()


def try_all(skipping_fails: bool) -> int:
    sections = document.sections()
    untried = set(sections) ^ {each.section for each in TRIES}
    failed = bool(untried)
    if untried:
        print(f"FAILED in the document or here, but not in both: {', '.join(sorted(untried))}")
    for each in TRIES:
        begun = time.monotonic()
        if missing := tools.missing(each.needs):
            failed = failed or skipping_fails
            print(f"skipped {each.section}: no {', '.join(missing)} ({tools.how(missing)})")
            continue
        try:
            said = each.run(sections[each.section])
            print(f"ok      {each.section}: {said} ({time.monotonic() - begun:.1f} s)")
        except Exception as wrong:  # each recipe gets its line, whatever becomes of the others
            failed = True
            print(f"FAILED  {each.section}: {type(wrong).__name__}: {wrong}")
        sys.stdout.flush()
    return int(failed)


sys.exit(main())
