"""The tuples to be covered, numbered, and sets of them as the bits of one integer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import combinations
from math import prod

from kvconform.covering.model import Model, Row, Strength

TupleSet = int
"""A set of tuples: bit k stands for tuple number k."""


class Tuples:
    """All tuples of factor values that a strength asks for, whether a row can hold them or not.

    A set of factors that lies within a larger one is left out: covering that covers it.
    The tuples of one set of factors are numbered consecutively, the last factor fastest.
    """

    def __init__(self, model: Model, strength: Strength) -> None:
        self._sizes = model.sizes
        self._factors = _factor_sets(model, strength)
        self._starts = []
        self.holding = [[0] * size for size in model.sizes]
        """For each factor and value, the tuples with this value."""
        count = 0
        for factors in self._factors:
            self._starts.append(count)
            block = prod(model.sizes[factor] for factor in factors)
            period = block
            for factor in factors:
                stride = period // model.sizes[factor]
                run = _ones(stride) * (_ones(block) // _ones(period))
                for value in range(model.sizes[factor]):
                    self.holding[factor][value] |= run << (count + value * stride)
                period = stride
            count += block
        self.everything = _ones(count)
        self.about = [sum(values) for values in self.holding]
        """For each factor, the tuples with any of its values."""
        self.agreeing = [
            [self.everything & ~about | held for held in values]
            for about, values in zip(self.about, self.holding, strict=True)
        ]
        """For each factor and value, the tuples that a row with this value may hold."""

    def held(self, row: Row) -> TupleSet:
        """The tuples that ``row`` holds."""
        result = self.everything
        for agreeing, value in zip(self.agreeing, row, strict=True):
            result &= agreeing[value]
        return result

    def held_by(self, rows: Iterable[Row]) -> TupleSet:
        """The tuples that any of ``rows`` holds."""
        result = 0
        for row in rows:
            result |= self.held(row)
        return result

    def fresh(self, rows: Iterable[Row]) -> Iterator[int]:
        """For each row, how many tuples it holds that none before it does."""
        covered = 0
        for row in rows:
            held = self.held(row)
            yield (held & ~covered).bit_count()
            covered |= held

    def fewest_rows(self, missing: TupleSet) -> int:
        """A number of rows below which ``missing`` cannot be covered.

        A row holds one tuple of each set of factors, so that each set needs as many as it misses.
        """
        stops = [*self._starts[1:], self.everything.bit_length()]
        return max(
            (missing >> start & _ones(stop - start)).bit_count()
            for start, stop in zip(self._starts, stops, strict=True)
        )

    def first(self, some: TupleSet) -> tuple[TupleSet, list[tuple[int, int]]]:
        """The first tuple of a set that is not empty: as a set, and as factors and values."""
        bit = some & -some
        number = bit.bit_length() - 1
        at = bisect_right(self._starts, number) - 1
        number -= self._starts[at]
        result = []
        for factor in reversed(self._factors[at]):
            number, value = divmod(number, self._sizes[factor])
            result.append((factor, value))
        return bit, result


def _ones(count: int) -> TupleSet:
    return (1 << count) - 1


def _factor_sets(model: Model, strength: Strength) -> list[tuple[int, ...]]:
    """The sets of factors whose tuples are covered, none of them within another."""
    demands = strength.demands(model)
    wanted = dict.fromkeys(
        chosen for factors, size in demands for chosen in combinations(factors, size)
    )
    return [
        chosen
        for chosen in wanted
        if not any(
            size > len(chosen) and set(factors).issuperset(chosen) for factors, size in demands
        )
    ]
