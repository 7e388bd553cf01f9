"""What is right, at token level and by enumeration.

Nothing here divides a length by a chunk size: tokens are listed, each token is asked which block
and chunk it lies in, and sets are compared.  So the oracle cannot share a rounding mistake with a
connector's closed formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kvconform.ports import Capability, ChunkState, Group, GroupKind, Layout

Chunk = tuple[int, int]
"""(group, chunk index)."""


class _Level(IntEnum):
    """How usable a token's bytes are in the connector's memory, worst first."""

    MISSING = 0
    PENDING = 1
    LOADING = 2
    READY = 3


_LEVELS = {
    ChunkState.MISSING: _Level.MISSING,
    ChunkState.PENDING: _Level.PENDING,
    ChunkState.LOADING: _Level.LOADING,
    ChunkState.READY: _Level.READY,
}

LATER = None
"""The verdict *ask again later*."""


def oldest_read(group: Group, query: int) -> int:
    """The oldest token position that the query at position ``query`` attends to."""
    if group.kind is GroupKind.FULL:
        return 0
    if group.kind is GroupKind.CHUNKED_LOCAL:
        return query - query % group.attention_chunk
    if group.kind is GroupKind.RECURRENT:
        # The state that the token before it left; nothing older is read again.
        return max(0, query - 1)
    return max(0, query - group.window + 1)


@lru_cache(maxsize=1 << 16)
def oldest_retained(group: Group, boundary: int) -> int:
    """The oldest token that anything from ``boundary`` on reads or replays.

    Multi-token prediction replays the queries ``[boundary - extra_retained, boundary]``, each of
    which reads its own window; every later query reads no older token than these.
    """
    queries = range(max(0, boundary - group.extra_retained), boundary + 1)
    return min(oldest_read(group, query) for query in queries)


def retained_tokens(group: Group, boundary: int) -> range:
    """Token positions of ``group`` that a hit of ``boundary`` tokens must bring."""
    return range(oldest_retained(group, boundary), boundary)


def retained_blocks(group: Group, boundary: int) -> frozenset[int]:
    """Block indices of ``group`` that a hit of ``boundary`` tokens must bring."""
    return frozenset(token // group.block_size for token in retained_tokens(group, boundary))


@lru_cache(maxsize=1 << 16)
def _retained_chunks(group: Group, chunk_tokens: int, boundary: int) -> frozenset[int]:
    return frozenset(token // chunk_tokens for token in retained_tokens(group, boundary))


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """The contract for one layout and one connector's chunk sizes.

    ``chunk_tokens`` has the tokens of one chunk for each group.  ``claims`` are the connector's
    capabilities: they decide what *best* means, never what is safe, apart from EAGLE, where a
    connector that cannot tell draft groups apart is not asked to.
    """

    layout: Layout
    chunk_tokens: tuple[int, ...]
    claims: frozenset[Capability] = field(default_factory=frozenset)

    def chunk_of(self, group: int, token: int) -> int:
        """The chunk that token position ``token`` of ``group`` lies in."""
        return token // self.chunk_tokens[group]

    def tokens_of(self, chunk: Chunk) -> range:
        """Token positions of a chunk."""
        group, index = chunk
        size = self.chunk_tokens[group]
        return range(index * size, index * size + size)

    def loaded_chunks(self, boundary: int) -> frozenset[Chunk]:
        """Chunks whose bytes a hit of ``boundary`` tokens needs."""
        return frozenset(
            (position, chunk)
            for position, group in enumerate(self.layout.groups)
            for chunk in _retained_chunks(group, self.chunk_tokens[position], boundary)
        )

    def draft_tail(self, boundary: int) -> frozenset[Chunk]:
        """Chunks of draft groups that must be ready beyond ``boundary`` and are then dropped."""
        if Capability.EAGLE not in self.claims or boundary < 1:
            return frozenset()
        return frozenset(
            (position, self.chunk_of(position, boundary - 1) + 1)
            for position, group in enumerate(self.layout.groups)
            if group.eagle
        )

    def verified_chunks(self, boundary: int) -> frozenset[Chunk]:
        """Chunks that must be ready before a hit of ``boundary`` tokens may be reported."""
        return self.loaded_chunks(boundary) | self.draft_tail(boundary)

    def boundaries(self, num_tokens: int) -> Sequence[int]:
        """Every boundary a hit may have in a request of ``num_tokens``, longest first.

        At least one token is left to compute.  Where the last one ends a hash block, the longest
        is all but that token: the last chunk may be whole, and its last token computed again.
        """
        last, step = num_tokens - 1, self.layout.hash_block
        blocks: Sequence[int] = range(last // step * step, 0, -step)
        if self.layout.has_states:
            blocks = [boundary for boundary in blocks if self.is_legal(boundary, num_tokens)]
        return [last, *blocks] if last % step and self.is_legal(last, num_tokens) else blocks

    @staticmethod
    def useful(boundary: int, num_tokens: int) -> int:
        """What a hit is worth: a hit of all tokens spares no more than one of all but the last."""
        return min(boundary, num_tokens - 1)

    def alignment_boundaries(self, num_tokens: int) -> Sequence[int]:
        """The boundaries up to ``num_tokens`` for which a store policy with a mask provides.

        For each number of shared tokens, the longest prefix of which the full-attention groups
        have all chunks.  Where there is no such group, every hash block ends a boundary.
        """
        sizes = [
            self.chunk_tokens[position]
            for position, group in enumerate(self.layout.groups)
            if group.kind is GroupKind.FULL
        ] or [self.layout.hash_block]
        found = {min(shared // size * size for size in sizes) for shared in range(num_tokens + 1)}
        return sorted({self._last_state(boundary) for boundary in found} - {0})

    def _last_state(self, boundary: int) -> int:
        """The longest boundary up to ``boundary`` at which every recurrent group has a state."""
        return next(end for end in range(boundary, -1, -1) if self._has_states_at(end))

    def _has_states_at(self, boundary: int) -> bool:
        """Whether a block of every recurrent group ends there: only there is a state kept."""
        groups = self.layout.groups
        return all(g.kind is not GroupKind.RECURRENT or boundary % g.block_size == 0 for g in groups)

    def kept_boundaries(
        self, num_tokens: int, prompt_tokens: int, *, unaligned: bool = False
    ) -> Sequence[int]:
        """The alignment boundaries for which the chunks of sliding groups are kept.

        All of them, unless the engine has a retention interval: then its multiples, and the
        longest of them at which the same prompt can be hit again.  With ``unaligned`` multiples
        of the interval that are no alignment boundary count too: the engine asks for them, and a
        hit can end there if chunks of other boundaries are gone.
        """
        aligned = self.alignment_boundaries(num_tokens)
        interval = self.layout.retention_interval
        if interval is None:
            return aligned
        complete = self.complete_chunks(prompt_tokens)
        replay = [
            boundary
            for boundary in self.alignment_boundaries(prompt_tokens - 1)
            if self.verified_chunks(boundary) <= complete
        ][-1:]
        ends = self.boundaries(num_tokens + 1) if unaligned else aligned
        regular = [boundary for boundary in ends if interval and boundary % interval == 0]
        return sorted({*regular, *replay})

    def complete_chunks(self, num_tokens: int) -> frozenset[Chunk]:
        """Chunks that lie wholly within the first ``num_tokens`` tokens."""
        return frozenset(
            (group, self.chunk_of(group, token))
            for group in range(len(self.layout.groups))
            for token in range(num_tokens)
            if self.tokens_of((group, self.chunk_of(group, token)))[-1] < num_tokens
        )

    def reachable_chunks(
        self,
        num_tokens: int,
        *,
        prompt_tokens: int | None = None,
        ahead: int = 0,
        steps: Sequence[int] = (),
    ) -> frozenset[Chunk]:
        """Chunks of ``num_tokens`` computed tokens that lookups at kept boundaries can use.

        The first ``prompt_tokens`` of them are the prompt (default: all).  With ``ahead`` all
        that is worth storing counts, not only what must be: chunks for boundaries of a prefix
        longer by so many tokens, which are of use to longer requests that share this prefix, and
        for multiples of the retention interval that are no alignment boundary.  With the token
        counts after each of the producer's ``steps``, states that it never had are left out.
        """
        prompt_tokens = num_tokens if prompt_tokens is None else prompt_tokens
        wanted: set[Chunk] = set()
        for boundary in self.alignment_boundaries(num_tokens + ahead):
            wanted |= {
                chunk
                for chunk in self.verified_chunks(boundary)
                if not (self._is_sliding(chunk) or self._never_held(chunk, boundary, steps))
            }
        for boundary in self.kept_boundaries(
            num_tokens + ahead, prompt_tokens, unaligned=ahead > 0
        ):
            wanted |= {c for c in self.verified_chunks(boundary) if self._is_sliding(c)}
        complete = self.complete_chunks(num_tokens)
        full = {
            chunk for chunk in complete if self.layout.groups[chunk[0]].kind is GroupKind.FULL
        }
        return frozenset((wanted & complete) | full)

    def _never_held(self, chunk: Chunk, boundary: int, steps: Sequence[int]) -> bool:
        """Whether it is known that the state at ``boundary`` was not there when its chunk was stored."""
        group = self.layout.groups[chunk[0]]
        if group.kind is not GroupKind.RECURRENT or not steps:
            return False
        return self._is_lost(chunk, boundary - 1, steps)

    def _is_lost(self, chunk: Chunk, token: int, steps: Sequence[int]) -> bool:
        """Whether a token of a chunk was no longer, or never, held by the step that completed it.

        ``steps`` are the token counts after each step.
        """
        group, tokens = self.layout.groups[chunk[0]], self.tokens_of(chunk)
        before = max((count for count in steps if count <= tokens[-1]), default=0)
        if self._block_is_gone(group, token, before):
            return True
        end = token - token % group.block_size + group.block_size
        return group.kind is GroupKind.RECURRENT and bool(steps) and end not in steps

    def _is_sliding(self, chunk: Chunk) -> bool:
        return self.layout.groups[chunk[0]].kind is GroupKind.SLIDING

    def supply(
        self, num_tokens: int, steps: Sequence[int] = (), *, prompt_tokens: int | None = None
    ) -> Supply:
        """What a producer of ``num_tokens`` leaves behind under the claimed store policy.

        ``steps`` are the token counts after each step of the producer: a chunk is stored by the
        step that completes it, without the blocks that had left the window by then.
        """
        masked = Capability.MASKED_STORE in self.claims
        chunks = (
            self.reachable_chunks(num_tokens, prompt_tokens=prompt_tokens, steps=steps)
            if masked
            else self.complete_chunks(num_tokens)
        )
        gone: dict[Chunk, frozenset[int]] = {}
        for chunk in chunks:
            lost = frozenset(
                token for token in self.tokens_of(chunk) if self._is_lost(chunk, token, steps)
            )
            if lost:
                gone[chunk] = lost
        return Supply(states=dict.fromkeys(chunks, ChunkState.READY), gone=gone)

    def blocks_of(self, chunk: Chunk) -> frozenset[tuple[int, int]]:
        """The (group, block index) of a chunk's blocks."""
        size = self.layout.groups[chunk[0]].block_size
        return frozenset((chunk[0], token // size) for token in self.tokens_of(chunk))

    def seen_supply(self, blocks: Iterable[tuple[int, int]]) -> Supply:
        """What is there if these (group, block index) were stored, each within its chunk."""
        stored = set(blocks)
        chunks = {
            (group, self.chunk_of(group, index * self.layout.groups[group].block_size))
            for group, index in stored
        }
        gone: dict[Chunk, frozenset[int]] = {}
        for chunk in chunks:
            size = self.layout.groups[chunk[0]].block_size
            lost = frozenset(
                t for t in self.tokens_of(chunk) if (chunk[0], t // size) not in stored
            )
            if lost:
                gone[chunk] = lost
        return Supply(states=dict.fromkeys(chunks, ChunkState.READY), gone=gone)

    @staticmethod
    def _block_is_gone(group: Group, token: int, computed: int) -> bool:
        """Whether the block of ``token`` had wholly left the retained interval at ``computed``."""
        last_of_block = token - token % group.block_size + group.block_size - 1
        return last_of_block < oldest_retained(group, computed)

    def is_legal(self, boundary: int, num_tokens: int) -> bool:
        """Whether a hit may end there: on a hash block, or one token before the request's last one.

        With recurrent groups only where all of them have a state, and before the last token.
        """
        step = self.layout.hash_block
        short = boundary == num_tokens - 1 and num_tokens % step == 0
        # The last token is computed from the state before it: nothing can be computed again.
        computed_again = self.layout.has_states and boundary >= num_tokens
        if boundary and (computed_again or not self._has_states_at(boundary)):
            return False
        return 0 <= boundary <= num_tokens and (boundary % step == 0 or short)

    def covered(
        self,
        boundary: int,
        num_tokens: int,
        supply: Supply,
        *,
        local_tokens: int = 0,
        draft: bool = False,
    ) -> bool:
        """Whether every chunk that a hit of ``boundary`` tokens needs has its bytes.

        A chunk that another request is loading has its bytes.  With ``draft`` the dropped chunk
        of draft groups counts as needed.
        """
        if not self.is_legal(boundary, num_tokens):
            return False
        table = _TokenLevels.of(self, num_tokens, supply)
        return table.worst(boundary, local_tokens, draft=draft) >= _Level.LOADING

    def best_verdict(
        self,
        num_tokens: int,
        supply: Supply,
        *,
        local_tokens: int = 0,
        load_cap: int | None = None,
    ) -> int | None:
        """The most useful right answer: total boundary in tokens, 0 for a miss, or `LATER`.

        ``local_tokens`` are in the pool already; a hit must reach beyond them, and not by more
        than ``load_cap`` tokens.
        """
        table = _TokenLevels.of(self, num_tokens, supply)
        for boundary in self.boundaries(num_tokens):
            if boundary <= local_tokens:
                break
            if load_cap is not None and boundary - local_tokens > load_cap:
                continue
            level = table.worst(boundary, local_tokens)
            if level is _Level.LOADING:
                return LATER if Capability.DEDUP_LOADS in self.claims else boundary
            if level is _Level.READY:
                return boundary
            if level is _Level.PENDING and Capability.LATER in self.claims:
                return LATER
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """What the connector's memory holds for one prefix: chunk states, all others missing.

    ``gone`` are token positions of a chunk that were no longer there when it was stored.
    """

    states: Mapping[Chunk, ChunkState]
    gone: Mapping[Chunk, frozenset[int]] = field(default_factory=dict)

    def with_states(self, chunks: Iterable[Chunk], state: ChunkState) -> Supply:
        """The same with ``chunks`` in ``state``."""
        return Supply(states={**self.states, **dict.fromkeys(chunks, state)}, gone=self.gone)


@dataclass(frozen=True, slots=True)
class _TokenLevels:
    """For each group, the level of every token of a request's prefix."""

    oracle: Oracle
    levels: tuple[NDArray[np.int8], ...]
    order: tuple[int, ...]
    """Groups by what a boundary needs of them, least first, so that a gap is found soon."""

    @classmethod
    def of(cls, oracle: Oracle, num_tokens: int, supply: Supply) -> _TokenLevels:
        """Spread the states of chunks over their tokens; only complete chunks have a key."""
        levels = tuple(np.zeros(num_tokens, dtype=np.int8) for _ in oracle.layout.groups)
        for chunk, state in supply.states.items():
            tokens = oracle.tokens_of(chunk)
            if tokens[-1] < num_tokens:
                levels[chunk[0]][tokens.start : tokens.stop] = _LEVELS[state]
        for chunk, tokens_gone in supply.gone.items():
            for token in tokens_gone:
                if token < num_tokens:
                    levels[chunk[0]][token] = _Level.MISSING
        groups = oracle.layout.groups
        order = sorted(range(len(groups)), key=lambda at: -oldest_retained(groups[at], num_tokens))
        return cls(oracle, levels, tuple(order))

    def worst(self, boundary: int, local_tokens: int, *, draft: bool = True) -> _Level:
        """The worst level among all that a hit of ``boundary`` tokens needs.

        What lies below ``local_tokens`` is in the pool already.
        """
        worst = int(_Level.READY)
        for position in self.order:
            group = self.oracle.layout.groups[position]
            start = max(oldest_retained(group, boundary), local_tokens)
            needed = self.levels[position][start:boundary]
            worst = min(worst, int(needed.min(initial=_Level.READY)))
            if worst == _Level.MISSING:
                return _Level.MISSING
        for chunk in self.oracle.draft_tail(boundary) if draft else ():
            tokens = self.oracle.tokens_of(chunk)
            tail = self.levels[chunk[0]][tokens.start : tokens.stop]
            # The tail needs a key of its own; a chunk past the request's end has none.
            level = int(tail.min()) if len(tail) == len(tokens) else _Level.MISSING
            # It is dropped: that another request loads it is no reason to wait.
            worst = min(worst, _Level.READY if level == _Level.LOADING else level)
        return _Level(worst)
