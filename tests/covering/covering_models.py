"""Models to cover, random ones among them, and what brute force says about them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, product

from hypothesis import strategies as st

from kvconform.covering import Clause, Model, Pick, Row, Strength


def clause(**named: tuple[int, ...]) -> Clause:
    """A forbidden combination of values of the domain's axes, by their names."""
    return tuple((AXES.index(name), frozenset(values)) for name, values in named.items())


AXES = (
    "boundary",
    "window",
    "extra",
    "eagle",
    "left",
    "blocks_per_chunk",
    "scheduling",
    "ranks",
    "prompt",
    "residency",
    "retention",
    "groups",
)

DOMAIN = Model(
    sizes=(5, 5, 5, 2, 4, 4, 2, 2, 3, 3, 3, 2),
    forbidden=(
        clause(left=(3,), scheduling=(0,)),
        clause(residency=(2,), left=(0, 2)),
        clause(eagle=(0,), retention=(2,)),
        clause(groups=(0,), extra=(3, 4)),
        clause(blocks_per_chunk=(3,), boundary=(0, 1)),
        clause(window=(4,), extra=(3, 4)),
        clause(ranks=(1,), residency=(1,), scheduling=(0,)),
        clause(boundary=(4,), prompt=(0,), blocks_per_chunk=(2, 3)),
        clause(retention=(2,), residency=(1,), left=(2,)),
    ),
)
"""Twelve axes of a matrix for admission, 40 values and nine constraints."""


def different(first: int, second: int) -> tuple[Clause, ...]:
    """Constraints by which two factors of two values never have the same."""
    return tuple(((first, frozenset({value})), (second, frozenset({value}))) for value in range(2))


def valid_rows(model: Model) -> list[Row]:
    """All rows that no constraint forbids, simplest first."""
    return [
        row
        for row in product(*map(range, model.sizes))
        if not any(
            all(row[factor] in values for factor, values in forbidden)
            for forbidden in model.forbidden
        )
    ]


def picks(model: Model, strength: Strength, rows: Iterable[Row]) -> set[Pick]:
    """All tuples of the model's and of each part's strength that ``rows`` hold."""
    everything = frozenset(range(len(model.sizes)))
    return {
        tuple((factor, row[factor]) for factor in chosen)
        for factors, size in ((everything, strength.base), *strength.parts)
        for chosen in combinations(sorted(factors), size)
        for row in rows
    }


@st.composite
def models(draw: st.DrawFn) -> Model:
    """Small models, some without a valid row, some with constraints that imply others."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    literals = st.integers(0, len(sizes) - 1).flatmap(
        lambda factor: st.tuples(
            st.just(factor), st.frozensets(st.integers(0, sizes[factor] - 1), max_size=2)
        )
    )
    clauses = st.lists(literals, min_size=1, max_size=3).map(tuple)
    forbidden = draw(st.lists(clauses, max_size=6))
    return Model(sizes=tuple(sizes), forbidden=tuple(forbidden))


@st.composite
def strengths(draw: st.DrawFn, model: Model) -> Strength:
    """Strengths that ``model`` allows, up to two parts included."""
    factors = range(len(model.sizes))
    parts = []
    for part in draw(st.lists(st.frozensets(st.sampled_from(factors), min_size=1), max_size=2)):
        parts.append((part, draw(st.integers(1, len(part)))))
    return Strength(base=draw(st.integers(1, len(factors))), parts=tuple(parts))
