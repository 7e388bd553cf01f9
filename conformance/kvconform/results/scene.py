"""What a case looked like, as plain data: who asked what, and which tokens were needed, there and brought.

Pictures and timelines are drawn from it, in a terminal as in a page.  All positions are in
tokens, as half-open intervals; a group's blocks and chunks are whole intervals of its sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

Spans = tuple[tuple[int, int], ...]
"""Half-open intervals of token positions, in order and apart."""

LATER = -1
"""The verdict *ask again later*, where others are numbers of tokens and 0 is a miss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupShape:
    """One KV cache group; all sizes are in tokens."""

    name: str
    kind: str
    block_tokens: int
    chunk_tokens: int
    window: int = 0
    extra_retained: int = 0
    eagle: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """The first byte that was not its owner's; ``token`` is a position, ``found`` says whose it was."""

    rank: int
    group: str
    layer: int
    token: int
    byte: int
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One group at one lookup, in tokens.

    ``needed`` are the blocks that must come back for the hit, ``verified`` the chunks that must be
    there before it may be reported (a draft group's dropped tail among them), ``stored`` what the
    connector's memory had of the prefix, ``in_flight`` chunks on their way there or being loaded,
    ``loaded`` the blocks that copies brought.
    """

    group: str
    needed: Spans = ()
    verified: Spans = ()
    stored: Spans = ()
    in_flight: Spans = ()
    loaded: Spans = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One lookup of a request and what came of it.

    ``answer`` is the position of the verdict in the trace.  ``expected`` and ``got`` are verdicts
    in tokens (0: a miss, `LATER`), ``expected`` is None where nobody knows what was there.
    ``checks`` are the failed ones that it is about, ``difference`` is the first wrong byte.
    """

    answer: int
    request: str
    num_tokens: int
    local_tokens: int
    expected: int | None
    got: int
    tracks: tuple[Track, ...]
    checks: tuple[str, ...] = ()
    difference: Spot | None = None

    @property
    def drawn_boundary(self) -> int:
        """The boundary for which ``needed`` and ``verified`` stand: of the hit, else of the right one."""
        return self.got if self.got > 0 else max(0, self.expected or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One event of the trace, in the same place: what happened, to whom, and where.

    ``spans`` are (position of the group, or -1 for all of them; first token; token after the last).
    """

    step: int
    kind: str
    request: str = ""
    rank: int = 0
    spans: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """All there is to draw of one case."""

    groups: tuple[GroupShape, ...]
    moments: tuple[Moment, ...] = ()
    pictures: tuple[Picture, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Scene:
        """The scene of a record's line; raises KeyError, TypeError or ValueError if it is none."""
        return cls(
            groups=tuple(GroupShape(**one) for one in data["groups"]),
            moments=tuple(_moment(one) for one in data["moments"]),
            pictures=tuple(_picture(one) for one in data["pictures"]),
        )


def merged(spans: Iterable[tuple[int, int]]) -> Spans:
    """The same tokens in as few intervals as there can be."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        elif start < end:
            found.append((start, end))
    return tuple(found)


def without(spans: Spans, others: Spans) -> Spans:
    """Tokens of ``spans`` that are in none of ``others``."""
    left = list(spans)
    for begin, stop in others:
        left = [
            part
            for start, end in left
            for part in ((start, min(end, begin)), (max(start, stop), end))
            if part[0] < part[1]
        ]
    return tuple(left)


def _moment(data: Mapping[str, Any]) -> Moment:
    spans = tuple((int(group), int(start), int(end)) for group, start, end in data["spans"])
    return Moment(**{**data, "spans": spans})


def _picture(data: Mapping[str, Any]) -> Picture:
    tracks = tuple(_track(one) for one in data["tracks"])
    found = data["difference"]
    return Picture(
        **{
            **data,
            "tracks": tracks,
            "checks": tuple(data["checks"]),
            "difference": Spot(**found) if found is not None else None,
        }
    )


def _track(data: Mapping[str, Any]) -> Track:
    names = [one.name for one in fields(Track) if one.name != "group"]
    spans = {
        name: tuple((int(start), int(end)) for start, end in data[name]) for name in names
    }
    return Track(group=data["group"], **spans)
