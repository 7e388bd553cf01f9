"""A reset of the cache: what is forgotten, what goes on."""

from __future__ import annotations

import pytest
from engine_fakes import (
    FULL,
    SWA,
    at_rest,
    differences,
    engine_of,
    layout_of,
    of,
    run,
    settle,
    spec,
)

from kvconform.engine.events import Answered, Computed, Loaded, Reset
from kvconform.ports import Scheduling


def test_nothing_is_found_after_a_reset():
    """Neither in the pool nor at the connector."""
    engine = engine_of()
    run(engine, spec("before", 33))
    engine.reset_cache()
    run(engine, spec("same", 33))
    assert [e.tokens for e in of(engine, Answered, "same")] == [0]
    assert [(e.start, e.end) for e in of(engine, Computed, "same")] == [(0, 33)]
    (reset,) = of(engine, Reset)
    assert reset.at_rest
    assert not reset.in_flight


@pytest.mark.parametrize("scheduling", list(Scheduling))
def test_a_running_request_goes_on_and_its_old_blocks_stay_unfound(scheduling):
    """It keeps its blocks; a later request with its prompt finds none of those before the reset."""
    engine = engine_of(layout_of(FULL, SWA, scheduling=scheduling))
    engine.prepare(spec("running", 33, 12))
    engine.submit("running")
    engine.step()
    engine.reset_cache()
    engine.prepare(spec("same", 33))
    engine.submit("same")
    settle(engine)
    assert of(engine, Answered, "same")[0].local == 0
    assert engine.ended("running")
    assert not differences(engine)
    assert at_rest(engine)


def test_a_load_in_flight_completes_and_is_not_published():
    """Its owner reads it, another request with the same prompt computes."""
    engine = engine_of()
    run(engine, spec("producer", 33))
    engine.reset_prefix_cache()
    engine.hold(copies=True)
    engine.prepare(spec("loading", 33, 2))
    engine.submit("loading")
    engine.step()
    engine.reset_cache()
    (reset,) = of(engine, Reset)
    assert len(reset.in_flight) == 1
    engine.release()
    settle(engine)
    assert of(engine, Loaded, "loading")
    run(engine, spec("same", 33))
    assert of(engine, Answered, "same")[0].local == 0
    assert not differences(engine)
