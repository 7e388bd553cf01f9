"""The verifier agrees with brute force, and sees every kind of damage."""

from __future__ import annotations

import pytest
from covering_models import DOMAIN, models, picks, strengths, valid_rows
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kvconform.covering import Broken, Coverage, Model, Strength, coverage, select, verify


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_rows(data: st.DataObject) -> None:
    """Whatever rows there are: what is missing, broken and repeated is what brute force says."""
    model = data.draw(models())
    strength = data.draw(strengths(model))
    any_row = st.tuples(*(st.integers(0, size - 1) for size in model.sizes))
    rows = data.draw(st.lists(any_row, max_size=6))
    valid = valid_rows(model)
    sound = [row for row in rows if row in valid]
    proof = verify(model, strength, rows)
    wanted = picks(model, strength, valid)
    assert set(proof.missing) == wanted - picks(model, strength, sound)
    assert [broken.row for broken in proof.broken] == [
        at for at, row in enumerate(rows) if row not in valid
    ]
    assert list(proof.repeated) == [
        at for at, row in enumerate(rows) if row in valid and row in rows[:at]
    ]
    for found, (factors, size) in zip(
        proof.coverage,
        ((frozenset(range(len(model.sizes))), strength.base), *strength.parts),
        strict=True,
    ):
        inside = {pick for pick in wanted if len(pick) == size and factors >= set(dict(pick))}
        assert found == Coverage(
            factors=tuple(sorted(factors)),
            strength=size,
            valid=len(inside),
            covered=len(inside - set(proof.missing)),
        )


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_selections_hold(data: st.DataObject) -> None:
    """What is selected is proven, and without any one of its rows it is not."""
    model = data.draw(models())
    assume(valid_rows(model))
    strength = data.draw(strengths(model))
    rows = select(model, strength).rows
    assert verify(model, strength, rows).holds
    for at in range(len(rows)):
        assert not verify(model, strength, rows[:at] + rows[at + 1 :]).holds


@pytest.mark.parametrize("strength", [2, 3])
def test_damaged_domain(strength: int) -> None:
    """A row taken out, a value changed and a row repeated are each found in a full selection."""
    rows = select(DOMAIN, strength).rows
    proof = verify(DOMAIN, strength, rows)
    assert proof.holds
    assert proof.coverage == coverage(DOMAIN, strength, rows)
    assert verify(DOMAIN, strength, rows[1:]).missing
    changed = (rows[0][0], (rows[0][1] + 1) % 5, *rows[0][2:])
    assert verify(DOMAIN, strength, (changed, *rows[1:])).missing
    assert verify(DOMAIN, strength, (*rows, rows[4])).repeated == (len(rows),)


def test_report() -> None:
    """Everything that is wrong with rows is said at once, each thing at its place."""
    model = Model(sizes=(2, 2, 1), forbidden=(((0, frozenset({1})), (1, frozenset({1}))),))
    proof = verify(model, 2, [(0, 0, 0), (1, 1, 0), (0, 0, 0), (0, 0), (0, 2, 0), (1, 0, 0)])
    assert proof.broken == (
        Broken(row=1, constraints=(0,)),
        Broken(row=3, constraints=()),
        Broken(row=4, constraints=()),
    )
    assert proof.repeated == (2,)
    assert proof.missing == (((0, 0), (1, 1)), ((1, 1), (2, 0)))
    assert proof.coverage == (Coverage(factors=(0, 1, 2), strength=2, valid=7, covered=5),)
    assert not proof.holds


def test_parts_are_counted_apart() -> None:
    """Coverage is given for the whole model and for each part, missing tuples once."""
    model = Model(sizes=(2, 2, 2))
    strength = Strength(base=1, parts=((frozenset({0, 2}), 2), (frozenset({1}), 1)))
    proof = verify(model, strength, [(0, 0, 0)])
    assert [(one.factors, one.valid, one.covered) for one in proof.coverage] == [
        ((0, 1, 2), 6, 3),
        ((0, 2), 4, 1),
        ((1,), 2, 1),
    ]
    assert len(proof.missing) == 3 + 3
