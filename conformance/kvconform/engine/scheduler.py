"""Decides what each step does: continuous batching with lookups, loads and preemption."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kvconform.engine.allocator import Allocator, cut_at_state
from kvconform.engine.calls import ConnectorBrokeError, call, optional, shown
from kvconform.engine.events import Admitted, Answered, Broke, Computed, Ended, Event, Happened
from kvconform.engine.origins import Origins
from kvconform.engine.rank import Plan, Work, rows_of
from kvconform.engine.requests import LiveRequest
from kvconform.ports import (
    NULL_BLOCK,
    Layout,
    RequestStatus,
    ScheduledRequest,
    SchedulerSide,
    Step,
    StepResult,
)


@dataclass(slots=True)
class _Draft:
    """A step while it is being decided."""

    budget: int
    scheduled: list[ScheduledRequest] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)
    preempted: list[str] = field(default_factory=list)
    samples: list[tuple[LiveRequest, int]] = field(default_factory=list)


class Scheduler:
    """The engine's scheduler, with the connector's scheduler side attached."""

    def __init__(
        self,
        layout: Layout,
        allocator: Allocator,
        side: SchedulerSide,
        record: Callable[[Event], None],
    ) -> None:
        self.layout = layout
        self.allocator = allocator
        self.number = 0
        self.waiting: list[LiveRequest] = []
        self.running: list[LiveRequest] = []
        self.loading: dict[str, LiveRequest] = {}
        self.kept: dict[str, LiveRequest] = {}
        """Ended requests whose blocks the connector still reads."""
        self.refused: set[str] = set()
        """Requests that stay waiting after a miss, as if the pool were full."""
        self.origins = Origins()
        self._side = side
        self._record = record
        self._finished: set[str] = set()
        self._loaded: set[str] = set()
        self._no_lookup: set[str] = set()
        self._epochs: dict[str, int] = {}
        self._interrupted: set[str] = set()
        """Preempted requests that have not run again, with or without a hit."""

    @property
    def busy(self) -> bool:
        """Whether a request is alive or an end has not been told to the ranks."""
        return bool(self.waiting or self.running or self.loading or self.kept or self._finished)

    def call(self, name: str, *args: Any) -> Any:
        """Call a method of the connector's scheduler side."""
        return call(name, optional(self._side, SchedulerSide, name), *args)

    def submit(self, request: LiveRequest) -> None:
        """A request enters the queue."""
        self.call("on_new_request", request)
        self.waiting.append(request)

    def schedule(self) -> Plan:
        """Decide the next step and have the connector build its metadata."""
        self.number += 1
        draft = _Draft(budget=self.layout.max_batched_tokens)
        for request in self.running:
            self.allocator.publish(request.request_id, request.block_hashes, request.num_computed_tokens)
        for request in list(self.running):
            if request in self.running and draft.budget > 0:
                self._continue(request, draft)
        # A preempted request waits at least until the next step.
        for request in list(self.waiting):
            if draft.budget <= 0 or draft.preempted:
                break
            self._start(request, draft)
        taken, self.allocator.taken = frozenset(self.allocator.taken), set()
        finished, self._finished = frozenset(self._finished), set()
        step = Step(
            number=self.number,
            scheduled=tuple(draft.scheduled),
            preempted=tuple(draft.preempted),
            finished=tuple(sorted(finished)),
            allocated=taken,
        )
        metadata = self.call("build_connector_meta", step)
        return Plan(
            number=self.number,
            metadata=call("build_connector_meta", pickle.dumps, metadata),
            taken=taken,
            work=tuple(draft.work),
            finished=finished,
            samples=tuple(draft.samples),
        )

    def _continue(self, request: LiveRequest, draft: _Draft) -> None:
        known = request.num_tokens + request.in_flight
        count = min(known - request.num_computed_tokens, draft.budget)
        count = cut_at_state(self.layout, request.num_computed_tokens, count, known)
        if count <= 0:
            return
        self.allocator.slide(request.request_id, request.num_computed_tokens)
        total = request.num_computed_tokens + count
        appended = self.allocator.grow(request.request_id, total)
        while appended is None:
            victim = self.running[-1]
            waiting = self._loaded_and_waiting()
            if victim is request and waiting:
                # Or it would give way to what cannot run before it has ended.
                self._give_up(waiting[-1], draft)
            else:
                self._preempt(victim, draft)
                if victim is request:
                    return
            appended = self.allocator.grow(request.request_id, total)
        self._add(request, count, appended, draft)

    def _preempt(self, victim: LiveRequest, draft: _Draft) -> None:
        if len(self.running) == 1 and not self.loading and not self.kept:
            raise AssertionError(f"the pool is too small for {victim.request_id} alone")
        self.running.remove(victim)
        self.allocator.free(victim.request_id)
        victim.num_computed_tokens = 0
        victim.in_flight = 0
        victim.status = RequestStatus.WAITING
        self._epochs[victim.request_id] = self._epoch(victim) + 1
        self._interrupted.add(victim.request_id)
        self.waiting.insert(0, victim)
        draft.preempted.append(victim.request_id)
        draft.scheduled = [s for s in draft.scheduled if s.request.request_id != victim.request_id]
        draft.work = [w for w in draft.work if w.request is not victim]
        draft.samples = [s for s in draft.samples if s[0] is not victim]
        self._record(Happened(step=self.number, request=victim.request_id, what="is preempted"))

    def _start(self, request: LiveRequest, draft: _Draft) -> None:
        name = request.request_id
        if name in self._loaded:
            count = min(request.num_tokens - request.num_computed_tokens, draft.budget)
            count = cut_at_state(self.layout, request.num_computed_tokens, count, request.num_tokens)
            if count <= 0:
                return
            appended = self.allocator.grow(name, request.num_computed_tokens + count)
            if appended is None:
                self._unlock(request, draft)
                return
            self._loaded.discard(name)
            self._run(request, count, appended, draft)
            return
        local, rows = self.allocator.find_local(request.block_hashes, request.num_tokens - 1)
        external, is_async = (0, False) if name in self._no_lookup else self._ask(request, local)
        if external is None or (external == 0 and name in self.refused):
            return
        boundary = local + external
        asynchronous = external > 0 and is_async
        start = min(boundary, request.num_tokens - 1)
        count = 0 if asynchronous else min(request.num_tokens - start, draft.budget)
        count = cut_at_state(self.layout, start, count, request.num_tokens)
        total = max(boundary, start + count)
        pinned = {block for row in rows for block in row}
        runs = count > 0 or asynchronous
        if not runs or not self.allocator.admit(name, boundary, rows, local, total):
            return
        holding = self.allocator.holding(name)
        request.num_computed_tokens = boundary if asynchronous else start
        self.call("update_state_after_alloc", request, holding.table(), external)
        if external:
            self._record(Admitted(step=self.number, request=name, boundary=boundary, held=_held(holding.rows)))
        if asynchronous:
            self.waiting.remove(request)
            self.loading[name] = request
            request.status = RequestStatus.LOADING
            return
        appended = tuple(
            tuple(block for block in row if block != NULL_BLOCK and block not in pinned)
            for row in holding.rows
        )
        self._run(request, count, appended, draft, synchronous_boundary=boundary if external else 0)

    def _unlock(self, request: LiveRequest, draft: _Draft) -> None:
        """Loaded requests can hold the whole pool while none of them can go on: one starts over."""
        if self.running or self.loading or self.kept:
            return
        others = [other for other in self._loaded_and_waiting() if other is not request]
        if not others:
            raise AssertionError(f"the pool is too small for {request.request_id} alone")
        self._give_up(others[-1], draft)

    def _loaded_and_waiting(self) -> list[LiveRequest]:
        return [request for request in self.waiting if request.request_id in self._loaded]

    def _give_up(self, victim: LiveRequest, draft: _Draft) -> None:
        """A loaded request that has not run gives its blocks back and starts over."""
        name = victim.request_id
        self._loaded.discard(name)
        self.allocator.free(name)
        victim.num_computed_tokens = 0
        self._epochs[name] = self._epoch(victim) + 1
        draft.preempted.append(name)
        self._record(Happened(step=self.number, request=name, what="gives up what was loaded"))

    def _ask(self, request: LiveRequest, local: int) -> tuple[int | None, bool]:
        method = "get_num_new_matched_tokens"
        answer = self.call(method, request, local)
        if not (isinstance(answer, tuple) and len(answer) == 2):  # noqa: PLR2004 - a pair
            raise ConnectorBrokeError(method, f"returned {shown(answer)}, expected (tokens or None, is_async)")
        tokens, is_async = answer
        whole = isinstance(tokens, int) and not isinstance(tokens, bool)
        if tokens is not None and not whole:
            raise ConnectorBrokeError(method, f"returned {shown(tokens)} tokens, expected a whole number or None")
        self._record(
            Answered(
                step=self.number,
                request=request.request_id,
                num_tokens=request.num_tokens,
                local=local,
                tokens=tokens,
                is_async=bool(is_async),
            )
        )
        if tokens:
            boundary = local + tokens
            last = request.num_tokens - 1
            step = self.layout.hash_block
            short = boundary == last and request.num_tokens % step == 0
            ends = boundary % step == 0 or short
            if boundary % self.layout.state_tokens or (self.layout.has_states and boundary > last):
                raise ConnectorBrokeError(
                    method,
                    f"returned {tokens} tokens beyond {local} local ones, expected a boundary that is a "
                    f"multiple of {self.layout.state_tokens}, where every recurrent group has a state, and "
                    f"leaves at least the last of the request's {request.num_tokens} tokens",
                )
            if tokens < 0 or boundary > request.num_tokens or not ends:
                raise ConnectorBrokeError(
                    method,
                    f"returned {tokens} tokens beyond {local} local ones, expected a boundary that is a "
                    f"multiple of {self.layout.hash_block}, or all but the last token, of the request's "
                    f"{request.num_tokens} tokens",
                )
        return tokens, bool(is_async)

    def _run(
        self,
        request: LiveRequest,
        count: int,
        appended: tuple[tuple[int, ...], ...],
        draft: _Draft,
        *,
        synchronous_boundary: int = 0,
    ) -> None:
        self.waiting.remove(request)
        self.running.append(request)
        request.status = RequestStatus.RUNNING
        self._add(request, count, appended, draft, synchronous_boundary=synchronous_boundary)

    def _add(
        self,
        request: LiveRequest,
        count: int,
        appended: tuple[tuple[int, ...], ...],
        draft: _Draft,
        *,
        synchronous_boundary: int = 0,
    ) -> None:
        start, end = request.num_computed_tokens, request.num_computed_tokens + count
        resumed = request.was_scheduled and request.request_id in self._interrupted
        self._interrupted.discard(request.request_id)
        draft.scheduled.append(
            ScheduledRequest(
                request=request,
                table=self.allocator.holding(request.request_id).table(),
                num_computed_tokens=start,
                num_scheduled_tokens=count,
                appended=appended,
                is_new=not request.was_scheduled,
                is_resumed=resumed,
            )
        )
        request.was_scheduled = True
        draft.budget -= count
        holding = self.allocator.holding(request.request_id)
        draft.work.append(
            Work(
                request=request,
                start=start,
                end=end,
                rows=rows_of(self.allocator, request.request_id),
                synchronous_boundary=synchronous_boundary,
                replays=start < holding.num_local_tokens + holding.num_external_tokens,
            )
        )
        self._record(Computed(step=self.number, request=request.request_id, start=start, end=end))
        self.origins.computed(request.prefix, range(start, end))
        if end >= request.num_tokens + request.in_flight:
            request.in_flight += 1
            draft.samples.append((request, self._epoch(request)))
        request.num_computed_tokens = end

    def receive_tokens(self, plan: Plan) -> None:
        """The results of a step arrive: tokens are appended, requests end."""
        for request, epoch in plan.samples:
            if request.ended or epoch != self._epoch(request):
                continue
            request.in_flight -= 1
            if request.append_output():
                self.end(request, RequestStatus.FINISHED)

    def end(self, request: LiveRequest, status: RequestStatus) -> None:
        """A request ends: its complete blocks are published and, unless kept, freed."""
        name = request.request_id
        if request in self.running:
            self.running.remove(request)
            self.allocator.publish(name, request.block_hashes, request.num_computed_tokens)
        elif request in self.waiting:
            self.waiting.remove(request)
        request.status = status
        answer = self.call("request_finished", request, self.allocator.holding(name).table())
        if not (isinstance(answer, tuple) and len(answer) == 2):  # noqa: PLR2004 - a pair
            raise ConnectorBrokeError("request_finished", f"returned {shown(answer)}, expected (keep blocks, params or None)")
        self._finished.add(name)
        self._record(Ended(step=self.number, request=name, num_tokens=request.num_tokens))
        if answer[0]:
            self.kept[name] = request
        else:
            self.allocator.free(name)

    def load_complete(self, name: str) -> None:
        """A load is complete and checked: its blocks may be found, the request may run."""
        request = self.loading.pop(name)
        boundary = request.num_computed_tokens
        self.allocator.publish(name, request.block_hashes, boundary)
        # At least the last token is computed again, to have something to sample from.
        request.num_computed_tokens = min(boundary, request.num_tokens - 1)
        request.status = RequestStatus.WAITING
        self._loaded.add(name)
        self.waiting.insert(0, request)

    def load_failed(self, name: str) -> None:
        """A load failed: the request starts over and does not ask again."""
        request = self.loading.pop(name)
        self.allocator.free(name)
        request.num_computed_tokens = 0
        request.status = RequestStatus.WAITING
        self._no_lookup.add(name)
        self.waiting.insert(0, request)
        self._record(Happened(step=self.number, request=name, what="recomputes after a failed load"))

    def stores_complete(self, name: str) -> None:
        """The connector no longer reads the blocks of an ended request."""
        if self.kept.pop(name, None) is not None:
            self.allocator.free(name)

    def deliver(self, result: StepResult) -> None:
        """A report reaches the connector's scheduler side."""
        self.call("update_connector_output", result)

    def broke(self, error: ConnectorBrokeError) -> Broke:
        """The event for a broken connector."""
        return Broke(step=self.number, method=error.method, text=error.text)

    def _epoch(self, request: LiveRequest) -> int:
        return self._epochs.get(request.request_id, 0)


def _held(rows: list[list[int]]) -> tuple[tuple[int, int], ...]:
    held = []
    for row in rows:
        indices = [index for index, block in enumerate(row) if block != NULL_BLOCK]
        held.append((indices[0] if indices else 0, len(indices)))
    return tuple(held)
