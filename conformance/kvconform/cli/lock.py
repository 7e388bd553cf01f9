"""``kvconform lock``: keep the rows that were chosen, in a file beside each matrix."""

from __future__ import annotations

import argparse
import re

from kvconform.cli.command import Command, add_paths, count, say
from kvconform.matrix import Matrix, find_matrices, load_matrices
from kvconform.matrix.lock import Lock, LockState, lock_path
from kvconform.matrix.plan import Plan


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument(
        "--relock",
        action="store_true",
        help="choose all rows anew: fewer of them, but their ids change",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; tell which locks do not fit"
    )


def execute(options: argparse.Namespace) -> int:
    """Write the locks that are missing or do not fit."""
    plan = Plan(relock=options.relock)
    matrices = load_matrices(find_matrices(options.paths), templates=options.templates, plan=plan)
    changed = 0
    for matrix in matrices:
        told = _settle(matrix, write=not options.check)
        if told:
            changed += 1
            say(f"{matrix.file}: {told}")
    covering = sum(matrix.choice.lock is not None for matrix in matrices)
    verb = "would change" if options.check else "changed"
    say(f"{count(covering, 'lock', 'locks')}, {changed} {verb}")
    return 1 if options.check and changed else 0


def _settle(matrix: Matrix, *, write: bool) -> str:
    """Bring one lock up to date; what that means, or nothing if it is."""
    path, lock = lock_path(matrix.path), matrix.choice.lock
    if lock is None:
        if not path.exists():
            return ""
        if write:
            path.unlink()
        return "its rows are no covering selection: the lock goes"
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    if old == lock.text():
        return ""
    if write:
        path.write_text(lock.text(), encoding="utf-8")
    return _difference(old, lock, matrix.choice.state)


def _difference(old: str, lock: Lock, state: LockState) -> str:
    before = [frozenset(key.split("-")) for key in re.findall(r'^  \["([^"]*)"', old, re.MULTILINE)]
    # A row is kept where it has every value that it had: an axis that came since has its default.
    now = [frozenset(key.split("-")) for key, _ in lock.rows]
    kept = sum(any(tokens <= row for row in now) for tokens in before)
    gone = len(before) - kept
    return (
        f"{state}: {count(len(lock.rows), 'row', 'rows')}, {kept} kept, "
        f"{len(lock.rows) - kept} new, {gone} gone"
    )


COMMAND = Command(
    name="lock",
    summary="write the rows that covering selections choose beside their matrices",
    add_options=_add_options,
    execute=execute,
    epilog="Rows that are still valid are kept; only --relock drops some. "
    "Exit codes: 0 written or up to date, 1 --check found a lock that does not fit, "
    "2 usage or bad file.",
)
