"""Ties are told as such, and the rows that settle them are found."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from suspects_tables import axis, outcomes, some_outcomes, table

from kvconform.suspects import (
    Limits,
    describe,
    explain,
    next_check,
    next_probe,
    predicate,
    settle,
)

BITS = [axis(name, 0, 1) for name in "abcd"]
WHOLE = table(BITS, product(range(2), repeat=4))
RUN = {(0, 0, 0, 0), (1, 1, 1, 1), (0, 0, 1, 1), (0, 1, 0, 1)}


def told(explanation):
    """The candidates in words."""
    axes = explanation.outcomes.table.axes
    return [predicate(axes, candidate.alternatives) for candidate in explanation.candidates]


def test_what_was_not_run_leaves_a_tie():
    """Each value that the failing row alone has may be to blame."""
    known = outcomes(WHOLE, all, lambda at: at in RUN)
    assert told(explain(known)) == ["a.1"]
    known = outcomes(WHOLE, all, lambda at: at in RUN - {(0, 0, 1, 1)})
    assert told(explain(known)) == ["a.1", "c.1"]


@pytest.mark.parametrize(("right", "name"), [(0, "a.1"), (2, "c.1")])
def test_a_probe_settles_a_tie(right, name):
    """The row on which two candidates differ leaves the right one, whichever that is."""
    known = outcomes(WHOLE, all, lambda at: at in RUN - {(0, 0, 1, 1)})
    settled = settle(explain(known), lambda row: row.positions[right] == 1, support=1)
    assert told(settled.explanation) == [name]
    assert [row.id for row, _ in settled.probes] == ["0-0-1-0"]
    assert settled.explanation.settled


def test_a_probe_halves_the_candidates():
    """Of four candidates, two are ruled out by each probe."""
    known = outcomes(WHOLE, all, lambda at: len(set(at)) == 1)
    explanation = explain(known)
    assert told(explanation) == ["a.1", "b.1", "c.1", "d.1"]
    assert sum(next_probe(explanation).positions) == 2
    settled = settle(explanation, lambda row: row.positions[3] == 1, support=1)
    assert told(settled.explanation) == ["d.1"]
    assert len(settled.probes) == 2


def test_no_more_probes_than_asked_for():
    """The tie is narrowed as far as the probes go."""
    known = outcomes(WHOLE, all, lambda at: len(set(at)) == 1)
    settled = settle(explain(known), lambda row: row.positions[3] == 1, most=1)
    assert len(settled.probes) == 1
    assert len(settled.explanation.candidates) == 2


def test_an_explanation_of_few_failures_is_put_to_the_test():
    """What is left may be wrong as well: of its rows the one least like the failing one is run."""
    known = outcomes(WHOLE, all, lambda at: len(set(at)) == 1)
    unchecked = settle(explain(known), lambda row: all(row.positions), support=1)
    assert told(unchecked.explanation) == ["a.1"]
    assert next_check(unchecked.explanation).id == "1-0-0-0"
    checked = settle(explain(known), lambda row: all(row.positions), support=2, most=12)
    assert told(checked.explanation) == ["a.1 and b.1 and c.1 and d.1"]


def test_enough_failures_need_no_test():
    """With four failing rows and one candidate nothing is run."""
    known = outcomes(WHOLE, lambda at: at[0] == 1, lambda at: at[1] == 1)
    assert next_check(explain(known)) is not None
    assert settle(explain(known), lambda _: None).probes == ()


def test_a_row_that_cannot_be_measured_is_not_asked_again():
    """With no other row to tell them apart, candidates become one."""
    whole = table(BITS[:2], [(0, 0), (0, 1), (1, 1)])
    known = outcomes(whole, lambda at: at == (1, 1), lambda at: at != (0, 1))
    assert told(explain(known)) == ["a.1", "b.1"]
    settled = settle(explain(known), lambda _: None)
    assert [(row.id, failed) for row, failed in settled.probes] == [("0-1", None)]
    assert told(settled.explanation) == ["a.1"]
    assert settled.explanation.candidates[0].same == ((((1, (1,)),),),)


def test_values_that_were_not_run_are_a_tie_too():
    """A value between failing ones may belong to them: a probe says whether it does."""
    whole = table([axis("size", 1, 2, 3, 4)], [(at,) for at in range(4)])
    known = outcomes(whole, lambda at: at[0] != 3, lambda at: at[0] != 1)
    assert told(explain(known)) == ["size.1|2|3", "size.1|3"]
    assert told(settle(explain(known), lambda _: True).explanation) == ["size.1|2|3"]
    assert told(settle(explain(known), lambda _: False).explanation) == ["size.1|3"]


def test_coupled_axes_are_indistinguishable():
    """What no valid row can tell apart is one candidate, and the other names are told."""
    axes = [axis("win", 128, 256), axis("keep", 0, 3), axis("eagle", False, True)]
    whole = table(axes, [(at, at, eagle) for at in range(2) for eagle in range(2)])
    explanation = explain(outcomes(whole, lambda at: at[0] == 1))
    assert explanation.settled
    assert next_probe(explanation) is None
    assert describe(explanation) == (
        "2 of 4 failed; both, and no passing case, have win.256. No case tells this from: keep.3."
    )


def test_where_nothing_fits_nothing_is_run():
    """No row is proposed for an explanation that is not exact."""
    known = outcomes(WHOLE, lambda at: sum(at) % 2, lambda at: at[3] == 0)
    explanation = explain(known, Limits(alternatives=1))
    assert (next_probe(explanation), next_check(explanation)) == (None, None)


@settings(max_examples=150, deadline=None)
@given(some_outcomes())
def test_a_probe_is_new_and_divides_the_candidates(known):
    """A proposed row was not run, and some candidate says that it fails and some that it does not."""
    explanation = explain(known)
    probe = next_probe(explanation)
    if not explanation.exact or explanation.settled:
        assert probe is None
    else:
        bit = 1 << known.table.numbers[probe.id]
        assert known.open & bit
        assert {bool(one.rows & bit) for one in explanation.candidates} == {True, False}
