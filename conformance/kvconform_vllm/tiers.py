"""vLLM's secondary tiers as stores: loaded by its own factory, driven as its tiering manager does."""

from __future__ import annotations

import hashlib
import itertools
import json
import mmap
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from vllm.v1.kv_offload.base import (
    LookupResult,
    ReqContext,
    ScheduleEndContext,
    make_offload_key,
)
from vllm.v1.kv_offload.config import (
    OffloadingCacheConfig,
    OffloadingConfig,
    OffloadingGroupConfig,
    OffloadingModelConfig,
    OffloadingParallelConfig,
)
from vllm.v1.kv_offload.tiering.base import TransferJob
from vllm.v1.kv_offload.tiering.factory import SecondaryTierFactory

from kvconform.ports import (
    BatchAnswer,
    KvconformError,
    Overwrite,
    Store,
    StoreCapability,
    StoreClaims,
    StoreFactory,
    StoreSetting,
    StoreUnavailableError,
)

CONFIG = "KVCONFORM_VLLM_TIER"
"""Environment variable: the tier's settings as a JSON object; ``{directory}`` is a case's folder."""

_CLAIMS = {
    "fs": StoreClaims(
        capabilities=frozenset(
            {
                StoreCapability.PERSISTENT,
                StoreCapability.SHARED,
                StoreCapability.ANY_KEY,
                StoreCapability.OBJECT_FILES,
                StoreCapability.REAL_TIME,
            }
        ),
        get_answer=BatchAnswer.PREFIX,  # a load stops at the first chunk that it cannot bring
        overwrite=Overwrite.KEEP,
        max_key_bytes=100,  # file names spell keys in hex and have 255 bytes
    ),
}
"""By type; what a tier does with a chunk that it has is the same for all: it is left out."""

_DEFAULT = StoreClaims(
    get_answer=BatchAnswer.ALL_OR_NOTHING, overwrite=Overwrite.KEEP, max_key_bytes=100
)
_SETTINGS: dict[str, dict[str, Any]] = {
    "fs": {"root_dir": "{directory}", "n_read_threads": 2, "n_write_threads": 2}
}
_ROWS = 128
_PATIENCE_S = 30.0


class TierError(KvconformError):
    """The tier does not open: says why."""


def make(argument: str) -> StoreFactory:
    """The factory for a type that vLLM registers, or for ``package.module:Class``."""
    module, _, name = (argument or "fs").rpartition(":")
    config: dict[str, Any] = {"type": name} | ({"module_path": module} if module else {})
    try:
        SecondaryTierFactory.get_tier_class(config)
    except (ValueError, ImportError, AttributeError, AssertionError) as error:
        raise TierError(
            f"vllm-tier: no tier {argument!r}: {type(error).__name__}: {error}"
        ) from error
    config |= _SETTINGS.get(name, {}) | _from_environment()
    return lambda setting: TierStore(config, setting)


def _from_environment() -> dict[str, Any]:
    text = os.environ.get(CONFIG, "{}")
    try:
        settings = json.loads(text)
    except ValueError as error:
        raise TierError(f"vllm-tier: {CONFIG} is no JSON: {error}") from error
    if not isinstance(settings, dict):
        raise TierError(f"vllm-tier: {CONFIG} is no JSON object: {text}")
    return settings


