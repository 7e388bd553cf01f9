"""Judgements on what a connector tells of its chunks, held against copies and lookups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kvconform.contract.oracle import Chunk, Supply
from kvconform.engine.events import Answered, Copied, Told
from kvconform.engine.pattern import Lane, prefix_of
from kvconform.ports import ChunkState, Direction, GroupKind, RequestSpec
from kvconform.stage.judge import Judge, say
from kvconform.stage.stored import StoredChunks

CHECKS = ("events-give-residence", "events-in-order")
"""The checks that are made here."""


@dataclass(slots=True, kw_only=True)
class Telling:
    """Folds what is told, and holds it against what copies showed.

    A chunk is known by the content of its last block, as in `StoredChunks`.
    """

    judge: Judge
    requests: Mapping[str, RequestSpec]
    _told: set[int] = field(default_factory=set)
    """Chunks that are told stored, by their content on rank 0."""
    _copied: dict[int, int] = field(default_factory=dict)
    """Content of blocks that a copy stored on any rank, and the step in which it did last."""

    def copied(self, event: Copied) -> None:
        """A copy completed."""
        if event.direction is Direction.STORE:
            self._copied.update(dict.fromkeys(event.contents, event.step))

    def take(self, event: Told) -> None:
        """Fold one event and judge that it may come now."""
        if event.kind == "cleared":
            self._told.clear()
            self._forget(self._copied, event.step)
            return
        for group, request, chunk, contents in event.chunks:
            name = f"chunk {chunk} of {request!r} in group {group}"
            if not request:
                self._wrong(event, "the key of a chunk of some request", f"a key of group {group} that no request has")
                continue
            if event.kind == "stored":
                self._stored(event, name, contents, self._states(request, (group, chunk)))
            else:
                self._removed(event, name, contents)

    def _states(self, request: str, chunk: Chunk) -> Sequence[Sequence[int]]:
        """What each rank's states in a chunk hold, of which any will do; empty for other groups."""
        oracle, spec = self.judge.oracle, self.requests.get(request)
        group = oracle.layout.groups[chunk[0]]
        if group.kind is not GroupKind.RECURRENT or spec is None:
            return ()
        prefix = prefix_of((*spec.prompt, *spec.output), spec.partition)
        ends = oracle.tokens_of(chunk)[group.block_size - 1 :: group.block_size]
        lanes = (Lane(group=chunk[0], layer=0, rank=rank) for rank in range(oracle.layout.world))
        return [[prefix.content(lane, end) for end in ends] for lane in lanes]

    def _stored(
        self, event: Told, name: str, contents: Sequence[int], states: Sequence[Sequence[int]]
    ) -> None:
        self.judge.tally.saw("events-in-order")
        if contents[0] in self._told:
            self._wrong(event, "no second event of a chunk that is there", f"{name} is told stored once more")
        absent = [
            rank
            for rank, any_of in enumerate(states or [[content] for content in contents])
            if not any(content in self._copied for content in any_of)
        ]
        if absent:
            self._wrong(
                event,
                "a chunk is told stored after it was copied on every rank",
                f"{name} is told stored; since it was last removed rank {absent[0]} has not copied it",
            )
        self._told.add(contents[0])

    def _removed(self, event: Told, name: str, contents: Sequence[int]) -> None:
        if contents[0] not in self._told:
            self._wrong(event, "only what was told stored is told removed", f"{name} is told removed")
        self._told.discard(contents[0])
        self._forget(contents, event.step)

    def _forget(self, contents: Iterable[int], step: int) -> None:
        """Copies before this step are of no use any more; one of this step may be a new store."""
        for content in list(contents):
            if self._copied.get(content, step) < step:
                del self._copied[content]

    def answer(self, answer: Answered, stored: StoredChunks) -> None:
        """A lookup while nothing was in flight finds what the fold says, no more and no less."""
        tally, oracle = self.judge.tally, self.judge.oracle
        tally.saw("events-give-residence")
        spec, worth = self.requests[answer.request], self.judge.worth(answer)
        seen = stored.supply(spec, answer.num_tokens)
        if oracle.layout.host_chunks is None:
            best = oracle.best_verdict(answer.num_tokens, seen, local_tokens=answer.local)
            if worth != best:
                # Then it is the lookup that is wrong, as `hit-is-best` or `hit-is-covered` tells.
                return
        states = {
            chunk: ChunkState.READY
            for chunk in oracle.complete_chunks(answer.num_tokens)
            if self._contents(answer.request, chunk)[0] in self._told
        }
        gone = {chunk: tokens for chunk, tokens in seen.gone.items() if chunk in states}
        best = oracle.best_verdict(
            answer.num_tokens, Supply(states=states, gone=gone), local_tokens=answer.local
        )
        if worth != best:
            tally.wrong(
                "events-give-residence",
                f"{say(best)}, by the events so far",
                say(answer.boundary),
                event=answer,
            )

    def _contents(self, request: str, chunk: Chunk) -> list[int]:
        """Content of the chunk's last block on each rank."""
        spec = self.requests[request]
        prefix = prefix_of((*spec.prompt, *spec.output), spec.partition)
        last = self.judge.oracle.tokens_of(chunk)[-1]
        lanes = (Lane(group=chunk[0], layer=0, rank=rank) for rank in range(self.judge.oracle.layout.world))
        return [prefix.content(lane, last) for lane in lanes]

    def _wrong(self, event: Told, expected: str, got: str) -> None:
        self.judge.tally.wrong("events-in-order", expected, got, event=event)
