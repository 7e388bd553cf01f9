"""What a reader needs of a trace: the events that were wrong and those around them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

SAYS = "the connector says: "
"""How a line begins that a connector put into the trace."""

_BEFORE, _AFTER = 8, 3
"""So many lines are shown on either side of an event that was wrong."""

_REMARKS = 2
"""So many lines of the connector's own are shown wherever they stand: they may tell the cause."""

_SHORT = 12
"""A trace of no more lines is shown as it is, and so many where no event was wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """What happened in one step of the engine; ``first`` is the position of its first event."""

    name: str
    first: int
    said: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One line of an excerpt and the positions of the events for which it stands."""

    text: str
    events: range


def excerpt(trace: Sequence[str], wrong: Mapping[int, str], *, whole: bool = False) -> list[str]:
    """Lines of ``trace`` around the positions in ``wrong``, which says what each event broke.

    Where no single event was wrong the last ones are shown; ``whole`` leaves none out.  Steps in
    a row in which the same happened are told once.
    """
    lines = list(_folded(trace))
    broken = {n: told for n, line in enumerate(lines) if (told := _told(line, wrong))}
    if whole or len(lines) <= _SHORT:
        kept = set(range(len(lines)))
    elif broken:
        kept = {near for n in broken for near in range(n - _BEFORE, n + _AFTER + 1)}
    else:
        kept = set(range(len(lines) - _SHORT, len(lines)))
    kept |= set([n for n, line in enumerate(lines) if f": {SAYS}" in line.text][:_REMARKS])
    shown: list[str] = []
    for is_kept, run in groupby(range(len(lines)), key=kept.__contains__):
        numbers = list(run)
        if is_kept or len(numbers) == 1:
            shown += [lines[n].text + broken.get(n, "") for n in numbers]
        else:
            left_out = sum(len(lines[n].events) for n in numbers)
            where = "later" if shown else "earlier"
            where = "more" if shown and numbers[-1] < len(lines) - 1 else where
            shown.append(f"({left_out} {where} event{'s' * (left_out > 1)})")
    return shown


def _told(line: _Line, wrong: Mapping[int, str]) -> str:
    found = dict.fromkeys(wrong[at] for at in sorted(wrong) if at in line.events)
    return f"  <- {', '.join(found)}" if found else ""


def _folded(trace: Sequence[str]) -> Iterator[_Line]:
    for said, run in groupby(_steps(trace), key=lambda step: step.said):
        steps = list(run)
        first, width = steps[0].first, len(said)
        times = f" (x {len(steps)}, until {steps[-1].name})" if len(steps) > 1 else ""
        for at in range(first, first + width):
            yield _Line(text=trace[at] + times, events=range(at, first + len(steps) * width, width))


def _steps(trace: Sequence[str]) -> Iterator[_Step]:
    """The steps of a trace; an event that names none is one of its own."""
    parts = [re.fullmatch(r"(step \d+): (.*)", line, re.DOTALL) for line in trace]
    names = [part[1] if part else f"event {at + 1}" for at, part in enumerate(parts)]
    for name, run in groupby(range(len(trace)), key=names.__getitem__):
        events = list(run)
        said = tuple(part[2] if (part := parts[at]) else trace[at] for at in events)
        yield _Step(name=name, first=events[0], said=said)
