"""One rank's part of a step: the worker side of a connector around the forward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from vllm.v1.outputs import KVConnectorOutput

from kvconform.engine.allocator import num_skipped_tokens, num_unread_tokens
from kvconform.engine.calls import ConnectorBrokeError, call
from kvconform.engine.memory import Difference, RankMemory
from kvconform.engine.transfers import Gate, ReportQueue
from kvconform.ports import Layout
from kvconform_vllm.observation import WORKER_HOOKS, Rows, guard
from kvconform_vllm.releases import Release
from kvconform_vllm.requests import Live

Sink = Callable[[Live, int, int, Difference | None], None]
"""Called with (request, boundary, slots compared, first difference)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a step does for one request: compute positions ``[start, end)`` over ``rows``.

    From ``end`` to ``wrong_end`` it computes drafts that are rejected, or tokens after the stop
    token.  ``boundary`` tokens of a hit must be in place before it does; 0 if nothing was loaded for it.
    """

    live: Live
    start: int
    end: int
    rows: Rows
    boundary: int = 0
    wrong_end: int = 0
    sampled_end: int = 0
    """As ``end``, and beyond the stop token: a device does not know where that is."""


def as_kv_caches(layout: Layout, memory: RankMemory) -> dict[str, torch.Tensor]:
    """The rank's memory as a model runner registers it: (num_blocks, heads, block_size, K and V)."""
    return {
        name: memory.caches[name].view(torch.int8).view(layout.num_blocks, 1, group.block_size, -1)
        for group in layout.groups
        for name in group.layer_names()
    }


class Rank:
    """Runs the worker side of a connector, in the order of vLLM's model runners."""

    def __init__(self, layout: Layout, memory: RankMemory, gate: Gate, release: Release) -> None:
        self.layout = layout
        self.memory = memory
        self.gate = gate
        self.reports: ReportQueue[KVConnectorOutput] = ReportQueue()
        self.kv_caches = as_kv_caches(layout, memory)
        self._release = release
        self._worker: Any = None
        self._context: Any = None

    def attach(self, worker: Any, context: Any) -> None:
        """Register the rank's memory with the connector's worker side."""
        self._worker, self._context = worker, context
        guard(worker, WORKER_HOOKS)
        worker.register_kv_caches(self.kv_caches)

    @property
    def worker(self) -> Any:
        """The connector's worker side."""
        return self._worker

    def run(
        self, output: Any, work: Sequence[Work], taken: set[int], on_load: Sink, on_read: Sink
    ) -> None:
        """One step; its report goes into the queue.

        Blocks that changed their owner are overwritten once ``handle_preemptions`` has flushed
        what still reads them.  Asynchronous loads start after the forward pass was launched.
        """
        worker, metadata = self._worker, output.kv_connector_metadata
        worker.handle_preemptions(metadata)
        worker.bind_connector_metadata(metadata)
        self.memory.poison(taken)
        if output.has_sync_kv_loads:
            worker.start_load_kv(self._context)
        self._forward(work, on_load, on_read)
        if not output.has_sync_kv_loads:
            worker.start_load_kv(self._context)
        worker.wait_for_save()
        call("TransferGate.perform", self.gate.tick)
        self._report(set(output.finished_req_ids))
        worker.clear_connector_metadata()

    def _forward(self, work: Sequence[Work], on_load: Sink, on_read: Sink) -> None:
        if not work:
            return
        for name in self.kv_caches:
            self._worker.wait_for_layer_load(name)
        for part in work:
            if part.boundary:
                slots, difference = self.retained(part.live, part.rows, part.boundary)
                on_load(part.live, part.boundary, slots, difference)
        for part in work:
            for group, row in enumerate(part.rows):
                self.memory.write(group, row, part.live.prefix, range(part.start, part.end))
                if part.live.wrong is not None:
                    self.memory.write(group, row, part.live.wrong, range(part.end, part.wrong_end))
        # A layer writes before it reads: a request may share what another computes in this step.
        for part in work:
            slots, difference = self._attended(part)
            on_read(part.live, part.start, slots, difference)
        for name, layer in self.kv_caches.items():
            self._worker.save_kv_layer(name, layer, None)

    def retained(self, live: Live, rows: Rows, boundary: int) -> tuple[int, Difference | None]:
        """Compare every held slot below ``boundary``: all that the allocator made room for.

        Where nothing below the boundary is retained, its own block is no part of the hit.
        """
        kept = [num_skipped_tokens(group, boundary) < boundary for group in self.layout.groups]
        return self._compare(live, rows, [range(boundary if one else 0) for one in kept])

    def _attended(self, part: Work) -> tuple[int, Difference | None]:
        """Compare what the step's queries read from before the step."""
        ranges = []
        # Where drafts went beyond the stop token there is nobody whose bytes could be expected.
        start = min(part.start, len(part.live.prefix))
        for position, group in enumerate(self.layout.groups):
            oldest = num_unread_tokens(group, start)
            row = part.rows[position]
            if 0 in row[oldest // group.block_size : -(-start // group.block_size)]:
                raise ConnectorBrokeError(
                    "engine", f"a step reads a block of group {group.name} that it does not hold"
                )
            ranges.append(range(oldest, start))
        return self._compare(part.live, part.rows, ranges)

    def _compare(
        self, live: Live, rows: Rows, ranges: Sequence[range]
    ) -> tuple[int, Difference | None]:
        slots, first = 0, None
        for group, tokens in enumerate(ranges):
            compared, difference = self.memory.compare(group, rows[group], live.prefix, tokens)
            slots += compared * self.layout.groups[group].layers
            first = first or difference
        return slots, first

    def _report(self, finished: set[str]) -> None:
        stores, loads, failed = self._release.transfer_results(self._worker, finished)
        output = KVConnectorOutput(finished_sending=stores or None, finished_recving=loads or None)
        output.invalid_block_ids = set(self._worker.get_block_ids_with_load_errors() or ())
        output.kv_connector_worker_meta = self._worker.build_connector_worker_meta()
        self._release.report_failures(output, failed)
        # An empty report says nothing, and would only delay those behind it.
        if not output.is_empty():
            self.reports.send(output)
