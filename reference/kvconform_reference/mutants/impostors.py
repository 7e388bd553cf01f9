"""Connectors that are none: one does nothing, one claims that all is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvconform.ports import BlockTable, ChunkState, Request, Step
from kvconform_reference.connector import ReferenceConnector
from kvconform_reference.demand import GroupDemand
from kvconform_reference.manager import ChunkManager
from kvconform_reference.mutants.base import Mutant
from kvconform_reference.scheduler import ReferenceScheduler
from kvconform_reference.worker import ReferenceWorker, StepMetadata


class _IdleScheduler(ReferenceScheduler):
    """Never hits, never stores."""

    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        del request, num_computed_tokens
        return 0, False

    def build_connector_meta(self, step: Step) -> StepMetadata:
        del step
        return StepMetadata()


class _IdleControl:
    """Takes every order and carries out none."""

    def seed(
        self, request: Request, group: int, chunk: int, state: ChunkState, block_ids: Sequence[int]
    ) -> None:
        """Do nothing."""

    def finish(self, request: Request, group: int, chunk: int) -> None:
        """Do nothing."""

    def drop(self, request: Request, group: int, chunk: int) -> None:
        """Do nothing."""


class _Null(ReferenceConnector):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.chunk_control = _IdleControl()

    def make_scheduler(
        self, demands: Sequence[GroupDemand], manager: ChunkManager
    ) -> ReferenceScheduler:
        return _IdleScheduler(self.layout, demands, self.make_mask(demands), manager)


class _LyingScheduler(_IdleScheduler):
    """Everything hits."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.said: list[str] = []

    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        size = self.layout.hash_block
        boundary = (len(request.token_ids) - 1) // size * size
        return max(0, boundary - num_computed_tokens), True

    def update_state_after_alloc(
        self, request: Request, blocks: BlockTable, num_external_tokens: int
    ) -> None:
        del blocks
        if num_external_tokens:
            self.said.append(request.request_id)


class _LyingWorker(ReferenceWorker):
    """Every load is complete at once, with no byte moved."""

    said: list[str]

    def get_finished(self, finished_request_ids: set[str]) -> tuple[set[str], set[str]]:
        del finished_request_ids
        done = set(self.said)
        self.said.clear()
        return set(), done


class _Lying(_Null):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        scheduler = self.scheduler
        for worker in self.workers:
            if isinstance(worker, _LyingWorker) and isinstance(scheduler, _LyingScheduler):
                worker.said = scheduler.said

    def make_scheduler(
        self, demands: Sequence[GroupDemand], manager: ChunkManager
    ) -> ReferenceScheduler:
        return _LyingScheduler(self.layout, demands, self.make_mask(demands), manager)

    def make_worker(self, num_slots: int, gate: Any) -> ReferenceWorker:
        return _LyingWorker(self.layout, self.layout.blocks_per_chunk, num_slots, gate)


IMPOSTORS = (
    Mutant(
        name="null",
        fault="Claims everything and does nothing.",
        clauses=("COV-3", "COV-5"),
        factory=_Null,
        seed_cases=102,
        classes=("C2",),
    ),
    Mutant(
        name="lying",
        fault="Says that everything is there and moves no byte.",
        clauses=("COV-1",),
        factory=_Lying,
        seed_cases=102,
        classes=("C4",),
    ),
)
