# ruff: noqa: ARG001, ARG002, D101, D102, D103, INP001 - one file to read; docs/connector.md explains it
"""A complete small connector: complete chunks of every group go to host memory and come back.

Both directions are synchronous.  A store runs in ``wait_for_save`` of the step that completed
the chunk, so no block changes its owner while it is read.  A load runs in ``start_load_kv``.
Nothing is ever evicted.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch

from kvconform.ports import (
    BlockTable,
    Capability,
    ChunkControl,
    Group,
    GroupKind,
    Layout,
    Request,
    ScheduledRequest,
    SchedulerSide,
    Setting,
    Step,
    StepResult,
    UnsupportedLayoutError,
    WorkerSide,
)


def oldest_needed(group: Group, boundary: int) -> int:
    """The first token of what the engine makes room for at a hit of ``boundary`` tokens."""
    match group.kind:
        case GroupKind.FULL:
            return 0
        case GroupKind.SLIDING:
            return max(0, boundary - (group.window - 1) - group.extra_retained)
        case GroupKind.CHUNKED_LOCAL:
            return boundary - boundary % group.attention_chunk
    raise UnsupportedLayoutError(f"group {group.name} is of kind {group.kind}")


Key = tuple[int, bytes]  # group, hash of all tokens up to the chunk's end


class Meta(NamedTuple):  # from the scheduler side to every rank
    number: int
    stores: list[tuple[Key, list[int]]]  # chunk, pool blocks that hold it
    loads: list[tuple[Key, int, int]]  # chunk, row of its stored blocks, pool block to fill


class SmallScheduler(SchedulerSide):
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.first_block: dict[Key, int] = {}  # stored or on the way: the first block it holds
        self.ready: set[Key] = set()  # stored on every rank
        self.in_flight: dict[int, tuple[list[Key], set[int]]] = {}  # step: its stores, ranks done
        self.loads: list[tuple[Key, int, int]] = []

    def key(self, request: Request, group: int, chunk: int) -> Key:
        last = (chunk + 1) * self.layout.chunk_tokens(group) // self.layout.hash_block - 1
        known = last < len(request.block_hashes)
        return group, request.block_hashes[last] if known else b""  # no chunk has that hash

    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        step, last = self.layout.hash_block, len(request.token_ids) - 1  # it is left to compute
        whole = [last] if (last + 1) % step == 0 else []
        for boundary in (*whole, *range(last // step * step, num_computed_tokens, -step)):
            groups = range(len(self.layout.groups))
            if all(self.serves(request, g, num_computed_tokens, boundary) for g in groups):
                return boundary - num_computed_tokens, False
        return 0, False

    def needed(self, group: int, local: int, boundary: int) -> range:
        """Indices of the blocks that a hit brings: the one rule of lookup and load."""
        spec = self.layout.groups[group]
        start = max(local, oldest_needed(spec, boundary))
        end = boundary + spec.block_size - 1 if start < boundary else 0
        return range(start // spec.block_size, end // spec.block_size)

    def serves(self, request: Request, group: int, local: int, boundary: int) -> bool:
        """Whether every needed block is here."""
        per_chunk = self.layout.blocks_per_chunk
        for index in self.needed(group, local, boundary):
            key = self.key(request, group, index // per_chunk)
            if key not in self.ready or self.first_block[key] > index % per_chunk:
                return False
        return True

    def update_state_after_alloc(
        self, request: Request, blocks: BlockTable, num_external_tokens: int
    ) -> None:
        local, per_chunk = blocks.num_local_tokens, self.layout.blocks_per_chunk
        for group, row in enumerate(blocks.blocks):
            for index in self.needed(group, local, local + num_external_tokens):
                key = self.key(request, group, index // per_chunk)
                self.loads.append((key, index % per_chunk - self.first_block[key], row[index]))

    def build_connector_meta(self, step: Step) -> Meta:
        stores = [store for scheduled in step.scheduled for store in self.stores(scheduled)]
        self.in_flight[step.number] = [key for key, _ in stores], set()
        loads, self.loads = self.loads, []
        return Meta(step.number, stores, loads)

    def stores(self, scheduled: ScheduledRequest) -> Iterator[tuple[Key, list[int]]]:
        """New chunks that are complete after this step, and the blocks that still hold them."""
        request, per_chunk = scheduled.request, self.layout.blocks_per_chunk
        computed = scheduled.num_computed_tokens + scheduled.num_scheduled_tokens
        known = len(request.block_hashes) * self.layout.hash_block  # lags behind if asynchronous
        limit = min(computed, known)
        if self.layout.prompt_only:
            limit = min(limit, request.num_prompt_tokens)
        for group in range(len(self.layout.groups)):
            for chunk in range(limit // self.layout.chunk_tokens(group)):
                key, start = self.key(request, group, chunk), chunk * per_chunk
                held = scheduled.table.held(group, start, start + per_chunk)
                if held and key not in self.first_block:
                    self.first_block[key] = held[0][0] - start  # earlier ones left the window
                    yield key, [block for _, block in held]

    def update_connector_output(self, result: StepResult) -> None:
        keys, ranks = self.in_flight.get(result.worker_meta, ([], set()))
        ranks.add(result.rank)
        if len(ranks) == self.layout.world:
            self.ready.update(keys)
            self.in_flight.pop(result.worker_meta, None)

    def request_finished(self, request: Request, blocks: BlockTable) -> tuple[bool, None]:
        return False, None  # its blocks may be taken again: no copy reads them any more

    def reset_cache(self) -> None:
        self.first_block, self.ready, self.in_flight = {}, set(), {}


class SmallWorker(WorkerSide):
    def __init__(self, layout: Layout) -> None:
        self.names = [group.layer_names() for group in layout.groups]
        self.memory: dict[tuple[str, Key], torch.Tensor] = {}  # (layer, chunk): stored blocks
        self.metadata: Meta

    def register_kv_caches(self, kv_caches: Mapping[str, torch.Tensor]) -> None:
        self.caches = kv_caches  # of this rank's layers
        self.layers = [[name for name in group if name in kv_caches] for group in self.names]

    def start_load_kv(self) -> None:
        for key, row, block in self.metadata.loads:
            for layer in self.layers[key[0]]:
                stored, cache = self.memory[layer, key], self.caches[layer]
                cache[block] = stored[row].to(cache.device)

    def wait_for_save(self) -> None:
        for key, blocks in self.metadata.stores:
            self.store(key, blocks)

    def store(self, key: Key, blocks: list[int]) -> None:
        for layer in self.layers[key[0]]:
            self.memory[layer, key] = self.caches[layer][blocks].cpu()

    def get_finished(self, finished_request_ids: set[str]) -> tuple[set[str], set[str]]:
        return set(), set()  # no request's blocks are kept, and no load spans steps

    def build_connector_worker_meta(self) -> int:
        return self.metadata.number  # the stores of this step are complete on this rank


class SmallConnector:
    capabilities = frozenset({Capability.LONGEST_HIT})
    chunk_control: ChunkControl | None = None

    def __init__(self, layout: Layout) -> None:
        for group in layout.groups:
            oldest_needed(group, 0)  # refuses a kind of group that it does not know
        self.scheduler = SmallScheduler(layout)
        self.workers = [SmallWorker(layout) for _ in range(layout.world)]
        self.chunk_tokens = layout.chunk_tokens


def make_connector(layout: Layout, setting: Setting) -> SmallConnector:
    return SmallConnector(layout)
