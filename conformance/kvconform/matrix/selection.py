"""Sets of axis values in a matrix, and the ``expect`` section: what is pinned for which rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvconform.matrix.model import Axis
from kvconform.matrix.problems import shown, suggest
from kvconform.matrix.references import Path
from kvconform.matrix.report import Report
from kvconform.matrix.rules import describe
from kvconform.matrix.space import Condition, Point, Space, holds

Positions = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PinSpec:
    """A pin with its condition and its data, value sets written as the axes' own values."""

    path: Path
    condition: Condition
    data: dict[str, Any]


def read_sets(sets: Mapping[str, list[Any]], path: Path, space: Space, report: Report) -> Positions:
    """Value positions by axis name; unknown axes and values are reported and left out."""
    axes = {axis.name: axis for axis in space.axes}
    result: dict[str, tuple[int, ...]] = {}
    for name, values in sets.items():
        axis = axes.get(name)
        if axis is None:
            report.add(
                (*path, name), f"no axis is named {shown(name)}", suggest(name, axes), key=True
            )
            continue
        positions = []
        for at, value in enumerate(values):
            position = axis.find(value)
            if position is None:
                message = f"{describe(value)} is no value of the axis {name!r}"
                report.add((*path, name, at), message, _nearest_value(value, axis))
            elif position in positions:
                report.add((*path, name, at), f"{describe(value)} stands twice")
            else:
                positions.append(position)
        result[name] = tuple(positions)
    return result


def _nearest_value(value: Any, axis: Axis) -> str:
    text = _text(value)
    for known in axis.values:
        if _text(known) == text:
            return f"the axis has {describe(known)}"
    return suggest(text, map(_text, axis.values))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_pins(data: Mapping[str, Any], space: Space, report: Report) -> list[PinSpec]:
    """The pins of ``expect``, their value sets checked."""
    expect = data.get("expect", "oracle")
    if isinstance(expect, str):
        return []
    axes = {axis.name: axis for axis in space.axes}
    pins = []
    for at, pin in enumerate(expect["pins"]):
        path: Path = ("expect", "pins", at)
        sets = read_sets(pin.get("when", {}), (*path, "when"), space, report)
        when = {
            name: [axes[name].values[one] for one in positions] for name, positions in sets.items()
        }
        pins.append(
            PinSpec(path=path, condition=space.condition([sets]), data={**pin, "when": when})
        )
    return pins


def first_matches(
    pins: Sequence[PinSpec], points: Sequence[Point], report: Report
) -> list[list[Point]]:
    """For each pin the rows that it decides; a pin that decides none is reported."""
    decided: list[list[Point]] = [[] for _ in pins]
    matched = [False] * len(pins)
    for point in points:
        for at, pin in enumerate(pins):
            if holds(pin.condition, point):
                decided[at].append(point)
                matched[at] = True
                break
    for at, pin in enumerate(pins):
        if matched[at]:
            continue
        if any(holds(pin.condition, point) for point in points):
            report.add(
                pin.path,
                "this pin is never used: earlier pins match all of its rows",
                "put it first",
            )
        else:
            report.add(pin.path, "this pin matches no row")
    return decided
