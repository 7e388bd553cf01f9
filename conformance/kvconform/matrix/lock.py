"""The rows that were chosen, in a file beside the matrix: they survive its edits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kvconform.ports import KvconformError

SUFFIX = ".lock"
_FORMAT = 1


class LockError(KvconformError):
    """A lock file that cannot be used at all: names it, what is wrong, and what to do."""


class LockState(StrEnum):
    """How the lock file of a matrix stands to the matrix."""

    NONE = "none"
    """The matrix needs no lock."""
    MISSING = "missing"
    FRESH = "fresh"
    STALE = "stale"
    """The matrix was edited since."""
    EDITED = "edited"
    """The lock itself was edited by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """Rows by their keys, each with the number of tuples that it was the first to hold.

    A key names every axis: ``win.8-keep.3``, defaults included.  ``model`` is a digest of what
    the rows were chosen from.
    """

    matrix: str
    model: str
    rows: tuple[tuple[str, int], ...]

    @property
    def digest(self) -> str:
        """Of all that the file says, against edits by hand."""
        return digest_of([self.matrix, self.model, self.rows])

    def text(self) -> str:
        """The file, one row a line."""
        head = {
            "format": _FORMAT,
            "about": "rows chosen by `kvconform lock`; do not edit",
            "matrix": self.matrix,
            "model": self.model,
            "digest": self.digest,
        }
        lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
        rows = ",\n".join(f"  {json.dumps([key, fresh])}" for key, fresh in self.rows)
        return "{\n" + "\n".join(lines) + f'\n "rows": [\n{rows}\n ]\n}}\n'


def digest_of(data: object) -> str:
    """A short digest of plain data."""
    text = json.dumps(data, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def lock_path(matrix: Path) -> Path:
    """Where the lock of a matrix file lies."""
    return matrix.with_suffix(SUFFIX)


def read_lock(matrix: Path, name: str) -> tuple[Lock | None, LockState]:
    """The lock beside a matrix file, and whether it is as it was written (``FRESH`` then).

    Raises `LockError` if it is no lock of the matrix called ``name``.
    """
    path = lock_path(matrix)
    if not path.is_file():
        return None, LockState.MISSING
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        rows = tuple((str(key), int(fresh)) for key, fresh in data["rows"])
        found = Lock(matrix=str(data["matrix"]), model=str(data["model"]), rows=rows)
        said, written = str(data["digest"]), data["format"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LockError(f"{path.name}: is no lock file ({error!r}); {_MEND}") from error
    if written != _FORMAT:
        raise LockError(f"{path.name}: is of format {written!r}, not {_FORMAT}; {_MEND}")
    if found.matrix != name:
        raise LockError(f"{path.name}: is the lock of the matrix {found.matrix!r}; {_MEND}")
    return found, LockState.FRESH if said == found.digest else LockState.EDITED


_MEND = "delete it and run `kvconform lock` on the matrix"


def state_of(lock: Lock | None, read: LockState, model: str) -> LockState:
    """What a lock is worth for the model at hand."""
    if lock is not None and read is LockState.FRESH and lock.model != model:
        return LockState.STALE
    return read


def lock_of(name: str, model: str, keys: Sequence[str], fresh: Sequence[int]) -> Lock:
    """The lock that holds a selection."""
    return Lock(matrix=name, model=model, rows=tuple(zip(keys, fresh, strict=True)))
