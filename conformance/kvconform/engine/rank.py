"""One rank's part of a step: the worker side of the connector around the forward pass."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kvconform.engine.allocator import Allocator, num_skipped_tokens, num_unread_tokens
from kvconform.engine.calls import ConnectorBrokeError, call, optional, shown
from kvconform.engine.memory import Difference, RankMemory
from kvconform.engine.requests import LiveRequest, Sample
from kvconform.engine.transfers import Gate
from kvconform.engine.watch import WriteWatch
from kvconform.ports import NULL_BLOCK, Layout, StepResult, WorkerSide


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a step does for one request: compute positions ``[start, end)`` over ``rows``.

    From ``end`` to ``wrong_end`` it computes drafts that are rejected, or tokens after the stop token.
    """

    request: LiveRequest
    start: int
    end: int
    rows: tuple[tuple[int, ...], ...]
    wrong_end: int = 0
    synchronous_boundary: int = 0
    """Tokens of a hit that must be in place once ``start_load_kv`` returns; 0 for none."""
    replays: bool = False
    """The whole prompt was a hit and its last token is computed again: its window reaches one
    token below what is retained for the boundary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A step, decided: what every rank gets.

    ``taken`` are blocks that changed their owner; ``finished`` are requests that ended since the
    last step; ``samples`` are the requests whose step yields tokens, with their epoch, which a
    preemption raises, and what it yields.
    """

    number: int
    metadata: bytes
    taken: frozenset[int]
    work: tuple[Work, ...]
    finished: frozenset[str]
    samples: tuple[tuple[LiveRequest, int, Sample], ...]