class TierStore(Store):
    """A namespace in a tier's keeping: one tier of vLLM's for each size of objects in it.

    All chunks of a tier have one size, which in vLLM follows from its configuration, and with it
    the name under which the tier keeps them.  Here a put tells the size; another process finds it
    by an empty file.  A key has one object, whatever its size.  No tier can delete.
    """

    def __init__(self, config: dict[str, Any], setting: StoreSetting) -> None:
        self.claims = _CLAIMS.get(config["type"], _DEFAULT)
        self._config = {
            name: value.replace("{directory}", str(setting.directory))
            if isinstance(value, str)
            else value
            for name, value in config.items()
        }
        self._namespace = setting.namespace
        self._folder = setting.directory
        name = hashlib.blake2b(setting.namespace.encode(), digest_size=8).hexdigest()
        self._mark = f"size-of-{name}-"
        self._tiers: dict[int, _Tier] = {}

    def exists(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Whether the key has an object of any size."""
        found = [tier.lookup(keys) for tier in self._known().values()]
        return [any(answers) for answers in zip(*found, strict=True)] or [False] * len(keys)

    def put(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """Store each object in the tier of its size, unless its key has one of another size."""
        answers = [False] * len(keys)
        for size in sorted({len(buffer) for buffer in buffers}):
            mine = [at for at, buffer in enumerate(buffers) if len(buffer) == size]
            others = [t.lookup([keys[at] for at in mine]) for n, t in self._known().items() if n != size]
            free = [at for n, at in enumerate(mine) if not any(taken[n] for taken in others)]
            tier = self._of_size(size)
            stored = tier.store([keys[at] for at in free], [buffers[at] for at in free])
            for at, answer in zip(free, stored, strict=True):
                answers[at] = answer
        return answers

    def get(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """Load neighbours of one size together; behind a key that does not come none is tried."""
        answers: list[bool] = []
        known = self._known()
        for size, some in itertools.groupby(range(len(keys)), lambda at: len(buffers[at])):
            run = list(some)
            if size not in known:
                break
            answers += known[size].load([keys[at] for at in run], [buffers[at] for at in run])
            if not all(answers):
                break
        return answers + [False] * (len(keys) - len(answers))

    def delete(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Nothing: tiers make room by themselves, or never."""
        return [False] * len(keys)

    def object_file(self, key: bytes) -> Path | None:
        """Where the file system's tier keeps the chunk."""
        files = [tier.file(key) for tier in self._known().values()]
        return next((file for file in files if file is not None and file.exists()), None)

    def close(self) -> None:
        """Shut the tiers down."""
        for tier in self._tiers.values():
            tier.shutdown()

    def _known(self) -> dict[int, _Tier]:
        """The tiers of all sizes that this process or another one has put."""
        with suppress(OSError):  # what is known stays known while the folder cannot be read
            for name in [file.name for file in self._folder.iterdir()]:
                if name.startswith(self._mark):
                    self._open(int(name.removeprefix(self._mark)))
        return self._tiers

    def _of_size(self, size: int) -> _Tier:
        if size not in self._tiers:
            try:
                (self._folder / f"{self._mark}{size}").touch()
            except OSError as error:
                raise StoreUnavailableError(
                    f"vllm-tier cannot write in {self._folder}: {error.strerror}"
                ) from error
        return self._open(size)

    def _open(self, size: int) -> _Tier:
        if size not in self._tiers:
            self._tiers[size] = _Tier(self._config, f"{self._namespace}-{size}", size)
        return self._tiers[size]


class _Tier:
    """One tier behind rows of host memory, which stand for vLLM's primary tier.

    A key is a block hash there, of group 0.  Rows are whole pages, as vLLM's are.
    """

    def __init__(self, config: dict[str, Any], name: str, size: int) -> None:
        self._size = size
        row_bytes = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        self._rows = memoryview(mmap.mmap(-1, _ROWS * row_bytes))
        view = self._rows.cast("B", shape=[_ROWS, row_bytes])
        spec = SimpleNamespace(config=_normalized(name, row_bytes), blocks_per_chunk=1)
        try:
            self._tier: Any = SecondaryTierFactory.create_secondary_tier(config, view, spec)
        except OSError as error:
            raise StoreUnavailableError(f"vllm-tier: the tier does not open: {error}") from error
        self._numbers = itertools.count(1)

    def lookup(self, keys: Sequence[bytes]) -> list[bool]:
        """Look each key up until the tier has an answer, as the scheduler does step by step."""
        context = self._context()
        self._tier.on_new_request(context)
        step = ScheduleEndContext(new_req_ids=[context.req_id], preempted_req_ids=[])
        until = time.monotonic() + _PATIENCE_S
        answers = self._lookup(keys, context)
        while LookupResult.RETRY in answers and time.monotonic() < until:
            self._tier.on_schedule_end(step)
            time.sleep(0.001)
            answers = self._lookup(keys, context)
        self._tier.on_request_finished(context)
        return [answer is LookupResult.HIT for answer in answers]

    def store(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> list[bool]:
        """Store what lies in the rows, in jobs of so many keys as there are rows."""
        answers: list[bool] = []
        for first in range(0, len(keys), _ROWS):
            for row, buffer in enumerate(buffers[first : first + _ROWS]):
                self._row(row)[:] = buffer
            answers += self._run(self._tier.submit_store, keys[first : first + _ROWS], load=False)
        return answers

    def load(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> list[bool]:
        """Load into the rows; behind a key that does not come none is tried."""
        answers: list[bool] = []
        for first in range(0, len(keys), _ROWS):
            # Else a load that copies nothing would leave what was put from the same row.
            for row in range(min(_ROWS, len(keys) - first)):
                self._row(row)[:] = b"\xa5" * self._size
            answers += self._run(self._tier.submit_load, keys[first : first + _ROWS], load=True)
            for row, buffer in enumerate(buffers[first : first + _ROWS]):
                if answers[first + row]:
                    buffer[:] = self._row(row)
            if not all(answers):
                break
        return answers + [False] * (len(keys) - len(answers))

    def file(self, key: bytes) -> Path | None:
        """The chunk's file, None for a tier that keeps none."""
        mapper = getattr(self._tier, "file_mapper", None)
        return None if mapper is None else Path(mapper.get_file_name(make_offload_key(key, 0)))

    def shutdown(self) -> None:
        """End its threads."""
        self._tier.shutdown()

    def _row(self, number: int) -> memoryview:
        first = number * (len(self._rows) // _ROWS)
        return self._rows[first : first + self._size]

    def _lookup(self, keys: Sequence[bytes], context: ReqContext) -> list[LookupResult]:
        return [self._tier.lookup(make_offload_key(key, 0), context) for key in keys]

    def _run(
        self, submit: Callable[[TransferJob], None], keys: Sequence[bytes], *, load: bool
    ) -> list[bool]:
        """One job from its submission to its result."""
        names = [make_offload_key(key, 0) for key in keys]
        job = TransferJob(
            job_id=next(self._numbers),
            keys=names,
            chunk_ids=np.arange(len(keys)),
            is_promotion=load,
            req_context=self._context(),
        )
        submit(job)
        self._tier.drain_jobs()
        (result,) = self._tier.get_finished_jobs()
        done = names if result.success else result.successful_keys or ()
        return [name in done for name in names]

    def _context(self) -> ReqContext:
        return ReqContext(req_id=f"request-{next(self._numbers)}")


def _normalized(namespace: str, row_bytes: int) -> OffloadingConfig:
    """What vLLM makes of its configuration, for one rank of a model called like the namespace."""
    return OffloadingConfig(
        groups=(OffloadingGroupConfig(tokens_per_block=16, layer_names=("layer",), group_id=0),),
        worker_kv_bytes_per_block=row_bytes,
        enable_kv_cache_events=False,
        extra_config={},
        engine_id="kvconform",
        model=OffloadingModelConfig(name=namespace, dtype="float16"),
        cache=OffloadingCacheConfig(tokens_per_hash=16, blocks_per_chunk=1),
        parallel=OffloadingParallelConfig(
            rank=0,
            world_size=1,
            tp_size=1,
            pp_size=1,
            pcp_size=1,
            dcp_size=1,
            data_parallel_index=0,
            data_parallel_size=1,
            data_parallel_rank_local=None,
            is_parallelism_agnostic=False,
        ),
    )
