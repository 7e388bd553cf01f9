"""Chunks of one full-attention group in host memory: copied within the step, never evicted."""

from types import SimpleNamespace

from kvconform.ports import GroupKind, SchedulerSide, UnsupportedLayoutError, WorkerSide


class Scheduler(SchedulerSide):
    def __init__(self, layout):
        self.layout, self.size, self.block = layout, layout.chunk_tokens(0), layout.groups[0].block_size
        self.stored, self.loads = set(), []

    def key(self, request, chunk):
        return request.block_hashes[(chunk + 1) * self.size // self.layout.hash_block - 1]

    def get_num_new_matched_tokens(self, request, num_computed_tokens):
        chunks, most = 0, (len(request.token_ids) - 1) // self.size  # the last token is computed
        while chunks < most and self.key(request, chunks) in self.stored:
            chunks += 1
        return max(0, chunks * self.size - num_computed_tokens), False

    def update_state_after_alloc(self, request, blocks, num_external_tokens):
        first, per_chunk = blocks.num_local_tokens // self.block, self.layout.blocks_per_chunk
        for index in range(first, first + num_external_tokens // self.block):
            key = self.key(request, index // per_chunk)
            self.loads.append((key, index % per_chunk, blocks.blocks[0][index]))

    def build_connector_meta(self, step):
        stores, loads, self.loads = [], self.loads, []
        for one in step.scheduled:
            known = len(one.request.block_hashes) * self.layout.hash_block
            computed = min(known, one.num_computed_tokens + one.num_scheduled_tokens)
            for chunk in range(computed // self.size):
                key, start = self.key(one.request, chunk), chunk * self.layout.blocks_per_chunk
                if key not in self.stored:
                    held = one.table.held(0, start, start + self.layout.blocks_per_chunk)
                    stores.append((key, [block for _, block in held]))
                    self.stored.add(key)
        return stores, loads

    def request_finished(self, request, blocks):
        return False, None  # nothing is read after the step: the blocks may go

    def reset_cache(self):
        self.stored.clear()


class Worker(WorkerSide):
    def register_kv_caches(self, kv_caches):
        self.caches, self.host = kv_caches, {}

    def start_load_kv(self):
        for key, row, block in self.metadata[1]:
            for name, cache in self.caches.items():
                cache[block] = self.host[key][name][row].to(cache.device)

    def wait_for_save(self):
        for key, blocks in self.metadata[0]:
            self.host[key] = {name: cache[blocks].cpu() for name, cache in self.caches.items()}

    def get_finished(self, finished_request_ids):
        return set(), set()  # nothing is asynchronous


def make_connector(layout, setting):
    if len(layout.groups) != 1 or layout.groups[0].kind is not GroupKind.FULL or layout.prompt_only:
        raise UnsupportedLayoutError("one group of full attention, and all of its tokens")
    workers = [Worker() for _ in range(layout.world)]
    return SimpleNamespace(
        scheduler=Scheduler(layout),
        workers=workers,
        capabilities=frozenset(),
        chunk_control=None,
        chunk_tokens=layout.chunk_tokens,
    )
