"""Faults of requests that end early or come again, of ranks that lag behind, and of convoys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kvconform.ports import BlockTable, Direction, Request, ScheduledRequest, Step, StepResult
from kvconform_reference.manager import Chunk, ChunkManager, OffloadKey
from kvconform_reference.mutants.base import Mutant, Patched
from kvconform_reference.scheduler import Job, ReferenceScheduler
from kvconform_reference.transfer import Part, Transfer
from kvconform_reference.worker import ReferenceWorker, StepMetadata

_Ended = tuple[bool, Mapping[str, object] | None]


class _HastyWorker(ReferenceWorker):
    """Reports a load when its request ends, and again when it is complete."""

    def get_finished(self, finished_request_ids: set[str]) -> tuple[set[str], set[str]]:
        flying = {transfer.request_id for transfer in self._loading.values()}
        stores, loads = super().get_finished(finished_request_ids)
        return stores, loads | (flying & finished_request_ids)


class _AbortReportedTwice(Patched):
    worker_kind = _HastyWorker


class _ForgetfulWorker(ReferenceWorker):
    """Says nothing more of a request that has ended."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._ended: set[str] = set()

    def get_finished(self, finished_request_ids: set[str]) -> tuple[set[str], set[str]]:
        self._ended |= finished_request_ids
        stores, loads = super().get_finished(finished_request_ids)
        return stores, loads - self._ended


class _AbortedLoadUnreported(Patched):
    worker_kind = _ForgetfulWorker


class _TalkativeWorker(ReferenceWorker):
    def get_finished(self, finished_request_ids: set[str]) -> tuple[set[str], set[str]]:
        _, loads = super().get_finished(finished_request_ids)
        return set(finished_request_ids), loads


class _StoresReportedUnasked(Patched):
    worker_kind = _TalkativeWorker


class _StrictScheduler(ReferenceScheduler):
    def request_finished(self, request: Request, blocks: BlockTable) -> _Ended:
        del blocks
        del self._cursors[request.request_id]
        return False, None


class _AbortUnknown(Patched):
    scheduler_kind = _StrictScheduler


class _PinningScheduler(ReferenceScheduler):
    """Forgets the load of a request that ends, and with it to unpin its chunks."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._load_of: dict[str, int] = {}

    def update_state_after_alloc(
        self, request: Request, blocks: BlockTable, num_external_tokens: int
    ) -> None:
        super().update_state_after_alloc(request, blocks, num_external_tokens)
        self._load_of[request.request_id] = max(self._jobs[Direction.LOAD], default=-1)

    def request_finished(self, request: Request, blocks: BlockTable) -> _Ended:
        self._jobs[Direction.LOAD].pop(self._load_of.get(request.request_id, -1), None)
        return super().request_finished(request, blocks)

    def _reported(
        self, direction: Direction, job_id: int, rank: int, failed: frozenset[int]
    ) -> Job | None:
        known = job_id in self._jobs[direction]
        return super()._reported(direction, job_id, rank, failed) if known else None


class _AbortedLoadStaysPinned(Patched):
    scheduler_kind = _PinningScheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class _Withdrawing(StepMetadata):
    withdrawn: tuple[int, ...] = ()


class _StaleScheduler(ReferenceScheduler):
    """Withdraws the last store of a preempted request, and goes on behind it."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._last: dict[str, int] = {}

    def build_connector_meta(self, step: Step) -> StepMetadata:
        withdrawn = [self._last[name] for name in step.preempted if name in self._last]
        jobs = self._jobs[Direction.STORE]
        for job in (jobs.pop(job_id) for job_id in withdrawn if job_id in jobs):
            for chunk in job.chunks:
                self.manager.complete_store(chunk, success=False)
        self._last = {}
        kept = {name: self._cursors[name] for name in step.preempted if name in self._cursors}
        meta = super().build_connector_meta(step)
        self._cursors |= kept
        return _Withdrawing(
            stores=meta.stores, loads=meta.loads, flush=meta.flush, withdrawn=tuple(withdrawn)
        )

    def _store(self, scheduled: ScheduledRequest) -> Transfer | None:
        transfer = super()._store(scheduled)
        if transfer is not None:
            self._last[scheduled.request.request_id] = transfer.job_id
        return transfer


