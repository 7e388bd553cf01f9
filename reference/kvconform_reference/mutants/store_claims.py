"""Stores that claim what they do not keep, and stores that do not outlive trouble of their disk."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from kvconform.ports import ConnectorFactory, Store, StoreSetting
from kvconform_reference.mutants.base import Mutant
from kvconform_reference.stored import OverStore
from kvconform_reference.stores import FileStore, MemoryStore
from kvconform_reference.stores.memory import Kept


class _NeverExpires(MemoryStore):
    """Takes a time to live, and keeps objects for ever."""

    def _expired(self, kept: Kept) -> bool:
        del kept
        return False


class _ExpiresEarly(MemoryStore):
    """Counts half of the time to live."""

    def _expired(self, kept: Kept) -> bool:
        return self._ttl_s is not None and self._clock() - kept.put_s >= self._ttl_s / 2


class _RenewedByGet(MemoryStore):
    """A get begins the time to live anew."""

    def _get(self, key: bytes, buffer: memoryview) -> bool:
        found = super()._get(key, buffer)
        if found:
            self._objects[key] = self._objects[key]._replace(put_s=self._clock())
        return found


class _NoLease(MemoryStore):
    """Takes a lease for nothing."""

    def _leased(self, key: bytes) -> bool:
        del key
        return False


class _EndlessLease(MemoryStore):
    """What was looked up once is never let go."""

    def _leased(self, key: bytes) -> bool:
        return key in self._shelf.leased_until_s


class _CopiesTwice(MemoryStore):
    """Claims zero copy, and makes one more."""

    def _get(self, key: bytes, buffer: memoryview) -> bool:
        data = self._find(key)
        if data is None or len(data) != len(buffer):
            return False
        buffer[:] = bytearray(data)
        return True


class _NoDelete(MemoryStore):
    """Says that objects can be deleted at any time, and refuses for those that were read."""

    def __init__(self, setting: StoreSetting) -> None:
        super().__init__(setting)
        self._read: set[bytes] = set()

    def _get(self, key: bytes, buffer: memoryview) -> bool:
        self._read.add(key)
        return super()._get(key, buffer)

    def _delete(self, key: bytes) -> bool:
        return key not in self._read and super()._delete(key)


class _NoFront(FileStore):
    """Claims partial reads, and gives whole objects alone."""

    def _get(self, key: bytes, buffer: memoryview) -> bool:
        data = self._read(key)
        return data is not None and len(data) == len(buffer) and super()._get(key, buffer)


class _EndInstead(FileStore):
    """A shorter buffer gets the end of an object."""

    def _get(self, key: bytes, buffer: memoryview) -> bool:
        data = self._read(key)
        if data is None or len(data) < len(buffer):
            return False
        buffer[:] = data[len(data) - len(buffer) :]
        return True


class _NoFile(FileStore):
    """Claims that objects have files, and tells names of none."""

    def object_file(self, key: bytes) -> Path:
        return self._folder / key.hex()[:200]


class _IndexAtOpening(FileStore):
    """What other processes put later is not seen, although sharing is claimed."""

    def __init__(self, setting: StoreSetting) -> None:
        super().__init__(setting)
        self._known = {file.name for file in self._folder.iterdir()}

    def _put(self, key: bytes, data: memoryview) -> bool:
        self._known.add(self._file(key).name)
        return super()._put(key, data)

    def _read(self, key: bytes) -> bytes | None:
        return super()._read(key) if self._file(key).name in self._known else None


class _FullRaises(FileStore):
    """An error of the file system goes to the caller as it is."""

    def put(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        return [self._put(key, buffer) for key, buffer in zip(keys, buffers, strict=True)]


class _FullBelieved(FileStore):
    """A put that found no room is reported as done."""

    def _put(self, key: bytes, data: memoryview) -> bool:
        with suppress(OSError):
            super()._put(key, data)
        return True


class _FullTorn(FileStore):
    """Writes in place, and serves what a full disk took, filled up with zeros."""

    def _put(self, key: bytes, data: memoryview) -> bool:
        with self._file(key).open("wb", buffering=0) as stream:
            return stream.write(data) == len(data)

    def _get(self, key: bytes, buffer: memoryview) -> bool:
        data = self._read(key)
        if data is None:
            return False
        buffer[:] = data.ljust(len(buffer), b"\0")[: len(buffer)]
        return True

    def _read(self, key: bytes) -> bytes | None:
        try:
            return self._file(key).read_bytes() or None
        except OSError:
            return None

    def _used(self, but: bytes) -> int:
        own = self._file(but).name
        return sum(file.stat().st_size for file in self._folder.iterdir() if file.name != own)


class _DeniedForgets(FileStore):
    """What could not be opened once is taken for lost."""

    def __init__(self, setting: StoreSetting) -> None:
        super().__init__(setting)
        self._lost: set[Path] = set()

    def _put(self, key: bytes, data: memoryview) -> bool:
        self._lost.discard(self._file(key))
        return super()._put(key, data)

    def _read(self, key: bytes) -> bytes | None:
        file = self._file(key)
        try:
            with file.open("rb"):
                pass
        except PermissionError:
            self._lost.add(file)
        except OSError:
            return None
        return None if file in self._lost else super()._read(key)


class _FullForGood(FileStore):
    """Once the disk was full nothing is put any more."""

    def __init__(self, setting: StoreSetting) -> None:
        super().__init__(setting)
        self._was_full = False

    def _put(self, key: bytes, data: memoryview) -> bool:
        if self._was_full:
            return False
        try:
            return super()._put(key, data)
        except OSError:
            self._was_full = True
            raise


def _over(store: type[Store]) -> ConnectorFactory:
    return OverStore(store)


STORE_CLAIMS = tuple(
    Mutant(
        name=name,
        fault=fault,
        clauses=clauses,
        factory=_over(store),
        classes=classes,
        against=f"store:{'fs' if issubclass(store, FileStore) else 'memory'}",
        unkept=unkept,
    )
    for name, fault, clauses, store, classes, unkept in (
        ("store-never-expires", "Objects are found after their time to live.", ("STO-12",), _NeverExpires, ("C15",), "ttl"),
        ("store-expires-early", "Objects are gone before their time to live is over.", ("STO-12",), _ExpiresEarly, ("C2",), "ttl"),
        ("store-renewed-by-get", "A get begins the time to live anew.", ("STO-12",), _RenewedByGet, ("C15",), "ttl"),
        ("store-no-lease", "What was looked up makes way and is deleted in its lease.", ("STO-13",), _NoLease, ("C16",), "leases"),
        ("store-endless-lease", "What was looked up is kept for ever.", ("STO-13", "STO-9"), _EndlessLease, ("C15",), "leases"),
        ("store-copies-twice", "A get makes a copy of the object although zero copy is claimed.", ("STO-14",), _CopiesTwice, ("C15",), "zero_copy"),
        ("store-no-delete", "What was read cannot be deleted although deletes are claimed.", ("STO-2",), _NoDelete, ("C4",), "deletes"),
        ("store-no-front", "A shorter buffer is a miss although partial reads are claimed.", ("STO-2",), _NoFront, ("C2",), "partial_reads"),
        ("store-end-instead", "A shorter buffer gets the end of an object.", ("STO-1",), _EndInstead, ("C12",), "partial_reads"),
        ("store-no-file", "No file of an object can be told although files are claimed.", ("STO-7",), _NoFile, ("C12",), "object_files"),
        ("store-index-at-opening", "What another process puts is not seen although sharing is claimed.", ("STO-2",), _IndexAtOpening, ("C2",), "shared"),
        ("store-full-raises", "A full disk is an exception of the file system's own.", ("STO-11", "STO-7"), _FullRaises, ("C12",), ""),
        ("store-full-believed", "A put that found no room is reported as done.", ("STO-11",), _FullBelieved, ("C2",), ""),
        ("store-full-torn", "What a full disk took of an object is served, filled up with zeros.", ("STO-11", "STO-1"), _FullTorn, ("C12",), ""),
        ("store-full-for-good", "Once the disk was full nothing is kept any more.", ("STO-11",), _FullForGood, ("C2",), ""),
        ("store-denied-forgets", "What could not be opened for a while is lost.", ("STO-11",), _DeniedForgets, ("C2",), ""),
    )
)
