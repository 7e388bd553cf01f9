"""Axes to blame: from outcomes to the smallest explanations of the failures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kvconform.matrix.model import Axis
from kvconform.ports import KvconformError
from kvconform.suspects import search
from kvconform.suspects.outcomes import Outcomes
from kvconform.suspects.search import Alternatives, Limits
from kvconform.suspects.table import Rows


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
        """Whether one exact explanation is left."""
        return self.exact and len(self.candidates) == 1


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


def _plainness(
    axes: Sequence[Axis], alternatives: Alternatives
) -> tuple[int, int, int, Alternatives]:
    """Axes with a value first, then ranges without gaps, then few values, then declared order."""
    conditions = [condition for conjunction in alternatives for condition in conjunction]
    lacks = sum(values == (len(axes[axis].values),) for axis, values in conditions)
    gaps = sum(_has_gap(axes[axis].values, values) for axis, values in conditions)
    return lacks, gaps, sum(len(values) for _, values in conditions), alternatives


def _has_gap(values: Sequence[object], chosen: Sequence[int]) -> bool:
    """Whether all values are numbers and one between the chosen ones is left out."""
    numbers = [
        value for value in values if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    named = [numbers[at] for at in chosen if at < len(numbers)]
    if len(numbers) < len(values) or not named:
        return False
    return sum(min(named) <= number <= max(named) for number in numbers) > len(named)
