"""Which combinations of axis values are left out: the ``exclude`` and ``implies`` sections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kvconform.matrix.references import Path
from kvconform.matrix.report import Report
from kvconform.matrix.selection import Positions, read_sets
from kvconform.matrix.space import Condition, Space


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """Points for which ``condition`` holds are left out; ``path`` is where that is said."""

    condition: Condition
    path: Path

    @property
    def name(self) -> str:
        """As messages call it: ``exclude[0]``."""
        return f"{self.path[0]}[{self.path[1]}]"


def read_constraints(
    data: Mapping[str, Any], space: Space, report: Report
) -> list[Constraint] | None:
    """All constraints of a matrix; None if something is wrong with one, which was reported."""
    before = len(report.problems)
    found = [*_excludes(data, space, report), *_implications(data, space, report)]
    if len(report.problems) > before:
        return None
    for constraint in found:
        if any(not entries for _, entries in constraint.condition):
            report.add(constraint.path, f"this {constraint.path[0]} removes no row")
    return found if len(report.problems) == before else None


def _excludes(data: Mapping[str, Any], space: Space, report: Report) -> Iterator[Constraint]:
    """Rows for which ``when`` and ``then`` both hold."""
    for at, exclude in enumerate(data.get("exclude", [])):
        path: Path = ("exclude", at)
        sets = [
            read_sets(exclude[key], (*path, key), space, report)
            for key in ("when", "then")
            if key in exclude
        ]
        yield Constraint(condition=space.condition(sets), path=path)


def _implications(data: Mapping[str, Any], space: Space, report: Report) -> Iterator[Constraint]:
    """Rows for which ``when`` holds and some set of ``then`` does not: one constraint for each."""
    axes = {axis.name: axis for axis in space.axes}
    for at, implication in enumerate(data.get("implies", [])):
        path: Path = ("implies", at)
        when = read_sets(implication["when"], (*path, "when"), space, report)
        then = read_sets(implication["then"], (*path, "then"), space, report)
        for name, positions in then.items():
            others: Positions = {
                name: tuple(p for p in range(len(axes[name].values)) if p not in positions)
            }
            yield Constraint(condition=space.condition([when, others]), path=path)
