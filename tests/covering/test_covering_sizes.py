"""Selections are as small as the published ones and as those of other tools."""

from __future__ import annotations

import pytest
from covering_models import DOMAIN

from kvconform.covering import Model, select, verify


def model(*groups: tuple[int, int]) -> Model:
    """Unconstrained factors, each group as a size and how many of it."""
    return Model(sizes=tuple(size for size, count in groups for _ in range(count)))


@pytest.mark.parametrize(
    ("covered", "most"),
    [
        (model((3, 4)), 9),
        (model((3, 13)), 20),
        (model((4, 15), (3, 17), (2, 29)), 40),
        (model((4, 1), (3, 39), (2, 35)), 30),
        (model((10, 20)), 220),
    ],
    ids=["3^4", "3^13", "4^15 3^17 2^29", "4^1 3^39 2^35", "10^20"],
)
def test_published_pairwise_sizes(covered: Model, most: int) -> None:
    """Pairs take at most the rows that published tools need (pairwise.org/tools.html)."""
    rows = select(covered, 2).rows
    assert len(rows) <= most
    assert verify(covered, 2, rows).holds


@pytest.mark.parametrize(("strength", "most"), [(2, 33), (3, 170)])
def test_domain_size(strength: int, most: int) -> None:
    """The domain's tuples take at most the rows that PICT 3.7.4 needs."""
    for seed in range(3):
        assert len(select(DOMAIN, strength, seed=seed).rows) <= most


@pytest.mark.parametrize("strength", [2, 3])
def test_against_covertable(strength: int) -> None:
    """Another tool's rows for the domain are proven as well; ours are at most a tenth more."""
    covertable = pytest.importorskip("covertable")
    names = [str(factor) for factor in range(len(DOMAIN.sizes))]
    theirs = covertable.make(
        {name: list(range(size)) for name, size in zip(names, DOMAIN.sizes, strict=True)},
        strength=strength,
        constraints=[
            {
                "operator": "not",
                "condition": {
                    "operator": "and",
                    "conditions": [
                        {"operator": "in", "left": names[factor], "values": sorted(values)}
                        for factor, values in forbidden
                    ],
                },
            }
            for forbidden in DOMAIN.forbidden
        ],
    )
    assert verify(DOMAIN, strength, [[row[name] for name in names] for row in theirs]).holds
    assert len(select(DOMAIN, strength).rows) <= 1.1 * len(theirs)
