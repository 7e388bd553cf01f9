"""What every scenario does: bring up an engine, run requests, come to rest, conclude."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kvconform.case import Case
from kvconform.contract.oracle import Oracle, Supply
from kvconform.engine.bench import Bench
from kvconform.engine.calls import ConnectorBrokeError
from kvconform.engine.engine import Engine
from kvconform.engine.events import Admitted, Answered, Broke, Event
from kvconform.ports import (
    PLAIN,
    Capability,
    ChunkState,
    ConnectorFactory,
    Partition,
    RequestSpec,
    UnsupportedLayoutError,
)
from kvconform.results.excerpt import excerpt
from kvconform.results.failure import broken_by, detail_of
from kvconform.results.record import CheckResult, Outcome, combine
from kvconform.results.scene import Scene
from kvconform.stage.errors import (
    CaseFailedError,
    NotApplicableError,
    PinError,
    UnfinishedScenarioError,
)
from kvconform.stage.judge import Judge, claims_everything
from kvconform.stage.scene import Scenery
from kvconform.stage.tally import Tally

_ASK_STEPS = 4
"""Steps in which a lookup may answer *later* before that counts as its verdict."""

_SPARE_STEPS = 200
"""Steps beyond those that computing takes, before a request counts as stuck."""


@lru_cache(maxsize=64)
def prompt_tokens(count: int, branch: int = 0) -> tuple[int, ...]:
    """A fixed prompt of ``count`` tokens; another ``branch`` differs from the first token on."""
    return tuple((position * 7919 + branch * 104729 + 13) % 50021 for position in range(count))


def answer_tokens(count: int) -> tuple[int, ...]:
    """A fixed answer of ``count`` tokens, none of which occurs in a prompt of `prompt_tokens`."""
    return tuple(60000 + position for position in range(count))


class StageBase:
    """One case on one connector: requests, rest and the end, whatever the scenario.

    Raises `NotApplicableError` where the connector does not claim what the case requires, or
    refuses the layout by name.
    """

    def __init__(
        self,
        case: Case,
        *,
        factory: ConnectorFactory,
        device: str = "cpu",
        checks: Iterable[str] = (),
        options: Mapping[str, object] | None = None,
    ) -> None:
        self.case = case
        self.given: Mapping[str, Any] = case.given
        self.layout = case.layout
        self.concluded = False
        self.results: tuple[CheckResult, ...] = ()
        self.outcome = Outcome.ERROR
        self.unclaimed: tuple[str, ...] = ()
        """Ports that the connector has or uses and does not claim, once the case is concluded."""
        self._events: list[Event] = []
        self._bench: Bench | None = None
        self._own_engine = hasattr(factory, "make_bench")
        claims, chunk_tokens = self._open(factory, device, dict(options or {}))
        missing = [need for need in case.requires if need not in claims]
        if missing and self._bench is not None:
            raise NotApplicableError(f"n/a: {missing[0]}")
        self.oracle = Oracle(layout=self.layout, chunk_tokens=chunk_tokens, claims=claims)
        self.declared = tuple(checks)
        """The checks of the scenario."""
        self.expected = tuple(name for name in self.declared if self._arises(name))
        """The checks that the case has, known before anything runs."""
        self.tally = Tally(self.expected, claims)
        self.judge = Judge(oracle=self.oracle, tally=self.tally)
        self._partition = PLAIN
        self._transfer_params: Mapping[str, object] = {}
        self._supply = Supply(states={})
        self._requests: dict[str, RequestSpec] = {}
        self._marks: dict[str, int] = {}
        self._policy = Supply(states={})
        self._cold = False
        self._held = False
        self._owed: list[str] = []
        self._stored: set[tuple[int, int]] = set()
        self._stores_seen = 0

    def _open(
        self, factory: ConnectorFactory, device: str, options: dict[str, object]
    ) -> tuple[frozenset[Capability], tuple[int, ...]]:
        """Bring up the engine with the connector; a broken factory leaves a dead stage."""
        groups = range(len(self.layout.groups))
        wish = tuple(self.layout.chunk_tokens(group) for group in groups)
        make_bench = getattr(factory, "make_bench", Engine)
        try:
            self._bench = make_bench(self.layout, factory, device, options)
            self._events = self._bench.events
            chunk_tokens = tuple(self._bench.chunk_tokens(group) for group in groups)
            self._check_chunks(chunk_tokens)
        except UnsupportedLayoutError as error:
            raise NotApplicableError(f"n/a: layout refused: {error}") from error
        except ConnectorBrokeError as error:
            self._bench = None
            self._events = [Broke(step=0, method=error.method, text=error.text)]
            return frozenset(Capability), wish
        return self._bench.capabilities, chunk_tokens

    def _check_chunks(self, chunk_tokens: Sequence[int]) -> None:
        for group, size in zip(self.layout.groups, chunk_tokens, strict=True):
            if size < 1 or size % group.block_size:
                raise ConnectorBrokeError(
                    "chunk_tokens",
                    f"is {size} for group {group.name}, expected a multiple of its "
                    f"{group.block_size}-token blocks",
                )

    @property
    def events(self) -> Sequence[Event]:
        """What happened in the engine, oldest first."""
        return self._events

    @property
    def trace(self) -> tuple[str, ...]:
        """The engine's events in words, oldest first."""
        return tuple(str(event) for event in self._events)

    @property
    def bench(self) -> Bench:
        """The engine; only for steps that have made sure that it lives."""
        if self._bench is None:
            raise RuntimeError("the connector's factory failed")
        return self._bench

    @property
    def dead(self) -> bool:
        """Whether the connector broke, so that nothing further can be measured."""
        return self._bench is None or self._bench.dead

    def _arises(self, check: str) -> bool:
        """Whether a check can come up at all, from the case alone."""
        if check == "draft-tail-dropped":
            return any(group.eagle for group in self.layout.groups)
        if check == "state-at-boundary":
            return self.layout.has_states
        return True

    def _need(self, capability: Capability) -> None:
        """What the scenario does needs this claim."""
        if capability not in self.oracle.claims:
            raise NotApplicableError(f"n/a: {capability}")

    def _chunk_wish(self) -> tuple[int, ...]:
        return tuple(self.layout.chunk_tokens(group) for group in range(len(self.layout.groups)))

    def _chunks_are_as_wished(self) -> bool:
        return self.oracle.chunk_tokens == self._chunk_wish()

    def _need_chunks_as_wished(self) -> None:
        """Chunk indices in a matrix mean chunks of the size that it asks for."""
        if not self._chunks_are_as_wished():
            raise NotApplicableError(
                f"n/a: chunks of {list(self.oracle.chunk_tokens)} tokens, the matrix is about {list(self._chunk_wish())}"
            )

    def _complete_seeded(self, name: str) -> None:
        in_flight = {ChunkState.PENDING, ChunkState.LOADING}
        for (group, chunk), state in sorted(self._supply.states.items()):
            if state in in_flight:
                self.bench.finish_chunk(name, group, chunk)
        flying = [chunk for chunk, state in self._supply.states.items() if state in in_flight]
        self._supply = self._supply.with_states(flying, ChunkState.READY)

    def _owe(self, *steps: str) -> None:
        """From here on the scenario is not whole without these steps."""
        self._owed += steps

    def _paid(self, step: str) -> None:
        if step in self._owed:
            self._owed.remove(step)

    def _prepare(
        self,
        name: str,
        num_tokens: int,
        output_tokens: int | None = None,
        partition: Partition | None = None,
    ) -> None:
        if output_tokens is None:
            output_tokens = int(self.given.get("output_tokens", 1))
        spec = RequestSpec(
            name=name,
            prompt=prompt_tokens(num_tokens),
            output=answer_tokens(output_tokens),
            partition=self._partition if partition is None else partition,
            transfer_params=self._transfer_params,
        )
        self._introduce(spec)

    def _introduce(self, spec: RequestSpec) -> None:
        self._requests[spec.name] = spec
        if not self.dead:
            self.bench.prepare(spec)

    def submit(self, name: str = "consumer", *, stay_on_miss: bool = True) -> None:
        """Queue a request; a miss leaves it waiting, so that it can be asked again."""
        self._mark(name)
        self._cold = False
        if not self.dead:
            self.bench.submit(name, stay_on_miss=stay_on_miss)

    def _mark(self, name: str) -> None:
        """From here on is what counts for this request."""
        self._marks[name] = len(self._events)

    def _since(self, name: str) -> Sequence[Event]:
        return self._events[self._marks[name] :]

    def _answers(self, name: str) -> list[Answered]:
        return [e for e in self._since(name) if isinstance(e, Answered) and e.request == name]

    def _was_admitted(self, name: str) -> bool:
        return any(isinstance(e, Admitted) and e.request == name for e in self._since(name))

    def ask(self, name: str = "consumer") -> Answered | None:
        """Step until the request has its verdict; *later* is one after a few steps."""
        for _ in range(_ASK_STEPS):
            if self.dead:
                break
            self.bench.step()
            answers = self._answers(name)
            if answers and answers[-1].tokens is not None:
                break
        answers = self._answers(name)
        return answers[-1] if answers else None

    def finish(self, name: str = "consumer") -> None:
        """Run the request to its end, and judge what its load brought.

        What a case left in flight is completed first: a request that waits for it is right to.
        """
        if not (self.dead or self._was_admitted(name)):
            self._complete_seeded(name)
        if not self.dead:
            self.bench.allow_miss(name)
        self._run(lambda: self.bench.ended(name), [name])
        self.tally.open("load-is-exact")
        hits = [
            answer
            for answer in self._answers(name)
            # What may not be answered at all needs nothing; `Judge.answer` has told it.
            if answer.tokens and self.oracle.is_legal(answer.boundary or 0, answer.num_tokens)
        ]
        if hits and not self.dead:
            self.judge.load(self._since(name), hits[-1])

    def _run(self, done: Callable[[], bool], names: Iterable[str]) -> None:
        limit = _SPARE_STEPS
        for name in names:
            spec = self._requests[name]
            # Preempted once, a request computes its prompt and its answer again.
            prefill = len(spec.prompt) // self.layout.max_batched_tokens + 1
            limit += 2 * (prefill + len(spec.output))
        for _ in range(limit):
            if self.dead or done():
                return
            self.bench.step()

    def settle(self) -> None:
        """Run until nothing is left to do."""
        if not self.dead:
            self._run(self.bench.idle, self._requests)

    def _come_to_rest(self) -> bool:
        """Whether in the end nothing is left to do: no kept block, report, copy or pending work."""
        for name in self._requests:
            if not self.dead:
                self._complete_seeded(name)
        self.settle()
        return self.dead or self.bench.idle()

    def wipe_pool(self) -> None:
        """Settle, then forget every cached block: what a consumer hits comes from the connector.

        In a warm case the blocks of earlier consumers stay: a hit goes on where they end.
        """
        self.settle()
        self._cold = True
        if self.given.get("warm") and any(name.startswith("consumer") for name in self._requests):
            return
        if not self.dead:
            self.bench.reset_prefix_cache()

    def _compare_pin(self, key: str, expected: object) -> None:
        """A figure pinned in the matrix must be what the oracle says."""
        if key not in self.case.pinned or not claims_everything(self.oracle.claims):
            return
        pinned = self.case.pinned[key]
        if isinstance(pinned, Mapping):
            pinned = {name: sorted(indices) for name, indices in pinned.items()}
            expected = {n: i for n, i in dict(expected).items() if i or n in pinned}  # type: ignore[call-overload]
        if pinned != expected:
            raise PinError(f"{self.case.id}: {key} is pinned to {pinned}, the oracle says {expected}")

    def conclude(self) -> None:
        """Judge what holds everywhere, and end the case.

        Raises `CaseFailedError` if a check failed or measured nothing, `NotApplicableError` if
        none applies, `UnfinishedScenarioError` if a step that the case needs was left out.
        """
        __tracebackhide__ = True
        if self._owed:
            raise UnfinishedScenarioError(
                f"the case needs the step(s) {', '.join(self._owed)}; missing from its template"
            )
        at_rest = self._come_to_rest()
        if not self.dead:
            self.unclaimed = tuple(sorted(map(str, getattr(self._bench, "unclaimed", ()))))
        if self._bench is not None:
            self._bench.close()
        broke = next((str(event) for event in self._events if isinstance(event, Broke)), "")
        self.judge.bytes_and_ends(self._events, broke, at_rest=at_rest)
        self.results = self.tally.results(broke, self._events)
        self.outcome = combine(self.results)
        self.concluded = True
        if self.outcome is Outcome.NOT_APPLICABLE:
            raise NotApplicableError(self.results[0].detail)
        if self.outcome.is_bad:
            raise CaseFailedError(self._picture())

    def scene(self, *, every_answer: bool = False) -> Scene:
        """What the case looked like: its failed lookups, or with ``every_answer`` all that found something."""
        scenery = Scenery(oracle=self.oracle, judged=self.judge.judged)
        return scenery.scene(self._events, self.results, every_answer=every_answer)

    def _picture(self) -> str:
        lines = [f"{self.case.id} ({self.case.source})"]
        for result in self.results:
            if result.outcome.is_bad:
                lines.append(f"{result.clause} {result.check}: {result.outcome}")
                lines.append(f"  expected: {result.expected}")
                lines.append(f"  got:      {result.got}")
                if result.detail:
                    lines.append(f"  {detail_of(result)}")
        events = excerpt(self.trace, broken_by(self.results))
        lines += ["events:", *(f"  {line}" for line in events)]
        return "\n".join(lines)
