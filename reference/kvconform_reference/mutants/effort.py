"""Faults of what a connector costs."""

from __future__ import annotations

from dataclasses import dataclass

from kvconform.ports import Request, Step
from kvconform_reference.lookup import Lookup
from kvconform_reference.manager import Chunk, ChunkManager
from kvconform_reference.mutants.base import Mutant
from kvconform_reference.mutants.capacity import Managed
from kvconform_reference.scheduler import ReferenceScheduler
from kvconform_reference.transfer import Transfer
from kvconform_reference.worker import StepMetadata


class _FromTheFrontLookup(Lookup):
    """Asks for every chunk by going through all chunks before it once more."""

    def _usable(self, request: Request, group: int, chunk: int, first_block: int) -> bool:
        for before in range(chunk):
            self.key(request, group, before)
        return super()._usable(request, group, chunk, first_block)


class _QuadraticLookup(Managed):
    lookup_kind = _FromTheFrontLookup


class _AllOverScheduler(ReferenceScheduler):
    """Goes through all chunks of a request in each of its steps, stored long ago or not."""

    def build_connector_meta(self, step: Step) -> StepMetadata:
        for scheduled in step.scheduled:
            for key in self.prefix(scheduled.request):
                self.manager.get(key)
        return super().build_connector_meta(step)


class _ScansEachStep(Managed):
    scheduler_kind = _AllOverScheduler


class _SortingManager(ChunkManager):
    """Sorts all chunks for each one that it evicts."""

    def _make_room(self, count: int, access: int) -> None:
        for _ in range(max(0, count)):
            victims = [chunk for chunk in self._chunks.values() if self.may_evict(chunk, access)]
            victims.sort(key=lambda chunk: chunk.rank)
            for chunk in victims[:1]:
                self._evict(chunk)


class _ScansToEvict(Managed):
    manager_kind = _SortingManager


@dataclass(frozen=True, slots=True, kw_only=True)
class _History(StepMetadata):
    before: tuple[Transfer, ...] = ()


class _TalkativeScheduler(ReferenceScheduler):
    """Sends the stores of all steps with each."""

    _before: tuple[Transfer, ...] = ()

    def build_connector_meta(self, step: Step) -> StepMetadata:
        meta = super().build_connector_meta(step)
        self._before = (*self._before, *meta.stores)
        return _History(stores=meta.stores, loads=meta.loads, flush=meta.flush, before=self._before)


class _SendsHistory(Managed):
    scheduler_kind = _TalkativeScheduler


class _RollCallManager(ChunkManager):
    """Looks at every chunk in memory whenever a store completes."""

    def complete_store(self, chunk: Chunk, *, success: bool = True) -> None:
        sum(known.loads for known in self._chunks.values())
        super().complete_store(chunk, success=success)


class _RollCall(Managed):
    manager_kind = _RollCallManager


EFFORT = (
    Mutant(
        name="quadratic-lookup",
        fault="A lookup goes through all chunks before each chunk once more.",
        clauses=("CST-1",),
        factory=_QuadraticLookup,
        classes=("C18",),
    ),
    Mutant(
        name="scans-each-step",
        fault="In each step of a request all of its chunks are gone through.",
        clauses=("CST-1",),
        factory=_ScansEachStep,
        classes=("C18",),
    ),
    Mutant(
        name="scans-to-evict",
        fault="For each chunk that is evicted all chunks in memory are sorted.",
        clauses=("CST-1",),
        factory=_ScansToEvict,
        classes=("C18", "C15"),
    ),
    Mutant(
        name="roll-call",
        fault="Whenever a store completes every chunk in memory is looked at.",
        clauses=("CST-1",),
        factory=_RollCall,
        classes=("C18",),
    ),
    Mutant(
        name="sends-history",
        fault="Each step's metadata has the stores of all steps before.",
        clauses=("CST-2",),
        factory=_SendsHistory,
        classes=("C18",),
    ),
)
