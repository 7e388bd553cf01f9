"""The seed's cases on the installed vLLM, and on one whose fix is undone at run time."""

from __future__ import annotations

import pytest
from stage_cases import SEED, cases_of, play
from vllm_undone import undone

from kvconform.results.record import Outcome
from kvconform_vllm.releases import installed_release

FIXED = installed_release().minor >= 31
needs_fix = pytest.mark.skipif(not FIXED, reason="this release has no fix to undo")


def failing(matrix, factory):
    """Ids of the matrix' cases that fail."""
    return {c.id for c in cases_of(matrix) if play(c, factory).outcome is Outcome.FAIL}


def figures(factory):
    """How many cases of the unaligned hit and of the cold consumer fail."""
    return tuple(len(failing(matrix, factory)) for matrix in SEED)


def test_the_release_fails_what_it_is_known_to_fail(offloading):
    """0.29 fails 48 and 2, 0.30 the seed's 12 and 2, later ones none."""
    known = {29: (48, 2), 30: (12, 2)}
    assert figures(offloading) == known.get(installed_release().minor, (0, 0))


@needs_fix
def test_the_whole_fix_undone_fails_the_seeds_fourteen(offloading):
    """Exactly the cases that the seed names."""
    with undone(lookup=True, load=True, mask=True):
        unaligned = failing(SEED[0], offloading)
        stores = failing(SEED[1], offloading)
    assert unaligned == {
        f"unaligned-hit[{pair}-eagle.{eagle}-left.{left}]"
        for pair in ("win.128-keep.3-bound.3968", "win.256-keep.3-bound.3840")
        for eagle in ("off", "on")
        for left in ("missing", "pending", "loading")
    }
    assert stores == {f"cold-consumer[keep.3-sched.{sched}]" for sched in ("sync", "async")}


@needs_fix
def test_each_place_of_the_fix_undone_alone(offloading):
    """The load window costs 6 cases, the store mask 2; the lookup bound none of these."""
    with undone(load=True):
        assert figures(offloading) == (6, 0)
    with undone(mask=True):
        assert figures(offloading) == (0, 2)
    with undone(lookup=True):
        assert figures(offloading) == (0, 0)


@needs_fix
def test_the_lookup_bound_undone_shows_where_a_hit_falls_back(offloading):
    """The fallback matrix fails in more cases than with the fix, on safe clauses."""
    before = failing("coverage/fallback", offloading)
    with undone(lookup=True):
        worse = failing("coverage/fallback", offloading) - before
        clauses = {
            clause
            for case in cases_of("coverage/fallback")
            if case.id in worse
            for clause in play(case, offloading).clauses
        }
    assert worse
    assert "COV-2" in clauses
