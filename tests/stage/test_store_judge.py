"""What a store's answers mean once a key was damaged, and which cases are beyond its claims."""

import pytest

from kvconform.contract.objects import Content
from kvconform.ports import StoreClaims
from kvconform.results.record import Outcome
from kvconform.stage.tally import Tally
from kvconform.store.events import StoreEvent
from kvconform.store.judge import StoreJudge
from kvconform.store.kinds import spelled_keys
from kvconform.store.second import Reply, guarded

PLACE = ("model", "a")
EVENT = StoreEvent(step=1, text="something happens")


@pytest.fixture
def judge():
    """A judge of a store where one object was put and then damaged."""
    tally = Tally(["put-is-found", "damage-is-a-miss"], frozenset())
    tally.open("put-is-found", "damage-is-a-miss")
    judge = StoreJudge(claims=StoreClaims(), capacity_bytes=None, tally=tally)
    judge.put([PLACE], [content(1)], [True], EVENT)
    judge.objects.damaged(PLACE)
    judge.special[PLACE] = "damage-is-a-miss"
    return judge


def content(version):
    """The bytes of one put."""
    return Content(namespace="model", key="a", version=version, size=64)


def missed(judge):
    """The checks that fail once a get of the key is a miss."""
    reply = Reply(answer=[False], found=(bytes(guarded([64])[0]),))
    judge.get([PLACE], reply, [False], EVENT)
    return {
        result.check for result in judge.tally.results("", []) if result.outcome is Outcome.FAIL
    }


def test_a_damaged_object_may_be_a_miss(judge):
    """Nothing is wrong with that."""
    assert missed(judge) == set()


def test_what_was_put_anew_after_damage_has_to_be_found(judge):
    """A put that answers True is no longer excused by what happened before it."""
    judge.put([PLACE], [content(2)], [True], EVENT)
    assert missed(judge) == {"put-is-found"}


def test_a_put_that_is_refused_after_damage_changes_nothing(judge):
    """It has promised nothing."""
    judge.put([PLACE], [content(2)], [False], EVENT)
    assert missed(judge) == set()


def test_keys_that_events_spell_out_are_found_wherever_they_stand():
    """Nested events count, names of keys do not."""
    events = [
        "reopen",
        {"put": {"keys": ["0x00ff", "a"]}},
        {"second": [{"get": {"keys": ["0x2f"]}}]},
        {"put": {"keys": {"count": 3}}},
    ]
    assert spelled_keys(events) == [b"\x00\xff", b"/"]
