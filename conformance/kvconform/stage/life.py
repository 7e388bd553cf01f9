"""Judgements on requests that end early, come again, or wait for one another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kvconform.contract.oracle import Chunk, Supply
from kvconform.engine.events import (
    Answered,
    Computed,
    Copied,
    Ended,
    Event,
    Happened,
    Reported,
    Submitted,
)
from kvconform.ports import Capability, GroupKind, RequestSpec, store_cap
from kvconform.stage.judge import Judge, say
from kvconform.stage.late import came_late
from kvconform.stage.stored import StoredChunks

_SPARE = 12
"""Steps that a round of sharers may take beyond computing: to be told, to load, to be told again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharers:
    """Requests with one prompt that came together, and what the engine has for them."""

    names: Sequence[str]
    spec: RequestSpec
    num_blocks: int
    need: int
    """Blocks that one of them takes if it shares none."""
    budget: int
    """Tokens that one step computes at most."""
    max_running: int | None
    """Requests that run at once at most."""

    @property
    def limit(self) -> int:
        """Steps in which all of them can end, those that find no room waiting for those that do."""
        at_once = max(1, (self.num_blocks - 1) // self.need)
        if self.max_running is not None:
            at_once = min(at_once, self.max_running)
        rounds = -(-len(self.names) // at_once)
        prefill = -(-len(self.spec.prompt) // self.budget)
        return rounds * (_SPARE + prefill + len(self.spec.output))


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeJudge:
    """Judges one trace by its events; ``lives`` are the requests by name, in the order of coming.

    A name that was used again has several.  ``world`` is the number of ranks.
    """

    judge: Judge
    lives: Mapping[str, Sequence[RequestSpec]]
    world: int

    def reports(self, events: Iterable[Event]) -> None:
        """Each report named what the engine waited for."""
        tally, check = self.judge.tally, "reported-as-asked"
        tally.open(check)
        for event in events:
            if isinstance(event, Reported):
                tally.saw(check)
                if event.fault:
                    tally.wrong(
                        check,
                        "each rank reports each end once, where it was asked for",
                        f"rank {event.rank} reports the {event.what} of {event.request!r} {event.fault}",
                        event=event,
                    )

    def rest(self, left: Sequence[str], events: Sequence[Event], *, ended: bool) -> None:
        """What is left over once every request has ended."""
        tally, check = self.judge.tally, "nothing-left"
        tally.open(check)
        if not ended:
            return
        tally.saw(check)
        if left:
            tally.wrong(check, "all is as before the first request", "; ".join(left), event=events[-1])

    def stores(self, events: Sequence[Event], rests: Iterable[int]) -> None:
        """Every chunk that a finished request can give to a later one is stored at the next rest.

        ``rests`` are numbers of events before which all had come to rest.  A request that found its beginning in the pool or at the connector answers for chunks of
        full attention only: others may have left the window before it came.
        """
        tally, check = self.judge.tally, "stored-however-cut"
        tally.open(check)
        stored = StoredChunks(oracle=self.judge.oracle)
        computed: dict[tuple[str, int], list[Computed]] = {}
        life: Counter[str] = Counter()
        due: list[tuple[Ended, RequestSpec, list[Computed]]] = []
        at_rest = frozenset(rests)
        for at, event in enumerate((*events, None)):
            if at in at_rest:
                for ended, spec, steps in due:
                    self._stored(ended, spec, stored, steps)
                due = []
            if isinstance(event, Submitted):
                life[event.request] += 1
            elif isinstance(event, Copied):
                stored.take(event, self._whole_so_far(computed))
            elif isinstance(event, Computed):
                computed.setdefault((event.request, life[event.request]), []).append(event)
            elif isinstance(event, Ended):
                spec = self.lives[event.request][life[event.request] - 1]
                own = computed.get((event.request, life[event.request]), [])
                if own and event.num_tokens == len(spec.prompt) + len(spec.output):
                    due.append((event, spec, own))

    def _whole_so_far(
        self, computed: Mapping[tuple[str, int], Sequence[Computed]]
    ) -> list[tuple[RequestSpec, int]]:
        """Requests with the tokens computed of each: a chunk may be stored without its last state."""
        if not self.judge.oracle.layout.has_states:
            return []
        return [
            (self.lives[name][life - 1], max(step.end for step in steps))
            for (name, life), steps in computed.items()
        ]

    def _stored(
        self, event: Ended, spec: RequestSpec, stored: StoredChunks, steps: Sequence[Computed]
    ) -> None:
        tally, oracle = self.judge.tally, self.judge.oracle
        layout = oracle.layout
        computed = len(spec.prompt) if layout.prompt_only else event.num_tokens - 1
        cap = store_cap(spec) if Capability.REQUEST_CAPS in oracle.claims else None
        tokens = computed if cap is None else min(computed, cap)
        ends = [step.end for step in steps]
        want = oracle.reachable_chunks(tokens, prompt_tokens=len(spec.prompt), steps=ends)
        kinds = set(GroupKind)
        if min(step.start for step in steps):
            kinds = {GroupKind.FULL}
        elif ends != sorted(ends):
            # It started over, and which of its states were there when is not known.
            kinds -= {GroupKind.RECURRENT}
        want = frozenset(
            chunk
            for chunk in want
            if layout.groups[chunk[0]].kind in kinds and not came_late(oracle, chunk, spec)
        )
        if not want:
            return
        tally.saw("stored-however-cut")
        lacking = sorted(want - stored.chunks(spec, tokens))
        if lacking:
            tally.wrong(
                "stored-however-cut",
                f"all {len(want)} chunks of {event.request!r} that a later request can use are stored",
                f"{len(lacking)} are not: {', '.join(map(self._name, lacking[:6]))}",
                event=event,
            )

    def _name(self, chunk: Chunk) -> str:
        return f"chunk {chunk[1]} of group {self.judge.oracle.layout.groups[chunk[0]].name}"

    def ranks(self, events: Sequence[Event]) -> None:
        """Each hit needs no chunk that some rank had not stored when it was told."""
        tally, check = self.judge.tally, "hit-on-every-rank"
        tally.open(check)
        seen = [StoredChunks(oracle=self.judge.oracle, rank=rank) for rank in range(self.world)]
        life: Counter[str] = Counter()
        computed: dict[tuple[str, int], list[Computed]] = {}
        for event in events:
            if isinstance(event, Copied):
                seen[event.rank].take(event, self._whole_so_far(computed))
            elif isinstance(event, Computed):
                computed.setdefault((event.request, life[event.request]), []).append(event)
            elif isinstance(event, Submitted):
                life[event.request] += 1
            elif isinstance(event, Answered) and event.boundary:
                spec = self.lives[event.request][life[event.request] - 1]
                tally.saw(check)
                for rank, stored in enumerate(seen):
                    self._on_rank(event, rank, stored.supply(spec, event.num_tokens))

    def _on_rank(self, answer: Answered, rank: int, supply: Supply) -> None:
        boundary = answer.boundary or 0
        oracle = self.judge.oracle
        if not oracle.is_legal(boundary, answer.num_tokens):
            return
        if not oracle.covered(boundary, answer.num_tokens, supply, local_tokens=answer.local):
            best = oracle.best_verdict(answer.num_tokens, supply, local_tokens=answer.local)
            self.judge.tally.wrong(
                "hit-on-every-rank",
                f"at most {say(best)}, which is what rank {rank} has stored, or later",
                say(boundary),
                event=answer,
            )

    def sharers(self, groups: Sequence[Sharers], events: Sequence[Event]) -> None:
        """From when all of a group have come and nothing is held, they end within few steps."""
        tally, check = self.judge.tally, "sharers-go-on"
        tally.open(check)
        came = {e.request: e.step for e in events if isinstance(e, Submitted)}
        for group in groups:
            ends = [at for at, e in enumerate(events) if isinstance(e, Ended) and e.request in group.names]
            last = [events[at] for at in ends]
            # What is released when all of them are over held up nobody.
            free = [
                e.step
                for e in events[: max(ends, default=0)]
                if isinstance(e, Happened) and "released" in e.what
            ]
            since = max([0, *free, *(came[name] for name in group.names if name in came)])
            tally.saw(check)
            # Who never ends is told by another check.
            took = max((end.step for end in last), default=since) - since
            if took > group.limit:
                tally.wrong(
                    check,
                    f"{len(group.names)} sharers end within {group.limit} steps of when nothing is held",
                    f"{took} steps",
                    event=max(last, key=lambda end: end.step),
                )
