"""A lookup drawn with characters: chunks, blocks and what was needed, there and brought, in one scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from math import gcd

from kvconform.results.scale import ALL, SOME, Scale
from kvconform.results.scene import GroupShape, Picture, Scene, Track, without

_CHUNKS = 3
"""So many chunks of a drawn group fit in at least."""

_LABEL = 9


def verdict(tokens: int | None) -> str:
    """A verdict of a picture in words."""
    if tokens is None:
        return "unknown"
    if tokens < 0:
        return "later"
    return f"a hit of {tokens} tokens" if tokens else "a miss"


def draw(scene: Scene, picture: Picture) -> list[str]:
    """The picture in lines: each group in which something is amiss, the others in one line each.

    A line of tokens has at most 64 characters; what lies left and right of them is cut off, and
    the ruler says where they begin.
    """
    shapes = {shape.name: shape for shape in scene.groups}
    drawn = [track for track in picture.tracks if _amiss(track, picture)] or list(picture.tracks)
    scale = _scale([shapes[track.group] for track in drawn], picture, drawn)
    lines = [
        f"lookup of {picture.request} with {picture.num_tokens} tokens, {picture.local_tokens} of them in the pool",
        f"{'':{_LABEL}} one character is {_tokens(scale.unit)}: {ALL} all of it, {SOME} a part",
    ]
    lines.append(_row("tokens", scale.ruler()))
    lines += _boundaries(scale, picture)
    for track in drawn:
        lines += _group(scale, shapes[track.group], track, picture)
    lines += [
        f"{track.group + ':':{_LABEL}} {_in_words(track, known=picture.expected is not None)}"
        for track in picture.tracks
        if track not in drawn
    ]
    return [line.rstrip() for line in lines]


def _amiss(track: Track, picture: Picture) -> bool:
    """Whether the group's tokens are not as the verdict says: lacking, not brought, or too many."""
    wrong = picture.difference is not None and picture.difference.group == track.group
    here = without(track.verified, track.stored)
    if picture.expected is None:
        here = ()
    brought = without(track.needed, track.loaded) + without(track.loaded, track.needed)
    return wrong or bool(here) or (picture.got > 0 and bool(track.loaded) and bool(brought))


def _scale(shapes: Sequence[GroupShape], picture: Picture, tracks: Sequence[Track]) -> Scale:
    fine = reduce(gcd, [shape.block_tokens for shape in shapes])
    last = max(
        [picture.num_tokens, *(end for track in tracks for _, end in (*track.verified, *track.stored))]
    )
    whole = Scale.of(last, fine)
    wide = min(last, _CHUNKS * max(shape.chunk_tokens for shape in shapes))
    near = Scale.of(wide, fine)
    return whole if whole.unit <= near.unit else whole.around(_first_amiss(picture, tracks), near.unit)


def _first_amiss(picture: Picture, tracks: Sequence[Track]) -> int:
    """The first token at which something is wrong, else the boundary."""
    if picture.difference is not None:
        return picture.difference.token
    lacking = [start for track in tracks for start, _ in without(track.verified, track.stored)]
    return min(lacking, default=picture.drawn_boundary)


def _boundaries(scale: Scale, picture: Picture) -> Iterable[str]:
    for name, tokens in (("expected", picture.expected), ("got", picture.got)):
        at = scale.at(tokens - 1) if tokens is not None and tokens > 0 else None
        mark = f"{' ' * at}] {tokens}" if at is not None else verdict(tokens)
        yield _row(name, mark)


def _group(scale: Scale, shape: GroupShape, track: Track, picture: Picture) -> Iterable[str]:
    kept = f", window {shape.window}" if shape.window else ""
    kept += f", extra retained {shape.extra_retained}" if shape.extra_retained else ""
    draft = ", draft group" if shape.eagle else ""
    yield (
        f"{shape.name}: {shape.kind}{kept}{draft}; blocks of {shape.block_tokens}, "
        f"chunks of {_tokens(shape.chunk_tokens)}"
    )
    yield _row("chunks", scale.marks(shape.chunk_tokens))
    if shape.block_tokens != shape.chunk_tokens and shape.block_tokens > scale.unit:
        yield _row("blocks", scale.marks(shape.block_tokens))
    yield _row("needed", scale.line(track.needed))
    yield _row("verified", scale.line(track.verified))
    known = picture.expected is not None
    yield _row("stored", scale.line(track.stored) if known else "not known")
    if track.in_flight:
        yield _row("in flight", scale.line(track.in_flight))
    yield _row("loaded", scale.line(track.loaded) if track.loaded else "nothing")
    for token, why in _first_wrong(track, picture):
        at = scale.at(token)
        if at is not None:
            yield _row("", f"{' ' * at}^ token {token}: {why}")


def _first_wrong(track: Track, picture: Picture) -> Iterable[tuple[int, str]]:
    """The first token of a group that is not as it should be, and how."""
    found = picture.difference
    if found is not None and found.group == track.group:
        yield found.token, f"holds {found.found}"
        return
    hit = picture.got > 0
    lacking = without(track.verified, track.stored) if picture.expected is not None else ()
    if lacking:
        state = "in flight" if not without(lacking[:1], track.in_flight) else "not there"
        yield lacking[0][0], state
    elif hit and track.loaded and (left := without(track.needed, track.loaded)):
        yield left[0][0], "not loaded"
    elif hit and track.loaded and (more := without(track.loaded, track.needed)):
        yield more[0][0], "loaded and not needed"


def _in_words(track: Track, *, known: bool) -> str:
    if not track.needed:
        return "nothing is needed"
    needed = sum(end - start for start, end in track.needed)
    there = "all there" if not without(track.verified, track.stored) else "not all there"
    loaded = sum(end - start for start, end in track.loaded)
    there = there if known else "not known whether there"
    return f"{_tokens(needed)} needed, {there}, {loaded} loaded"


def _row(label: str, text: str) -> str:
    return f"  {label:{_LABEL}} {text}"


def _tokens(count: int) -> str:
    return f"{count} token{'s' * (count != 1)}"
