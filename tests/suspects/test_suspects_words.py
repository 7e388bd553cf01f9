"""Explanations in words, those of the 102 cases of vllm-project/vllm#56709 among them."""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest
from suspects_tables import axis, outcomes, table

from kvconform import resources
from kvconform.matrix.load import load_matrix
from kvconform.suspects import Limits, Outcomes, describe, explain, table_of


@cache
def seed_table(*names):
    """The rows of these shipped matrices."""
    folder = resources.matrix_dir() / "coverage"
    matrices = [load_matrix(folder / f"{name}.yaml") for name in names]
    return table_of((matrix, matrix.rows) for matrix in matrices)


def unaligned(window, extra, boundary):
    """Ids of one situation: eagle off and on, the left chunk not present."""
    return {
        f"unaligned-hit[win.{window}-keep.{extra}-bound.{boundary}-eagle.{eagle}-left.{left}]"
        for eagle in ("off", "on")
        for left in ("missing", "pending", "loading")
    }


FIRST, SECOND = unaligned(128, 3, 3968), unaligned(256, 3, 3840)
COLD = {"cold-consumer[keep.3-sched.sync]", "cold-consumer[keep.3-sched.async]"}


def sentence(failed, *names):
    """What is said if exactly these cases fail."""
    whole = seed_table(*names)
    return describe(explain(Outcomes.of(whole, failed=failed, passed=set(whole.numbers) - failed)))


def test_the_seeds_14_cases():
    """Both matrices together: a cold consumer has neither window, boundary nor left chunk."""
    assert sentence(FIRST | SECOND | COLD, "unaligned_hit", "cold_consumer") == (
        "14 of 102 failed; all 14, and no passing case, have keep.3 and left.missing|pending|loading"
        " and (win.128 and bound.3968, or win.256 and bound.3840)."
        " Cases without win, bound, left count as having such a value."
    )


def test_the_seeds_cases_by_matrix():
    """Each matrix by itself."""
    assert sentence(FIRST | SECOND, "unaligned_hit") == (
        "12 of 96 failed; all 12, and no passing case, have keep.3 and left.missing|pending|loading"
        " and (win.128 and bound.3968, or win.256 and bound.3840)."
    )
    assert sentence(COLD, "cold_consumer") == (
        "2 of 6 failed; both, and no passing case, have keep.3."
    )


def test_a_part_of_the_seeds_cases():
    """With part of the change undone; what only one matrix has tells it from the other."""
    assert sentence(FIRST, "unaligned_hit", "cold_consumer") == (
        "6 of 102 failed; all 6, and no passing case, have win.128 and keep.3 and bound.3968"
        " and left.missing|pending|loading."
    )
    assert sentence(COLD, "unaligned_hit", "cold_consumer") == (
        "2 of 102 failed; both, and no passing case, have matrix.cold-consumer and keep.3."
        " No case tells this from: keep.3 and sched.sync|async; no win and keep.3; keep.3 and no bound; 2 more."
    )


def test_axes_of_one_name_are_joined():
    """Their values are those of both matrices, named by their labels."""
    whole = seed_table("unaligned_hit", "cold_consumer")
    assert [(one.id, one.labels) for one in whole.axes] == [
        ("matrix", ("unaligned-hit", "cold-consumer")),
        ("win", ("128", "256")),
        ("keep", ("0", "3", "1")),
        ("bound", ("3840", "3904", "3968")),
        ("eagle", ("off", "on")),
        ("left", ("present", "missing", "pending", "loading")),
        ("sched", ("sync", "async")),
    ]
    assert len(whole.rows) == 102


WHOLE = table([axis(name, *range(3)) for name in "abcd"], product(range(3), repeat=4))
DIAGONAL = {(at,) * 4 for at in range(3)}


@pytest.mark.parametrize(
    ("fails", "runs", "limits", "told"),
    [
        (
            lambda at: at == (1, 1, 1, 1),
            lambda _: True,
            Limits(),
            "1 of 81 failed; it, and no passing case, has a.1 and b.1 and c.1 and d.1.",
        ),
        (
            lambda _: True,
            lambda _: True,
            Limits(),
            "All 81 failed; no axis makes a difference.",
        ),
        (
            lambda at: at[0] == 1,
            lambda at: at in DIAGONAL,
            Limits(),
            (
                "1 of 3 failed; it, and no passing case, has a.1."
                " Others fit as well: b.1; c.1; d.1."
                " A run of 0-0-1-1 would tell some of them apart."
            ),
        ),
        (
            lambda at: at[0] == 1 and at[1:] != (0, 0, 0),
            lambda _: True,
            Limits(alternatives=1),
            (
                "26 of 81 failed; nothing simple was found to set them apart. The nearest:"
                " all 26 have a.1, and so has 1 of the 55 that passed."
            ),
        ),
        (
            lambda at: at in {(0, 0, 0, 0), (0, 2, 2, 2)},
            lambda _: True,
            Limits(alternatives=1),
            (
                "2 of 81 failed; nothing simple was found to set them apart. The nearest:"
                " both have a.0 and b.0|2 and c.0|2 and d.0|2, and so have 6 of the 79 that passed."
            ),
        ),
        (
            lambda at: at in DIAGONAL,
            lambda _: True,
            Limits(alternatives=1),
            "3 of 81 failed; they share no value that a passing case lacks.",
        ),
    ],
)
def test_sentences(fails, runs, limits, told):
    """Whole texts for one failure, for all, for ties and for what is not explained."""
    assert describe(explain(outcomes(WHOLE, fails, runs), limits)) == told


def test_many_others_are_counted():
    """Three other candidates are told in full."""
    axes = [axis(name, 0, 1) for name in "abcdef"]
    whole = table(axes, product(range(2), repeat=6))
    text = describe(explain(outcomes(whole, all, lambda at: len(set(at)) == 1)))
    assert "Others fit as well: b.1; c.1; d.1; 2 more." in text