class _WithdrawingWorker(ReferenceWorker):
    def handle_preemptions(self, metadata: StepMetadata) -> None:
        if isinstance(metadata, _Withdrawing):
            self._deferred = [t for t in self._deferred if t.job_id not in metadata.withdrawn]
        super().handle_preemptions(metadata)


class _StaleCursor(Patched):
    scheduler_kind = _StaleScheduler
    worker_kind = _WithdrawingWorker


class _CursorsStay(ReferenceScheduler):
    def request_finished(self, request: Request, blocks: BlockTable) -> _Ended:
        del request, blocks
        return False, None


class _CursorOfLastLife(Patched):
    scheduler_kind = _CursorsStay


class _AheadScheduler(ReferenceScheduler):
    """Stores, when a request ends, the chunk that its last token completes."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._more: list[Transfer] = []

    def request_finished(self, request: Request, blocks: BlockTable) -> _Ended:
        tokens = len(request.token_ids)
        for group, demand in enumerate(self.demands):
            size, chunk = demand.group.block_size, tokens // demand.chunk - 1
            per_chunk = demand.chunk // size
            row = blocks.held(group, chunk * per_chunk, (chunk + 1) * per_chunk)
            if tokens % demand.chunk == 0 and len(row) == per_chunk:
                key = self._key(request, group, chunk)
                self._more += self._last_chunk(request.request_id, key, [b for _, b in row])
        return super().request_finished(request, blocks)

    def _last_chunk(
        self, name: str, key: OffloadKey, blocks: Sequence[int]
    ) -> Iterable[Transfer]:
        for chunk in self.manager.prepare_store([(key, 0)]):
            job = self._track(Direction.STORE, Job([chunk], name, frozenset(blocks)))
            slots, subs = (chunk.slot,) * len(blocks), tuple(range(len(blocks)))
            part = Part(group=key[1], blocks=tuple(blocks), slots=slots, subs=subs)
            yield Transfer(job_id=job, direction=Direction.STORE, parts=(part,))

    def build_connector_meta(self, step: Step) -> StepMetadata:
        meta = super().build_connector_meta(step)
        more, self._more = self._more, []
        return StepMetadata(stores=(*meta.stores, *more), loads=meta.loads, flush=meta.flush)


class _CursorAhead(Patched):
    scheduler_kind = _AheadScheduler


class _CarelessScheduler(ReferenceScheduler):
    def advance(self, scheduled: ScheduledRequest, offers: Sequence[Any]) -> None:
        del offers
        super().advance(scheduled, ())


class _RefusedChunkLost(Patched):
    scheduler_kind = _CarelessScheduler


class _FirstRankScheduler(ReferenceScheduler):
    """A store is complete when the first rank says so."""

    def update_connector_output(self, result: StepResult) -> None:
        done = [
            chunk
            for job_id in getattr(result.worker_meta, "stores", ())
            if not self._jobs[Direction.STORE][job_id].ranks
            for chunk in self._jobs[Direction.STORE][job_id].chunks
        ]
        for chunk in done:
            chunk.ready = not chunk.forgotten
        super().update_connector_output(result)


class _FirstRankStores(Patched):
    scheduler_kind = _FirstRankScheduler


class _ConvoyScheduler(ReferenceScheduler):
    """Lets one request a step go on, of those that it told to ask again later."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._deferred: set[str] = set()
        self._let_go = False

    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        answer = super().get_num_new_matched_tokens(request, num_computed_tokens)
        waited = request.request_id in self._deferred
        if answer[0] is None or (waited and self._let_go):
            self._deferred.add(request.request_id)
            return None, False
        self._let_go |= waited
        return answer

    def build_connector_meta(self, step: Step) -> StepMetadata:
        self._let_go = False
        return super().build_connector_meta(step)


class _Convoy(Patched):
    scheduler_kind = _ConvoyScheduler


class _UnpinnedManager(ChunkManager):
    def prepare_load(self, keys: Iterable[OffloadKey]) -> list[Chunk]:
        chunks = super().prepare_load(keys)
        super().complete_load(chunks)
        return chunks

    def complete_load(self, chunks: Iterable[Chunk]) -> None:
        del chunks


class _LoadNotPinned(Patched):
    manager_kind = _UnpinnedManager


