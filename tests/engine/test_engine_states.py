"""Recurrent groups: where steps end, which blocks there are, and what a state is worth."""

from __future__ import annotations

import pytest
from engine_fakes import FULL, differences, engine_of, layout_of, of, run, spec
from hypothesis import given
from hypothesis import strategies as st

from kvconform.contract.oracle import Oracle
from kvconform.engine.allocator import cut_at_state
from kvconform.engine.events import Admitted, Computed, Copied
from kvconform.engine.memory import RankMemory
from kvconform.engine.pattern import Lane, Owners, prefix_of
from kvconform.ports import Direction, Group, GroupKind, Layout, LayoutError

STATE = Group(name="state", kind=GroupKind.RECURRENT, block_size=16)
PREFIX = prefix_of(tuple(range(64)))


def states_of(**settings: object) -> Layout:
    """A full group and a recurrent one with states every 16 tokens."""
    return layout_of(FULL, STATE, **settings)


@pytest.mark.parametrize(
    ("budget", "ends"), [(8192, [64, 65]), (16, [16, 32, 48, 64, 65]), (40, [32, 64, 65])]
)
def test_steps_end_with_states(budget, ends):
    """A prompt of 65 tokens is computed up to block ends, the last of which is never passed over."""
    engine = run(engine_of(states_of(max_batched_tokens=budget)), spec("a", 65))
    assert [event.end for event in of(engine, Computed)] == ends


@given(start=st.integers(0, 8), count=st.integers(1, 100), known=st.integers(1, 200))
def test_a_step_from_a_state_ends_with_one_or_beyond_the_last(start, count, known):
    """Whatever the budget, no step from a state passes over the last one or ends between two others."""
    begin = 16 * start
    count = min(count, known - begin)
    if count < 1:
        return
    end = begin + cut_at_state(states_of(), begin, count, known)
    last = known // 16 * 16
    assert begin <= end <= begin + count
    assert end % 16 == 0 or begin >= last


def test_blocks_that_a_step_passes_over_are_null():
    """One step up to token 64 leaves the state of token 64 and no other."""
    engine = run(engine_of(states_of()), spec("a", 65))
    stores = [e for e in of(engine, Copied) if e.direction is Direction.STORE]
    assert [index for e in stores for name, index in e.blocks if name == "state"] == [3]


def test_a_hit_brings_one_state():
    """A cold request of the same prompt is admitted with all full blocks and one state."""
    engine = run(engine_of(states_of(max_batched_tokens=16)), spec("a", 65))
    engine.reset_prefix_cache()
    run(engine, spec("b", 65))
    (admitted,) = of(engine, Admitted, "b")
    assert (admitted.boundary, admitted.held) == (64, ((0, 8), (3, 1)))
    assert differences(engine) == []


def test_a_local_hit_ends_with_a_state():
    """In the pool too: of 65 tokens in the pool a prompt of 60 finds the 48 with a state."""
    engine = run(engine_of(states_of(max_batched_tokens=16)), spec("a", 65))
    run(engine, spec("b", 60))
    assert of(engine, Computed, "b")[0].start == 48


def memory() -> RankMemory:
    """Eight blocks of one recurrent group."""
    owners = Owners()
    owners.add("alice", PREFIX)
    return RankMemory(layout_of(STATE, num_blocks=8), 0, "cpu", owners)


def test_a_state_of_another_place_differs_everywhere():
    """The state after 31 tokens is not that after 32, and says whose it is."""
    one = memory()
    one.write(0, [3, 4], PREFIX, range(16, 31))
    slots, difference = one.compare(0, [3, 4], PREFIX, range(16, 32))
    assert difference is not None
    assert (slots, difference.slots) == (16, 16)
    assert difference.found.endswith("which is a state after 31 tokens")
    one.write(0, [3, 4], PREFIX, range(31, 32))
    assert one.compare(0, [3, 4], PREFIX, range(16, 32)) == (16, None)


def test_a_state_has_the_content_of_its_last_token():
    """So that what was stored is found by its bytes as other groups' blocks are."""
    one = memory()
    one.write(0, [3, 4], PREFIX, range(32))
    assert [one.block_index(0, block) for block in (3, 4)] == [0, 1]
    lane = Lane(group=0, layer=0, rank=0)
    assert [one.content(0, block) for block in (3, 4)] == [
        PREFIX.content(lane, 15),
        PREFIX.content(lane, 31),
    ]


def test_where_a_hit_may_end():
    """On a state and before the last token; elsewhere no hit is right."""
    oracle = Oracle(layout=states_of(), chunk_tokens=(8, 16))
    assert [b for b in range(65) if oracle.is_legal(b, 64)] == [0, 16, 32, 48]
    assert list(oracle.boundaries(65)) == [64, 48, 32, 16]


def test_layouts_that_no_engine_could_have():
    """Steps too short for a state, and states of a draft model."""
    with pytest.raises(LayoutError, match="max_batched_tokens is 8"):
        states_of(max_batched_tokens=8)
    with pytest.raises(LayoutError, match="cannot be eagle"):
        layout_of(Group(name="s", kind=GroupKind.RECURRENT, block_size=16, eagle=True))
