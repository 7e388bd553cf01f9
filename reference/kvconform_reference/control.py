"""Chunk control: one chunk into one state, through the manager and the copiers."""

from __future__ import annotations

from collections.abc import Sequence

from kvconform.ports import ChunkState, Direction, Request
from kvconform_reference.lookup import Lookup
from kvconform_reference.manager import Chunk, ChunkManager, OffloadKey
from kvconform_reference.transfer import Part, Transfer
from kvconform_reference.worker import ReferenceWorker


class ReferenceChunkControl:
    """Seeds chunks as a store would, and pins them as a load would."""

    def __init__(
        self, lookup: Lookup, manager: ChunkManager, workers: Sequence[ReferenceWorker]
    ) -> None:
        self._lookup = lookup
        self._manager = manager
        self._workers = workers
        self._pending: dict[OffloadKey, tuple[Chunk, Transfer]] = {}
        self._loading: dict[OffloadKey, list[Chunk]] = {}

    def seed(
        self, request: Request, group: int, chunk: int, state: ChunkState, block_ids: Sequence[int]
    ) -> None:
        """Prepare the store; unless it stays pending, copy and complete it; pin it if loading."""
        key = self._key(request, group, chunk)
        (taken,) = self._manager.prepare_store([(key, 0)])
        part = Part(
            group=group,
            blocks=tuple(block_ids),
            slots=(taken.slot,) * len(block_ids),
            subs=tuple(range(len(block_ids))),
        )
        self._pending[key] = taken, Transfer(
            job_id=-1, direction=Direction.STORE, parts=(part,), names=((taken.slot, key),)
        )
        if state is ChunkState.PENDING:
            return
        self._store(key)
        if state is ChunkState.LOADING:
            self._loading[key] = self._manager.prepare_load([key])

    def finish(self, request: Request, group: int, chunk: int) -> None:
        """Complete the pending store or the other load."""
        key = self._key(request, group, chunk)
        if key in self._pending:
            self._store(key)
        else:
            self._manager.complete_load(self._loading.pop(key))

    def drop(self, request: Request, group: int, chunk: int) -> None:
        """Remove the chunk from the books."""
        key = self._key(request, group, chunk)
        self._pending.pop(key, None)
        self._manager.drop(key)

    def _store(self, key: OffloadKey) -> None:
        taken, transfer = self._pending.pop(key)
        for worker in self._workers:
            worker.copier.start(transfer).wait()
        self._manager.complete_store(taken)

    def _key(self, request: Request, group: int, chunk: int) -> OffloadKey:
        key = self._lookup.key(request, group, chunk)
        if key is None:
            raise LookupError(f"chunk {chunk} of group {group} lies beyond {request.request_id!r}")
        return key
