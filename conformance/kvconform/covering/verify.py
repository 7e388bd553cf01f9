"""Proof that rows cover every valid tuple, by other means than those that selected them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from kvconform.covering.errors import TooLargeError
from kvconform.covering.model import Clause, Model, Row, Strength, as_strength

MAX_STEPS = 5_000_000
"""Partial rows that are looked at to tell which of the tuples that no row holds are valid."""

Pick = tuple[tuple[int, int], ...]
"""A tuple to be covered: factors and the value of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How many of the valid tuples of ``strength`` of these ``factors`` are covered."""

    factors: tuple[int, ...]
    strength: int
    valid: int
    covered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """The row at position ``row`` breaks ``constraints``; none if it is no row of the model."""

    row: int
    constraints: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What `verify` found.

    ``coverage`` is that of the whole model, then of each part. ``missing`` are the valid tuples
    that no valid row holds. ``repeated`` are positions of rows that stand before as well.
    """

    coverage: tuple[Coverage, ...]
    missing: tuple[Pick, ...]
    broken: tuple[Broken, ...]
    repeated: tuple[int, ...]

    @property
    def holds(self) -> bool:
        """Whether every valid tuple is covered, by valid rows alone and each of them once."""
        return not (self.missing or self.broken or self.repeated)


def verify(model: Model, strength: Strength | int, rows: Iterable[Sequence[int]]) -> Proof:
    """Prove that ``rows`` cover every valid tuple, or say what is wrong with them.

    A tuple in a valid row is valid; for every other one a row that holds it is searched for.
    Raises `StrengthError` and `TooLargeError`.
    """
    valid: dict[Row, None] = {}
    broken = []
    repeated = []
    for at, row in enumerate(map(tuple, rows)):
        shaped = len(row) == len(model.sizes) and all(
            0 <= value < size for value, size in zip(row, model.sizes, strict=True)
        )
        constraints = tuple(_broken(model, row)) if shaped else ()
        if constraints or not shaped:
            broken.append(Broken(row=at, constraints=constraints))
        elif row in valid:
            repeated.append(at)
        else:
            valid[row] = None
    search = _Search(model)
    found = []
    missing: dict[Pick, None] = {}
    for factors, size in as_strength(strength).demands(model):
        covered = lost = 0
        for chosen in combinations(factors, size):
            held = {tuple(row[factor] for factor in chosen) for row in valid}
            everything = product(*(range(model.sizes[factor]) for factor in chosen))
            absent = [values for values in everything if values not in held]
            for values in search.possible(chosen, absent):
                missing[tuple(zip(chosen, values, strict=True))] = None
                lost += 1
            covered += len(held)
        found.append(
            Coverage(factors=factors, strength=size, valid=covered + lost, covered=covered)
        )
    return Proof(
        coverage=tuple(found),
        missing=tuple(missing),
        broken=tuple(broken),
        repeated=tuple(repeated),
    )


def coverage(
    model: Model, strength: Strength | int, rows: Iterable[Sequence[int]]
) -> tuple[Coverage, ...]:
    """How many valid tuples ``rows`` cover: of the whole model, then of each part."""
    return verify(model, strength, rows).coverage


def _broken(model: Model, row: Row) -> Iterator[int]:
    """Positions of the constraints that ``row`` breaks."""
    for at, clause in enumerate(model.forbidden):
        if all(row[factor] in values for factor, values in clause):
            yield at


class _Search:
    """Depth-first search for valid rows, one factor after the other."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._steps = 0
        self._related: dict[int, list[int]] = {}
        """For each factor that a constraint names, all that are named with it."""
        for clause in model.forbidden:
            named = [factor for factor, _ in clause]
            for factor in named:
                self._related.setdefault(factor, []).extend(named)

    def possible(self, chosen: Row, candidates: Sequence[Row]) -> Iterator[Row]:
        """Those of ``candidates``, values of the ``chosen`` factors, that some valid row holds."""
        order = self._order(chosen)
        closing: list[list[Clause]] = [[] for _ in range(len(order) + 1)]
        for clause in self._model.forbidden:
            places = tuple((order.index(factor), values) for factor, values in clause)
            last = max((place for place, _ in places), default=0)
            closing[max(last + 1, len(chosen))].append(places)
        sizes = [self._model.sizes[factor] for factor in order]
        for values in candidates:
            if self._extends(values, sizes, closing):
                yield values

    def _order(self, chosen: Row) -> list[int]:
        """``chosen``, then what constraints relate to it, nearest first, then what they also name."""
        order = dict.fromkeys(chosen)
        near: Iterable[int] = chosen
        while near:
            near = dict.fromkeys(
                other
                for factor in near
                for other in self._related.get(factor, ())
                if other not in order
            )
            order.update(near)
        return list(order | dict.fromkeys(self._related))

    def _extends(
        self, values: Row, sizes: Sequence[int], closing: Sequence[Sequence[Clause]]
    ) -> bool:
        """Whether a valid row begins with ``values``.

        ``closing`` has, for each number of values, the constraints that are decided by the last.
        """
        stack = [values]
        while stack:
            values = stack.pop()
            self._steps += 1
            if self._steps > MAX_STEPS:
                raise TooLargeError("partial rows looked at", self._steps, MAX_STEPS)
            if any(
                all(values[place] in named for place, named in clause)
                for clause in closing[len(values)]
            ):
                continue
            if len(values) == len(sizes):
                return True
            stack += [(*values, value) for value in reversed(range(sizes[len(values)]))]
        return False
