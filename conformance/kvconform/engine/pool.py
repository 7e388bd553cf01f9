"""The block pool: one set of block ids for all groups, and the prefix cache over it."""

from __future__ import annotations

from collections.abc import Iterable

from kvconform.ports import NULL_BLOCK

CacheKey = tuple[bytes, int]
"""(block hash at the block's end, group)."""


class BlockPool:
    """Reference counts, free blocks and cached blocks.

    A freed block keeps its hash and its bytes, so a later request can find it; it is also the
    first to be taken again (last in, first out), which is the hardest order for a connector
    that still reads it.
    """

    def __init__(self, num_blocks: int) -> None:
        self._free: dict[int, None] = dict.fromkeys(range(num_blocks - 1, NULL_BLOCK, -1))
        self._refs = [0] * num_blocks
        self._key_of: dict[int, CacheKey] = {}
        self._cached: dict[CacheKey, int] = {}

    @property
    def num_free(self) -> int:
        """Blocks that can be allocated now."""
        return len(self._free)

    def allocate(self, count: int) -> list[int]:
        """Take ``count`` free blocks; a block that was cached is forgotten.

        The caller has made sure that there are as many.
        """
        taken = []
        for _ in range(count):
            block, _ = self._free.popitem()
            self._forget(block)
            self._refs[block] = 1
            taken.append(block)
        return taken

    def free(self, blocks: Iterable[int]) -> None:
        """Give up one reference to each block; null blocks are skipped."""
        for block in blocks:
            if block == NULL_BLOCK:
                continue
            self._refs[block] -= 1
            if self._refs[block] == 0:
                self._free[block] = None

    def pin(self, blocks: Iterable[int]) -> None:
        """Take one more reference to cached blocks."""
        for block in blocks:
            if block == NULL_BLOCK:
                continue
            self._free.pop(block, None)
            self._refs[block] += 1

    def publish(self, block: int, key: CacheKey) -> None:
        """Make a complete block findable by its key; the first block of a key stays."""
        if key not in self._cached and block not in self._key_of:
            self._cached[key] = block
            self._key_of[block] = key

    def find(self, key: CacheKey) -> int | None:
        """The block cached under ``key``."""
        return self._cached.get(key)

    def forget(self, blocks: Iterable[int]) -> None:
        """These blocks can no longer be found: their bytes are not what their key says."""
        for block in blocks:
            self._forget(block)

    def clear_cache(self) -> None:
        """Forget every cached block; bytes stay until a block is taken again."""
        self._key_of.clear()
        self._cached.clear()

    def at_rest(self) -> bool:
        """Whether every block but the null block is free."""
        return len(self._free) == len(self._refs) - 1

    def _forget(self, block: int) -> None:
        key = self._key_of.pop(block, None)
        if key is not None:
            del self._cached[key]
