# ruff: noqa: ARG002, D102 - the interface is vLLM's
"""Connector classes of nobody's: one group, synchronous, a store in a class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from kvconform_vllm.environment import load_vllm

load_vllm()

from vllm.distributed.kv_transfer.kv_connector.v1.base import (  # noqa: E402 - once its warnings are off
    KVConnectorBase_V1,
    KVConnectorMetadata,
)
from vllm.distributed.kv_transfer.kv_connector.v1.offloading_connector import (  # noqa: E402 - likewise
    OffloadingConnector,
)


@dataclass
class Blocks(KVConnectorMetadata):
    """Pairs of block hash and pool block, to load and to store."""

    loads: list = field(default_factory=list)
    stores: list = field(default_factory=list)


class Keeping(KVConnectorBase_V1):
    """Right in all but this: what it stores outlives the case."""

    store: ClassVar[dict] = {}

    def __init__(self, vllm_config, role, kv_cache_config):
        super().__init__(vllm_config, role, kv_cache_config)
        self.size = vllm_config.cache_config.block_size
        self.requests, self.rows, self.loads = {}, {}, []

    def register_kv_caches(self, kv_caches):
        self.caches = kv_caches

    def start_load_kv(self, forward_context, **kwargs):
        for key, block in self._get_connector_metadata().loads:
            for name in forward_context.no_compile_layers:
                self.caches[name][block] = self.store[name, key]

    def wait_for_layer_load(self, layer_name):
        pass

    def save_kv_layer(self, layer_name, kv_layer, attn_metadata, **kwargs):
        for key, block in self._get_connector_metadata().stores:
            self.store[layer_name, key] = kv_layer[block].clone()

    def wait_for_save(self):
        pass

    def get_num_new_matched_tokens(self, request, num_computed_tokens):
        stored = {key for _, key in self.store}
        blocks = 0
        for key in request.block_hashes[: (request.num_tokens - 1) // self.size]:
            if key not in stored:
                break
            blocks += 1
        return max(0, blocks * self.size - num_computed_tokens), False

    def update_state_after_alloc(self, request, blocks, num_external_tokens):
        self.requests[request.request_id] = request
        first = request.num_computed_tokens // self.size
        (row,) = blocks.get_block_ids()
        for at in range(first, first + num_external_tokens // self.size):
            self.loads.append((request.block_hashes[at], row[at]))

    def build_connector_meta(self, scheduler_output):
        meta, self.loads = Blocks(loads=self.loads), []
        for new in scheduler_output.scheduled_new_reqs:
            self.rows[new.req_id] = list(new.block_ids[0])
            self._note(meta, new.req_id, new.num_computed_tokens, scheduler_output)
        cached = scheduler_output.scheduled_cached_reqs
        for name, more, done in zip(
            cached.req_ids, cached.new_block_ids, cached.num_computed_tokens, strict=True
        ):
            self.rows[name] += more[0] if more else ()
            self._note(meta, name, done, scheduler_output)
        return meta

    def _note(self, meta, name, done, scheduler_output):
        hashes = self.requests[name].block_hashes
        computed = done + scheduler_output.num_scheduled_tokens[name]
        for at in range(min(computed // self.size, len(hashes))):
            meta.stores.append((hashes[at], self.rows[name][at]))


class Resetting(Keeping):
    """Empties its store when it is asked to."""

    store: ClassVar[dict] = {}

    def reset_cache(self):
        self.store.clear()
        return True


class Shutting(Keeping):
    """Empties its store when it goes."""

    store: ClassVar[dict] = {}

    def shutdown(self):
        self.store.clear()


class Old(OffloadingConnector):
    """Has the constructor of another release."""

    def __init__(self, vllm_config, role):
        super().__init__(vllm_config, role, None)


class Wrong(OffloadingConnector):
    """Answers as a test has it."""


class OfOneLayout(OffloadingConnector):
    """Breaks on layouts of a single group."""

    def __init__(self, vllm_config, role, kv_cache_config):
        if len(kv_cache_config.kv_cache_groups) == 1:
            raise RuntimeError("no window to slide")
        super().__init__(vllm_config, role, kv_cache_config)
