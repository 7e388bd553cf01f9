"""vLLM's own configuration objects for one layout, and its stand-ins.

Stand-ins are the model configuration and, with drafts, the speculative one (real ones need a
model), and the structured-output manager; `docs/vllm.md` says why nothing else is.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import lcm
from types import SimpleNamespace
from typing import Any

import torch
from vllm.config import CacheConfig, DeviceConfig, KVTransferConfig, SchedulerConfig, VllmConfig
from vllm.v1.core.kv_cache_utils import resolve_kv_cache_block_sizes
from vllm.v1.kv_cache_interface import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    KVCacheTensor,
    SlidingWindowSpec,
)

from kvconform.ports import GroupKind, Layout, Scheduling, Storage, UnsupportedLayoutError
from kvconform_vllm.partition import ENCODER_TOKENS
from kvconform_vllm.releases import Release
from kvconform_vllm.speculation import speculative_config

_MAX_MODEL_LEN = 1 << 16
_MAX_REQUESTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """Which connector class an engine gets: ``module_path`` is empty for vLLM's own.

    ``hybrid`` says whether vLLM gives it groups that are not all full attention.
    """

    class_name: str
    module_path: str = ""
    extra_config: Mapping[str, object]
    hybrid: bool = True


def supports_hybrid(transfer: Transfer) -> bool:
    """Whether vLLM takes the class, with what is nested in its settings, for one with SupportsHMA."""
    from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory  # noqa: PLC0415

    return bool(KVConnectorFactory.supports_hma_config(_kv_transfer(transfer)))


def with_equal_pages(layout: Layout) -> Layout:
    """The layout with slots so wide that a block of every group has the same number of bytes.

    vLLM lays groups over each other: a block id is a place, whichever group it belongs to.
    Raises `UnsupportedLayoutError` for ranks that have layers of their own.
    """
    if any(group.layers_by_rank for group in layout.groups):
        raise UnsupportedLayoutError("this engine gives every rank the same layers")
    if any(group.kind is GroupKind.RECURRENT for group in layout.groups):
        raise UnsupportedLayoutError("recurrent groups are not laid out on vLLM's scheduler here")
    plain = all(
        not (group.layer_slot_bytes or group.scale_bytes or group.page_padding)
        for group in layout.groups
    )
    if not plain or layout.storage is not Storage.SEPARATE:
        raise UnsupportedLayoutError(
            "pages of unequal layers, with scales, padding or strides are not laid out on vLLM's "
            "scheduler here: all groups lie over each other in equal, plain pages"
        )
    page = lcm(*(group.block_size for group in layout.groups)) * 16
    groups = (replace(group, slot_bytes=page // group.block_size) for group in layout.groups)
    return replace(layout, groups=tuple(groups))


def kv_cache_config(layout: Layout) -> KVCacheConfig:
    """All groups over the same bytes, one region for each layer number."""
    page = layout.groups[0].page_bytes
    region = page * layout.num_blocks
    total = region * max(group.layers for group in layout.groups)
    groups, tensors = [], []
    for group in layout.groups:
        names = list(group.layer_names())
        common = {
            "block_size": group.block_size,
            "num_kv_heads": 1,
            "head_size": group.slot_bytes // 2,  # K and V, one byte an element
            "dtype": torch.int8,
        }
        if group.kind is GroupKind.FULL:
            spec = FullAttentionSpec(**common)
        elif group.kind is GroupKind.CHUNKED_LOCAL:
            spec = ChunkedLocalAttentionSpec(**common, attention_chunk_size=group.attention_chunk)
        else:
            spec = SlidingWindowSpec(
                **common, sliding_window=group.window, extra_retained_tokens=group.extra_retained
            )
        groups.append(KVCacheGroupSpec(names, spec, is_eagle_group=group.eagle))
        tensors.append(
            KVCacheTensor(size=total, layers=names, layer_stride=region, block_stride=page)
        )
    return KVCacheConfig(
        num_blocks=layout.num_blocks,
        kv_cache_tensors=tensors,
        kv_cache_groups=groups,
        prefix_cache_retention_interval=layout.retention_interval,
    )


def vllm_config(layout: Layout, transfer: Transfer | None, release: Release) -> VllmConfig:
    """The engine's configuration; without ``transfer`` it has no connector.

    Raises `UnsupportedLayoutError` for drafts on a release that is not driven with any.
    """
    if layout.spec_tokens and not release.takes_drafts:
        raise UnsupportedLayoutError(
            f"{release.title} is not driven with speculative decoding here, 0.33 is: "
            f"the layout has spec_tokens {layout.spec_tokens}"
        )
    budget = layout.max_batched_tokens
    scheduler = SchedulerConfig(
        max_num_seqs=min(_MAX_REQUESTS, budget),
        max_num_batched_tokens=budget,
        max_model_len=_MAX_MODEL_LEN,
        is_encoder_decoder=False,
        enable_chunked_prefill=True,
        async_scheduling=layout.scheduling is Scheduling.ASYNC,
    )
    cache = CacheConfig(block_size=layout.groups[0].block_size, enable_prefix_caching=True)
    # vLLM's default is 0: the last segment of a prompt only; ours is none, every boundary.
    cache.prefix_cache_retention_interval = layout.retention_interval
    cache.num_gpu_blocks = layout.num_blocks
    if len(layout.groups) > 1:
        cache.prefix_match_unit = layout.hash_block
    config = VllmConfig(
        cache_config=cache,
        scheduler_config=scheduler,
        kv_transfer_config=transfer and _kv_transfer(transfer),
        device_config=DeviceConfig("cpu"),
    )
    # An "unspecified" platform turns the hybrid manager off while the object is made.
    hybrid = transfer is None or transfer.hybrid
    config.scheduler_config.disable_hybrid_kv_cache_manager = not hybrid
    config.model_config = _model(release)
    config.speculative_config = speculative_config(layout)
    config.parallel_config.tensor_parallel_size = layout.world
    config.parallel_config.world_size = layout.world
    return config


def of_rank(config: VllmConfig, rank: int) -> VllmConfig:
    """The same configuration as the worker of one rank sees it."""
    own = copy.copy(config)
    own.parallel_config = copy.copy(config.parallel_config)
    own.parallel_config.rank = rank
    return own


def make_scheduler(config: VllmConfig, kv: KVCacheConfig, layout: Layout, release: Release) -> Any:
    """The real Scheduler or AsyncScheduler; it makes the scheduler side of the connector itself.

    Raises `UnsupportedLayoutError` where vLLM would hash at another granularity, or refuses the
    retention interval by name.
    """
    from vllm.v1.core.encoder_cache_manager import EncoderCacheManager  # noqa: PLC0415
    from vllm.v1.core.sched.async_scheduler import AsyncScheduler  # noqa: PLC0415
    from vllm.v1.core.sched.scheduler import Scheduler  # noqa: PLC0415

    scheduler_block, hash_block = resolve_kv_cache_block_sizes(kv, config)
    if hash_block != layout.hash_block:
        raise UnsupportedLayoutError(
            f"vLLM hashes blocks of {hash_block} tokens here, the layout asks for {layout.hash_block}"
        )
    release.keep_hash_block(kv, hash_block)
    kind = AsyncScheduler if config.scheduler_config.async_scheduling else Scheduler
    try:
        scheduler = kind(
            vllm_config=config,
            kv_cache_config=kv,
            structured_output_manager=release.grammar(),
            block_size=scheduler_block,
            hash_block_size=hash_block,
            log_stats=False,
        )
    except ValueError as error:
        if "prefix_cache_retention_interval" in str(error):
            raise UnsupportedLayoutError(str(error)) from error
        raise
    # A multimodal model would bring these from its processor.
    scheduler.encoder_cache_manager = EncoderCacheManager(cache_size=ENCODER_TOKENS)
    scheduler.max_num_encoder_input_tokens = ENCODER_TOKENS
    return scheduler


def make_worker(config: VllmConfig, kv: KVCacheConfig) -> Any:
    """The worker side of the connector."""
    from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory  # noqa: PLC0415
    from vllm.distributed.kv_transfer.kv_connector.v1 import KVConnectorRole  # noqa: PLC0415

    return KVConnectorFactory.create_connector(config, KVConnectorRole.WORKER, kv)


def _kv_transfer(transfer: Transfer) -> KVTransferConfig:
    return KVTransferConfig(
        kv_connector=transfer.class_name,
        kv_connector_module_path=transfer.module_path or None,
        kv_role="kv_both",
        kv_connector_extra_config=dict(transfer.extra_config),
    )


def _model(release: Release) -> SimpleNamespace:
    """What scheduler and connectors read of a model; anything else raises AttributeError."""
    return SimpleNamespace(
        model="kvconform",
        dtype=torch.int8,
        max_model_len=_MAX_MODEL_LEN,
        original_max_model_len=_MAX_MODEL_LEN,
        runner_type="generate",
        use_mla=False,
        is_moe=False,
        is_diffusion=False,
        is_encoder_decoder=False,
        is_multimodal_model=False,
        is_hybrid=False,
        uses_mrope=False,
        multimodal_config=None,
        return_sampling_mask=False,
        architectures=["kvconform"],
        quantization=None,
        get_total_num_kv_heads=lambda: 1,
        **release.model_fields(),
    )
