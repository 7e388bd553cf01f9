"""Which chunks a boundary needs, and which chunks are worth storing: closed formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvconform.ports import Group, GroupKind, Layout


def cdiv(a: int, b: int) -> int:
    """Division rounded up."""
    return -(-a // b)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDemand:
    """The demand of one group; all lengths in tokens, ``chunk`` is the size of one chunk.

    With ``seed_bound`` the lookup's lower bound is that of vllm-project/vllm#56709, which asks
    for one chunk more than needed where ``(window - 1) % chunk == 0`` and nothing is retained.
    """

    group: Group
    chunk: int
    seed_bound: bool = False

    @property
    def is_full(self) -> bool:
        """Whether a hit needs every chunk from the first on."""
        return self.group.kind is GroupKind.FULL

    @property
    def reach(self) -> int:
        """Tokens below a boundary that are kept: window and retained history."""
        return self.group.window - 1 + self.group.extra_retained

    @property
    def run_chunks(self) -> int:
        """Chunks that must be ready in a row below a boundary at a chunk's end."""
        bound = cdiv(self.reach, self.chunk)
        return max(cdiv(self.group.window, self.chunk), bound) if self.seed_bound else bound

    def load_chunks(self, boundary: int) -> int:
        """Chunks that a load up to ``boundary`` spans.

        The last one is counted whole although the load ends inside it: the padding on the right
        moves the window's left edge.
        """
        right_padding = -boundary % self.chunk
        return cdiv(self.reach + right_padding, self.chunk) if self.reach else 0

    def needed(self, boundary: int) -> range:
        """Chunk indices that a hit of ``boundary`` tokens needs."""
        end = cdiv(boundary, self.chunk)
        if self.is_full:
            return range(end)
        return range(max(0, end - max(self.run_chunks, self.load_chunks(boundary))), end)

    def first_token(self, boundary: int) -> int:
        """The oldest token that a hit of ``boundary`` tokens needs."""
        return 0 if self.is_full else max(0, boundary - self.reach)

    def tail(self, boundary: int) -> int | None:
        """The chunk of a draft group that must be ready beyond the boundary, and is dropped."""
        return cdiv(boundary, self.chunk) if self.group.eagle else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreMask:
    """Which chunks are worth storing: those that a lookup can use at an alignment boundary.

    An alignment boundary is where the ready chunks of all full-attention groups can end
    together; without such a group that is at every hash block.
    """

    demands: tuple[GroupDemand, ...]

    @classmethod
    def of(cls, demands: Sequence[GroupDemand]) -> StoreMask:
        """The mask over all groups."""
        return cls(demands=tuple(demands))

    def kept_below(self, demand: GroupDemand) -> int:
        """Tokens below an alignment boundary whose chunks are kept."""
        return demand.reach

    def wants(self, group: int, chunk: int) -> bool:
        """Whether chunk ``chunk`` of ``group`` is worth storing."""
        demand = self.demands[group]
        kept = self.kept_below(demand)
        if demand.is_full:
            return True
        if not any(other.is_full for other in self.demands):
            return kept > 0 or (demand.group.eagle and chunk > 0)
        start, end = chunk * demand.chunk, (chunk + 1) * demand.chunk
        # A window of one token reads the query's own position only, and keeps nothing.
        if kept and self._boundary_within(start + 1, end + kept):
            return True
        return demand.group.eagle and self._boundary_within(start - demand.chunk + 1, start + 1)

    def _boundary_within(self, start: int, stop: int) -> bool:
        """Whether an alignment boundary lies in ``[start, stop)``."""
        sizes = [demand.chunk for demand in self.demands if demand.is_full]
        return any(
            self._is_alignment(boundary, size, sizes)
            for size in sizes
            for boundary in range(cdiv(max(1, start), size) * size, stop, size)
        )

    @staticmethod
    def _is_alignment(boundary: int, size: int, sizes: list[int]) -> bool:
        return all(cdiv(boundary, other) * other < boundary + size for other in sizes)


def demands_of(
    layout: Layout, blocks_per_chunk: int, *, seed_bound: bool = False
) -> tuple[GroupDemand, ...]:
    """One demand for each group of a layout."""
    return tuple(
        GroupDemand(group=group, chunk=group.block_size * blocks_per_chunk, seed_bound=seed_bound)
        for group in layout.groups
    )
