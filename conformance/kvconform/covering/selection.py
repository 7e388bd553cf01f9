"""Selection of rows that cover every valid tuple, built on the rows that are there already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kvconform.covering.constraints import Constraints
from kvconform.covering.errors import NoRowLeftError, PresetError
from kvconform.covering.model import Model, Row, Strength, as_strength
from kvconform.covering.prng import SplitMix
from kvconform.covering.rows import Builder
from kvconform.covering.tuples import Tuples

SWEEPS = 20
"""How often rows are reworked to make some of them superfluous; most are found early."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Rows that cover every valid tuple; ``fresh`` says how many tuples each is the first to hold.

    A tuple within a larger one that is covered too (a pair within a part of strength 3) is not
    counted.
    """

    rows: tuple[Row, ...]
    fresh: tuple[int, ...]


def select(
    model: Model,
    strength: Strength | int,
    *,
    presets: Iterable[Sequence[int]] = (),
    kept: Iterable[Sequence[int]] = (),
    seed: int = 0,
) -> Selection:
    """Select rows that hold every tuple that a valid row can hold.

    First come the ``kept`` rows that are still valid, in their order, then the ``presets``, then
    what is missing. The same arguments give the same rows on every machine and Python version.
    Raises `StrengthError`, `PresetError`, `NoRowLeftError` and `TooLargeError`.
    """
    tuples = Tuples(model, as_strength(strength))
    constraints = Constraints(model)
    if not constraints.feasible(constraints.root):
        raise NoRowLeftError(_conflict(model), len(model.forbidden), model.product)
    fixed = _fixed(model, constraints, presets, kept)
    covered = tuples.held_by(fixed)
    builder = Builder(constraints, tuples, SplitMix(seed))
    rows = list(builder.fill(covered))
    fewest = tuples.fewest_rows(tuples.held_by(rows) & ~covered)
    for _ in range(SWEEPS):
        if len(rows) == fewest:
            break
        rows = builder.sweep(rows, covered)
    rows = fixed + builder.settle(rows, covered)
    return Selection(rows=tuple(rows), fresh=tuple(tuples.fresh(rows)))


def _fixed(
    model: Model,
    constraints: Constraints,
    presets: Iterable[Sequence[int]],
    kept: Iterable[Sequence[int]],
) -> list[Row]:
    """The kept rows that are valid, then the presets, each row once."""
    wanted = [tuple(row) for row in presets]
    found = [(at, _problem(model, constraints, row)) for at, row in enumerate(wanted)]
    problems = [(at, problem) for at, problem in found if problem]
    if problems:
        raise PresetError(problems)
    valid = [tuple(row) for row in kept if not _problem(model, constraints, row)]
    return list(dict.fromkeys(valid + wanted))


def _problem(model: Model, constraints: Constraints, row: Sequence[int]) -> str:
    """What is wrong with ``row``; empty if it is valid."""
    if len(row) != len(model.sizes):
        return f"has {len(row)} values; expected {len(model.sizes)}"
    for factor, (value, size) in enumerate(zip(row, model.sizes, strict=True)):
        if not 0 <= value < size:
            return f"has value {value} of factor {factor}; expected 0 to {size - 1}"
    broken = constraints.broken(row)
    return f"breaks constraint {', '.join(map(str, broken))}" if broken else ""


def _conflict(model: Model) -> list[int]:
    """Positions of constraints that leave no row together, and would without any one of them."""
    needed = list(range(len(model.forbidden)))
    for at in range(len(model.forbidden)):
        fewer = [other for other in needed if other != at]
        rest = Model(sizes=model.sizes, forbidden=tuple(model.forbidden[one] for one in fewer))
        constraints = Constraints(rest)
        if not constraints.feasible(constraints.root):
            needed = fewer
    return needed
