"""Selections hold every valid tuple, keep what they must and are the same everywhere."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import pytest
from covering_models import DOMAIN, different, models, picks, strengths, valid_rows
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kvconform.covering import Model, Strength, select


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_covers_exactly_what_is_valid(data: st.DataObject) -> None:
    """Rows are valid and different, and hold each tuple that brute force finds in a valid row."""
    model = data.draw(models())
    strength = data.draw(strengths(model))
    valid = valid_rows(model)
    assume(valid)
    selection = select(model, strength, seed=data.draw(st.integers(0, 3)))
    assert set(selection.rows) <= set(valid)
    assert len(set(selection.rows)) == len(selection.rows)
    assert picks(model, strength, selection.rows) == picks(model, strength, valid)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_fresh_counts(data: st.DataObject) -> None:
    """Each row comes with the number of tuples that none before it holds."""
    model = data.draw(models())
    assume(valid_rows(model))
    strength = Strength(base=data.draw(st.integers(1, len(model.sizes))))
    selection = select(model, strength)
    held = [
        len(picks(model, strength, selection.rows[:count]))
        for count in range(len(selection.rows) + 1)
    ]
    assert selection.fresh == tuple(after - before for before, after in pairwise(held))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_kept_rows_and_presets(data: st.DataObject) -> None:
    """Kept rows that are valid come first in their order, then presets, each once."""
    model = data.draw(models())
    valid = valid_rows(model)
    assume(valid)
    rows = st.tuples(*(st.integers(0, size) for size in model.sizes))
    kept = data.draw(st.lists(rows, max_size=4))
    presets = data.draw(st.lists(st.sampled_from(valid), max_size=3))
    selection = select(model, 1, kept=kept, presets=presets)
    fixed = list(dict.fromkeys([row for row in kept if row in valid] + presets))
    assert list(selection.rows[: len(fixed)]) == fixed
    one = Strength(base=1)
    assert picks(model, one, selection.rows) == picks(model, one, valid)


def test_own_selection_is_kept() -> None:
    """A selection given back as the kept rows is the selection."""
    selection = select(DOMAIN, 2)
    assert select(DOMAIN, 2, kept=selection.rows, seed=9) == selection


@pytest.mark.parametrize("factor", range(len(DOMAIN.sizes)))
def test_added_value(factor: int) -> None:
    """A value added to a factor leaves all rows where they are and adds only what it needs."""
    rows = select(DOMAIN, 2).rows
    sizes = list(DOMAIN.sizes)
    sizes[factor] += 1
    grown = select(replace(DOMAIN, sizes=tuple(sizes)), 2, kept=rows).rows
    assert grown[: len(rows)] == rows
    assert all(row[factor] == sizes[factor] - 1 for row in grown[len(rows) :])


def test_added_constraint() -> None:
    """A constraint added later removes the kept rows that break it and no other."""
    rows = select(DOMAIN, 2).rows
    forbidden = ((1, frozenset({0})), (2, frozenset({0})))
    model = replace(DOMAIN, forbidden=(*DOMAIN.forbidden, forbidden))
    still = tuple(row for row in rows if (row[1], row[2]) != (0, 0))
    assert len(still) < len(rows)
    assert select(model, 2, kept=rows).rows[: len(still)] == still


def test_simplest_values() -> None:
    """Where a value does not matter the row has the first one that is valid with those before it."""
    model = Model(sizes=(3, 4, 5), forbidden=(((0, frozenset({2})), (1, frozenset({0}))),))
    kept = [(at % 2, at % 4, at) for at in range(5)]
    assert select(model, 1, kept=kept).rows == (*kept, (2, 1, 0))


def test_part_of_higher_strength() -> None:
    """A part is covered at its own strength while the rest stays at the base."""
    model = Model(sizes=(2,) * 8)
    part = frozenset({1, 4, 6})
    mixed = Strength(base=2, parts=((part, 3),))
    rows = select(model, mixed).rows
    assert len({(row[1], row[4], row[6]) for row in rows}) == 8
    assert len(rows) < len(select(model, 3).rows)


def test_constraints_beyond_propagation() -> None:
    """A value that constraints exclude only together is in no row, and all others are in one."""
    triangle = (*different(1, 2), *different(2, 3), *different(1, 3))
    model = Model(
        sizes=(2, 2, 2, 2, 20),
        forbidden=tuple(((0, frozenset({0})), *forbidden) for forbidden in triangle),
    )
    rows = select(model, 1).rows
    assert [{row[factor] for row in rows} for factor in range(5)] == [
        {1},
        {0, 1},
        {0, 1},
        {0, 1},
        set(range(20)),
    ]


def test_same_rows_for_ever() -> None:
    """The rows of a seed do not change: lock files of other machines rely on it."""
    assert select(Model(sizes=(3, 3, 3, 3)), 2).rows == (
        (0, 0, 2, 0),
        (0, 1, 0, 2),
        (0, 2, 1, 1),
        (1, 0, 1, 2),
        (1, 1, 2, 1),
        (1, 2, 0, 0),
        (2, 0, 0, 1),
        (2, 1, 1, 0),
        (2, 2, 2, 2),
    )


@pytest.mark.parametrize("hash_seed", ["0", "4242"])
def test_independent_of_hash_seed(hash_seed: str) -> None:
    """Another process with another seed of the built-in hash selects the same rows."""
    program = (
        "from covering_models import DOMAIN; from kvconform.covering import select;"
        "print(select(DOMAIN, 2, seed=5).rows)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        text=True,
        env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
    )
    assert answer.stdout.strip() == str(select(DOMAIN, 2, seed=5).rows)
