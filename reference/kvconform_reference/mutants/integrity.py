"""Faults of content: what a stored chunk holds."""

from __future__ import annotations

from collections.abc import Sequence

from kvconform.ports import Request, Step
from kvconform_reference.connector import ReferenceConnector
from kvconform_reference.demand import GroupDemand
from kvconform_reference.lookup import Lookup
from kvconform_reference.manager import ChunkManager
from kvconform_reference.mutants.base import Mutant
from kvconform_reference.scheduler import ReferenceScheduler


class _NoFences(ReferenceScheduler):
    def fences(self, step: Step) -> tuple[int, ...]:
        del step
        return ()


class _NoFence(ReferenceConnector):
    def make_scheduler(
        self, demands: Sequence[GroupDemand], manager: ChunkManager
    ) -> ReferenceScheduler:
        return _NoFences(self.layout, demands, self.make_mask(demands), manager)


class _Trusting(Lookup):
    """Every block of a stored chunk counts as valid."""

    def _usable(self, request: Request, group: int, chunk: int, first_block: int) -> bool:
        del first_block
        return super()._usable(request, group, chunk, 1 << 30)


class _PartialChunkTrusted(ReferenceConnector):
    def make_scheduler(
        self, demands: Sequence[GroupDemand], manager: ChunkManager
    ) -> ReferenceScheduler:
        scheduler = super().make_scheduler(demands, manager)
        scheduler.lookup = _Trusting(
            demands=scheduler.demands, hash_block=self.layout.hash_block, manager=manager
        )
        return scheduler


INTEGRITY = (
    Mutant(
        name="no-fence",
        fault="A store in flight is not completed before its source blocks get a new owner.",
        clauses=("COV-1",),
        factory=_NoFence,
    ),
    Mutant(
        name="partial-chunk-trusted",
        fault="A chunk that was stored without its first blocks is served as if it were whole.",
        clauses=("COV-1", "COV-2"),
        factory=_PartialChunkTrusted,
    ),
)
