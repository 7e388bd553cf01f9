"""What cannot be covered is refused by name, with all that is wrong at once."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import combinations

import pytest
from covering_models import different, models, strengths, valid_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from kvconform.covering import (
    Model,
    ModelError,
    NoRowLeftError,
    PresetError,
    Strength,
    StrengthError,
    TooLargeError,
    select,
    verify,
)


def test_no_model() -> None:
    """All problems of a model are told together."""
    with pytest.raises(ModelError) as caught:
        Model(
            sizes=(2, 0, 3),
            forbidden=(((3, frozenset({0})),), ((0, frozenset({1})), (2, frozenset({1, 3, -1})))),
        )
    assert caught.value.problems == (
        "factor 1 has 0 values; expected at least 1",
        "constraint 0: there is no factor 3; expected 0 to 2",
        "constraint 1: factor 2 has no value -1; expected 0 to 2",
        "constraint 1: factor 2 has no value 3; expected 0 to 2",
    )


@pytest.mark.parametrize(
    ("strength", "message"),
    [
        (0, "strength 0 among 2 factors; expected 1 to 2"),
        (3, "strength 3 among 2 factors; expected 1 to 2"),
        (
            Strength(base=1, parts=((frozenset({1}), 2),)),
            "strength 2 among 1 factors; expected 1 to 1",
        ),
        (
            Strength(base=1, parts=((frozenset({1, 2}), 2),)),
            "there is no factor 2; expected 0 to 1",
        ),
    ],
)
def test_no_strength(strength: Strength | int, message: str) -> None:
    """A strength is within the number of factors, a part within the factors there are."""
    with pytest.raises(StrengthError) as caught:
        select(Model(sizes=(2, 2)), strength)
    assert str(caught.value) == message


def test_bad_presets() -> None:
    """Every preset that is no valid row is named with what is wrong with it."""
    model = Model(sizes=(2, 3), forbidden=(((0, frozenset({1})), (1, frozenset({1, 2}))),))
    with pytest.raises(PresetError) as caught:
        select(model, 2, presets=[(0, 0), (1, 2), (0, 3), (0,)])
    assert caught.value.problems == (
        (1, "breaks constraint 0"),
        (2, "has value 3 of factor 1; expected 0 to 2"),
        (3, "has 1 values; expected 2"),
    )
    assert str(caught.value).startswith("preset 1 breaks constraint 0; preset 2 has value 3")


def test_no_row_left() -> None:
    """Constraints that leave nothing are named without those that have no part in it."""
    triangle = (*different(0, 1), *different(1, 2), *different(0, 2))
    harmless = ((3, frozenset({0})), (0, frozenset({1})))
    with pytest.raises(NoRowLeftError) as caught:
        select(Model(sizes=(2, 2, 2, 4), forbidden=(harmless, *triangle)), 2)
    assert caught.value.constraints == (1, 2, 3, 4, 5, 6)
    assert str(caught.value) == (
        "no row is left: 6 of the 7 constraints (1, 2, 3, 4, 5, 6) exclude all 32 combinations;"
        " relax one of them"
    )


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_conflict_is_minimal(data: st.DataObject) -> None:
    """Where no row is left, the named constraints leave none and any fewer of them do."""
    model = data.draw(models())
    fatal = tuple(((0, frozenset({value})),) for value in range(model.sizes[0]))
    model = replace(model, forbidden=tuple(data.draw(st.permutations(model.forbidden + fatal))))
    with pytest.raises(NoRowLeftError) as caught:
        select(model, data.draw(strengths(model)))
    named = [model.forbidden[at] for at in caught.value.constraints]
    assert not valid_rows(Model(sizes=model.sizes, forbidden=tuple(named)))
    for fewer in combinations(named, len(named) - 1):
        assert valid_rows(Model(sizes=model.sizes, forbidden=fewer))


def test_too_many_tuples() -> None:
    """A strength that asks for too many tuples is refused with their number and the limit."""
    with pytest.raises(TooLargeError) as caught:
        select(Model(sizes=(10,) * 20), 3)
    assert str(caught.value) == (
        "1,140,000 tuples of values to cover, and the limit is 100,000; lower the strength, or use"
        " fewer values or simpler constraints"
    )
    with pytest.raises(TooLargeError):
        verify(Model(sizes=(10,) * 20), 3, [])


def test_too_hard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constraints that take too long to judge are refused, by the selection and by the verifier."""
    pigeons = tuple(
        ((first, frozenset({hole})), (second, frozenset({hole})))
        for first, second in combinations(range(5), 2)
        for hole in range(4)
    )
    model = Model(sizes=(4,) * 5, forbidden=pigeons)
    monkeypatch.setattr("kvconform.covering.constraints.MAX_DEAD_ENDS", 10)
    with pytest.raises(TooLargeError, match="dead ends of a search, and the limit is 10;"):
        select(model, 1)
    monkeypatch.setattr(sys.modules[verify.__module__], "MAX_STEPS", 10)
    with pytest.raises(TooLargeError, match="11 partial rows looked at, and the limit is 10;"):
        verify(model, 1, [])
