"""The seed's fix (vllm-project/vllm#56709) undone at run time, whole or one place of it.

For releases that have it (0.31 on).  Names of vLLM's modules are replaced while the context lasts.
"""

from __future__ import annotations

import contextlib
import dataclasses

from kvconform_vllm.environment import load_vllm


@contextlib.contextmanager
def undone(*, lookup=False, load=False, mask=False):
    """Undo the lookup bound, the load window, the store mask, or several of them."""
    load_vllm()
    from vllm.distributed.kv_transfer.kv_connector.v1.offloading import config, scheduler  # noqa: PLC0415 - vLLM loads when a test runs
    from vllm.v1.kv_cache_interface import SlidingWindowSpec  # noqa: PLC0415 - vLLM loads when a test runs

    side = scheduler.OffloadingConnectorScheduler
    group = scheduler.GroupOffloadConfig
    owner = config if hasattr(config, "get_sliding_window_size_in_chunks") else scheduler
    bound = owner.get_sliding_window_size_in_chunks
    store_mask = side._reachable_store_block_mask

    def bare_bound(spec, tokens_per_chunk):
        if isinstance(spec, SlidingWindowSpec):
            return -(-spec.sliding_window // tokens_per_chunk)
        return bound(spec, tokens_per_chunk)

    def bare_window(self, num_tokens):
        window = self.sliding_window_size_in_chunks
        if isinstance(self.kv_cache_spec, SlidingWindowSpec):
            chunk = self.tokens_per_chunk
            reach = self.kv_cache_spec.sliding_window - 1 + (-num_tokens % chunk)
            window = max(window, -(-reach // chunk))
        return window

    def bare_mask(self, group_config, **ranges):
        spec = group_config.kv_cache_spec
        if isinstance(spec, SlidingWindowSpec):
            spec = dataclasses.replace(spec, extra_retained_tokens=0)
            group_config = group_config._replace(kv_cache_spec=spec)
        return store_mask(self, group_config=group_config, **ranges)

    with contextlib.ExitStack() as stack:
        for wanted, owned, name, replacement in (
            (lookup, owner, "get_sliding_window_size_in_chunks", bare_bound),
            (load, group, "load_window_size_in_chunks", bare_window),
            (mask, side, "_reachable_store_block_mask", bare_mask),
        ):
            if wanted:
                stack.callback(setattr, owned, name, getattr(owned, name))
                setattr(owned, name, replacement)
        yield
