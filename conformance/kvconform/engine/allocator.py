"""Block tables of requests: what each group keeps, what a hit makes room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import lcm

from kvconform.engine.pool import BlockPool
from kvconform.ports import NULL_BLOCK, BlockTable, Group, GroupKind, Layout


def num_skipped_tokens(group: Group, num_computed_tokens: int) -> int:
    """Tokens at the front that the allocator of ``group`` no longer keeps.

    This is the engine's own rule (vLLM's ``get_num_skipped_tokens``); the contract has another,
    and a property test compares the two.
    """
    if group.kind is GroupKind.FULL:
        return 0
    if group.kind is GroupKind.CHUNKED_LOCAL:
        return num_computed_tokens // group.attention_chunk * group.attention_chunk
    if group.kind is GroupKind.RECURRENT:
        # The last state alone, which lies in the last token's block.
        return max(0, num_computed_tokens - 1)
    return max(0, num_computed_tokens - group.window + 1 - group.extra_retained)


def num_unread_tokens(group: Group, num_computed_tokens: int) -> int:
    """Tokens at the front that no query from ``num_computed_tokens`` on attends to."""
    if group.kind is GroupKind.SLIDING:
        return max(0, num_computed_tokens - group.window + 1)
    return num_skipped_tokens(group, num_computed_tokens)


def cut_at_state(layout: Layout, start: int, count: int, known: int) -> int:
    """Tokens of ``count`` that a step from ``start`` on computes, so that states fall on block ends.

    A step leaves one state of each recurrent group, that of its end.  So it ends with a block of
    these groups, where the ``known`` tokens allow: short of their last such end on any of them,
    else on that one.  0 if no block's end is in reach; all of ``count`` without such a group.
    """
    grid = layout.state_tokens
    last, end = known // grid * grid, start + count
    if end < last:
        return max(0, end // grid * grid - start)
    return last - start if start < last < end else count


def cdiv(a: int, b: int) -> int:
    """Division rounded up."""
    return -(-a // b)


@dataclass(slots=True)
class Holding:
    """The blocks of one request: rows by group, and how many tokens each origin gave."""

    rows: list[list[int]]
    published: list[int]
    num_local_tokens: int = 0
    num_external_tokens: int = 0

    def held(self) -> tuple[tuple[int, int], ...]:
        """For each group (first block index, count) of the blocks held; (0, 0) for none."""
        spans = []
        for row in self.rows:
            indices = [index for index, block in enumerate(row) if block != NULL_BLOCK]
            spans.append((indices[0] if indices else 0, len(indices)))
        return tuple(spans)

    def table(self) -> BlockTable:
        """A snapshot for the connector."""
        return BlockTable(
            blocks=tuple(tuple(row) for row in self.rows),
            num_local_tokens=self.num_local_tokens,
            num_external_tokens=self.num_external_tokens,
        )


@dataclass(slots=True)
class Allocator:
    """Allocates blocks of all groups from one pool."""

    layout: Layout
    pool: BlockPool
    _holdings: dict[str, Holding] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)
    """Blocks that changed their owner since the engine last asked."""

    def holding(self, request_id: str) -> Holding:
        """The request's blocks, empty at first."""
        groups = len(self.layout.groups)
        return self._holdings.setdefault(
            request_id, Holding(rows=[[] for _ in range(groups)], published=[0] * groups)
        )

    def find_local(self, block_hashes: Sequence[bytes], limit: int) -> tuple[int, list[list[int]]]:
        """The longest prefix up to ``limit`` tokens whose retained blocks are all cached.

        Returns its tokens and the rows of block ids.  A draft group must have the following
        block too, which is then dropped.
        """
        step = max(group.block_size for group in self.layout.groups)
        step = lcm(step, self.layout.state_tokens)
        for boundary in range(limit // step * step, 0, -step):
            rows = self._cached_rows(block_hashes, boundary)
            if rows is not None:
                return boundary, rows
        return 0, [[] for _ in self.layout.groups]

    def _cached_rows(self, block_hashes: Sequence[bytes], boundary: int) -> list[list[int]] | None:
        rows = []
        for position, group in enumerate(self.layout.groups):
            if boundary % group.block_size:
                return None
            start = num_skipped_tokens(group, boundary) // group.block_size
            end = boundary // group.block_size
            row = [NULL_BLOCK] * start
            for index in range(start, end + 1 if group.eagle else end):
                block = self._find(block_hashes, position, index)
                if block is None:
                    return None
                row.append(block)
            rows.append(row[:end])
        return rows

    def _find(self, block_hashes: Sequence[bytes], group: int, index: int) -> int | None:
        last = (index + 1) * self.layout.groups[group].block_size // self.layout.hash_block - 1
        return self.pool.find((block_hashes[last], group)) if last < len(block_hashes) else None

    def admit(self, request_id: str, boundary: int, rows: list[list[int]], local: int, total: int) -> bool:
        """Make room for a hit of ``boundary`` tokens and for computing up to ``total`` tokens.

        ``local`` tokens of the hit are cached, in ``rows``.  Local blocks of all groups are pinned before any new block is taken.  Returns False,
        with nothing changed, if the pool has too few blocks.
        """
        self.pool.pin(block for row in rows for block in row)
        planned = [self._plan(position, row, boundary, total) for position, row in enumerate(rows)]
        if sum(len(new) for _, new in planned) > self.pool.num_free:
            self.pool.free(block for row in rows for block in row)
            return False
        holding = self.holding(request_id)
        holding.num_local_tokens, holding.num_external_tokens = local, boundary - local
        for position, (skipped, new) in enumerate(planned):
            row = list(rows[position])
            gone = min(skipped, len(row))
            self.pool.free(row[:gone])
            row[:gone] = [NULL_BLOCK] * gone
            self._extend(row, new)
            row += [NULL_BLOCK] * max(0, skipped - len(row))
            holding.rows[position] = row
            holding.published[position] = 0
        return True

    def _plan(
        self, position: int, row: Sequence[int], boundary: int, total: int
    ) -> tuple[int, Sequence[int]]:
        """(blocks at the front that are null, indices of new blocks) of one group."""
        group = self.layout.groups[position]
        skipped = num_skipped_tokens(group, boundary) // group.block_size
        return skipped, self._new_indices(group, max(skipped, len(row)), boundary, total)

    @staticmethod
    def _new_indices(group: Group, first: int, start: int, total: int) -> Sequence[int]:
        """Block indices from ``first`` on that a step from ``start`` to ``total`` tokens needs.

        A recurrent group needs the block of the state that the step goes on from, and that of the
        one that it leaves; between them no state is ever written, so that there are no blocks.
        """
        if group.kind is not GroupKind.RECURRENT:
            return range(first, cdiv(total, group.block_size))
        ends = {(end - 1) // group.block_size for end in (start, total) if end}
        return sorted(index for index in ends if index >= first)

    def _extend(self, row: list[int], indices: Sequence[int]) -> list[int]:
        """New blocks at these indices, null blocks before them; returns the ids of the new ones."""
        new = self._take(len(indices))
        for index, block in zip(indices, new, strict=True):
            row += [NULL_BLOCK] * (index - len(row))
            row.append(block)
        return new

    def slide(self, request_id: str, num_computed_tokens: int) -> None:
        """Free the blocks that have left every group's retained interval."""
        holding = self.holding(request_id)
        for group, row in zip(self.layout.groups, holding.rows, strict=True):
            end = min(num_skipped_tokens(group, num_computed_tokens) // group.block_size, len(row))
            if group.kind is GroupKind.RECURRENT:
                # States have holes between them.
                self.pool.free(row[:end])
                row[:end] = [NULL_BLOCK] * end
                continue
            index = end - 1
            gone = []
            while index >= 0 and row[index] != NULL_BLOCK:
                gone.append(row[index])
                row[index] = NULL_BLOCK
                index -= 1
            self.pool.free(reversed(gone))

    def grow(self, request_id: str, total: int) -> tuple[tuple[int, ...], ...] | None:
        """Blocks for ``total`` tokens; the new ids by group, or None if the pool is too small."""
        holding = self.holding(request_id)
        missing = [
            self._new_indices(group, len(row), 0, total)
            for group, row in zip(self.layout.groups, holding.rows, strict=True)
        ]
        if sum(map(len, missing)) > self.pool.num_free:
            return None
        return tuple(
            tuple(self._extend(row, indices))
            for row, indices in zip(holding.rows, missing, strict=True)
        )

    def publish(self, request_id: str, block_hashes: Sequence[bytes], num_tokens: int) -> None:
        """Make complete blocks within the first ``num_tokens`` tokens findable."""
        holding = self.holding(request_id)
        known = min(num_tokens, len(block_hashes) * self.layout.hash_block)
        for position, group in enumerate(self.layout.groups):
            row = holding.rows[position]
            end = known // group.block_size
            for index in range(holding.published[position], end):
                if row[index] != NULL_BLOCK:
                    last = (index + 1) * group.block_size // self.layout.hash_block - 1
                    self.pool.publish(row[index], (block_hashes[last], position))
            holding.published[position] = max(holding.published[position], end)

    def longest_valid(self, request_id: str, bad: frozenset[int], num_tokens: int) -> int:
        """The longest prefix, up to ``num_tokens`` tokens, that stands without the blocks ``bad``.

        It ends on a hash block, and all that is retained for it is held and good.  0 if there is none.
        """
        rows = self.holding(request_id).rows
        limit = num_tokens
        for group, row in zip(self.layout.groups, rows, strict=True):
            limit = min([limit, *(at * group.block_size for at, block in enumerate(row) if block in bad)])
        step = self.layout.hash_block
        for boundary in range(limit // step * step, 0, -step):
            kept = (
                row[num_skipped_tokens(group, boundary) // group.block_size : cdiv(boundary, group.block_size)]
                for group, row in zip(self.layout.groups, rows, strict=True)
            )
            if all(NULL_BLOCK not in part for part in kept):
                return boundary
        return 0

    def cut_back(self, request_id: str, num_tokens: int) -> None:
        """What lies behind the first ``num_tokens`` tokens is to be computed again: nobody finds it."""
        holding = self.holding(request_id)
        for position, group in enumerate(self.layout.groups):
            first = num_tokens // group.block_size
            self.pool.forget(holding.rows[position][first:])
            holding.published[position] = min(holding.published[position], first)

    def reset(self) -> None:
        """Forget every cached block; what requests hold now is not made findable later either."""
        self.pool.clear_cache()
        for holding in self._holdings.values():
            holding.published = [len(row) for row in holding.rows]

    def free(self, request_id: str) -> None:
        """Give up all blocks of a request; the head is freed first and so reused last."""
        holding = self._holdings.pop(request_id, None)
        if holding is not None:
            for row in holding.rows:
                self.pool.free(row)

    def _take(self, count: int) -> list[int]:
        blocks = self.pool.allocate(count)
        self.taken.update(blocks)
        return blocks
