"""The books on chunks: where each lives, its state, who uses it, what is evicted."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from kvconform.ports import ChunkEvent, ChunkRemoved, ChunksCleared, ChunkState, ChunkStored

OffloadKey = tuple[bytes, int]
"""(block hash at the chunk's end, group)."""

Rank = tuple[int, int]
"""(number of the access, minus the place within it): the smallest is evicted first."""


class ChunkNotFoundError(LookupError):
    """A load asks for a chunk that is not there."""


class ChunkNotReadyError(RuntimeError):
    """A load asks for a chunk whose store is in flight."""


@dataclass(slots=True, eq=False)
class Chunk:
    """One chunk in host memory.

    ``first_block`` is the index within the chunk of its first valid block: earlier ones had left
    the window when it was stored.  ``lacking`` are later ones that never held a state.
    ``loads`` counts loads in flight.
    """

    key: OffloadKey
    slot: int
    first_block: int
    rank: Rank = (0, 0)
    ready: bool = False
    loads: int = 0
    forgotten: bool = False
    lacking: frozenset[int] = frozenset()


class ChunkManager:
    """Chunks by key.  Of those that nobody reads or writes the least recently used go first.

    A request is one access, whatever it does: its number ranks all its chunks, the later ones
    (its tail) before the earlier.  Ranks are kept in a heap; what is outdated in it is passed over.
    """

    def __init__(self, num_slots: int) -> None:
        self._chunks: dict[OffloadKey, Chunk] = {}
        self._free = list(range(num_slots - 1, -1, -1))
        self._heap: list[tuple[Rank, OffloadKey]] = []
        self._accesses = count()
        self._places = count()
        self._events: list[ChunkEvent] = []

    def get(self, key: OffloadKey) -> Chunk | None:
        """The chunk, in whatever state."""
        return self._chunks.get(key)

    def state(self, key: OffloadKey) -> ChunkState | None:
        """The state that a lookup sees; None of a chunk that is not there."""
        chunk = self._chunks.get(key)
        if chunk is None:
            return None
        if not chunk.ready:
            return ChunkState.PENDING
        return ChunkState.LOADING if chunk.loads else ChunkState.READY

    def new_access(self) -> int:
        """A number for one request's use of chunks; a later one is more recent."""
        return next(self._accesses)

    def use(self, keys: Iterable[OffloadKey], access: int) -> None:
        """Chunks are used by an access, those of its head first; absent ones are passed over."""
        for key in keys:
            chunk = self._chunks.get(key)
            if chunk is not None:
                self._rank(chunk, access)

    def prepare_store(
        self, offers: Sequence[tuple[OffloadKey, int]], access: int | None = None
    ) -> list[Chunk]:
        """Take slots for chunks offered as (key, first valid block), head first.

        Chunks that are present already are not stored again, but used.  To make room none of
        this access are evicted.  What finds no room is left out.
        """
        access = self.new_access() if access is None else access
        self.use((key for key, _ in offers), access)
        new = [(key, first_block) for key, first_block in offers if key not in self._chunks]
        self._make_room(len(new) - len(self._free), access)
        taken = [Chunk(key, self._free.pop(), first) for key, first in new[: len(self._free)]]
        self._chunks.update((chunk.key, chunk) for chunk in taken)
        self.use((key for key, _ in offers), access)
        return taken

    def complete_store(self, chunk: Chunk, *, success: bool = True) -> None:
        """The bytes have arrived, or will not."""
        if success and not chunk.forgotten:
            chunk.ready = True
            self._events.append(ChunkStored(group=chunk.key[1], key=chunk.key[0]))
        else:
            self._forget(chunk)

    def prepare_load(self, keys: Iterable[OffloadKey]) -> list[Chunk]:
        """Pin chunks for a load; raises if one is missing or not ready."""
        chunks = []
        for key in keys:
            chunk = self._chunks.get(key)
            if chunk is None:
                raise ChunkNotFoundError(f"chunk {key[0].hex()[:8]} of group {key[1]} not found")
            if not chunk.ready:
                raise ChunkNotReadyError(f"chunk {key[0].hex()[:8]} of group {key[1]} is not ready for reading")
            chunks.append(chunk)
        for chunk in chunks:
            chunk.loads += 1
        return chunks

    def complete_load(self, chunks: Iterable[Chunk]) -> None:
        """Unpin chunks after a load."""
        for chunk in chunks:
            chunk.loads -= 1
            if chunk.forgotten and not chunk.loads:
                self._free.append(chunk.slot)

    def give_up(self, chunks: Iterable[Chunk]) -> None:
        """Remove chunks that could not be read, unless they are forgotten already."""
        for chunk in chunks:
            if not chunk.forgotten:
                self._evict(chunk)

    def drop(self, key: OffloadKey) -> None:
        """Remove a chunk, whatever its state; its slot is free once nobody uses it."""
        chunk = self._chunks.get(key)
        if chunk is not None:
            self._evict(chunk)

    def clear(self) -> None:
        """Remove every chunk."""
        for chunk in list(self._chunks.values()):
            self._remove(chunk)
        self._events.append(ChunksCleared())

    def take_events(self) -> list[ChunkEvent]:
        """What was stored and removed since the last call."""
        events, self._events = self._events, []
        return events

    def _evict(self, chunk: Chunk) -> None:
        self._remove(chunk)
        if chunk.ready:
            self._events.append(ChunkRemoved(group=chunk.key[1], key=chunk.key[0]))

    def _remove(self, chunk: Chunk) -> None:
        del self._chunks[chunk.key]
        chunk.forgotten = True
        if chunk.ready and not chunk.loads:
            self._free.append(chunk.slot)

    def _forget(self, chunk: Chunk) -> None:
        if not chunk.forgotten:
            del self._chunks[chunk.key]
            chunk.forgotten = True
        self._free.append(chunk.slot)

    def _rank(self, chunk: Chunk, access: int) -> None:
        """Give a chunk its place behind all others of the access."""
        chunk.rank = (access, -next(self._places))
        heapq.heappush(self._heap, (chunk.rank, chunk.key))
        if self._is_outgrown():
            self._heap = [(known.rank, key) for key, known in self._chunks.items()]
            heapq.heapify(self._heap)

    def _is_outgrown(self) -> bool:
        """Whether most of the heap is outdated; few entries are no trouble."""
        return len(self._heap) > 2 * len(self._chunks) + 64

    def may_evict(self, chunk: Chunk, access: int) -> bool:
        """Whether a chunk may go for the sake of this access."""
        return chunk.ready and not chunk.loads and chunk.rank[0] != access

    def _make_room(self, count: int, access: int) -> None:
        """Evict so many chunks, or as many as may be."""
        passed = []
        while count > 0 and self._heap:
            entry = heapq.heappop(self._heap)
            chunk = self._chunks.get(entry[1])
            if chunk is None or chunk.rank != entry[0]:
                continue
            if self.may_evict(chunk, access):
                self._evict(chunk)
                count -= 1
            else:
                passed.append(entry)
        for entry in passed:
            heapq.heappush(self._heap, entry)
