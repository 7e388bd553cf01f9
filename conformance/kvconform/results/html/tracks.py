"""What a lookup lacked, group by group, told from the picture of it."""

from __future__ import annotations

from kvconform.results.scene import GroupShape, Picture, Scene, Spans, Track, merged, without


def missing(track: Track, shape: GroupShape, picture: Picture) -> Spans:
    """Tokens that the boundary asks for and that were neither there nor on their way.

    These are needed blocks, and whole chunks to be verified of which there was nothing: what a
    chunk was stored without is not missing where nobody needs it.  None where nobody knows what
    there was.
    """
    if picture.expected is None:
        return ()
    there = merged((*track.stored, *track.in_flight))
    size = max(1, shape.chunk_tokens)
    chunks = (
        (max(start, first), min(end, first + size))
        for start, end in track.verified
        for first in range(start - start % size, end, size)
    )
    gone = [chunk for chunk in chunks if without((chunk,), there) == (chunk,)]
    return merged((*without(track.needed, there), *gone))


def groups_amiss(scene: Scene | None) -> tuple[str, ...]:
    """Names of the groups of which a failed lookup lacked something or that had a wrong byte."""
    if scene is None:
        return ()
    found = set()
    for picture in scene.pictures:
        if not picture.checks:
            continue
        if picture.difference is not None:
            found.add(picture.difference.group)
        found |= {
            track.group
            for track, shape in zip(picture.tracks, scene.groups, strict=False)
            if picture.got > 0 and missing(track, shape, picture)
        }
    return tuple(shape.name for shape in scene.groups if shape.name in found)
