"""All that is told of one case that was not as wanted, packed in chunks that a page unpacks when asked."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from kvconform.results.failure import broken_by, describe_failure
from kvconform.results.html.text import all_visible
from kvconform.results.html.tracks import missing
from kvconform.results.journal import RunHeader
from kvconform.results.record import CaseRecord, CheckResult, Outcome
from kvconform.results.reproduce import reproduction
from kvconform.results.runs import shown_outcome
from kvconform.results.scene import GroupShape, Picture, Scene, Track

_CHUNK_CHARS = 400_000
_CHUNK_CASES = 100


class Chunks:
    """Collects details; a case is known by its chunk and its place in it."""

    def __init__(self) -> None:
        self._chunks: list[list[str]] = []
        self._room = 0

    def add(self, detail: Mapping[str, Any]) -> tuple[int, int]:
        """Keep ``detail``; gives the chunk and the place."""
        text = json.dumps(detail, separators=(",", ":"))
        if not self._chunks or len(text) > self._room or len(self._chunks[-1]) >= _CHUNK_CASES:
            self._chunks.append([])
            self._room = _CHUNK_CHARS
        self._room -= len(text)
        self._chunks[-1].append(text)
        return len(self._chunks) - 1, len(self._chunks[-1]) - 1

    def packed(self) -> list[str]:
        """Each chunk, a JSON list, as `pack` writes it."""
        return [pack(f"[{','.join(chunk)}]") for chunk in self._chunks]


def pack(text: str) -> str:
    """``text`` compressed (zlib), in letters and digits (base64)."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def has_detail(record: CaseRecord) -> bool:
    """Whether there is more to tell than which checks it had."""
    return record.outcome not in {Outcome.PASS, Outcome.NOT_APPLICABLE} or bool(record.trace)


def detail_of(record: CaseRecord, header: RunHeader | None) -> dict[str, Any]:
    """One case: failed checks, trace, scene and the text that a terminal shows, as plain data."""
    wanted = [
        check
        for check in record.checks
        if check.outcome not in {Outcome.PASS, Outcome.NOT_APPLICABLE}
    ]
    return {
        "text": all_visible(describe_failure(record, header)),
        "again": all_visible(reproduction(record, header)),
        "checks": [_check(record, check) for check in _failed_first(wanted)],
        "trace": all_visible(record.trace),
        "broken": {str(at): all_visible(told) for at, told in broken_by(record.checks).items()},
        "stack": all_visible(record.stack),
        "scene": _scene(record.scene) if record.scene is not None else None,
    }


def _failed_first(checks: Iterable[CheckResult]) -> list[CheckResult]:
    return sorted(checks, key=lambda check: check.outcome is not Outcome.FAIL)


def _check(record: CaseRecord, check: CheckResult) -> dict[str, Any]:
    told = {"outcome": shown_outcome(record, check).value, "failed": check.outcome is Outcome.FAIL}
    return {**all_visible(asdict(check)), **told}


def _scene(scene: Scene) -> dict[str, Any]:
    """The scene with what each lookup lacked; of a moment only what is drawn."""
    return {
        "groups": [all_visible(asdict(shape)) for shape in scene.groups],
        "moments": [
            [one.step, all_visible(one.kind), all_visible(one.request), one.rank, one.spans]
            for one in scene.moments
        ],
        "pictures": [_picture(scene, picture) for picture in scene.pictures],
    }


def _picture(scene: Scene, picture: Picture) -> dict[str, Any]:
    shapes = {shape.name: shape for shape in scene.groups}
    tracks = [_track(track, shapes.get(track.group), picture) for track in picture.tracks]
    return {
        **all_visible(asdict(picture)),
        "boundary": picture.drawn_boundary,
        "tracks": tracks,
    }


def _track(track: Track, shape: GroupShape | None, picture: Picture) -> dict[str, Any]:
    lacking = missing(track, shape, picture) if shape is not None else ()
    return {**all_visible(asdict(track)), "missing": lacking}
