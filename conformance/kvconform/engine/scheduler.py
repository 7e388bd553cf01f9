"""Decides what each step does: continuous batching with lookups, loads and preemption."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kvconform.engine.allocator import Allocator, cut_at_state
from kvconform.engine.answers import LOOKUP, check_boundary, read_answer
from kvconform.engine.calls import ConnectorBrokeError, call, optional, shown
from kvconform.engine.effort import METER
from kvconform.engine.events import (
    Admitted,
    Answered,
    Broke,
    Computed,
    Confirmed,
    Drafted,
    Ended,
    Event,
    Happened,
)
from kvconform.engine.origins import Origins
from kvconform.engine.rank import Plan, Work, rows_of
from kvconform.engine.requests import LiveRequest, Sample
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
    samples: list[tuple[LiveRequest, int, Sample]] = field(default_factory=list)


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
        self.unloaded: dict[str, LiveRequest] = {}
        """Aborted requests into whose blocks a load still writes."""
        self.asked: dict[str, dict[str, set[int]]] = {"load": {}, "stores": {}}
        """Ranks that have yet to report the end of what, by request."""
        self.refused: set[str] = set()
        """Requests that stay waiting after a miss, as if the pool were full."""
        self.origins = Origins()
        self._side = side
        self._record = record
        self._finished: set[str] = set()
        self._loaded: set[str] = set()
        self._cut: list[str] = []
        """Requests that lost their blocks to a failed load since the last step."""
        self._epochs: dict[str, int] = {}
        self._interrupted: set[str] = set()
        """Preempted requests that have not run again, with or without a hit."""
        self._forced: set[str] = set()
        """Requests that are to be preempted in the next step."""

    @property
    def busy(self) -> bool:
        """Whether a request is alive or an end has not been told to the ranks."""
        alive = self.waiting or self.running or self.loading
        return bool(alive or self.kept or self.unloaded or self._finished)

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
        cut, self._cut = self._cut, []
        for request in self.running:
            self.allocator.publish(request.request_id, request.block_hashes, request.num_computed_tokens)
        self._preempt_forced(draft)
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
            preempted=(*cut, *draft.preempted),
            finished=tuple(sorted(finished)),
            allocated=taken,
        )
        metadata = call("build_connector_meta", pickle.dumps, self.call("build_connector_meta", step))
        METER.sent(metadata)
        return Plan(
            number=self.number,
            metadata=metadata,
            taken=taken,
            work=tuple(draft.work),
            finished=finished,
            samples=tuple(draft.samples),
        )

    def _continue(self, request: LiveRequest, draft: _Draft) -> None:
        known = request.num_tokens + request.in_flight
        drafts = self.layout.spec_tokens if request.proposes else 0
        count = min(known - request.num_computed_tokens + drafts, draft.budget)
        count = cut_at_state(self.layout, request.num_computed_tokens, count, known + drafts)
        if count <= 0:
            return
        # Drafts in flight may all be wrong: then the next query reads from there.
        self.allocator.slide(request.request_id, request.num_computed_tokens - request.drafts_in_flight)
        # Room for the next step's drafts too, which the draft model writes in this one.
        total = request.num_computed_tokens + count + self.layout.spec_tokens
        appended = self.allocator.grow(request.request_id, total)
        while appended is None:
            victim = self.running[-1]
            waiting = self._loaded_and_waiting()
            if victim is request and waiting:
                # Or it would give way to what cannot run before it has ended.
                self._give_up(waiting[-1], draft)
            else:
                if len(self.running) == 1 and not (self.loading or self.kept or self.unloaded):
                    raise AssertionError(f"the pool is too small for {victim.request_id} alone")
                self._preempt(victim, draft)
                if victim is request:
                    return
            appended = self.allocator.grow(request.request_id, total)
        self._add(request, count, appended, draft)

    def preempt(self, request: LiveRequest) -> bool:
        """Preempt a request in the next step; False, and nothing happens, if it is not running."""
        if request not in self.running:
            return False
        self._forced.add(request.request_id)
        return True

    def _preempt_forced(self, draft: _Draft) -> None:
        for victim in [r for r in self.running if r.request_id in self._forced]:
            self._preempt(victim, draft)
        self._forced.clear()

    def _preempt(self, victim: LiveRequest, draft: _Draft) -> None:
        self.running.remove(victim)
        self.allocator.free(victim.request_id)
        victim.start_over()
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
        external, is_async = self._ask(request, local)
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
            self._record(Admitted(step=self.number, request=name, boundary=boundary, held=holding.held()))
        if asynchronous:
            self.waiting.remove(request)
            self.loading[name] = request
            self.asked["load"][name] = set(range(self.layout.world))
            request.status = RequestStatus.LOADING
            return
        appended = tuple(
            tuple(block for block in row if block != NULL_BLOCK and block not in pinned)
            for row in holding.rows
        )
        self._run(request, count, appended, draft, synchronous_boundary=boundary if external else 0)

    def _unlock(self, request: LiveRequest, draft: _Draft) -> None:
        """Loaded requests can hold the whole pool while none of them can go on: one starts over."""
        if self.running or self.loading or self.kept or self.unloaded:
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
        tokens, is_async = read_answer(self.call(LOOKUP, request, local))
        self._record(
            Answered(
                step=self.number,
                request=request.request_id,
                num_tokens=request.num_tokens,
                local=local,
                tokens=tokens,
                is_async=is_async,
            )
        )
        if tokens:
            check_boundary(self.layout, tokens, local, request.num_tokens)
        return tokens, is_async

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
        scheduled = request.num_computed_tokens
        known = request.num_tokens + request.in_flight
        drafts = max(0, scheduled + count - known)
        resumed = request.was_scheduled and request.request_id in self._interrupted
        self._interrupted.discard(request.request_id)
        draft.scheduled.append(
            ScheduledRequest(
                request=request,
                table=self.allocator.holding(request.request_id).table(),
                num_computed_tokens=scheduled,
                num_scheduled_tokens=count,
                appended=appended,
                is_new=not request.was_scheduled,
                is_resumed=resumed,
                num_draft_tokens=drafts,
            )
        )
        request.was_scheduled = True
        draft.budget -= count
        holding = self.allocator.holding(request.request_id)
        sample = request.draw(drafts)
        start = request.device_tokens
        # Nothing is right beyond the stop token, whatever was guessed there.
        end = max(start, min(start + count - sample.rejected, len(request.prefix)))
        draft.work.append(
            Work(
                request=request,
                start=start,
                end=end,
                rows=rows_of(self.allocator, request.request_id),
                wrong_end=start + count,
                synchronous_boundary=synchronous_boundary,
                replays=start < holding.num_local_tokens + holding.num_external_tokens,
            )
        )
        if end > start:
            self._record(Computed(step=self.number, request=request.request_id, start=start, end=end))
        if self.layout.spec_tokens:
            self._record_drafts(request, range(start, start + count), drafts, end)
        self.origins.computed(request.prefix, range(start, end))
        request.num_computed_tokens = scheduled + count
        if scheduled + count >= known:
            request.launched(sample)
            draft.samples.append((request, self._epoch(request), sample))

    def _record_drafts(self, request: LiveRequest, computed: range, drafts: int, right: int) -> None:
        name = request.request_id
        if drafts:
            first = computed.stop - drafts
            event = Drafted(
                step=self.number, request=name, start=first, right=max(first, right), end=computed.stop
            )
            self._record(event)
        tokens = min(request.num_tokens, right)
        kept_at = request.num_computed_tokens - request.drafts_in_flight
        self._record(Confirmed(step=self.number, request=name, tokens=tokens, kept_at=kept_at))

    def receive_tokens(self, plan: Plan) -> None:
        """The results of a step arrive: tokens are appended, requests end."""
        for request, epoch, sample in plan.samples:
            if request.ended or epoch != self._epoch(request):
                continue
            request.landed(sample)
            # What was sampled after the stop token is thrown away.
            if any(request.append_output() for _ in range(1 + sample.accepted)):
                self.end(request, RequestStatus.FINISHED)

    def abort(self, request: LiveRequest) -> None:
        """The client no longer wants a request; it ends at once, in whatever phase it is.

        Blocks into which a load still writes are kept until every rank has reported its end.
        """
        if request.ended:
            return
        if self.loading.pop(request.request_id, None) is not None:
            self.unloaded[request.request_id] = request
        self.end(request, RequestStatus.ABORTED)

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
        for names in (self._loaded, self._interrupted, self._forced, self.refused):
            names.discard(name)
        self._record(Ended(step=self.number, request=name, num_tokens=request.num_tokens))
        if answer[0]:
            self.kept[name] = request
            self.asked["stores"][name] = set(range(self.layout.world))
        elif name not in self.unloaded:
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

    def load_failed(self, name: str, bad: frozenset[int]) -> int:
        """A load is over and did not fill the blocks ``bad``: the tokens that it goes on from.

        The longest valid prefix stays and the rest is computed.  Where there is none, the request
        gives its blocks back and starts over, and may hit again.
        """
        request = self.loading.pop(name)
        valid = self.allocator.longest_valid(name, bad, request.num_computed_tokens)
        request.status = RequestStatus.WAITING
        self.waiting.insert(0, request)
        request.num_computed_tokens = min(valid, request.num_tokens - 1)
        if valid:
            self.allocator.publish(name, request.block_hashes, valid)
            self._loaded.add(name)
        else:
            self.allocator.free(name)
        return valid

    def holders(self, blocks: frozenset[int]) -> list[LiveRequest]:
        """Requests with computed tokens in one of these blocks, beside those that are loading."""
        candidates = [*self.running, *self._loaded_and_waiting()]
        return [r for r in candidates if self.held_of(r.request_id, blocks)]

    def holders_of_loads(self) -> list[str]:
        """Requests whose blocks a load may fill, those that run after one included."""
        return [*self.loading, *(request.request_id for request in self.running)]

    def held_of(self, name: str, blocks: frozenset[int]) -> frozenset[int]:
        """Those of ``blocks`` that the request holds."""
        return blocks & {block for row in self.allocator.holding(name).rows for block in row}

    def cut_back(self, request: LiveRequest, bad: frozenset[int]) -> int:
        """A request that has run with blocks ``bad`` goes on from what is valid; returns the tokens.

        What it sampled since counts for nothing.  Without a valid prefix it is preempted.
        """
        name = request.request_id
        valid = self.allocator.longest_valid(name, bad, request.num_computed_tokens)
        self._epochs[name] = self._epoch(request) + 1
        request.in_flight = 0
        request.num_computed_tokens = min(valid, request.num_tokens - 1)
        self.allocator.cut_back(name, valid)
        if valid:
            return valid
        self.allocator.free(name)
        self._cut.append(name)
        if request in self.running:
            self.running.remove(request)
            request.status = RequestStatus.WAITING
            self._interrupted.add(name)
            self.waiting.insert(0, request)
        self._loaded.discard(name)
        return 0

    def reset(self) -> None:
        """Forget cached blocks; requests keep theirs, and the connector resets its cache."""
        self.allocator.reset()
        self.call("reset_cache")

    def stores_complete(self, name: str) -> None:
        """The connector no longer reads the blocks of an ended request."""
        if self.kept.pop(name, None) is not None and name not in self.unloaded:
            self.allocator.free(name)

    def load_over(self, name: str) -> None:
        """A load whose request was aborted has ended: nothing writes into its blocks any more."""
        del self.unloaded[name]
        if name not in self.kept:
            self.allocator.free(name)

    def fault_of(self, what: str, name: str, rank: int) -> str:
        """Why a rank's report of the end of ``what`` is one too many; empty if it was waited for."""
        waiting = self.asked[what].get(name)
        if waiting is None:
            return "which it was never asked for"
        if rank not in waiting:
            return "once more"
        waiting.discard(rank)
        return ""

    def deliver(self, result: StepResult) -> None:
        """A report reaches the connector's scheduler side."""
        self.call("update_connector_output", result)

    def broke(self, error: ConnectorBrokeError) -> Broke:
        """The event for a broken connector."""
        return Broke(step=self.number, method=error.method, text=error.text)

    def _epoch(self, request: LiveRequest) -> int:
        return self._epochs.get(request.request_id, 0)
