"""Steps about events that a case lists one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kvconform.engine.nothing import NoConnector
from kvconform.ports import Capability, KvconformError, RequestSpec
from kvconform.stage.errors import NotApplicableError
from kvconform.stage.holds import HoldSteps
from kvconform.stage.neutrality import judge_neutrality
from kvconform.stage.trace_events import ARISES_WITH, happen, kinds_in
from kvconform.stage.traffic import Dropped, Traffic


class TraceError(KvconformError):
    """A trace that no engine could play: says which event, and what to change."""


class TraceSteps(HoldSteps):
    """Events happen in the order of the case; what holds in any traffic is judged at the end."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._rests: set[int] = set()
        """Steps before which nothing was left to do."""
        self._drops: list[Dropped] = []
        self._played = 0
        """Events of the case before the one that happens."""
        self.best_hits: Mapping[str, int] = {}
        """The longest right hit of each request that asked when all was known, in tokens."""

    def _arises(self, check: str) -> bool:
        """Whether the case has an event without which the check has nothing to look at."""
        needed = ARISES_WITH.get(check)
        if needed is not None and not needed & kinds_in(self.given.get("events", ())):
            return False
        return super()._arises(check)

    @property
    def num_requests(self) -> int:
        """Requests that came so far."""
        return len(self._requests)

    def spec(self, name: str) -> RequestSpec:
        """A request that came before."""
        return self._requests[name]

    def play(self) -> None:
        """Every event of the case; then holds are released and everything comes to rest.

        Raises `NotApplicableError` where the case counts on chunks of another size, or on copies
        or chunks that cannot be controlled; `TraceError` for a request that no pool would hold.
        """
        self._owe("judge_traffic")
        if self.given["hits"]:
            self._need_chunks_as_wished()
        for at, event in enumerate(self.given["events"]):
            if self.dead:
                break
            self._played = at
            happen(self, event)
        if not self.dead:
            self.bench.release()
        self.settle()

    def compare_with_none(self) -> None:
        """Play the events so far without a connector, and compare what requests computed.

        Raises `NotApplicableError` on an engine that cannot run without one.
        """
        if self._own_engine:
            raise NotApplicableError("n/a: this engine is not run without a connector here")
        alone = type(self)(self.case, factory=NoConnector)
        for event in self.given["events"][: self._played]:
            if event != "neutral":
                happen(alone, event)
        may_wait = Capability.LONGEST_HIT not in self.oracle.claims
        judge_neutrality(self.tally, self.events, alone.events, may_wait=may_wait)
        alone.bench.close()

    def enter(self, spec: RequestSpec) -> None:
        """A request enters the queue."""
        self._must_fit(spec)
        self._introduce(spec)
        at = len(self._events)
        rest = self.bench.idle()
        self.submit(spec.name, stay_on_miss=False)
        step = self._events[at].step + 1
        # Several that enter one after another do so at the same rest.
        if rest or step in self._rests:
            self._rests.add(step)

    def _must_fit(self, spec: RequestSpec) -> None:
        tokens = len(spec.prompt) + len(spec.output)
        need = 1 + sum(-(-tokens // group.block_size) for group in self.layout.groups)
        if need > self.layout.num_blocks:
            raise TraceError(
                f"{self.case.source}: request {spec.name!r} takes {need} blocks of a pool of "
                f"{self.layout.num_blocks}, null block included: give layout.num_blocks more of "
                "them, or the request a shorter prompt"
            )

    def advance(self, count: int) -> None:
        """So many steps."""
        self._step(count)

    def run_to_end(self, name: str) -> None:
        """Steps until a request has ended."""
        self._run(lambda: self.bench.ended(name), [name])

    def hold_back(self, what: str) -> None:
        """Hold reports, copies, or both."""
        self._hold(what)

    def drop(self, name: str, group: str, chunks: Sequence[int]) -> None:
        """Chunks of a request's prefix are gone."""
        self._need(Capability.CHUNK_CONTROL)
        self._need_chunks_as_wished()
        position = self.layout.index(group)
        self._must_have(name, position, max(chunks))
        self._drops.append(
            Dropped(
                at=len(self._events),
                spec=self._requests[name],
                group=position,
                chunks=tuple(chunks),
                at_rest=self.bench.idle(),
            )
        )
        for chunk in chunks:
            self.bench.drop_chunk(name, position, chunk)

    def _must_have(self, name: str, group: int, chunk: int) -> None:
        spec = self._requests[name]
        known, end = len(spec.prompt) + len(spec.output), self.oracle.tokens_of((group, chunk))[-1] + 1
        if end > known:
            raise TraceError(
                f"{self.case.source}: chunk {chunk} of group {self.layout.groups[group].name} ends with "
                f"token {end}, and request {name!r} has {known}: name a chunk that it has"
            )

    def judge_traffic(self) -> None:
        """Judge every verdict as far as what is stored is known; what cannot arise is no check."""
        self._paid("judge_traffic")
        traffic = Traffic(
            judge=self.judge,
            requests=self._requests,
            rests=frozenset(self._rests),
            drops=tuple(self._drops),
        )
        traffic.judge_events(self._events)
        self.best_hits = traffic.best
        traffic.judge_hits(self._events, self.given["hits"])
        if not self.dead:
            traffic.drop_idle_checks(self._events, self.given["hits"])
