"""vLLM's OffloadingConnector, and subclasses of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kvconform.ports import Capability, GroupKind, Layout
from kvconform_vllm.chunks import OffloadingChunks
from kvconform_vllm.connectors.base import ConnectorClass
from kvconform_vllm.transfers import GatedSpec

_ALIGNMENT = 4096
"""Bytes to which the CPU tier rounds a chunk up."""

_ROOM = 2
"""Times the pool's blocks that the CPU tier holds, so that nothing is evicted unasked."""


class Offloading(ConnectorClass):
    """Claims everything; with a spec of the user's own that spec brings its worker, and less is known."""

    claims = frozenset(Capability)

    def claims_with(self, layout: Layout, options: Mapping[str, object]) -> frozenset[Capability]:
        """Less, where vLLM itself does less.

        A spec of the user's own moves bytes by itself: copies are not seen and chunks not seeded.
        The store mask needs one alignment; with full-attention groups of unlike chunks vLLM stores
        everything, without any it takes the largest chunk.  Chunked-local groups have no mask.
        """
        claims = self.claims
        if "spec_name" in options:
            claims -= {
                Capability.TRANSFER_CONTROL,
                Capability.CHUNK_CONTROL,
                Capability.MASKED_STORE,
            }
        blocks = {group.block_size for group in layout.groups if group.kind is GroupKind.FULL}
        local = any(group.kind is GroupKind.CHUNKED_LOCAL for group in layout.groups)
        masked = len(blocks) == 1 and not local
        return claims if masked else claims - {Capability.MASKED_STORE}

    def defaults(self, layout: Layout) -> Mapping[str, object]:
        """Our worker, the layout's chunks, and room for more than the pool holds."""
        layers = max(group.layers for group in layout.groups)
        per_chunk = layout.groups[0].page_bytes * layers * layout.blocks_per_chunk
        chunks = max(64, _ROOM * layout.num_blocks // layout.blocks_per_chunk)
        return {
            "spec_name": GatedSpec.__name__,
            "spec_module_path": GatedSpec.__module__,
            "blocks_per_chunk": layout.blocks_per_chunk,
            "cpu_bytes_to_use": chunks * -(-per_chunk // _ALIGNMENT) * _ALIGNMENT * layout.world,
            "offload_prompt_only": layout.prompt_only,
        }

    def chunk_tokens(self, layout: Layout, options: Mapping[str, object], group: int) -> int:
        """Blocks of a chunk are a setting."""
        per_chunk = int(str(options.get("blocks_per_chunk", layout.blocks_per_chunk)))
        return layout.groups[group].block_size * per_chunk

    def prepare_worker(self, worker: Any, rank: Any) -> Any:
        """Leave the rank's gate where our worker will look for it."""
        spec = worker.connector_worker.spec
        if isinstance(spec, GatedSpec):
            spec.gate = rank.gate

    def chunk_control(self, connector: Any, ranks: Sequence[Any], release: Any) -> Any:
        """Chunks can be seeded where our worker moves the bytes."""
        workers = [rank.worker.connector_worker for rank in ranks]
        if all(isinstance(worker.spec, GatedSpec) for worker in workers):
            side = connector.connector_scheduler
            return OffloadingChunks(side, [worker.worker for worker in workers], release)
        return None

