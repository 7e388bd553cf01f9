"""A case told event by event, with the tokens that each event was about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from math import gcd

from kvconform.results.failure import broken_by
from kvconform.results.record import CaseRecord
from kvconform.results.scale import Scale
from kvconform.results.scene import Moment, Scene, merged

_ALL_GROUPS = -1


def timeline(record: CaseRecord) -> list[str]:
    """The lines: a step's number where it begins, each event in words, and below it a bar a group.

    Where the record has no scene (cases of stores, crashes) there are no bars.
    """
    wrong = broken_by(record.checks)
    scene = record.scene
    if scene is None:
        return list(_words(record.trace, wrong))
    last = max((end for moment in scene.moments for _, _, end in moment.spans), default=1)
    scale = Scale.of(last, reduce(gcd, [shape.block_tokens for shape in scene.groups]))
    width = max(len(name) for name in ("chunks of", *(shape.name for shape in scene.groups)))
    lines = [f"{'':10}{'tokens':{width}} {scale.ruler()}"]
    lines += [
        f"{'':10}{shape.name:{width}} {scale.marks(shape.chunk_tokens)}  chunks of {shape.chunk_tokens} tokens"
        for shape in scene.groups
    ]
    for text, moment in zip(_words(record.trace, wrong), scene.moments, strict=True):
        lines.append(text)
        lines += [f"{'':10}{bar}" for bar in _bars(scene, moment, scale, width)]
    return [line.rstrip() for line in lines]


def _words(trace: Sequence[str], wrong: Mapping[int, str]) -> Iterable[str]:
    before = ""
    for at, line in enumerate(trace):
        part = re.fullmatch(r"step (\d+): (.*)", line, re.DOTALL)
        number, text = (part[1], part[2]) if part else ("", line)
        mark = f"  <- {wrong[at]}" if at in wrong else ""
        shown = number if number != before else ""
        before = number
        yield f"{shown:>6}  {text}{mark}"


def _bars(scene: Scene, moment: Moment, scale: Scale, width: int) -> Iterable[str]:
    for position in sorted({group for group, _, _ in moment.spans}):
        spans = merged((start, end) for group, start, end in moment.spans if group == position)
        name = "all" if position == _ALL_GROUPS else scene.groups[position].name
        yield f"{name:{width}} {scale.line(spans)}"
