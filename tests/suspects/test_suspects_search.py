"""Explanations are right, the smallest there are, and the same in whatever order rows come."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suspects_tables import axis, fewest, fewest_exceptions, outcomes, some_outcomes, table

from kvconform.suspects import (
    DuplicateRowError,
    Limits,
    NoFailureError,
    Outcomes,
    Table,
    UnknownRowError,
    explain,
    predicate,
)

SIX = [axis(name, *range(3)) for name in "abcdef"]


@settings(max_examples=200, deadline=None)
@given(some_outcomes())
def test_every_candidate_is_true_of_failing_rows_alone(known):
    """All failing and, if it is exact, no passing row meets what a candidate says."""
    explanation = explain(known)
    for candidate in explanation.candidates:
        for alternatives in (candidate.alternatives, *candidate.same):
            rows = known.table.meeting_any(alternatives)
            assert rows == candidate.rows
            assert known.failed & ~rows == 0
            assert explanation.exact == (rows & known.passed == 0)


@settings(max_examples=150, deadline=None)
@given(some_outcomes(), st.integers(1, 3), st.integers(1, 3))
def test_nothing_smaller_exists(known, alternatives, order):
    """Brute force finds no explanation of fewer alternatives, or as many and fewer axes."""
    explanation = explain(known, Limits(alternatives=alternatives, order=order))
    sizes = {
        (len(candidate.alternatives), sum(map(len, candidate.alternatives)))
        for candidate in explanation.candidates
    }
    smallest = fewest(known, alternatives, order)
    assert explanation.exact == (smallest is not None)
    if smallest is not None:
        assert sizes == {smallest}


@settings(max_examples=150, deadline=None)
@given(some_outcomes())
def test_the_nearest_has_fewest_exceptions(known):
    """Where nothing fits, brute force finds no conjunction that fewer passing rows meet."""
    explanation = explain(known, Limits(alternatives=1))
    (nearest,) = explanation.candidates[0].alternatives
    exceptions = (known.table.meeting((*nearest,)) & known.passed).bit_count()
    assert exceptions == fewest_exceptions(known)


@settings(max_examples=100, deadline=None)
@given(some_outcomes(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(known, random):
    """Shuffled rows have the same candidates in the same order."""
    rows = list(known.table.rows)
    random.shuffle(rows)
    shuffled = Outcomes.of(
        Table(axes=known.table.axes, rows=tuple(rows)),
        failed=[row.id for row in rows if known.failed >> known.table.numbers[row.id] & 1],
        passed=[row.id for row in rows if known.passed >> known.table.numbers[row.id] & 1],
    )
    assert explain(shuffled).candidates == explain(known).candidates


@pytest.mark.parametrize(
    ("fails", "told"),
    [
        (lambda a, *_: a == 1, "a.1"),
        (lambda a, b, *_: a == 1 and b > 0, "a.1 and b.1|2"),
        (lambda a, b, c, d, *_: a == b == c == d == 2, "a.2 and b.2 and c.2 and d.2"),
        (lambda a, b, *_: a == 1 or b == 2, "a.1, or b.2"),
        (lambda a, b, c, *_: a == 0 and (b == 1 or c == 1), "a.0 and (b.1, or c.1)"),
        (lambda a, b, *_: a < b, "a.0 and b.1|2, or a.0|1 and b.2"),
        (lambda a, b, *_: a == b, "a.0 and b.0, or a.1 and b.1, or a.2 and b.2"),
        (
            lambda a, b, c, d, e, f: (a == b == 0) or (c == d == 1) or (e == f == 2),
            "a.0 and b.0, or c.1 and d.1, or e.2 and f.2",
        ),
        (lambda *_: True, ""),
    ],
)
def test_faults_in_all_rows_are_named(fails, told):
    """With every row run, the one candidate is the fault itself, with the largest sets."""
    whole = table(SIX, product(range(3), repeat=6))
    explanation = explain(outcomes(whole, lambda at: fails(*at)))
    assert explanation.settled
    (candidate,) = explanation.candidates
    assert predicate(whole.axes, candidate.alternatives) == told
    assert candidate.same == ()


def test_a_fault_beyond_the_limits_is_told_as_not_exact():
    """Four alternatives are too many; with the limit raised they are found."""
    whole = table(SIX, product(range(3), repeat=6))
    known = outcomes(whole, lambda at: at[:2] in {(0, 1), (1, 0), (1, 2), (2, 1)} and at[2] == 0)
    explanation = explain(known, Limits(alternatives=1))
    assert (explanation.exact, explanation.settled) == (False, False)
    assert predicate(whole.axes, explanation.candidates[0].alternatives) == "c.0"
    assert explain(known).exact


def test_too_much_effort_is_not_spent():
    """A search that runs out of trials has no exact explanation, and says so."""
    whole = table(SIX, product(range(3), repeat=6))
    known = outcomes(whole, lambda at: at[0] == 1 or at[1] == 2)
    assert explain(known).exact
    assert not explain(known, Limits(effort=3)).exact


def test_equal_rows_with_different_ends_have_no_exact_explanation():
    """What fails now and then is no matter of axes: the passing one is an exception."""
    axes = [axis("a", 0, 1), axis("b", 0, 1)]
    rows = [row for name in "xy" for row in table(axes, product(range(2), repeat=2)).rows]
    whole = Table(
        axes=tuple(axes),
        rows=tuple(
            type(row)(id=f"{row.id}.{at}", positions=row.positions) for at, row in enumerate(rows)
        ),
    )
    known = Outcomes.of(whole, failed=["1-1.3"], passed=set(whole.numbers) - {"1-1.3"})
    explanation = explain(known)
    assert not explanation.exact
    assert (explanation.candidates[0].rows & known.passed).bit_count() == 1


def test_mistakes_are_told():
    """No failure, an id that no row has, and an id that two rows have."""
    whole = table(SIX[:1], [(0,), (1,)])
    with pytest.raises(NoFailureError, match="at least one"):
        explain(Outcomes.of(whole, failed=[], passed=["0"]))
    with pytest.raises(UnknownRowError, match="'7'"):
        Outcomes.of(whole, failed=["7"], passed=[])
    with pytest.raises(DuplicateRowError, match="'0'"):
        table(SIX[:1], [(0,), (0,)])
