"""The 102 cases of vllm-project/vllm#56709: figures and ids as the seed states them."""

from __future__ import annotations

import pytest
from stage_cases import SEED, case_named, cases_of, failing_ids, mutant, play

from kvconform.case import Case
from kvconform.ports import Capability, Group, GroupKind, Layout
from kvconform.results.record import Outcome
from kvconform_reference import make_connector
from kvconform_reference.mutants import MUTANTS

UNALIGNED, COLD = SEED


def unaligned(window: int, extra: int, boundary: int) -> set[str]:
    """Ids of seed A for one situation: eagle off and on, the left chunk not present."""
    return {
        f"unaligned-hit[win.{window}-keep.{extra}-bound.{boundary}-eagle.{eagle}-left.{left}]"
        for eagle in ("off", "on")
        for left in ("missing", "pending", "loading")
    }


def cold(extra: int) -> set[str]:
    """Ids of seed B for one number of extra tokens."""
    return {f"cold-consumer[keep.{extra}-sched.{how}]" for how in ("sync", "async")}


EXPECTED = {
    "seed-undone": (unaligned(128, 3, 3968) | unaligned(256, 3, 3840), cold(3)),
    "load-window-undone": (unaligned(128, 3, 3968), set()),
    "store-mask-undone": (set(), cold(3)),
    "lookup-bound-undone": (set(), set()),
}


def test_there_are_102_cases():
    """96 of A and 6 of B."""
    assert [len(cases_of(matrix)) for matrix in SEED] == [96, 6]


@pytest.mark.parametrize("matrix", SEED)
def test_all_pass_on_the_reference(matrix):
    """Every case passes, none by not applying."""
    assert failing_ids(matrix, make_connector) == set()


@pytest.mark.parametrize("matrix", SEED)
def test_all_pass_with_the_seeds_own_bound(matrix):
    """The closed formula of the seed is as good on these cases as the oracle."""
    assert failing_ids(matrix, make_connector, seed_bound=True) == set()


@pytest.mark.parametrize("name", EXPECTED)
def test_exactly_the_seeds_cases_fail(name):
    """Production change reverted, whole or in part: 14, 6, 2 and 0 cases, by their ids."""
    found = tuple(failing_ids(matrix, mutant(name)) for matrix in SEED)
    assert found == EXPECTED[name]
    assert sum(map(len, found)) == {
        "seed-undone": 14,
        "load-window-undone": 6,
        "store-mask-undone": 2,
        "lookup-bound-undone": 0,
    }[name]


@pytest.mark.parametrize("name", ["null", "lying"])
@pytest.mark.parametrize("matrix", SEED)
def test_impostors_fail_everywhere(name, matrix):
    """Doing nothing, and claiming that all is done, fails each case, positive controls included."""
    assert len(failing_ids(matrix, mutant(name))) == len(cases_of(matrix))


@pytest.mark.parametrize("name", [n for n, m in MUTANTS.items() if m.seed_cases is not None])
def test_declared_numbers_of_failures_are_true(name):
    """What a mutant says of the 102 cases is what happens."""
    failing = sum(len(failing_ids(matrix, mutant(name))) for matrix in SEED)
    assert failing == MUTANTS[name].seed_cases


def test_the_undone_lookup_bound_is_killed_by_the_fallback():
    """The newest run is broken and the older one a chunk short: an over-hit, COV-2."""
    case = case_named("fallback[win.16-keep.3-eagle.off-newest.missing-older.short]")
    assert play(case).outcome is Outcome.PASS
    assert "COV-2" in play(case, mutant("lookup-bound-undone")).clauses


def test_the_seeds_bound_demands_a_chunk_too_many():
    """Window of a chunk and a token, nothing retained: one ready chunk is a hit, not for the seed.

    The oracle is right, so *hit-is-best* fails with the seed's bound and passes without it.
    """
    full = Group(name="full", kind=GroupKind.FULL, block_size=16)
    swa = Group(name="swa", kind=GroupKind.SLIDING, block_size=16, window=17)
    case = Case(
        id="seed-bound[one]",
        matrix="seed-bound",
        source="here:1",
        scenario="admission",
        clauses=("COV-3",),
        requires=(Capability.CHUNK_CONTROL,),
        layout=Layout(groups=(full, swa), hash_block=16),
        given={
            "prompt_tokens": 81,
            "chunks": [
                {"group": "full", "index": [0, 1, 2, 3], "state": "ready"},
                {"group": "swa", "index": [3], "state": "ready"},
            ],
        },
    )
    assert play(case).outcome is Outcome.PASS
    demanding = play(case, options={"seed_bound": True})
    assert "hit-is-best" in demanding.failed


def test_a_shipped_case_tells_the_seeds_bound_apart():
    """The fallback matrix has a case in which the seed's bound loses the hit."""
    case = case_named("fallback[win.17-keep.0-eagle.off-newest.missing-older.short]")
    assert play(case).outcome is Outcome.PASS
    assert "hit-is-best" in play(case, options={"seed_bound": True}).failed