class _RememberingScheduler(ReferenceScheduler):
    """A hit that found no room is told again, whatever has become of it."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._said: dict[str, tuple[int, bool]] = {}

    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        if request.request_id in self._said:
            boundary, is_async = self._said[request.request_id]
            return max(0, boundary - num_computed_tokens), is_async
        tokens, is_async = super().get_num_new_matched_tokens(request, num_computed_tokens)
        if tokens:
            self._said[request.request_id] = tokens + num_computed_tokens, is_async
        return tokens, is_async

    def update_state_after_alloc(
        self, request: Request, blocks: BlockTable, num_external_tokens: int
    ) -> None:
        self._said.pop(request.request_id, None)
        super().update_state_after_alloc(request, blocks, num_external_tokens)


class _VerdictRemembered(Patched):
    scheduler_kind = _RememberingScheduler


class _FirstRanksLayersWorker(ReferenceWorker):
    """Moves as many layers of each group as rank 0 has."""

    def register_kv_caches(self, kv_caches: Mapping[str, torch.Tensor]) -> None:
        names: list[str] = []
        for group in self._layout.groups:
            here = [name for name in group.layer_names() if name in kv_caches]
            names += here[: len(group.layer_names(0))]
        super().register_kv_caches({name: kv_caches[name] for name in names})


class _LayersOfFirstRank(Patched):
    worker_kind = _FirstRanksLayersWorker


LIFE = (
    Mutant(
        name="abort-reported-twice",
        fault="The load of an aborted request is reported at once, and again when it is complete.",
        clauses=("LIF-2",),
        factory=_AbortReportedTwice,
        classes=("C5", "C10"),
    ),
    Mutant(
        name="aborted-load-unreported",
        fault="The end of a load is not reported if its request was aborted, so that its blocks are kept for ever.",
        clauses=("LIF-3",),
        factory=_AbortedLoadUnreported,
        classes=("C10",),
    ),
    Mutant(
        name="stores-reported-unasked",
        fault="The end of its stores is reported for each request that ends, whether or not blocks are kept.",
        clauses=("LIF-2",),
        factory=_StoresReportedUnasked,
        classes=("C10",),
    ),
    Mutant(
        name="abort-unknown",
        fault="A request that is aborted before its first step is not known, and raises.",
        clauses=("LIF-1",),
        factory=_AbortUnknown,
        classes=("C10",),
    ),
    Mutant(
        name="aborted-load-stays-pinned",
        fault="Chunks that were being loaded for an aborted request count as being loaded for ever.",
        clauses=("TRM-1",),
        factory=_AbortedLoadStaysPinned,
        classes=("C9", "C10"),
    ),
    Mutant(
        name="stale-cursor",
        fault="The last store of a preempted request is withdrawn, and its cursor stays behind it.",
        clauses=("LIF-4",),
        factory=_StaleCursor,
        classes=("C3",),
    ),
    Mutant(
        name="cursor-of-last-life",
        fault="A request under an id that was used before goes on where the other one's stores ended.",
        clauses=("LIF-4",),
        factory=_CursorOfLastLife,
        classes=("C3",),
    ),
    Mutant(
        name="cursor-ahead",
        fault="A chunk that ends with the last token of an answer is stored, although that token has no KV.",
        clauses=("COV-1",),
        factory=_CursorAhead,
        classes=("C3",),
    ),
    Mutant(
        name="refused-chunk-lost",
        fault="A chunk for which there was no room is never offered again.",
        clauses=("LIF-4",),
        factory=_RefusedChunkLost,
        classes=("C3",),
    ),
    Mutant(
        name="first-rank-stores",
        fault="A store counts as complete when the first rank reports it.",
        clauses=("RNK-1",),
        factory=_FirstRankStores,
        classes=("C5",),
    ),
    Mutant(
        name="convoy",
        fault="Of the requests that wait for one load, one goes on in each step.",
        clauses=("TRM-2",),
        factory=_Convoy,
        classes=("C9",),
    ),
    Mutant(
        name="load-not-pinned",
        fault="Chunks that are being loaded give up their place if they are evicted.",
        clauses=("COV-1",),
        factory=_LoadNotPinned,
        classes=("C8",),
    ),
    Mutant(
        name="verdict-remembered",
        fault="A hit that found no room is told again, although its chunks are gone.",
        clauses=("COV-2",),
        factory=_VerdictRemembered,
        classes=("C7", "C8"),
    ),
    Mutant(
        name="layers-of-first-rank",
        fault="Each rank moves as many layers as rank 0 has.",
        clauses=("COV-1",),
        factory=_LayersOfFirstRank,
        classes=("C5",),
    ),
)
