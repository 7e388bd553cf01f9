"""Ways in which the file of an object goes bad."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def _cut(file: Path, other: Path | None) -> None:
    del other
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])


def _empty(file: Path, other: Path | None) -> None:
    del other
    file.write_bytes(b"")


def _cut_by_one(file: Path, other: Path | None) -> None:
    del other
    file.write_bytes(file.read_bytes()[:-1])


def _longer(file: Path, other: Path | None) -> None:
    del other
    file.write_bytes(file.read_bytes() + b"\xa5" * 64)


def _flip(file: Path, other: Path | None) -> None:
    """One bit in the middle, where no header is."""
    del other
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x10
    file.write_bytes(bytes(data))


def _zeros(file: Path, other: Path | None) -> None:
    """What a file system that lost its cache leaves: the right length, no bytes."""
    del other
    file.write_bytes(bytes(file.stat().st_size))


def _swap(file: Path, other: Path | None) -> None:
    if other is None:
        raise ValueError("a swap needs another object")
    mine, others = file.read_bytes(), other.read_bytes()
    file.write_bytes(others)
    other.write_bytes(mine)


def _delete(file: Path, other: Path | None) -> None:
    del other
    file.unlink()


def _folder(file: Path, other: Path | None) -> None:
    """Something that cannot be opened as a file, whoever asks."""
    del other
    file.unlink()
    file.mkdir()


DAMAGES: dict[str, Callable[[Path, Path | None], None]] = {
    "cut": _cut,
    "cut_by_one": _cut_by_one,
    "empty": _empty,
    "longer": _longer,
    "flip": _flip,
    "zeros": _zeros,
    "swap": _swap,
    "delete": _delete,
    "folder": _folder,
}
"""Every way by its name: (file of the object, file of another one)."""


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Another process's exclusive lock is on the file."""
    with file.open("rb+") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def clear_away(folder: Path) -> None:
    """Remove a case's folder, whatever damage left in it."""
    with suppress(OSError):
        folder.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
