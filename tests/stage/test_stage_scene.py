"""The scene of a case: a wrong byte belongs to the lookup of the request that has it."""

from __future__ import annotations

from kvconform.contract.oracle import Oracle
from kvconform.engine.events import Answered, Event, Read
from kvconform.engine.memory import Difference
from kvconform.ports import Group, GroupKind, Layout
from kvconform.results.record import CheckResult, Outcome
from kvconform.stage.scene import Scenery

GROUP = Group(name="full", kind=GroupKind.FULL, block_size=4)
WRONG = Difference(rank=0, group="full", layer=0, token=5, byte=0, found="nobody's", slots=1)


def _asked(request: str, tokens: int, step: int) -> Answered:
    return Answered(
        step=step, request=request, num_tokens=17, local=0, tokens=tokens, is_async=True
    )


def _failed(check: str, event: int) -> CheckResult:
    return CheckResult(check=check, clause="COV-2", outcome=Outcome.FAIL, event=event)


def test_wrong_bytes_of_another_request_are_not_those_of_a_lookup() -> None:
    """One missed before and is asked about no more; what two reads is wrong by two's own hit."""
    events: list[Event] = [
        _asked("one", 0, 1),
        _asked("two", 16, 2),
        Read(step=3, request="two", slots=17, difference=WRONG),
    ]
    layout = Layout(hash_block=4, groups=(GROUP,))
    scenery = Scenery(oracle=Oracle(layout=layout, chunk_tokens=(8,)), judged=())
    scene = scenery.scene(events, [_failed("hit-is-best", 0), _failed("hit-is-covered", 1)])
    one, two = scene.pictures
    assert (one.request, one.difference) == ("one", None)
    assert two.difference is not None
    assert (two.request, two.difference.token) == ("two", 5)
