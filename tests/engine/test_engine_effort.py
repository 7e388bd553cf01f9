"""What is counted is the connector's own work, the same each time, and only while asked for."""

from __future__ import annotations

import sys

from kvconform.engine.calls import ENGINE, call
from kvconform.engine.effort import METER


def work(times: int) -> None:
    """A loop of so many turns, with a call in each."""
    for _ in range(times):
        len(())


def counted(method: str, times: int) -> int:
    """What is counted of one call."""
    with METER.count() as effort:
        call(method, work, times)
    return effort.work


def test_work_is_counted_and_always_the_same():
    """Twice the turns add the same once more."""
    one, two, three = (counted("lookup", times) for times in (10, 20, 30))
    assert one == counted("lookup", 10)
    assert two - one == three - two
    assert two - one >= 20


def test_an_engine_that_calls_the_connector_is_not_counted():
    """Only what it calls is."""
    assert counted(ENGINE, 10) == 0


def test_nothing_is_counted_in_a_pause_or_afterwards():
    """What the suite looks at is no work of the connector, and hooks are gone in the end."""
    hooks = sys.gettrace(), sys.getprofile()
    with METER.count() as effort:
        with METER.pause():
            call("lookup", work, 10)
        METER.sent(b"four")
    call("lookup", work, 10)
    METER.sent(b"more")
    assert (effort.work, effort.sent) == (0, 4)
    assert (sys.gettrace(), sys.getprofile()) == hooks
