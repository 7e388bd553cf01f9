"""What a case looked like, told from its events: the data behind pictures and timelines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kvconform.contract.oracle import Chunk, Oracle, Supply, retained_blocks
from kvconform.engine.events import (
    Admitted,
    Answered,
    Computed,
    Copied,
    CopyFailed,
    Drafted,
    Event,
    Loaded,
    LoadFailed,
    Read,
)
from kvconform.engine.memory import Difference
from kvconform.ports import ChunkState, Direction
from kvconform.results.record import CheckResult, Outcome
from kvconform.results.scene import (
    LATER,
    GroupShape,
    Moment,
    Picture,
    Scene,
    Spans,
    Spot,
    Track,
    merged,
)

_EVERY_GROUP = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verdict with what it was judged by: what was there, and the best verdict on that."""

    answer: Answered
    supply: Supply
    best: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenery:
    """Draws up the scene of a case from its events and what its verdicts were judged by."""

    oracle: Oracle
    judged: Sequence[Judged]

    def scene(
        self, events: Sequence[Event], results: Iterable[CheckResult], *, every_answer: bool = False
    ) -> Scene:
        """A moment for each event, a picture for each lookup that a failed check is about.

        With ``every_answer`` for each other lookup that found something, too.
        """
        checks: dict[int, list[CheckResult]] = {}
        for result in results:
            if result.outcome is Outcome.FAIL and result.event is not None:
                answer = self._answer_before(events, result.event)
                if answer is not None:
                    checks.setdefault(answer, []).append(result)
        drawn = set(checks)
        if every_answer:
            drawn |= {
                at for at, event in enumerate(events) if isinstance(event, Answered) and event.tokens
            }
        return Scene(
            groups=tuple(self._shapes()),
            moments=tuple(self._moment(event) for event in events),
            pictures=tuple(self._picture(events, at, checks.get(at, ())) for at in sorted(drawn)),
        )

    def _shapes(self) -> Iterable[GroupShape]:
        for group, chunk_tokens in zip(self.oracle.layout.groups, self.oracle.chunk_tokens, strict=True):
            yield GroupShape(
                name=group.name,
                kind=str(group.kind),
                block_tokens=group.block_size,
                chunk_tokens=chunk_tokens,
                window=group.window,
                extra_retained=group.extra_retained,
                eagle=group.eagle,
            )

    def _moment(self, event: Event) -> Moment:
        return Moment(
            step=event.step,
            kind=_kind(event),
            request=getattr(event, "request", ""),
            rank=getattr(event, "rank", 0),
            spans=tuple(self._spans(event)),
        )

    def _spans(self, event: Event) -> Iterable[tuple[int, int, int]]:
        if isinstance(event, Answered) and event.tokens:
            yield _EVERY_GROUP, event.local, event.local + event.tokens
        elif isinstance(event, Computed | Drafted):
            yield _EVERY_GROUP, event.start, event.end
        elif isinstance(event, Admitted):
            for position, (first, count) in enumerate(event.held):
                size = self.oracle.layout.groups[position].block_size
                if count:
                    yield position, first * size, (first + count) * size
        elif isinstance(event, Copied | CopyFailed):
            lost = event.lost if isinstance(event, CopyFailed) else range(len(event.blocks))
            blocks = [event.blocks[at] for at in lost]
            for position in range(len(self.oracle.layout.groups)):
                for start, end in self._of_blocks(position, blocks):
                    yield position, start, end
        elif isinstance(event, Loaded | LoadFailed | Read) and event.difference is not None:
            token = event.difference.token
            yield self.oracle.layout.index(event.difference.group), token, token + 1

    def _of_blocks(self, position: int, blocks: Iterable[tuple[str, int]]) -> Spans:
        """Tokens of the blocks, as (group name, index), of one group."""
        group = self.oracle.layout.groups[position]
        size = group.block_size
        own = {index for name, index in blocks if name == group.name and index >= 0}
        return merged((index * size, (index + 1) * size) for index in own)

    def _picture(
        self, events: Sequence[Event], at: int, checks: Iterable[CheckResult]
    ) -> Picture:
        answer = events[at]
        assert isinstance(answer, Answered)  # noqa: S101 - positions of answers alone come here
        judged = next((one for one in self.judged if one.answer is answer), None)
        best = judged.best if judged is not None else 0
        expected = None if judged is None else LATER if best is None else best
        got = LATER if answer.boundary is None else answer.boundary
        boundary = got if got > 0 else max(0, expected or 0)
        after = self._until_next(events, at)
        loaded = [
            block
            for event in _until_wrong(after)
            if isinstance(event, Copied) and event.direction is Direction.LOAD and event.rank == 0
            for block, request in zip(event.blocks, event.requests, strict=True)
            if request == answer.request
        ]
        return Picture(
            answer=at,
            request=answer.request,
            num_tokens=answer.num_tokens,
            local_tokens=answer.local,
            expected=expected,
            got=got,
            tracks=tuple(
                self._track(position, boundary, answer.local, judged, loaded)
                for position in range(len(self.oracle.layout.groups))
            ),
            checks=tuple(result.check for result in checks),
            difference=_first_difference(
                event for event in after if getattr(event, "request", "") == answer.request
            ),
        )

    def _track(
        self,
        position: int,
        boundary: int,
        local_tokens: int,
        judged: Judged | None,
        loaded: Iterable[tuple[str, int]],
    ) -> Track:
        group = self.oracle.layout.groups[position]
        needed = [
            (group.name, index)
            for index in retained_blocks(group, boundary)
            if (index + 1) * group.block_size > local_tokens
        ]
        supply = judged.supply if judged is not None else Supply(states={})
        states = {chunk: state for chunk, state in supply.states.items() if chunk[0] == position}
        flying = {ChunkState.PENDING, ChunkState.LOADING}
        verified = self.oracle.verified_chunks(boundary) if boundary else ()
        return Track(
            group=group.name,
            needed=self._of_blocks(position, needed),
            verified=self._of_chunks((chunk for chunk in verified if chunk[0] == position), Supply(states={})),
            stored=self._of_chunks((c for c, s in states.items() if s is ChunkState.READY), supply),
            in_flight=self._of_chunks((c for c, s in states.items() if s in flying), supply),
            loaded=self._of_blocks(position, loaded),
        )

    def _of_chunks(self, chunks: Iterable[Chunk], supply: Supply) -> Spans:
        """Tokens of chunks, without those that were gone when the chunk was stored."""
        return merged(
            (token, token + 1)
            for chunk in chunks
            for token in self.oracle.tokens_of(chunk)
            if token not in supply.gone.get(chunk, ())
        )

    @staticmethod
    def _answer_before(events: Sequence[Event], at: int) -> int | None:
        """The lookup that an event came of: the last one before it, of its own request if it names one."""
        request = getattr(events[at], "request", "")
        earlier = [
            position
            for position, event in enumerate(events[: at + 1])
            if isinstance(event, Answered) and request in {"", event.request}
        ]
        return earlier[-1] if earlier else None

    @staticmethod
    def _until_next(events: Sequence[Event], at: int) -> Sequence[Event]:
        """The events from a lookup to the next one of the same request."""
        answer = events[at]
        for position in range(at + 1, len(events)):
            event = events[position]
            if isinstance(event, Answered) and event.request == getattr(answer, "request", ""):
                return events[at:position]
        return events[at:]


def _kind(event: Event) -> str:
    name = type(event).__name__.lower()
    return f"{event.direction} {name}" if isinstance(event, Copied | CopyFailed) else name


def _until_wrong(events: Sequence[Event]) -> Sequence[Event]:
    """What happened before bytes were found to be wrong: a copy that comes later was too late."""
    wrong = (at for at, event in enumerate(events) if getattr(event, "difference", None) is not None)
    return events[: next(wrong, len(events))]


def _first_difference(events: Iterable[Event]) -> Spot | None:
    for event in events:
        found: Difference | None = getattr(event, "difference", None)
        if found is not None:
            return Spot(
                rank=found.rank,
                group=found.group,
                layer=found.layer,
                token=found.token,
                byte=found.byte,
                found=found.found,
            )
    return None
