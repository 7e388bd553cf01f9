"""How fast a store takes and gives objects, beside a plain file and a plain copy in the same run."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kvconform.contract.objects import Content
from kvconform.ports import KvconformError, Store, StoreFactory, StoreSetting
from kvconform.store.contents import bytes_of, key_bytes

_BATCH = 16
"""Objects of one batch."""
_ROUNDS = 24
_KEY_BYTES = 32


class StoreTooSlowError(KvconformError):
    """A store that does not keep what it is to be timed with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Times of batches of one kind, in seconds; ``batch_bytes`` are moved in each."""

    what: str
    batch_bytes: int
    seconds: tuple[float, ...]

    @property
    def gigabytes(self) -> float:
        """Gigabytes a second of the median batch."""
        return self.batch_bytes / float(np.median(self.seconds)) / 1e9

    def __str__(self) -> str:
        middle, late = np.percentile(self.seconds, [50, 99]) * 1e3
        return f"{self.what:<12} {self.gigabytes:7.2f} GB/s   p50 {middle:8.3f} ms   p99 {late:8.3f} ms"


def measure_store(factory: StoreFactory, object_bytes: int) -> list[Timed]:
    """Puts and gets of batches, beside file writes and reads and copies of as many bytes.

    Every round uses new keys.  Raises `StoreTooSlowError` if the store does not give back what it
    took.
    """
    contents = [
        Content(namespace="bench", key=str(at), version=1, size=object_bytes) for at in range(_BATCH)
    ]
    datas = [memoryview(bytes_of(content)) for content in contents]
    rooms = [memoryview(bytearray(object_bytes)) for _ in datas]
    with tempfile.TemporaryDirectory(prefix="kvconform-bench-") as folder:
        store = factory(StoreSetting(directory=Path(folder), namespace="bench"))
        try:
            return _rounds(store, Path(folder), datas, rooms)
        finally:
            store.close()


def _rounds(
    store: Store, folder: Path, datas: Sequence[memoryview], rooms: Sequence[memoryview]
) -> list[Timed]:
    puts, gets, writes, reads, copies = [], [], [], [], []
    for number in range(_ROUNDS):
        keys = [key_bytes(f"{number}-{at}", _KEY_BYTES) for at in range(len(datas))]
        put = _timed(lambda keys=keys: store.put(keys, datas))  # type: ignore[misc]
        got = _timed(lambda keys=keys: store.get(keys, rooms))  # type: ignore[misc]
        if not (all(put.answer) and all(got.answer)):
            raise StoreTooSlowError(f"round {number}: put answers {put.answer}, get {got.answer}")
        puts.append(put.seconds)
        gets.append(got.seconds)
        files = [folder / f"plain-{number}-{at}" for at in range(len(datas))]
        writes.append(_timed(lambda files=files: [f.write_bytes(d) for f, d in zip(files, datas, strict=True)]).seconds)  # type: ignore[misc]
        reads.append(_timed(lambda files=files: [f.read_bytes() for f in files]).seconds)  # type: ignore[misc]
        for file in files:
            file.unlink()
        copies.append(_timed(lambda: [_copy(r, d) for r, d in zip(rooms, datas, strict=True)]).seconds)
        store.delete(keys)
    size = sum(map(len, datas))
    return [
        Timed(what=what, batch_bytes=size, seconds=tuple(seconds))
        for what, seconds in (
            ("put", puts),
            ("file write", writes),
            ("get", gets),
            ("file read", reads),
            ("memory copy", copies),
        )
    ]


@dataclass(frozen=True, slots=True)
class _Answer:
    answer: Sequence[bool]
    seconds: float


def _timed(action: Callable[[], Sequence[object]]) -> _Answer:
    start = time.perf_counter()
    answer = action()
    return _Answer([bool(one) for one in answer], time.perf_counter() - start)


def _copy(room: memoryview, data: memoryview) -> int:
    room[:] = data
    return len(data)
