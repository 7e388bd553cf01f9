"""Random traffic on the reference: everything ends, every byte is right, nothing is left over."""

from __future__ import annotations

from engine_fakes import FULL, SWA, at_rest, differences, engine_of, layout_of, of, settle, spec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvconform.engine.events import Broke, Ended
from kvconform.ports import Direction, Group, GroupKind, Scheduling

LAYOUTS = st.sampled_from(
    [
        (FULL, SWA),
        (FULL, Group(name="draft", kind=GroupKind.SLIDING, block_size=8, window=9, eagle=True)),
        (SWA, Group(name="wide", kind=GroupKind.SLIDING, block_size=8, window=20, extra_retained=1)),
        (Group(name="big", kind=GroupKind.FULL, block_size=12), FULL, SWA),
    ]
)


@st.composite
def requests(draw: st.DrawFn) -> list:
    """Up to six requests that share prefixes of different lengths."""
    return [
        spec(
            f"r{at}",
            draw(st.integers(2, 60)),
            draw(st.integers(1, 6)),
            branch=draw(st.integers(0, 2)),
            shared=draw(st.sampled_from([0, 8, 24, 40])),
        )
        for at in range(draw(st.integers(1, 6)))
    ]


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    groups=LAYOUTS,
    traffic=requests(),
    per_chunk=st.integers(1, 3),
    budget=st.sampled_from([4, 10, 32, 8192]),
    scheduling=st.sampled_from(list(Scheduling)),
    num_blocks=st.sampled_from([35, 45, 60, 256]),
    num_slots=st.sampled_from([4, 24, 512]),
    world=st.integers(1, 2),
    gaps=st.lists(st.integers(0, 4), min_size=6, max_size=6),
    wiped=st.sets(st.integers(0, 5)),
    held=st.sets(st.integers(0, 5)),
)
def test_all_requests_end_on_right_bytes(  # noqa: PLR0913, PLR0917 - one axis of traffic each
    groups, traffic, per_chunk, budget, scheduling, num_blocks, num_slots, world, gaps, wiped, held
):
    """Shared prefixes, small pools, few host slots, holds and resets: conservation and bytes."""
    layout = layout_of(
        *groups,
        blocks_per_chunk=per_chunk,
        max_batched_tokens=budget,
        scheduling=scheduling,
        num_blocks=num_blocks,
        world=world,
    )
    engine = engine_of(layout, num_slots=num_slots)
    for at, one in enumerate(traffic):
        engine.prepare(one)
        if at in wiped:
            engine.reset_prefix_cache()
        if at in held:
            engine.hold(copies=at % 2 == 0)
        engine.submit(one.name)
        for _ in range(gaps[at]):
            engine.step()
        engine.release()
    settle(engine, 3000)
    assert not of(engine, Broke)
    assert not differences(engine)
    assert sorted(e.request for e in of(engine, Ended)) == sorted(one.name for one in traffic)
    assert at_rest(engine)
    jobs = engine._connector.scheduler._jobs
    assert not any(jobs[direction] for direction in Direction)
    manager = engine._connector.scheduler.manager
    assert all(chunk.ready and not chunk.loads for chunk in manager._chunks.values())
    assert len(manager._free) + len(manager._chunks) == num_slots
