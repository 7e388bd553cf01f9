"""Rows worth running: those on which explanations differ, and those that put one to the test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kvconform.suspects.explain import Explanation, explain
from kvconform.suspects.search import Limits
from kvconform.suspects.table import Row

MOST_PROBES = 8
"""So many rows are run to settle an explanation, unless the caller says otherwise."""

SUPPORT = 4
"""An explanation of fewer failing rows is put to the test, unless the caller says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """The explanation after some ``probes``: rows that were run, and whether each failed."""

    explanation: Explanation
    probes: tuple[tuple[Row, bool | None], ...]


def next_probe(explanation: Explanation) -> Row | None:
    """The row not yet run on which the candidates are divided best; None if on none."""
    if not explanation.exact:
        return None
    outcomes = explanation.outcomes
    votes = np.zeros(len(outcomes.table.rows), dtype=np.int32)
    for candidate in explanation.candidates:
        votes += outcomes.table.mask(candidate.rows)
    worth = np.minimum(votes, len(explanation.candidates) - votes)
    worth *= outcomes.table.mask(outcomes.open)
    best = int(worth.argmax())
    return outcomes.table.rows[best] if worth[best] else None


def next_check(explanation: Explanation) -> Row | None:
    """A row not yet run that fails if the first candidate is right, least like those that failed."""
    outcomes = explanation.outcomes
    table = outcomes.table
    rows = table.mask(outcomes.open & explanation.candidates[0].rows)
    if not explanation.exact or not rows.any():
        return None
    new = np.zeros(len(table.rows), dtype=np.int32)
    for axis in range(len(table.axes)):
        seen = table.with_values(axis, table.values(axis, outcomes.failed))
        new += table.mask(table.all & ~seen)
    return table.rows[int(np.where(rows, new, -1).argmax())]


def settle(
    explanation: Explanation,
    run: Callable[[Row], bool | None],
    *,
    most: int = MOST_PROBES,
    support: int = SUPPORT,
    limits: Limits | None = None,
) -> Settlement:
    """Run rows one by one until one candidate is left and ``support`` rows are known to fail.

    At most ``most`` rows are run.  ``run`` says whether a row failed in the way in question, or
    None if that was not measured.
    """
    probes: list[tuple[Row, bool | None]] = []
    while len(probes) < most:
        row = next_probe(explanation)
        if row is None and explanation.outcomes.failed.bit_count() < support:
            row = next_check(explanation)
        if row is None:
            break
        failed = run(row)
        probes.append((row, failed))
        explanation = explain(explanation.outcomes.told(row, failed=failed), limits)
    return Settlement(explanation=explanation, probes=tuple(probes))
