"""Steps of vLLM's scheduler with the ranks between, synchronous or one result behind."""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from vllm.v1.outputs import KVConnectorOutput, ModelRunnerOutput
from vllm.v1.request import RequestStatus

from kvconform.engine.calls import call
from kvconform.engine.effort import METER
from kvconform.engine.events import (
    Computed,
    Confirmed,
    Drafted,
    Ended,
    Event,
    Happened,
    Loaded,
    LoadErrors,
    LoadFailed,
    Read,
    Reported,
)
from kvconform.engine.memory import Difference
from kvconform.engine.origins import Origins
from kvconform.ports import Layout, Scheduling
from kvconform_vllm.observation import Observer, Rows, rows_of
from kvconform_vllm.ranks import Rank, Work
from kvconform_vllm.requests import Live
from kvconform_vllm.speculation import Drafts


class Stepper:
    """Drives one scheduler.

    Under asynchronous scheduling a step runs before the result of the one before it is known: a
    queue of one, as in vLLM's engine core with a batch queue.
    """

    def __init__(  # noqa: PLR0913 - the parts of one engine
        self,
        *,
        layout: Layout,
        scheduler: Any,
        ranks: Sequence[Rank],
        observer: Observer,
        requests: Mapping[str, Live],
        origins: Origins,
        record: Callable[[Event], None],
    ) -> None:
        self._scheduler = scheduler
        self._ranks = ranks
        self._observer = observer
        self._requests = requests
        self._origins = origins
        self._record = record
        self._ahead = layout.scheduling is Scheduling.ASYNC
        self._drafts = Drafts(layout, ahead=self._ahead)
        self._spec_tokens = layout.spec_tokens
        self._results: deque[tuple[Any, ModelRunnerOutput]] = deque()
        self._rejected: dict[str, deque[int]] = {}
        """By request, the wrong drafts of its steps in flight."""
        self._aggregator = _aggregator(layout.world)
        self._bad: dict[str, frozenset[int]] = {}
        """Blocks of each request that were said to have failed."""

    @property
    def number(self) -> int:
        """Steps so far."""
        return self._observer.number

    def step(self) -> None:
        """Schedule and run one step; take the result that is due."""
        self._observer.number += 1
        if self._scheduler.has_requests() or not self._results:
            output = call("engine", self._scheduler.schedule)
            self._results.append((output, self._execute(output)))
            if self._ahead and output.total_num_scheduled_tokens and len(self._results) == 1:
                return
        self._take(*self._results.popleft())

    def abort(self, name: str) -> None:
        """The client no longer wants a request: vLLM ends it, in whatever phase it is."""
        request = self._scheduler.requests.get(name)
        call("engine", self._scheduler.finish_requests, name, RequestStatus.FINISHED_ABORTED)
        live = self._requests[name]
        if request is not None and not live.ended:
            live.ended = True
            self._record(Ended(step=self.number, request=name, num_tokens=request.num_tokens))

    def preempt(self, name: str) -> bool:
        """Have a running request give up its blocks as for want of room; False if it is not running.

        Results that are due are taken first: vLLM may resume the request in its very next step.
        """
        while self._results:
            self._take(*self._results.popleft())
        scheduler = self._scheduler
        request = scheduler.requests.get(name)
        if request is None or request not in scheduler.running:
            return False
        scheduler.running.remove(request)
        call("engine", scheduler._preempt_request, request, time.monotonic())  # noqa: SLF001 - no public way
        scheduler.prev_step_scheduled_req_ids.discard(name)
        return True

    def idle(self) -> bool:
        """Whether nothing is left to do: no request, result, copy or report."""
        in_flight = any(rank.gate.busy or rank.reports.busy for rank in self._ranks)
        return not (self._results or in_flight or self._scheduler.has_requests())

    def rows(self, name: str) -> Rows:
        """The request's blocks by group, as the KV cache manager has them now."""
        return rows_of(self._scheduler, name)

    def _execute(self, output: Any) -> ModelRunnerOutput:
        for name in output.preempted_req_ids or ():
            self._record(Happened(step=self.number, request=name, what="is preempted"))
            self._requests[name].rejected_in_flight = 0
            self._rejected.pop(name, None)
        if METER.counting is not None:
            METER.sent(pickle.dumps(output.kv_connector_metadata))
        work = self._work(output)
        taken, self._observer.taken = self._observer.taken, set()
        for rank in self._ranks:
            rank.run(output, work, taken, self._on_load, self._on_read)
        names = list(output.num_scheduled_tokens)
        sampled = {part.live.spec.name: part.live.sample(part.sampled_end) for part in work}
        made = [
            ModelRunnerOutput(
                req_ids=names,
                req_id_to_index={name: at for at, name in enumerate(names)},
                sampled_token_ids=[sampled.get(name, []) for name in names],
                kv_connector_output=next(iter(rank.reports.arrive()), KVConnectorOutput()),
            )
            for rank in self._ranks
        ]
        if self._aggregator is None:
            return made[0]
        return cast("ModelRunnerOutput", call("engine", self._aggregator.aggregate, made))

    def _work(self, output: Any) -> list[Work]:
        starts = {new.req_id: new.num_computed_tokens for new in output.scheduled_new_reqs}
        cached = output.scheduled_cached_reqs
        starts |= dict(zip(cached.req_ids, cached.num_computed_tokens, strict=True))
        work = []
        for name, count in output.num_scheduled_tokens.items():
            live = self._requests[name]
            if name not in self._scheduler.requests:
                continue
            drafts = len(output.scheduled_spec_decode_tokens.get(name, ()))
            rejected = self._drafts.rejected(live, drafts)
            start = starts[name] - live.rejected_in_flight
            # Nothing is right beyond the stop token, whatever was guessed there.
            end = max(start, min(start + count - rejected, len(live.prefix)))
            boundary = self._observer.synchronous.pop(name, 0)
            work.append(
                Work(
                    live=live,
                    start=start,
                    end=end,
                    rows=self.rows(name),
                    boundary=boundary,
                    wrong_end=start + count,
                    sampled_end=start + count - rejected,
                )
            )
            if end > start:
                self._record(Computed(step=self.number, request=name, start=start, end=end))
            if self._spec_tokens:
                self._record_drafts(live, range(start + count - drafts, start + count), end, starts[name])
                live.rejected_in_flight += rejected
                self._rejected.setdefault(name, deque()).append(rejected)
            self._origins.computed(live.prefix, range(start, end))
        return work

    def _record_drafts(self, live: Live, drafts: range, right: int, kept_at: int) -> None:
        name = live.spec.name
        if drafts:
            event = Drafted(
                step=self.number,
                request=name,
                start=drafts.start,
                right=max(drafts.start, right),
                end=drafts.stop,
            )
            self._record(event)
        tokens = min(live.request.num_tokens, right)
        self._record(Confirmed(step=self.number, request=name, tokens=tokens, kept_at=kept_at))

    def _take(self, output: Any, result: ModelRunnerOutput) -> None:
        report = result.kv_connector_output
        self._watch_reports(report)
        failed = self._load_errors(report)
        for name in sorted(report.finished_recving or ()):
            self._check_load(name, failed.get(name, frozenset()))
        updates = call("engine", self._scheduler.update_from_output, output, result)
        for name in output.num_scheduled_tokens:
            waiting = self._rejected.get(name)
            if waiting:
                self._requests[name].rejected_in_flight -= waiting.popleft()
        tokens = dict(zip(result.req_ids, result.sampled_token_ids, strict=True))
        call("engine", self._drafts.propose, self._scheduler, tokens)
        for outputs in updates.values():
            for one in outputs.outputs:
                if one.finish_reason is not None:
                    live = self._requests[one.request_id]
                    live.ended = True
                    tokens = live.request.num_tokens
                    self._record(Ended(step=self.number, request=one.request_id, num_tokens=tokens))

    def _watch_reports(self, merged: KVConnectorOutput) -> None:
        """What the ranks together report, as vLLM gets it; its own scheduler dies of the unasked."""
        told = {"load": merged.finished_recving, "stores": merged.finished_sending}
        for what, names in told.items():
            for name in sorted(names or ()):
                known = name in self._scheduler.requests
                self._record(
                    Reported(
                        step=self.number,
                        rank=0,
                        request=name,
                        what=what,
                        fault="" if known else "although the engine no longer waits for it",
                    )
                )

    def _load_errors(self, report: KVConnectorOutput) -> dict[str, frozenset[int]]:
        """Blocks that loads are said to have failed to fill, by request.

        A rank says it of blocks, or of a request and then of all its blocks.
        """
        told = set(getattr(report, "failed_recving", None) or ())
        bad = set(report.invalid_block_ids or ())
        for name in list(self._scheduler.requests) if told or bad else ():
            held = {block for row in self.rows(name) for block in row if block}
            self._bad[name] = self._bad.get(name, frozenset()) | (held if name in told else held & bad)
        if bad:
            ids = tuple(sorted(bad))
            holders = tuple(frozenset(n for n, held in self._bad.items() if i in held) for i in ids)
            self._record(LoadErrors(step=self.number, rank=0, ids=ids, holders=holders))
        return {name: held for name, held in self._bad.items() if held}

    def _check_load(self, name: str, failed: frozenset[int]) -> None:
        """Compare before vLLM publishes the blocks or lets the request run."""
        request = self._scheduler.requests.get(name)
        if request is None or request.is_finished():
            return
        rows, boundary = self.rows(name), request.num_computed_tokens
        self._bad.pop(name, None)
        if failed:
            rows = tuple(tuple(0 if block in failed else block for block in row) for row in rows)
        slots, first = 0, None
        for rank in self._ranks:
            compared, difference = rank.retained(self._requests[name], rows, boundary)
            slots += compared
            first = first or difference
        if not failed:
            self._on_load(self._requests[name], boundary, slots, first)
            return
        self._record(
            LoadFailed(
                step=self.number, request=name, boundary=boundary, valid=0, difference=first
            )
        )

    def _on_load(
        self, live: Live, boundary: int, slots: int, difference: Difference | None
    ) -> None:
        self._record(
            Loaded(
                step=self.number,
                request=live.spec.name,
                boundary=boundary,
                slots=slots,
                difference=difference,
            )
        )
        if slots and difference is None:
            self._origins.check_load(live.prefix, boundary)

    def _on_read(self, live: Live, start: int, slots: int, difference: Difference | None) -> None:
        del start
        if slots:
            self._record(
                Read(
                    step=self.number, request=live.spec.name, slots=slots, difference=difference
                )
            )


def _aggregator(world: int) -> Any:
    """Merges the ranks' reports as vLLM does; None for one rank."""
    if world == 1:
        return None
    from vllm.distributed.kv_transfer.kv_connector.utils import (  # noqa: PLC0415
        KVOutputAggregator,
    )

    return KVOutputAggregator(expected_finished_count=world)
