"""A store of one file an object: whole files or none, a checksum in front, shared by processes."""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from kvconform.ports import (
    BatchAnswer,
    Overwrite,
    Store,
    StoreCapability,
    StoreClaims,
    StoreSetting,
    StoreUnavailableError,
)

_DIGEST_BYTES = 16
_OF_THE_PLACE = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.EIO,
        errno.EMFILE,
        errno.ENFILE,
    }
)
"""Errors of the file system as a whole, not of one object's file."""
_WORDS = 2  # a digest of namespace and key, one of the bytes


class FileStore(Store):
    """One file an object.

    A file begins with the digest of its namespace and key and that of its bytes, so that one that
    was cut, flipped or swapped is a miss.  It is written beside its place and moved there, so
    that a writer that dies leaves nothing of that name.
    """

    claims = StoreClaims(
        capabilities=frozenset(
            {
                StoreCapability.PERSISTENT,
                StoreCapability.SHARED,
                StoreCapability.BOUNDED,
                StoreCapability.ANY_KEY,
                StoreCapability.DELETES,
                StoreCapability.OBJECT_FILES,
                StoreCapability.PARTIAL_READS,
            }
        ),
        exists_answer=BatchAnswer.PER_KEY,
        get_answer=BatchAnswer.PER_KEY,
        overwrite=Overwrite.REPLACE,
    )

    def __init__(self, setting: StoreSetting) -> None:
        self._namespace = setting.namespace.encode()
        # Any text may name a namespace, and not any text can name a folder.
        self._folder = setting.directory / _named(self._namespace)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _failed("does not open", self._folder, error) from error
        self._room = setting.capacity_bytes

    def exists(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Whether a get would find each key: the file is read, as a get reads it."""
        return [self._read(key) is not None for key in keys]

    def put(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """Write each object; a file system that is full or refuses all raises."""
        answers = []
        for key, buffer in zip(keys, buffers, strict=True):
            try:
                answers.append(self._put(key, buffer))
            except OSError as error:
                if error.errno in _OF_THE_PLACE:
                    raise _failed("cannot write", self._folder, error) from error
                answers.append(False)
        return answers

    def _put(self, key: bytes, data: memoryview) -> bool:
        if self._room is not None and self._used(but=key) + len(data) > self._room:
            return False
        name = ""
        try:
            handle, name = tempfile.mkstemp(dir=self._folder, prefix=".")
            with os.fdopen(handle, "wb") as stream:
                stream.write(self._head(key, data))
                stream.write(data)
            Path(name).replace(self._file(key))
        except OSError:
            with suppress(OSError):
                Path(name).unlink()
            raise
        return True

    def _used(self, but: bytes) -> int:
        """Bytes of all objects but one, the heads of files left out."""
        own = self._file(but).name
        sizes = 0
        for entry in os.scandir(self._folder):
            with suppress(FileNotFoundError):  # another process has deleted it
                if entry.name != own and not entry.name.startswith("."):
                    sizes += entry.stat().st_size - _WORDS * _DIGEST_BYTES
        return sizes

    def get(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """Read each object, or its front, into its buffer."""
        return [self._get(key, buffer) for key, buffer in zip(keys, buffers, strict=True)]

    def _get(self, key: bytes, buffer: memoryview) -> bool:
        data = self._read(key)
        if data is None or len(data) < len(buffer):
            return False
        buffer[:] = data[: len(buffer)]  # all of it was read, to compare the digest
        return True

    def _read(self, key: bytes) -> bytes | None:
        try:
            content = self._file(key).read_bytes()
        except OSError:
            return None
        head, data = content[: _WORDS * _DIGEST_BYTES], content[_WORDS * _DIGEST_BYTES :]
        return data if data and head == self._head(key, data) else None

    def _head(self, key: bytes, data: bytes | memoryview) -> bytes:
        owner = hashlib.blake2b(key, digest_size=_DIGEST_BYTES, person=_named(self._namespace)[:16].encode())
        return owner.digest() + hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()

    def delete(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Remove each file."""
        answers = []
        for key in keys:
            try:
                self._file(key).unlink()
                answers.append(True)
            except OSError:
                answers.append(False)
        return answers

    def object_file(self, key: bytes) -> Path:
        """The file of a key, there or not."""
        return self._file(key)

    def _file(self, key: bytes) -> Path:
        """A name of a digest, so that keys of any bytes and length have one."""
        return self._folder / _named(key)


def _failed(what: str, folder: Path, error: OSError) -> StoreUnavailableError:
    return StoreUnavailableError(f"fs {what} in {folder}: {error.strerror}")


def _named(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=20).hexdigest()
