"""How many of a matrix's rows a run wants: levels, strength, seed, shards, an upper limit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kvconform.matrix.model import Matrix
from kvconform.ports import KvconformError

QUICK_STRENGTH = 2


class ShardError(KvconformError, ValueError):
    """A shard that is none: says what was given and what was expected."""


class Level(StrEnum):
    """How thorough a run is."""

    SMOKE = "smoke"
    """Is the adapter sane?  Matrices that say ``level: smoke``, as they are."""
    QUICK = "quick"
    """Every pair of axis values that the constraints allow."""
    REQUIRED = "required"
    """What each matrix selects."""
    FULL = "full"
    """Every row that the constraints allow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is asked of every matrix of a run.

    ``strength`` selects t-wise whatever the matrix says.  ``seed`` draws other rows of the same
    strength.  ``relock`` looks at no lock file.
    """

    level: Level = Level.REQUIRED
    strength: int | None = None
    seed: int | None = None
    relock: bool = False

    @property
    def is_own(self) -> bool:
        """Whether each matrix's own selection holds."""
        own = self.level in {Level.SMOKE, Level.REQUIRED}
        return own and self.strength is None and self.seed is None

    def selection(self, own: Any) -> Any:
        """What stands for a matrix's own ``select`` section."""
        if self.strength is not None:
            return self._seeded({"strength": self.strength})
        if self.level is Level.FULL:
            return "all"
        if self.level is Level.QUICK:
            return self._seeded({"strength": QUICK_STRENGTH})
        return self._seeded(own)

    def _seeded(self, select: Any) -> Any:
        if self.seed is None or not isinstance(select, Mapping):
            return select
        return {**select, "seed": self.seed}


OWN = Plan()
"""Each matrix as it says itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Part ``number`` of ``of``, counted from 1: cases fall into parts by a hash of their id."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """From ``k/n``; raises `ShardError`."""
        number, slash, of = text.partition("/")
        if slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of):
            return cls(number=int(number), of=int(of))
        raise ShardError(f"{text!r} is no shard; expected k/n with k from 1 to n, such as 1/4")

    def has(self, case: str) -> bool:
        """Whether the case of that id belongs to this part."""
        digest = hashlib.sha256(case.encode()).digest()
        return int.from_bytes(digest[:8], "big") % self.of == self.number - 1


def cut(
    matrices: Sequence[Matrix], *, shard: Shard | None = None, max_cases: int | None = None
) -> list[Matrix]:
    """Fewer rows of some matrices; those that are left without any go.

    Of ``max_cases`` every matrix gets its part, at least one where that is possible, and of each
    matrix those rows stay that were the first to hold most tuples.
    """
    kept = [
        matrix.only(
            [
                at
                for at, row in enumerate(matrix.rows)
                if shard is None or shard.has(f"{matrix.name}[{row.id}]")
            ]
        )
        for matrix in matrices
    ]
    if max_cases is not None:
        quotas = _quotas([len(matrix.rows) for matrix in kept], max_cases)
        kept = [_best(matrix, quota) for matrix, quota in zip(kept, quotas, strict=True)]
    return [matrix for matrix in kept if matrix.rows]


def _quotas(sizes: Sequence[int], most: int) -> list[int]:
    """Whole numbers in proportion to ``sizes``, ``most`` in all, one for each as long as they last."""
    quotas = [0] * len(sizes)
    for _ in range(min(most, sum(sizes))):
        short = [at for at, size in enumerate(sizes) if quotas[at] < size]
        # Whoever has none yet, then whoever has the least part of its size.
        quotas[min(short, key=lambda at: (quotas[at] / sizes[at], at))] += 1
    return quotas


def _best(matrix: Matrix, quota: int) -> Matrix:
    order = sorted(range(len(matrix.rows)), key=lambda at: (-matrix.rows[at].fresh, at))
    return matrix.only(sorted(order[:quota]))
