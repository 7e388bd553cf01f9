"""Faults of readiness: answers and reports that come too early, too late or never."""

from __future__ import annotations

from typing import Any

from kvconform.ports import ChunkState, Request
from kvconform_reference.lookup import LATER, Lookup
from kvconform_reference.mutants.base import Mutant, Patched
from kvconform_reference.scheduler import ReferenceScheduler
from kvconform_reference.worker import ReferenceWorker


class _SynchronousScheduler(ReferenceScheduler):
    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        tokens, _ = super().get_num_new_matched_tokens(request, num_computed_tokens)
        return tokens, False


class _SynchronousWorker(ReferenceWorker):
    """Waits for its loads where they start."""

    def start_load_kv(self) -> None:
        super().start_load_kv()
        self.flush(tuple(transfer.job_id for transfer in self.metadata.loads))


class _SynchronousLoad(Patched):
    scheduler_kind = _SynchronousScheduler
    worker_kind = _SynchronousWorker


class _SilentWorker(ReferenceWorker):
    """Reports no load, unless it is made to speak."""

    speaks = False

    def get_finished(self, finished_request_ids: set[str]) -> tuple[set[str], set[str]]:
        stores, loads = super().get_finished(finished_request_ids)
        return stores, loads if self.speaks else set()


class _LoadNeverReported(Patched):
    worker_kind = _SilentWorker


class _ReportsOnOneRank(Patched):
    worker_kind = _SilentWorker

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        first = self.workers[0]
        if isinstance(first, _SilentWorker):
            first.speaks = True


class _EarlyWorker(ReferenceWorker):
    """Reports the loads of a step although their copies are only submitted."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._early: set[str] = set()

    def start_load_kv(self) -> None:
        super().start_load_kv()
        self._early = {transfer.request_id for transfer in self.metadata.loads}

    def get_finished(self, finished_request_ids: set[str]) -> tuple[set[str], set[str]]:
        stores, _ = super().get_finished(finished_request_ids)
        return stores, self._early


class _ReportedEarly(Patched):
    worker_kind = _EarlyWorker


class _Stubborn(ReferenceScheduler):
    """Repeats its first answer of one kind to the same request for ever."""

    repeated: int | None = LATER

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._said: set[str] = set()

    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        tokens, is_async = super().get_num_new_matched_tokens(request, num_computed_tokens)
        if tokens == self.repeated:
            self._said.add(request.request_id)
        return (self.repeated, False) if request.request_id in self._said else (tokens, is_async)


class _LaterForEver(Patched):
    scheduler_kind = _Stubborn


class _StubbornOnMiss(_Stubborn):
    repeated = 0


class _MissForEver(Patched):
    scheduler_kind = _StubbornOnMiss


class _OneStateIsReady(Lookup):
    """Chunks that are on their way in one direction count as ready."""

    taken_for_ready = ChunkState.PENDING

    def _in_flight(
        self, request: Request, group: int, boundary: int, local_tokens: int
    ) -> bool:
        demand = self.demands[group]
        chunks = list(self._beyond_local(demand, demand.needed(boundary), local_tokens))
        keys = (self.key(request, group, chunk) for chunk in chunks)
        states = {self.manager.state(key) for key in keys if key is not None}
        return bool(states & {ChunkState.PENDING, ChunkState.LOADING} - {self.taken_for_ready})


class _PendingServed(Patched):
    lookup_kind = _OneStateIsReady


class _LoadingIsReady(_OneStateIsReady):
    taken_for_ready = ChunkState.LOADING


class _LoadingLoadedAgain(Patched):
    lookup_kind = _LoadingIsReady


class _ReadyOnly(Lookup):
    """A chunk whose store is in flight counts as missing."""

    def _usable(self, request: Request, group: int, chunk: int, first_block: int) -> bool:
        key = self.key(request, group, chunk)
        if key is not None and self.manager.state(key) is ChunkState.PENDING:
            return False
        return super()._usable(request, group, chunk, first_block)


class _PendingIsMissing(Patched):
    lookup_kind = _ReadyOnly


TIMING = (
    Mutant(
        name="synchronous-load",
        fault="Every load is waited for in the step in which it starts.",
        clauses=("RDY-2",),
        factory=_SynchronousLoad,
    ),
    Mutant(
        name="load-never-reported",
        fault="Loads complete, and no rank ever says so.",
        clauses=("TRM-1",),
        factory=_LoadNeverReported,
        classes=("C9",),
    ),
    Mutant(
        name="reports-on-one-rank",
        fault="Only rank 0 reports its loads.",
        clauses=("TRM-1",),
        factory=_ReportsOnOneRank,
        seed_cases=0,
        classes=("C9",),
    ),
    Mutant(
        name="reported-early",
        fault="A load is reported in the step that submits it, done or not.",
        clauses=("COV-1",),
        factory=_ReportedEarly,
        seed_cases=0,
        classes=("C5",),
    ),
    Mutant(
        name="later-for-ever",
        fault="A request that was once told to ask again later is told so for ever.",
        clauses=("RDY-1",),
        factory=_LaterForEver,
        classes=("C9",),
    ),
    Mutant(
        name="miss-for-ever",
        fault="A request that once missed never hits again.",
        clauses=("RDY-1",),
        factory=_MissForEver,
        classes=("C9",),
    ),
    Mutant(
        name="pending-served",
        fault="A chunk whose store is in flight is taken for ready.",
        clauses=("COV-2",),
        factory=_PendingServed,
        classes=("C1",),
    ),
    Mutant(
        name="pending-is-missing",
        fault="A chunk whose store is in flight makes a miss instead of later.",
        clauses=("COV-3",),
        factory=_PendingIsMissing,
        classes=("C9",),
    ),
    Mutant(
        name="loading-loaded-again",
        fault="A chunk that is being loaded for one request is loaded again for the next.",
        clauses=("COV-3",),
        factory=_LoadingLoadedAgain,
        classes=("C9",),
    ),
)
