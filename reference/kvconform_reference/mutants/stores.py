"""Faults of stores: each is one of the embedded stores with one thing wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kvconform.ports import ConnectorFactory, Store, StoreSetting
from kvconform_reference.mutants.base import Mutant
from kvconform_reference.stored import OverStore
from kvconform_reference.stores import FileStore, MemoryStore


class _Bare(FileStore):
    """Files that hold the bytes and nothing else."""

    def _head(self, key: bytes, data: bytes | memoryview) -> bytes:
        del key, data
        return b""

    def _read(self, key: bytes) -> bytes | None:
        try:
            return self._file(key).read_bytes() or None
        except OSError:
            return None

    def _used(self, but: bytes) -> int:
        own = self._file(but).name
        files = (file for file in self._folder.iterdir() if file.name != own and file.name[0] != ".")
        return sum(file.stat().st_size for file in files)


class _ShortReads(_Bare):
    """Reads into one buffer of its own, and hands out all of it however little was read."""

    def __init__(self, setting: StoreSetting) -> None:
        super().__init__(setting)
        self._own = bytearray()

    def _get(self, key: bytes, buffer: memoryview) -> bool:
        data = self._read(key)
        if data is None:
            return False
        if len(self._own) < len(buffer):
            self._own += bytes(len(buffer) - len(self._own))
        self._own[: len(data)] = data
        buffer[:] = self._own[: len(buffer)]
        return True


class _Unchecked(_Bare):
    """Trusts the length of a file."""


class _Raises(FileStore):
    """A file that cannot be read ends the batch."""

    def _read(self, key: bytes) -> bytes | None:
        file = self._file(key)
        if file.exists() and super()._read(key) is None:
            raise OSError(f"{file.name}: bad object")
        return super()._read(key)


class _IgnoredPut(MemoryStore):
    """A put under a key that is there answers True and is ignored."""

    def _put(self, key: bytes, data: bytes) -> bool:
        return True if key in self._objects else super()._put(key, data)


class _AllOrNothing(MemoryStore):
    """Declares an answer for each key, and gives one for the batch."""

    def get(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        answers = super().get(keys, buffers)
        return [all(answers)] * len(keys)


class _StaleIndex(MemoryStore):
    """Exists knows of puts and not of deletes."""

    def __init__(self, setting: StoreSetting) -> None:
        super().__init__(setting)
        self._seen: set[bytes] = set()

    def exists(self, keys: Sequence[bytes]) -> Sequence[bool]:
        return [key in self._seen for key in keys]

    def put(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        self._seen.update(keys)
        return super().put(keys, buffers)


class _KnownBefore(FileStore):
    """Exists knows of every object that was handed to a put, taken or not."""

    def __init__(self, setting: StoreSetting) -> None:
        super().__init__(setting)
        self._handed: set[bytes] = set()

    def exists(self, keys: Sequence[bytes]) -> Sequence[bool]:
        found = super().exists(keys)
        return [one or key in self._handed for key, one in zip(keys, found, strict=True)]

    def put(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        self._handed.update(keys)
        return super().put(keys, buffers)

    def delete(self, keys: Sequence[bytes]) -> Sequence[bool]:
        self._handed.difference_update(keys)
        return super().delete(keys)


class _InPlace(_Bare):
    """Writes into the file that readers read, piece by piece, and reads what is there."""

    def _put(self, key: bytes, data: memoryview) -> bool:
        with self._file(key).open("wb", buffering=0) as stream:
            stream.truncate(len(data))
            for start in range(0, len(data), 1024):
                stream.write(data[start : start + 1024])
        return True


class _Unbounded(MemoryStore):
    """Never says that it is full."""

    def __init__(self, setting: StoreSetting) -> None:
        super().__init__(setting)
        self._room = None


class _OneNamespace(FileStore):
    """Keys of all models lie in one folder."""

    def __init__(self, setting: StoreSetting) -> None:
        super().__init__(StoreSetting(directory=setting.directory, capacity_bytes=setting.capacity_bytes))


class _ShortKeys(FileStore):
    """Names its files by the first characters of a key."""

    def _file(self, key: bytes) -> Path:
        return super()._file(key[:15])

    def _head(self, key: bytes, data: bytes | memoryview) -> bytes:
        return super()._head(key[:15], data)


class _SafeNames(FileStore):
    """Names its files by keys in which an underscore stands for what a name cannot hold."""

    def _file(self, key: bytes) -> Path:
        return super()._file(_safe(key))

    def _head(self, key: bytes, data: bytes | memoryview) -> bytes:
        return super()._head(_safe(key), data)


def _safe(key: bytes) -> bytes:
    return key.replace(b"/", b"_").replace(b"\0", b"_")


class _TextKeys(MemoryStore):
    """Takes keys for text, and what is no text for a question mark."""

    def exists(self, keys: Sequence[bytes]) -> Sequence[bool]:
        return super().exists(list(map(_as_text, keys)))

    def put(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        return super().put(list(map(_as_text, keys)), buffers)

    def get(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        return super().get(list(map(_as_text, keys)), buffers)


def _as_text(key: bytes) -> bytes:
    return key.decode("ascii", "replace").encode()


class _Forgets(MemoryStore):
    """Keeps no object of an odd length, and says that it does."""

    def _put(self, key: bytes, data: bytes) -> bool:
        return super()._put(key, data) if len(data) % 2 == 0 else True


class _IndexInMemory(FileStore):
    """What is on disk is known to the process that wrote it alone."""

    def __init__(self, setting: StoreSetting) -> None:
        super().__init__(setting)
        self._known: set[bytes] = set()

    def _put(self, key: bytes, data: memoryview) -> bool:
        self._known.add(key)
        return super()._put(key, data)

    def _read(self, key: bytes) -> bytes | None:
        return super()._read(key) if key in self._known else None


class _HashNames(FileStore):
    """Names its files by Python's own hash of a key, which another process has another of."""

    def _file(self, key: bytes) -> Path:
        return self._folder / f"{hash(key):x}"


