"""Control of single chunks for OffloadingConnector, by its CPU manager's own methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vllm.v1.kv_offload.base import ReqContext, make_offload_key

from kvconform.ports import ChunkState, Direction
from kvconform_vllm.releases import Release
from kvconform_vllm.transfers import GatedWorker, Part


class OffloadingChunks:
    """Seeds chunks as a store would, and pins them as another request's load would.

    One private book of vLLM is written: the set of chunks that are being loaded.
    """

    def __init__(self, side: Any, workers: Sequence[GatedWorker], release: Release) -> None:
        self._side = side
        self._manager = side.manager
        self._workers = workers
        self._release = release
        self._context = ReqContext(req_id="kvconform-seed")
        self._manager.on_new_request(self._context)
        self._loading: set[bytes] = set()

    def seed(
        self, request: Any, group: int, chunk: int, state: ChunkState, blocks: Sequence[int]
    ) -> None:
        """Store the chunk from ``blocks``; leave it pending, or pin it, as ``state`` says."""
        key = self._key(request, group, chunk)
        prepared = self._manager.prepare_store([key], self._context)
        if prepared is None or list(prepared.keys_to_store) != [key]:
            raise AssertionError(f"no room for chunk {chunk} of group {group}, or it is there")
        (place,) = (int(chunk_id) for chunk_id in prepared.store_spec.block_ids)
        part = Part(
            group=group,
            blocks=tuple(blocks),
            chunks=(place,) * len(blocks),
            subs=tuple(range(len(blocks))),
        )
        for worker in self._workers:
            worker.copy(Direction.STORE, [part])
        if state is ChunkState.PENDING:
            return
        self._manager.complete_store([key], self._context)
        if state is ChunkState.LOADING:
            self._manager.prepare_load([key], self._context)
            self._loading.add(key)
            self._side._chunks_being_loaded.add(key)  # noqa: SLF001

    def finish(self, request: Any, group: int, chunk: int) -> None:
        """End the transfer in flight: the chunk is ready."""
        key = self._key(request, group, chunk)
        if key in self._loading:
            self._loading.discard(key)
            self._manager.complete_load([key], self._context)
            self._side._chunks_being_loaded.discard(key)  # noqa: SLF001
        else:
            self._manager.complete_store([key], self._context)

    def in_use(self, request: Any, group: int, chunk: int) -> bool:
        """Whether a load has the chunk pinned, so that no eviction takes it."""
        found = self._manager._policy.get(self._key(request, group, chunk))  # noqa: SLF001
        return getattr(found, "ref_cnt", 0) > 0

    def drop(self, request: Any, group: int, chunk: int) -> None:
        """The chunk is gone, as if evicted."""
        self._release.forget_chunk(self._manager, self._key(request, group, chunk))

    def _key(self, request: Any, group: int, chunk: int) -> bytes:
        per_chunk = self._side.config.kv_group_configs[group].hashes_per_chunk
        return bytes(make_offload_key(request.block_hashes[(chunk + 1) * per_chunk - 1], group))
