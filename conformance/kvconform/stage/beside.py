"""Judgements of a trace that go on beside those of its verdicts: of memory, and of what is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kvconform.engine.events import Answered, Copied, CopyFailed, Event, Reset, Submitted, Told
from kvconform.ports import Capability, RequestSpec
from kvconform.stage.judge import Judge
from kvconform.stage.residence import Budget, Residence, has_budget
from kvconform.stage.stored import StoredChunks
from kvconform.stage.told import Telling


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Hands each event on to whom it concerns; None where the connector or the case gives no ground."""

    rests: frozenset[int]
    stored: StoredChunks
    telling: Telling | None = None
    budget: Budget | None = None
    residence: Residence | None = None

    @classmethod
    def of(
        cls,
        judge: Judge,
        requests: Mapping[str, RequestSpec],
        stored: StoredChunks,
        rests: frozenset[int],
    ) -> Beside:
        """What the connector's claims and the layout give ground to."""
        claims = judge.oracle.claims
        seen = Capability.TRANSFER_CONTROL in claims
        tells = seen and Capability.EVENTS in claims
        limited = seen and has_budget(judge.oracle.layout)
        return cls(
            rests=rests,
            stored=stored,
            telling=Telling(judge=judge, requests=requests) if tells else None,
            budget=Budget(judge=judge, requests=requests) if limited else None,
            residence=Residence(judge=judge, requests=requests, stored=stored) if limited else None,
        )

    def take(self, at: int, event: Event, *, first: bool) -> None:
        """Take in event number ``at``; ``first`` says that no lookup of its step has hit before it."""
        rest = isinstance(event, Answered) and first and event.step in self.rests
        if self.telling is not None:
            if isinstance(event, Copied):
                self.telling.copied(event)
            elif isinstance(event, Told):
                self.telling.take(event)
            elif rest and isinstance(event, Answered):
                self.telling.answer(event, self.stored)
        if self.budget is not None:
            self.budget.take(at, event)
        if self.residence is not None:
            self._tell(self.residence, event, rest=rest)

    def _tell(self, residence: Residence, event: Event, *, rest: bool) -> None:
        if isinstance(event, Submitted):
            step = event.step + 1
            if step in self.rests:
                residence.begins(event.request, step)
            else:
                residence.joins(event.request)
        elif rest and isinstance(event, Answered):
            residence.answer(event)
        elif isinstance(event, CopyFailed):
            residence.failed(event)
        elif isinstance(event, Reset):
            residence.reset(event)
        residence.take(event)

    def drop(
        self, spec: RequestSpec, group: int, chunks: Iterable[int], *, at_rest: bool
    ) -> None:
        """Chunks of a request's prefix are about to be taken away, perhaps while nothing is going on."""
        if self.residence is not None:
            self.residence.drop(spec, group, chunks, at_rest=at_rest)

    def conclude(self, events: Sequence[Event]) -> None:
        """The trace is over."""
        if self.budget is not None:
            self.budget.conclude(events)
        if self.residence is not None:
            self.residence.ends()
