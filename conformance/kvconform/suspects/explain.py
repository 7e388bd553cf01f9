"""Axes to blame: from outcomes to explanations, and to the rows that would tell these apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kvconform.ports import KvconformError
from kvconform.suspects import search
from kvconform.suspects.outcomes import Outcomes
from kvconform.suspects.search import Alternatives, Limits
from kvconform.suspects.table import Row, Rows, Table

MOST_PROBES = 8


class NoFailureError(KvconformError, ValueError):
    """No row fails, so that there is nothing to explain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One explanation; ``same`` are as small, and no valid row tells them from it."""

    alternatives: Alternatives
    rows: Rows
    """The valid rows, run or not, of which it is true."""
    same: tuple[Alternatives, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What the failing rows have and the passing ones have not.

    ``candidates`` fit equally well and differ on rows that were not run; the plainest comes first.
    If it is not ``exact``, there is one, all failing rows meet it and so do some passing ones.
    """

    outcomes: Outcomes
    candidates: tuple[Candidate, ...]
    exact: bool

    @property
    def settled(self) -> bool:
        """Whether no further row could change it."""
        return self.exact and len(self.candidates) == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """The explanation after some ``probes``: rows that were run, and whether each failed."""

    explanation: Explanation
    probes: tuple[tuple[Row, bool | None], ...]


def explain(outcomes: Outcomes, limits: Limits | None = None) -> Explanation:
    """The smallest explanations: fewest alternatives first, then fewest axes.

    Raises `NoFailureError`.
    """
    if not outcomes.failed:
        raise NoFailureError("no row fails; an explanation needs at least one that does")
    limits = limits or Limits()
    measured = outcomes.measured()
    found = search.smallest(measured, limits)
    if not found:
        near = search.nearest(measured, limits)
        return Explanation(outcomes=outcomes, candidates=_candidates(outcomes, [near]), exact=False)
    table, passed = outcomes.table, outcomes.passed
    narrow = [search.widened(table, one, passed=passed, wanted=outcomes.failed) for one in found]
    wide = [search.widened(table, one, passed=passed, wanted=outcomes.open) for one in narrow]
    candidates = _candidates(outcomes, dict.fromkeys(narrow + wide))
    return Explanation(outcomes=outcomes, candidates=candidates[: limits.ties], exact=True)


def next_probe(explanation: Explanation) -> Row | None:
    """The row not yet run on which the candidates are divided best; None if on none."""
    if not explanation.exact:
        return None
    outcomes = explanation.outcomes
    numbers = [*members(outcomes.open)]
    votes = np.zeros(len(outcomes.table.rows), dtype=np.int32)
    for candidate in explanation.candidates:
        votes += outcomes.table.mask(candidate.rows)
    worth = np.minimum(votes, len(explanation.candidates) - votes)
    worth[outcomes.table.mask(~outcomes.open)] = 0
    best = int(worth.argmax())
    return outcomes.table.rows[best] if worth[best] else None


def settle(
    explanation: Explanation,
    run: Callable[[Row], bool | None],
    *,
    most: int = MOST_PROBES,
    limits: Limits | None = None,
) -> Settlement:
    """Run rows one by one until one candidate is left, or ``most`` were run.

    ``run`` says whether the row failed in the way in question, or None if that was not measured.
    """
    probes: list[tuple[Row, bool | None]] = []
    while len(probes) < most and (row := next_probe(explanation)) is not None:
        failed = run(row)
        probes.append((row, failed))
        explanation = explain(explanation.outcomes.told(row, failed=failed), limits)
    return Settlement(explanation=explanation, probes=tuple(probes))


def _candidates(outcomes: Outcomes, found: Iterable[Alternatives]) -> tuple[Candidate, ...]:
    """Explanations, plainest first, gathered by the rows of which they are true."""
    table = outcomes.table
    of_rows: dict[Rows, list[Alternatives]] = {}
    for one in sorted(found, key=lambda one: _plainness(table.axes, one)):
        of_rows.setdefault(table.meeting_any(one) & ~outcomes.void, []).append(one)
    return tuple(
        Candidate(alternatives=first, rows=rows, same=tuple(same))
        for rows, (first, *same) in of_rows.items()
    )


def _plainness(axes: Sequence[Axis], alternatives: Alternatives) -> tuple[int, int, Alternatives]:
    """Ranges of numbers before sets with gaps, few values before many, then by declared order."""
    conditions = [condition for conjunction in alternatives for condition in conjunction]
    gaps = sum(_has_gap(axes[axis].values, values) for axis, values in conditions)
    return gaps, sum(len(values) for _, values in conditions), alternatives


def _has_gap(values: Sequence[Any], chosen: Sequence[int]) -> bool:
    """Whether the values are numbers and one between the chosen ones is missing."""
    if not all(isinstance(value, int | float) and value is not True for value in values):
        return False
    return False
