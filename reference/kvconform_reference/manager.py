"""The books on chunks: where each lives, its state, who uses it, what is evicted."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kvconform.ports import ChunkState

OffloadKey = tuple[bytes, int]
"""(block hash at the chunk's end, group)."""


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
    ready: bool = False
    loads: int = 0
    forgotten: bool = False
    lacking: frozenset[int] = frozenset()


class ChunkManager:
    """Chunks by key, least recently used first."""

    def __init__(self, num_slots: int) -> None:
        self._chunks: OrderedDict[OffloadKey, Chunk] = OrderedDict()
        self._free = list(range(num_slots - 1, -1, -1))

    def get(self, key: OffloadKey) -> Chunk | None:
        """The chunk, in whatever state."""
        return self._chunks.get(key)

    def state(self, key: OffloadKey) -> ChunkState:
        """The state that a lookup sees."""
        chunk = self._chunks.get(key)
        if chunk is None:
            return ChunkState.MISSING
        if not chunk.ready:
            return ChunkState.PENDING
        return ChunkState.LOADING if chunk.loads else ChunkState.READY

    def touch(self, keys: Iterable[OffloadKey]) -> None:
        """Make chunks the most recently used ones."""
        for key in keys:
            if key in self._chunks:
                self._chunks.move_to_end(key)

    def prepare_store(self, offers: Sequence[tuple[OffloadKey, int]]) -> list[Chunk]:
        """Take slots for chunks offered as (key, first valid block).

        Chunks that are present already are not stored again, and never evicted to make room for
        the same offer.  What finds no room is left out.
        """
        offered = {key for key, _ in offers}
        taken = []
        for key, first_block in offers:
            if key in self._chunks:
                self._chunks.move_to_end(key)
                continue
            if not self._free and not self._evict(offered):
                break
            chunk = Chunk(key, self._free.pop(), first_block)
            self._chunks[key] = chunk
            taken.append(chunk)
        return taken

    def complete_store(self, chunk: Chunk, *, success: bool = True) -> None:
        """The bytes have arrived, or will not."""
        if success and not chunk.forgotten:
            chunk.ready = True
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
            self._chunks.move_to_end(chunk.key)
        return chunks

    def complete_load(self, chunks: Iterable[Chunk]) -> None:
        """Unpin chunks after a load."""
        for chunk in chunks:
            chunk.loads -= 1
            if chunk.forgotten and not chunk.loads:
                self._free.append(chunk.slot)

    def drop(self, key: OffloadKey) -> None:
        """Remove a chunk, whatever its state; its slot is free once nobody uses it."""
        chunk = self._chunks.get(key)
        if chunk is not None:
            self._remove(chunk)

    def clear(self) -> None:
        """Remove every chunk."""
        for chunk in list(self._chunks.values()):
            self._remove(chunk)

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

    def _evict(self, protected: set[OffloadKey]) -> bool:
        for key, chunk in self._chunks.items():
            if chunk.ready and not chunk.loads and key not in protected:
                self._remove(chunk)
                return True
        return False
