"""The transfers of OffloadingConnector: vLLM's scheduler side, a worker of ours behind the gate.

vLLM's own CPU worker needs CUDA.  This one moves bytes by the connector's own transfer specs, and
every copy through the engine's gate, so that it reads its source when it completes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from vllm.v1.kv_offload.base import GPULoadStoreSpec, OffloadingWorker, TransferResult
from vllm.v1.kv_offload.cpu.spec import CPUOffloadingSpec

from kvconform.engine.transfers import Gate
from kvconform.ports import NULL_BLOCK, Direction, TransferJob
from kvconform_vllm.releases import installed_release


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One group's part of a transfer: block ``blocks[i]`` is block ``subs[i]`` of ``chunks[i]``."""

    group: int
    blocks: tuple[int, ...]
    chunks: tuple[int, ...]
    subs: tuple[int, ...]


def parts_of(gpu: GPULoadStoreSpec, chunk_ids: Sequence[int], per_chunk: int) -> list[Part]:
    """Which block goes with which place of which chunk.

    A group's first block may lie inside its first chunk; the others follow.
    """
    ids = [int(block) for block in gpu.block_ids]
    parts, at, chunk_at = [], 0, 0
    for group, (count, first) in enumerate(zip(gpu.group_sizes, gpu.block_indices, strict=True)):
        if not count:
            continue
        skip = int(first) % per_chunk
        places = range(skip, skip + int(count))
        parts.append(
            Part(
                group=group,
                blocks=tuple(ids[at : at + int(count)]),
                chunks=tuple(chunk_ids[chunk_at + place // per_chunk] for place in places),
                subs=tuple(place % per_chunk for place in places),
            )
        )
        at += int(count)
        chunk_at += -(-(skip + int(count)) // per_chunk)
    if chunk_at != len(chunk_ids) or at != len(ids):
        raise AssertionError(f"{len(ids)} blocks do not fill {len(chunk_ids)} chunks: {gpu!r}")
    return parts


class GatedWorker(OffloadingWorker):
    """Copies between the pool and a CPU tier of ``num_chunks`` chunks, when the gate says so."""

    def __init__(self, kv_caches: Any, per_chunk: int, num_chunks: int, gate: Gate) -> None:
        self.gate = gate
        self._caches = kv_caches
        self._per_chunk = per_chunk
        # Zeros are nobody's bytes: a chunk that was never written shows as such.
        self._tiers = [
            torch.zeros((num_chunks, per_chunk, tensor.page_size_bytes), dtype=torch.uint8)
            for tensor in kv_caches.tensors
        ]

    def submit_store(self, job_id: int, src_spec: Any, dst_spec: Any) -> bool:
        """Pool to tier."""
        return self._submit(job_id, Direction.STORE, src_spec, dst_spec)

    def submit_load(
        self, job_id: int, src_spec: Any, dst_spec: Any, expedited: bool = False  # noqa: FBT002 - vLLM's own
    ) -> bool:
        """Tier to pool; an expedited load is one that the step waits for."""
        del expedited
        return self._submit(job_id, Direction.LOAD, dst_spec, src_spec)

    def get_finished(self) -> list[TransferResult]:
        """Copies that completed since the last call."""
        return [TransferResult(job_id, success) for job_id, success in self.gate.finished()]

    def wait(self, job_ids: set[int]) -> None:
        """Complete these copies now."""
        self.gate.wait(job_ids)

    def shutdown(self) -> None:
        """Nothing is held beyond memory."""

    def copy(self, direction: Direction, parts: Sequence[Part]) -> None:
        """Move bytes now."""
        for part in parts:
            blocks, chunks, subs = (
                torch.tensor(ids) for ids in (part.blocks, part.chunks, part.subs)
            )
            for ref in self._caches.group_data_refs[part.group]:
                width = ref.page_size_bytes
                pool = self._caches.tensors[ref.tensor_idx].tensor.view(torch.uint8)
                tier = self._tiers[ref.tensor_idx]
                if direction is Direction.STORE:
                    tier[chunks, subs, :width] = pool[blocks, :width].to(tier.device)
                else:
                    pool[blocks, :width] = tier[chunks, subs, :width].to(pool.device)

    def _submit(self, job_id: int, direction: Direction, gpu: Any, cpu: Any) -> bool:
        parts = parts_of(gpu, [int(chunk) for chunk in cpu.block_ids], self._per_chunk)
        # A null block in a store is a place that stays as it is, in no group.
        blocks = tuple((p.group, block) for p in parts for block in p.blocks if block != NULL_BLOCK)
        job = TransferJob(job_id=int(job_id), direction=direction, blocks=blocks)
        self.gate.submit(job, lambda: self.copy(direction, parts))
        return True


class GatedSpec(CPUOffloadingSpec):
    """vLLM's own CPU tier, its manager and books included, with `GatedWorker` on the worker side.

    The bench leaves the rank's gate in ``gate`` before the KV caches are registered.
    """

    gate: Gate | None = None
    _gated: GatedWorker | None = None

    def get_worker(self, kv_caches: Any) -> GatedWorker:
        """The worker over the registered memory, one for each rank."""
        if self._gated is None:
            if self.gate is None:
                raise RuntimeError("no gate was given")
            chunks = installed_release().num_chunks(self)
            self._gated = GatedWorker(kv_caches, self.blocks_per_chunk, chunks, self.gate)
        return self._gated
