"""Which chunks a boundary needs, and which chunks are worth storing: closed formulas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from math import lcm

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
    def is_recurrent(self) -> bool:
        """Whether a hit needs one state."""
        return self.group.kind is GroupKind.RECURRENT

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

    def needed_at_end(self, boundary: int) -> range:
        """The same for a boundary at a chunk's end, found below a broken chunk."""
        end = boundary // self.chunk
        return range(max(0, end - self.run_chunks), end)

    def below(self, boundary: int, broken: int) -> int:
        """The longest boundary below ``boundary`` that does not need chunk ``broken``."""
        del boundary
        return broken * self.chunk

    def first_token(self, boundary: int) -> int:
        """The oldest token that a hit of ``boundary`` tokens needs."""
        return 0 if self.is_full else max(0, boundary - self.reach)

    def last_end(self, limit: int) -> int:
        """The longest boundary up to ``limit`` at which a hit can end, as far as this group goes."""
        return limit

    def tail(self, boundary: int) -> int | None:
        """The chunk of a draft group that must be ready beyond the boundary, and is dropped."""
        return cdiv(boundary, self.chunk) if self.group.eagle else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkedLocalDemand(GroupDemand):
    """Attention restarts at multiples of ``attention_chunk``: there, nothing older is needed."""

    @property
    def reach(self) -> int:
        """Tokens below a boundary that are kept at most."""
        return self.group.attention_chunk

    def first_token(self, boundary: int) -> int:
        """The start of the boundary's attention chunk."""
        return boundary - boundary % self.group.attention_chunk

    def needed(self, boundary: int) -> range:
        """Chunk indices from the start of the attention chunk on; none at its start."""
        first = self.first_token(boundary)
        end = cdiv(boundary, self.chunk)
        return range(first // self.chunk, end) if first < boundary else range(end, end)

    def needed_at_end(self, boundary: int) -> range:
        """No different: what is below a broken chunk may be the start of an attention chunk."""
        return self.needed(boundary)

    def below(self, boundary: int, broken: int) -> int:
        """Below the broken chunk, or at the start of the attention chunk if that is later."""
        return max(broken * self.chunk, self.first_token(boundary))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrentDemand(GroupDemand):
    """A hit needs the one state of all tokens below it, which there is at a block's end only."""

    @property
    def reach(self) -> int:
        """The last token below a boundary: its block holds the state."""
        return 1

    def first_token(self, boundary: int) -> int:
        """The last token below the boundary."""
        return max(0, boundary - 1)

    def needed(self, boundary: int) -> range:
        """The chunk that the state lies in."""
        end = cdiv(boundary, self.chunk)
        return range(max(0, end - 1), end)

    def last_end(self, limit: int) -> int:
        """The last block's end."""
        return limit // self.group.block_size * self.group.block_size


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreMask:
    """Which chunks are worth storing: those that a lookup can use at an alignment boundary.

    An alignment boundary is where the ready chunks of all full-attention groups can end
    together; without such a group that is at every hash block.  With a retention interval
    (tokens) sliding groups keep them for its multiples only, and for a replay of the prompt.
    """

    demands: tuple[GroupDemand, ...]
    hash_block: int
    retention_interval: int | None = None

    def kept_below(self, demand: GroupDemand) -> int:
        """Tokens below an alignment boundary whose chunks are kept."""
        return demand.reach

    def wants(self, group: int, chunk: int, prompt_tokens: int) -> bool:
        """Whether chunk ``chunk`` of ``group`` is worth storing, for a prompt of this length."""
        demand = self.demands[group]
        if demand.is_full:
            return True
        start, end = chunk * demand.chunk, (chunk + 1) * demand.chunk
        kept = partial(self._is_kept, demand, prompt_tokens)
        needing = filter(kept, self._alignments(start + 1, end + self.kept_below(demand)))
        if any(demand.first_token(boundary) < min(boundary, end) for boundary in needing):
            return True
        followed = filter(kept, self._alignments(start - demand.chunk + 1, start + 1))
        return demand.group.eagle and any(followed)

    def _is_kept(self, demand: GroupDemand, prompt_tokens: int, boundary: int) -> bool:
        """Whether an alignment boundary is one for which the group's chunks are kept."""
        interval = self.retention_interval
        if interval is None or demand.group.kind is not GroupKind.SLIDING:
            return True
        regular = interval > 0 and boundary % interval == 0
        return regular or boundary == self.replay_boundary(prompt_tokens)

    def replay_boundary(self, prompt_tokens: int) -> int:
        """The longest boundary that the same prompt can hit; 0 if there is none."""
        aligned = list(self._alignments(1, prompt_tokens))
        return max((b for b in aligned if self._last_end(b) <= prompt_tokens), default=0)

    def _last_end(self, boundary: int) -> int:
        """The end of the last chunk that a hit at ``boundary`` needs, dropped ones included."""
        tails = ((demand, demand.tail(boundary)) for demand in self.demands)
        needed = (
            (cdiv(boundary, demand.chunk) if tail is None else tail + 1) * demand.chunk
            for demand, tail in tails
            if demand.first_token(boundary) < boundary or tail is not None
        )
        return max(needed, default=boundary)

    def _alignments(self, start: int, stop: int) -> Iterator[int]:
        """Alignment boundaries in ``[start, stop)``: where hits that reach them end."""
        grid = lcm(*(demand.group.block_size for demand in self.demands if demand.is_recurrent))
        ends = (end // grid * grid for end in self._reached(start, stop + grid - 1))
        yield from (end for end, _ in groupby(ends) if start <= end < stop)

    def _reached(self, start: int, stop: int) -> Iterator[int]:
        """Where the chunks of all full-attention groups end together, in ``[start, stop)``."""
        sizes = [demand.chunk for demand in self.demands if demand.is_full] or [self.hash_block]
        for size in sizes:
            for boundary in range(cdiv(max(1, start), size) * size, stop, size):
                if all(cdiv(boundary, other) * other < boundary + size for other in sizes):
                    yield boundary


def demands_of(
    layout: Layout, blocks_per_chunk: int, *, seed_bound: bool = False
) -> tuple[GroupDemand, ...]:
    """One demand for each group of a layout."""
    kinds = {
        GroupKind.CHUNKED_LOCAL: ChunkedLocalDemand,
        GroupKind.RECURRENT: RecurrentDemand,
    }
    return tuple(
        kinds.get(group.kind, GroupDemand)(
            group=group, chunk=group.block_size * blocks_per_chunk, seed_bound=seed_bound
        )
        for group in layout.groups
    )
