"""Which statements of a connector's package each play reaches, told by marks in its code.

A change can be caught by a play only that reaches it, and most reach a small part of the code.
Marks are calls that stand before the statements of functions.  What runs at import is not marked:
every play reaches it.
"""

from __future__ import annotations

import ast
import builtins
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvconform.mutation.package import Package
from kvconform.mutation.play import Play, Plays
from kvconform.ports import KvconformError
from kvconform.results.record import Outcome
from kvconform.run.forked import Lost, forked, within

Place = tuple[str, int]
"""File, and the line at which a statement begins."""

_MARK = "__kvconform_reached__"
_BODIES = ("body", "orelse", "finalbody")
_CASE_CPU_SECONDS = 60.0
_BATCH_SECONDS = 1800.0
_BATCH = 60
"""Plays a process: few enough for all cores to end together."""


class NotPlayedError(KvconformError):
    """The connector as it is cannot be imported anew, or passes no case: nothing could tell a change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a play reached of the connector as it is, which it passed, and in how much processor time."""

    play: Play
    places: frozenset[Place]
    seconds: float


def marked(source: str, file: str) -> tuple[ast.Module, frozenset[Place]]:
    """The tree with its marks, and the places that have one."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    # A function within another one is met twice, and marked once.
    bodies: dict[int, list[ast.stmt]] = {}
    for function in functions:
        for node in ast.walk(function):
            for name in _BODIES:
                body = getattr(node, name, None)
                if isinstance(body, list):
                    bodies[id(body)] = body
    places = set()
    for body in bodies.values():
        places |= {(file, statement.lineno) for statement in body}
        body[:] = [one for statement in body for one in (_mark(file, statement), statement)]
    return ast.fix_missing_locations(tree), frozenset(places)


def _mark(file: str, statement: ast.stmt) -> ast.stmt:
    place = ast.Tuple(elts=[ast.Constant(file), ast.Constant(statement.lineno)], ctx=ast.Load())
    name = ast.Name(id=_MARK, ctx=ast.Load())
    return ast.copy_location(ast.Expr(ast.Call(func=name, args=[place], keywords=[])), statement)


def measure(package: Package, plays: Plays, wanted: Sequence[Play]) -> Iterator[Reach]:
    """What each of ``wanted`` reaches; those that the connector does not pass are left out.

    Raises `NotPlayedError` if none is left.
    """
    trees = {file: marked(package.source(file), file)[0] for file in package.files}

    def work(batch: Sequence[Play]) -> list[Reach] | str:
        try:
            package.import_with(trees)
            factories = plays.factories()
        except Exception as error:  # noqa: BLE001 - told as what it is
            return f"{type(error).__name__}: {error}"
        found = []
        for play in batch:
            within(_CASE_CPU_SECONDS)
            seen: set[Place] = set()
            setattr(builtins, _MARK, seen.add)
            since = time.process_time()
            outcome = plays.play(play, factories).outcome
            seconds = max(0.001, time.process_time() - since)
            if outcome is Outcome.PASS:
                found.append(Reach(play=play, places=frozenset(seen), seconds=seconds))
        return found

    setattr(builtins, _MARK, set().add)  # what is called at import
    # Cases of a matrix go together: those that start another process share it.
    grouped = sorted(wanted, key=lambda play: (play.matrix, play.connector))
    batches = [grouped[at : at + _BATCH] for at in range(0, len(grouped), _BATCH)]
    told, passed = "it passes none of the cases", False
    for _, reached in forked(
        batches, work, side_by_side=len(os.sched_getaffinity(0)), seconds=_BATCH_SECONDS
    ):
        if isinstance(reached, Lost):
            raise NotPlayedError(f"{package.name} as it is cannot be measured: {reached.how}")
        if isinstance(reached, str):
            told = f"importing it anew fails: {reached}"
            continue
        passed = passed or bool(reached)
        yield from reached
    if not passed:
        raise NotPlayedError(f"no change of {package.name} can be judged: {told}")