ReadSink = Callable[[LiveRequest, int, Difference | None], None]
"""Called with (request, slots compared, first difference)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """A comparison that found wrong blocks, before the rank has said which loads failed."""

    sink: ReadSink
    request: LiveRequest
    slots: int
    difference: Difference
    wrong: tuple[tuple[int, Difference], ...]


class Rank:
    """Runs steps on one rank's memory.

    ``failed`` are pool blocks whose load failed, as the rank has said, and which are to be
    computed again: what a step reads there meanwhile goes into no answer.
    """

    def __init__(
        self,
        layout: Layout,
        memory: RankMemory,
        worker: WorkerSide,
        gate: Gate,
        watch: WriteWatch,
    ) -> None:
        self.layout = layout
        self.memory = memory
        self.gate = gate
        self.failed: set[int] = set()
        self._worker = worker
        self._findings: list[_Finding] = []
        self._watch = watch

    def run(
        self,
        plan: Plan,
        on_load: ReadSink,
        on_read: ReadSink,
        destinations: frozenset[tuple[int, int]] = frozenset(),
    ) -> StepResult:
        """One step, in the order that the device sees it; returns the rank's report.

        Loads may fill ``destinations``, which are (group, block id), and nothing else.

        Stores of the last step may be flushed in ``handle_preemptions``; only after it are the
        blocks that changed their owner overwritten.
        """
        meta = call("build_connector_meta", pickle.loads, plan.metadata)
        self._call("handle_preemptions", meta)
        self.memory.poison(plan.taken)
        self.failed -= plan.taken
        self._call("bind_connector_metadata", meta)
        if destinations:
            self._watch.begin()
        self._call("start_load_kv")
        if destinations:
            self._watch.end(destinations)
        for part in plan.work:
            if part.synchronous_boundary:
                self._find(on_load, part, self._retained_ranges(part.synchronous_boundary))
            self._find(on_read, part, self._attended_ranges(part))
        for part in plan.work:
            for group in range(len(self.layout.groups)):
                self.memory.write(group, part.rows[group], part.request.prefix, range(part.start, part.end))
                if part.request.wrong is not None:
                    beyond = range(part.end, part.wrong_end)
                    self.memory.write(group, part.rows[group], part.request.wrong, beyond)
        self._call("wait_for_save")
        call("TransferGate.perform", self.gate.tick)
        result = self._report(set(plan.finished))
        self.failed |= result.failed_blocks
        self._tell_findings()
        self._call("clear_connector_metadata")
        return result

    def _find(self, sink: ReadSink, part: Work, ranges: list[range]) -> None:
        """Tell what a comparison finds, at once if all is right.

        A block whose load failed is told of at the end of the step at the latest, and is then no
        finding.
        """
        slots, difference = self._compare(part.request, part.rows, ranges)
        if difference is None:
            sink(part.request, slots, None)
            return
        wrong = []
        for position, group in enumerate(self.layout.groups):
            row, size = part.rows[position], group.block_size
            for index in sorted({token // size for token in ranges[position]}):
                tokens = range(max(index * size, ranges[position].start), min((index + 1) * size, ranges[position].stop))
                _, found = self.memory.compare(position, row, part.request.prefix, tokens)
                if found is not None:
                    wrong.append((row[index], found))
        finding = _Finding(
            sink=sink, request=part.request, slots=slots, difference=difference, wrong=tuple(wrong)
        )
        self._findings.append(finding)

    def _tell_findings(self) -> None:
        findings, self._findings = self._findings, []
        for finding in findings:
            left = [found for block, found in finding.wrong if block not in self.failed]
            if left:
                whole = len(left) == len(finding.wrong)
                finding.sink(finding.request, finding.slots, finding.difference if whole else left[0])

    def retained(
        self, request: LiveRequest, rows: tuple[tuple[int, ...], ...], boundary: int
    ) -> tuple[int, Difference | None]:
        """Compare every block that the allocator made room for, as far as ``boundary``.

        Where nothing below the boundary is retained, its own block is no part of the hit.
        """
        return self._compare(request, rows, self._retained_ranges(boundary))

    def _retained_ranges(self, boundary: int) -> list[range]:
        ranges = []
        for group in self.layout.groups:
            start = num_skipped_tokens(group, boundary)
            first = start - start % group.block_size if start < boundary else boundary
            ranges.append(range(first, boundary))
        return ranges

    def _attended_ranges(self, part: Work) -> list[range]:
        """What the step's queries read from before the step."""
        # Where drafts went beyond the stop token there is nobody whose bytes could be expected.
        start = min(part.start, len(part.request.prefix))
        ranges = [
            range(num_unread_tokens(group, start), start) for group in self.layout.groups
        ]
        for position, tokens in enumerate(ranges):
            group = self.layout.groups[position]
            needed = {token // group.block_size for token in tokens}
            row = part.rows[position]
            if all(index < len(row) and row[index] != NULL_BLOCK for index in needed):
                continue
            if not part.replays:
                # The allocator of the suite dropped a block that a query reads: a fault of ours.
                raise AssertionError(f"group {group.name} does not hold all of {tokens}, which is read")
            raise ConnectorBrokeError(
                "get_num_new_matched_tokens",
                f"a hit of all {part.end} tokens leaves the last one to compute, which reads token "
                f"{tokens.start} of group {group.name}, of which such a hit keeps no block: "
                f"expected a hit of {part.end - 1}",
            )
        return ranges

    def _compare(
        self,
        request: LiveRequest,
        rows: tuple[tuple[int, ...], ...],
        ranges: list[range],
    ) -> tuple[int, Difference | None]:
        slots, first = 0, None
        for group, tokens in enumerate(ranges):
            row = rows[group]
            if self.failed:
                row = tuple(NULL_BLOCK if block in self.failed else block for block in row)
            compared, difference = self.memory.compare(group, row, request.prefix, tokens)
            slots += compared * self.layout.groups[group].layers
            first = first or difference
        return slots, first

    def _report(self, finished: set[str]) -> StepResult:
        answer = self._call("get_finished", finished)
        if answer is None:
            answer = (None, None)
        if not (isinstance(answer, tuple) and len(answer) == 2):  # noqa: PLR2004 - a pair
            raise ConnectorBrokeError("get_finished", f"returned {shown(answer)}, expected a pair of sets of request ids")
        stores, loads = (self._ids(part) for part in answer)
        failed = self._call("get_block_ids_with_load_errors") or ()
        if not isinstance(failed, (set, frozenset, list, tuple)) or not all(isinstance(b, int) for b in failed):
            raise ConnectorBrokeError(
                "get_block_ids_with_load_errors", f"returned {shown(failed)}, expected a set of block ids"
            )
        return StepResult(
            rank=self.memory.rank,
            finished_stores=stores,
            finished_loads=loads,
            failed_blocks=frozenset(failed),
            worker_meta=self._call("build_connector_worker_meta"),
        )

    @staticmethod
    def _ids(part: Any) -> frozenset[str]:
        if part is None:
            return frozenset()
        if isinstance(part, (set, frozenset, list, tuple)) and all(isinstance(i, str) for i in part):
            return frozenset(part)
        raise ConnectorBrokeError("get_finished", f"returned {shown(part)}, expected a set of request ids")

    def _call(self, name: str, *args: Any) -> Any:
        return call(name, optional(self._worker, WorkerSide, name), *args)


def rows_of(allocator: Allocator, request_id: str) -> tuple[tuple[int, ...], ...]:
    """A snapshot of a request's rows, as a step sees them."""
    return tuple(tuple(row) for row in allocator.holding(request_id).rows)
