"""What a connector tells of its chunks: the events that a router of requests would fold."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkStored:
    """A chunk's store is complete on every rank: from now on a lookup finds it.

    ``key`` is the block hash at the chunk's end, ``group`` the position of its group.
    """

    group: int
    key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkRemoved:
    """A stored chunk is gone: from now on no lookup finds it."""

    group: int
    key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunksCleared:
    """Every chunk is gone, with no `ChunkRemoved` of its own."""


ChunkEvent = ChunkStored | ChunkRemoved | ChunksCleared
