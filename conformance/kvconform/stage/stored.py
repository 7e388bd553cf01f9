"""What copies were seen to store, told by the bytes themselves and so for any number of prompts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kvconform.contract.oracle import Chunk, Oracle, Supply
from kvconform.engine.events import Copied
from kvconform.engine.pattern import Lane, prefix_of
from kvconform.ports import Direction, GroupKind, RequestSpec


@dataclass(slots=True, kw_only=True)
class StoredChunks:
    """Chunks in a connector's memory, by the content of their last block.

    A block's content depends on all tokens up to its end, so the last block's stands for the
    chunk, as a key would.  What is evicted is not seen: memory must be large enough.
    """

    oracle: Oracle
    _blocks: dict[int, frozenset[int]] = field(default_factory=dict)
    """Block indices that were stored, by chunk."""
    _loose: set[int] = field(default_factory=set)
    """Contents of blocks that were copied without the last one of their chunk."""

    def take(self, event: Copied, computed: Iterable[tuple[RequestSpec, int]] = ()) -> None:
        """Take in what rank 0 was seen to store: the other ranks have no other chunks.

        A chunk of a recurrent group may lack its last state.  ``computed`` are the requests whose
        chunk it can be, with their computed tokens.
        """
        if event.direction is not Direction.STORE or event.rank != 0:
            return
        layout = self.oracle.layout
        waiting: dict[Chunk, dict[int, int]] = {}
        for (name, index), content in zip(event.blocks, event.contents, strict=True):
            if index < 0:
                continue
            group = layout.index(name)
            size = layout.groups[group].block_size
            chunk = group, self.oracle.chunk_of(group, index * size)
            blocks = waiting.setdefault(chunk, {})
            blocks[index] = content
            if (index + 1) * size == self.oracle.tokens_of(chunk).stop:
                self._blocks[content] = frozenset(waiting.pop(chunk))
        for chunk, blocks in waiting.items():
            if layout.groups[chunk[0]].kind is GroupKind.RECURRENT:
                self._take_states(chunk, blocks, computed)
            else:
                self._loose.update(blocks.values())

    def _take_states(
        self, chunk: Chunk, blocks: dict[int, int], computed: Iterable[tuple[RequestSpec, int]]
    ) -> None:
        """States of a chunk without its last one: the chunk is known by whose states they are."""
        for spec, tokens in computed:
            if self.oracle.tokens_of(chunk).stop > tokens:
                continue
            contents = self._contents(spec, chunk)
            if all(contents[index] == content for index, content in blocks.items()):
                self._blocks.setdefault(contents[max(contents)], frozenset(blocks))

    def supply(self, spec: RequestSpec, num_tokens: int) -> Supply:
        """What of it lies on the first ``num_tokens`` tokens of a request, all of it ready."""
        found: list[tuple[int, int]] = []
        for group in range(len(self.oracle.layout.groups)):
            last = self.oracle.chunk_of(group, num_tokens) - 1
            for chunk in range(last + 1):
                contents = self._contents(spec, (group, chunk))
                key = contents[max(contents)]
                if key in self._blocks:
                    stored = self._blocks[key]
                    found += [(group, i) for i, c in contents.items() if i in stored or c in self._loose]
        return self.oracle.seen_supply(found)

    def drop(self, spec: RequestSpec, group: int, chunks: Iterable[int]) -> None:
        """These chunks of a request's prefix are gone."""
        for chunk in chunks:
            contents = self._contents(spec, (group, chunk))
            self._blocks.pop(contents[max(contents)], None)

    def _contents(self, spec: RequestSpec, chunk: Chunk) -> dict[int, int]:
        """Content by block index of one chunk of a request."""
        lane = Lane(group=chunk[0], layer=0, rank=0)
        size = self.oracle.layout.groups[chunk[0]].block_size
        prefix = prefix_of((*spec.prompt, *spec.output), spec.partition)
        ends: Sequence[int] = self.oracle.tokens_of(chunk)[size - 1 :: size]
        return {end // size: prefix.content(lane, end) for end in ends}
