"""Which chunks must still be there when memory was too small for all: least recently used go first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Recency:
    """Chunks by last use, where some uses are certain and others only possible.

    ``room`` is how many chunks memory holds.  A chunk must be there if no more than ``room``
    chunks, itself included, may have been used since it certainly was.  So whatever order a
    connector gives to chunks that were used together, it is not told wrong for it.
    """

    room: int
    _sure: dict[int, int] = field(default_factory=dict)
    """The latest certain use of each chunk; only of chunks that were certainly there then."""
    _maybe: dict[int, int] = field(default_factory=dict)
    """The latest possible use of each chunk."""
    _now: int = 0

    def used_alone(self, segments: Sequence[Collection[int]], sure: Collection[int]) -> None:
        """One request used chunks and nobody else did.

        ``segments`` are all the chunks that it may have used, its head first; within a segment
        any order is right.  ``sure`` are those that it certainly stored, loaded or found.
        """
        for segment in reversed(segments):
            self._now += 1
            for chunk in segment:
                self._maybe[chunk] = self._now
                if chunk in sure:
                    self._sure[chunk] = self._now

    def used_together(self, chunks: Iterable[int], sure: Collection[int]) -> None:
        """Several requests used chunks, in any order; ``sure`` were stored or loaded by one of them."""
        start = self._now + 1
        self._now += 2
        for chunk in chunks:
            self._maybe[chunk] = self._now
            if chunk in sure:
                self._sure[chunk] = start

    def gone(self, chunks: Iterable[int]) -> None:
        """Chunks are there no more."""
        for chunk in chunks:
            self._sure.pop(chunk, None)
            self._maybe.pop(chunk, None)

    def clear(self) -> None:
        """No chunk is there any more."""
        self._sure.clear()
        self._maybe.clear()

    def must_be_there(self, chunk: int) -> bool:
        """Whether memory must still hold the chunk."""
        since = self._sure.get(chunk)
        if since is None:
            return False
        return sum(used >= since for used in self._maybe.values()) <= self.room
