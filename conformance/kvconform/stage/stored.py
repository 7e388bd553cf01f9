"""What copies were seen to store, told by the bytes themselves and so for any number of prompts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kvconform.contract.oracle import Chunk, Oracle, Supply
from kvconform.engine.events import Copied, CopyFailed, Reset
from kvconform.engine.pattern import Lane, prefix_of
from kvconform.ports import Direction, GroupKind, RequestSpec


@dataclass(slots=True, kw_only=True)
class StoredChunks:
    """Chunks in a connector's memory, by the content of their last block.

    A block's content depends on all tokens up to its end, so the last block's stands for the
    chunk, as a key would.  What is evicted is not seen: memory must be large enough.
    """

    oracle: Oracle
    rank: int = 0
    """The rank whose copies are looked at."""
    _blocks: dict[int, frozenset[int]] = field(default_factory=dict)
    """Block indices that were stored, by chunk."""
    _loose: set[int] = field(default_factory=set)
    """Contents of blocks that were copied without the last one of their chunk."""
    _failed: set[tuple[int, int]] = field(default_factory=set)
    """(rank, content) of the last blocks of chunks, as far as the copy went, whose last store failed.

    A copy that ends as that one did replaces all of the chunk, though earlier blocks may have left
    the window by then.  Earlier blocks tell nothing: other chunks may begin with them too.
    """
    _elsewhere: set[tuple[int, int]] = field(default_factory=set)
    """(rank, content) of blocks that were stored on the other ranks."""
    _any_failed: bool = False
    _doubtful: set[int] = field(default_factory=set)
    """Chunks that a connector may have given up, or may not: one of their copies failed."""
    _old: dict[int, frozenset[int]] = field(default_factory=dict)
    """What was stored before a reset, or submitted: block indices by chunk."""
    _flying: set[tuple[int, int]] = field(default_factory=set)
    """(rank, job id) of copies that a reset overtook."""

    @property
    def mended(self) -> bool:
        """Whether stores have failed, and all that they were about was stored again."""
        return self._any_failed and not self._failed

    @property
    def ever(self) -> frozenset[int]:
        """What every chunk that was ever stored, and not dropped, is known by."""
        return frozenset(self._blocks)

    def take(self, event: Copied, computed: Iterable[tuple[RequestSpec, int]] = ()) -> None:
        """Take in what the rank was seen to store, and that the others stored something.

        A chunk of a recurrent group may lack its last state.  ``computed`` are the requests whose
        chunk it can be, with their computed tokens.
        """
        if event.direction is not Direction.STORE:
            return
        overtaken = (event.rank, event.job) in self._flying
        self._flying.discard((event.rank, event.job))
        if not overtaken:
            self._failed.difference_update((event.rank, content) for content in event.contents)
        if event.rank != self.rank:
            self._elsewhere.update((event.rank, content) for content in event.contents)
            return
        if not overtaken:
            self._doubtful.difference_update(event.contents)
        known = self._old if overtaken else self._blocks
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
                known[content] = frozenset(waiting.pop(chunk))
        for chunk, blocks in waiting.items() if not overtaken else ():
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

    def fail(self, event: CopyFailed, requests: Mapping[str, RequestSpec]) -> None:
        """A copy failed.  A store of a chunk that is not there leaves nothing to serve.

        A chunk that was there already, or was to be loaded, may be given up or not.
        """
        self._any_failed = True
        if event.direction is Direction.STORE:
            for end in self._ends_of(event):
                own = event.rank == self.rank
                if own and end in self._blocks and (event.rank, end) not in self._failed:
                    self._doubtful.add(end)
                else:
                    self._failed.add((event.rank, end))
            return
        for (name, index), request in zip(event.blocks, event.requests, strict=True):
            group = self.oracle.layout.index(name)
            token = index * self.oracle.layout.groups[group].block_size
            if request in requests:
                contents = self._contents(requests[request], (group, self.oracle.chunk_of(group, token)))
                self._doubtful.add(contents[max(contents)])

    def _ends_of(self, event: CopyFailed) -> list[int]:
        """The content of the last block that a copy has of each of its chunks."""
        layout = self.oracle.layout
        last: dict[Chunk, tuple[int, int]] = {}
        for (name, index), content in zip(event.blocks, event.contents, strict=True):
            group = layout.index(name)
            chunk = group, self.oracle.chunk_of(group, index * layout.groups[group].block_size)
            last[chunk] = max(last.get(chunk, (-1, 0)), (index, content))
        return [content for _, content in last.values()]

    def reset(self, event: Reset) -> None:
        """The connector was to forget everything, and what was on its way."""
        self._old |= self._blocks
        self._blocks.clear()
        self._loose.clear()
        self._failed.clear()
        self._doubtful.clear()
        self._flying |= set(event.in_flight)

    def doubtful(self, spec: RequestSpec, num_tokens: int) -> bool:
        """Whether the first tokens of a request have chunks of which nobody knows whether they are there."""
        return self._any_failed and any(
            contents[max(contents)] in self._doubtful
            or (contents[max(contents)] in self._blocks and not self._everywhere(spec, chunk))
            for chunk, contents in self._chunks(spec, num_tokens)
        )

    def _everywhere(self, spec: RequestSpec, chunk: Chunk) -> bool:
        """Whether each other rank has stored the end of a chunk: one may have given it up."""
        ends = (
            (rank, self._contents(spec, chunk, rank)) for rank in self._others()
        )
        return all((rank, contents[max(contents)]) in self._elsewhere for rank, contents in ends)

    def failed(self, spec: RequestSpec, num_tokens: int) -> Supply:
        """What `supply` says, with the chunks whose store failed as if it had not."""
        if not self._failed:
            return self.supply(spec, num_tokens)
        return self._supply(spec, num_tokens, lambda chunk, contents: self._lost(chunk, spec, contents))

    def old(self, spec: RequestSpec, num_tokens: int) -> Supply:
        """What `supply` says, with what was stored before a reset as if there had been none."""
        if not self._old:
            return self.supply(spec, num_tokens)
        return self._supply(spec, num_tokens, lambda _, contents: contents[max(contents)] in self._old)

    def _supply(
        self,
        spec: RequestSpec,
        num_tokens: int,
        also: Callable[[Chunk, Mapping[int, int]], bool],
    ) -> Supply:
        ready = self.supply(spec, num_tokens)
        more = [
            (group, index)
            for (group, chunk), contents in self._chunks(spec, num_tokens)
            if (group, chunk) not in ready.states and also((group, chunk), contents)
            for index in contents
        ]
        states = dict(self.oracle.seen_supply(more).states) | dict(ready.states)
        return Supply(states=states, gone=ready.gone)

    def _chunks(self, spec: RequestSpec, num_tokens: int) -> Iterator[tuple[Chunk, dict[int, int]]]:
        for group in range(len(self.oracle.layout.groups)):
            for chunk in range(self.oracle.chunk_of(group, num_tokens)):
                yield (group, chunk), self._contents(spec, (group, chunk))

    def _others(self) -> list[int]:
        return [rank for rank in range(self.oracle.layout.world) if rank != self.rank]

    def _lost(self, chunk: Chunk, spec: RequestSpec, contents: Mapping[int, int]) -> bool:
        """Whether the last store of a chunk failed on some rank."""
        if not self._failed:
            return False
        if any((self.rank, content) in self._failed for content in contents.values()):
            return True
        return any(
            (rank, content) in self._failed
            for rank in self._others()
            for content in self._contents(spec, chunk, rank).values()
        )

    def supply(self, spec: RequestSpec, num_tokens: int) -> Supply:
        """What of it lies on the first ``num_tokens`` tokens of a request, all of it ready."""
        found: list[tuple[int, int]] = []
        for group in range(len(self.oracle.layout.groups)):
            last = self.oracle.chunk_of(group, num_tokens) - 1
            for chunk in range(last + 1):
                contents = self._contents(spec, (group, chunk))
                key = contents[max(contents)]
                if key in self._blocks and not self._lost((group, chunk), spec, contents):
                    stored = self._blocks[key]
                    found += [(group, i) for i, c in contents.items() if i in stored or c in self._loose]
        return self.oracle.seen_supply(found)

    def chunks(self, spec: RequestSpec, num_tokens: int) -> frozenset[Chunk]:
        """Chunks within the first ``num_tokens`` tokens of a request that were stored, if only in part."""
        return frozenset(
            (group, chunk)
            for group in range(len(self.oracle.layout.groups))
            for chunk in range(self.oracle.chunk_of(group, num_tokens))
            if (contents := self._contents(spec, (group, chunk)))[max(contents)] in self._blocks
        )

    def drop(self, spec: RequestSpec, group: int, chunks: Iterable[int]) -> None:
        """These chunks of a request's prefix are gone."""
        for chunk in chunks:
            contents = self._contents(spec, (group, chunk))
            self._blocks.pop(contents[max(contents)], None)

    def _contents(self, spec: RequestSpec, chunk: Chunk, rank: int | None = None) -> dict[int, int]:
        """Content by block index of one chunk of a request, on one rank."""
        lane = Lane(group=chunk[0], layer=0, rank=self.rank if rank is None else rank)
        size = self.oracle.layout.groups[chunk[0]].block_size
        prefix = prefix_of((*spec.prompt, *spec.output), spec.partition)
        ends: Sequence[int] = self.oracle.tokens_of(chunk)[size - 1 :: size]
        return {end // size: prefix.content(lane, end) for end in ends}
