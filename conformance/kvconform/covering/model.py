"""What is to be covered: factors, the combinations that are forbidden, and a strength."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from kvconform.covering.errors import ModelError, StrengthError, TooLargeError

MAX_TUPLES = 100_000
"""Tuples of factor values, valid or not, that a strength may ask for."""

Row = tuple[int, ...]
"""For each factor, the position of its value."""

Clause = tuple[tuple[int, frozenset[int]], ...]
"""Factors and value positions of each; a row whose values lie in all of these sets is invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Factors and constraints; ``sizes`` are numbers of values, listed simplest first.

    Axes that vary together (a ``zip``) are one factor whose values are the entries of the zip.
    Covering the tuples of entries covers those of the single axes as well.
    Raises `ModelError`.
    """

    sizes: tuple[int, ...]
    forbidden: tuple[Clause, ...] = ()

    def __post_init__(self) -> None:
        problems = [
            f"factor {factor} has {size} values; expected at least 1"
            for factor, size in enumerate(self.sizes)
            if size < 1
        ]
        for at, clause in enumerate(self.forbidden):
            problems += [f"constraint {at}: {problem}" for problem in self._problems(clause)]
        if problems:
            raise ModelError(problems)

    def _problems(self, clause: Clause) -> Iterable[str]:
        for factor, values in clause:
            if not 0 <= factor < len(self.sizes):
                yield f"there is no factor {factor}; expected 0 to {len(self.sizes) - 1}"
                continue
            for value in sorted(values):
                if not 0 <= value < self.sizes[factor]:
                    last = self.sizes[factor] - 1
                    yield f"factor {factor} has no value {value}; expected 0 to {last}"

    @property
    def product(self) -> int:
        """Number of combinations before any is forbidden."""
        return prod(self.sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strength:
    """How many factors are covered together: ``base`` everywhere, more within ``parts``.

    Each part is a set of factors and the strength among them.
    """

    base: int
    parts: tuple[tuple[frozenset[int], int], ...] = ()

    def demands(self, model: Model) -> tuple[tuple[tuple[int, ...], int], ...]:
        """Factors in order and the strength among them: all of the model first, then the parts.

        Raises `StrengthError`, and `TooLargeError` above `MAX_TUPLES`.
        """
        everything = frozenset(range(len(model.sizes)))
        demands = []
        count = 0
        for factors, strength in ((everything, self.base), *self.parts):
            unknown = sorted(factors - everything)
            if unknown:
                raise StrengthError(
                    f"there is no factor {unknown[0]}; expected 0 to {len(everything) - 1}"
                )
            if not 1 <= strength <= len(factors):
                raise StrengthError(
                    f"strength {strength} among {len(factors)} factors;"
                    f" expected 1 to {len(factors)}"
                )
            count += _tuples([model.sizes[factor] for factor in factors], strength)
            demands.append((tuple(sorted(factors)), strength))
        if count > MAX_TUPLES:
            raise TooLargeError("tuples of values to cover", count, MAX_TUPLES)
        return tuple(demands)


def _tuples(sizes: Iterable[int], strength: int) -> int:
    """Number of ways to take one value from each of ``strength`` different factors."""
    ways = [1] + [0] * strength
    for size in sizes:
        for taken in range(strength, 0, -1):
            ways[taken] += ways[taken - 1] * size
    return ways[strength]


def as_strength(strength: Strength | int) -> Strength:
    """The same strength everywhere, where it was given as a number."""
    return Strength(base=strength) if isinstance(strength, int) else strength