class _RefusesWhenHalfFull(MemoryStore):
    """Takes new objects for half of what it may keep, and refuses the others."""

    def _put(self, key: bytes, data: bytes) -> bool:
        half_full = self._room is not None and self._bytes + len(data) > self._room // 2
        return False if half_full else super()._put(key, data)


def _over(store: type[Store]) -> ConnectorFactory:
    return OverStore(store)


_UNKEPT = {
    "store-unbounded": "bounded",
    "store-refuses-early": "evicts",
    "store-text-keys": "any_key",
    "store-index-in-memory": "persistent",
}

STORES = tuple(
    Mutant(
        name=name,
        fault=fault,
        clauses=clauses,
        factory=_over(store),
        classes=classes,
        against=f"store:{'fs' if issubclass(store, FileStore) else 'memory'}",
        unkept=_UNKEPT.get(name, ""),
    )
    for name, fault, clauses, store, classes in (
        ("store-short-read", "A file that was cut comes back with what the last get left behind.", ("STO-5",), _ShortReads, ("C12",)),
        ("store-unchecked", "A file that has the right length is believed.", ("STO-5",), _Unchecked, ("C12",)),
        ("store-raises", "A damaged object ends the batch with an exception.", ("STO-7",), _Raises, ("C12",)),
        ("store-put-ignored", "A put under a key that is there reports success and is ignored.", ("STO-4",), _IgnoredPut, ("C4",)),
        ("store-batch-undeclared", "One absent key makes all others of its batch absent.", ("STO-3",), _AllOrNothing, ("C12",)),
        ("store-stale-index", "Exists says yes of what was deleted.", ("STO-6",), _StaleIndex, ("C16",)),
        ("store-known-before", "Exists says yes of what a put has refused.", ("STO-6",), _KnownBefore, ("C16",)),
        ("store-in-place", "A writer that dies leaves half an object under its key.", ("STO-8",), _InPlace, ("C12",)),
        ("store-unbounded", "The capacity is no bound.", ("STO-9",), _Unbounded, ("C15",)),
        ("store-refuses-early", "New objects are refused although older ones could make way.", ("STO-9",), _RefusesWhenHalfFull, ("C15",)),
        ("store-one-namespace", "Equal keys of two models share their object.", ("STO-10",), _OneNamespace, ("C14",)),
        ("store-short-keys", "Keys that are equal at the front share their object.", ("STO-1",), _ShortKeys, ("C14",)),
        ("store-safe-names", "Bytes that no file's name can hold count as underscores.", ("STO-1",), _SafeNames, ("C14",)),
        ("store-text-keys", "Bytes of a key that are no text count as equal.", ("STO-1",), _TextKeys, ("C14",)),
        ("store-hash-names", "Objects lie under a hash of their key that differs from process to process.", ("STO-2",), _HashNames, ("C14",)),
        ("store-forgets", "Some objects are dropped and reported as kept.", ("STO-2",), _Forgets, ("C2",)),
        ("store-index-in-memory", "What was put is lost with the process although persistence is claimed.", ("STO-2",), _IndexInMemory, ("C2",)),
    )
)
