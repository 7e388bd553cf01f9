"""vLLM's OffloadingConnector, and subclasses of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kvconform.ports import Capability, GroupKind, Layout, UnsupportedLayoutError
from kvconform_vllm.chunks import OffloadingChunks
from kvconform_vllm.config import Transfer
from kvconform_vllm.connectors.base import ConnectorClass
from kvconform_vllm.transfers import GatedSpec

_ALIGNMENT = 4096
"""Bytes to which the CPU tier rounds a chunk up."""

_ROOM = 2
"""Times the pool's blocks that the CPU tier holds, so that nothing is evicted unasked."""

_SPEC = ("spec_name", "spec_module_path")
"""Settings that bring a spec of the user's own, and with it a worker."""

_CHUNK = ("blocks_per_chunk", "block_size")
"""Settings that say how large a chunk is, in blocks or in tokens; vLLM takes one of them."""


NOT_TOLD = frozenset({Capability.EVENTS})
"""vLLM's events of the CPU tier name blocks, and only those of full attention in full; the bench does not map them."""


class Offloading(ConnectorClass):
    """Claims what the bench can show; with a spec of the user's own that spec brings its worker, and less is known."""

    claims = frozenset(Capability) - NOT_TOLD

    def claims_with(self, layout: Layout, ranks: Sequence[Any]) -> frozenset[Capability]:
        """Less, where vLLM itself does less.

        Another worker than ours moves bytes by itself: copies are not seen and chunks not seeded.
        The store mask needs one alignment; with full-attention groups of unlike chunks vLLM stores
        everything, without any it takes the largest chunk.  Chunked-local groups have no mask.
        """
        claims = self.claims
        if not _all_ours(ranks):
            claims -= {
                Capability.TRANSFER_CONTROL,
                Capability.CHUNK_CONTROL,
                Capability.MASKED_STORE,
            }
        blocks = {group.block_size for group in layout.groups if group.kind is GroupKind.FULL}
        local = any(group.kind is GroupKind.CHUNKED_LOCAL for group in layout.groups)
        masked = len(blocks) == 1 and not local
        return claims if masked else claims - {Capability.MASKED_STORE}

    def refuse(self, layout: Layout, transfer: Transfer) -> None:
        """A chunk of so many tokens must be whole blocks, of one size in all groups."""
        super().refuse(layout, transfer)
        tokens = str(transfer.extra_config.get("block_size"))
        sizes = sorted({group.block_size for group in layout.groups})
        if tokens.isdecimal() and (len(sizes) > 1 or int(tokens) % sizes[0]):
            raise UnsupportedLayoutError(
                f"block_size={tokens}, the tokens of a chunk, does not go with blocks of "
                f"{' and '.join(map(str, sizes))} tokens; blocks_per_chunk fits every layout"
            )

    def extra_config(self, layout: Layout, options: Mapping[str, object]) -> Mapping[str, object]:
        """Our worker, the layout's chunks, and room for more than the pool holds."""
        if _SPEC[1] in options and _SPEC[0] not in options:
            raise ValueError(f"{_SPEC[1]} says where a spec is, and not which: give {_SPEC[0]} too")
        layers = max(group.layers for group in layout.groups)
        per_chunk = layout.groups[0].page_bytes * layers * layout.blocks_per_chunk
        chunks = max(64, _ROOM * layout.num_blocks // layout.blocks_per_chunk)
        per_chunk_of_all = -(-per_chunk * layout.world // _ALIGNMENT) * _ALIGNMENT
        complete: dict[str, object] = {
            "cpu_bytes_to_use": (layout.host_chunks or chunks) * per_chunk_of_all,
            "offload_prompt_only": layout.prompt_only,
        }
        if options.keys().isdisjoint(_CHUNK):
            complete["blocks_per_chunk"] = layout.blocks_per_chunk
        if options.keys().isdisjoint(_SPEC):
            complete |= zip(_SPEC, (GatedSpec.__name__, GatedSpec.__module__), strict=True)
        return complete | dict(options)

    def chunk_tokens(self, layout: Layout, connector: Any, group: int) -> int:
        """What the scheduler side has made of its settings."""
        side = getattr(connector, "connector_scheduler", None)
        if side is None:  # a subclass with a scheduler side of its own
            return super().chunk_tokens(layout, connector, group)
        return int(side.config.kv_group_configs[group].tokens_per_chunk)

    def prepare_worker(self, worker: Any, rank: Any) -> Any:
        """Leave the rank's gate where our worker will look for it."""
        spec = _spec(worker)
        if isinstance(spec, GatedSpec):
            spec.gate = rank.gate
        return super().prepare_worker(worker, rank)

    def chunk_control(self, connector: Any, ranks: Sequence[Any], release: Any) -> Any:
        """Chunks can be seeded where our worker moves the bytes."""
        side = getattr(connector, "connector_scheduler", None)
        if side is None or not _all_ours(ranks):
            return None
        workers = [rank.worker.connector_worker.worker for rank in ranks]
        return OffloadingChunks(side, workers, release)


def _all_ours(ranks: Sequence[Any]) -> bool:
    return all(isinstance(_spec(rank.worker), GatedSpec) for rank in ranks)


def _spec(worker: Any) -> Any:
    """The spec of the worker side; None of a subclass with another one."""
    return getattr(getattr(worker, "connector_worker", None), "spec", None)
