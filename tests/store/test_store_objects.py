"""What may be under a key follows from what was put and answered."""

from __future__ import annotations

import pytest

from kvconform.contract.objects import ABSENT, Content, Objects
from kvconform.ports import BatchAnswer, Overwrite, StoreCapability, StoreClaims

A, B, C = ("model", "a"), ("model", "b"), ("model", "c")
PLAIN = StoreClaims(capabilities=frozenset({StoreCapability.DELETES}))


def content(name: str, version: int = 1, size: int = 10) -> Content:
    """What is put under a key."""
    return Content(namespace="model", key=name, version=version, size=size)


def test_what_was_put_is_there_until_it_is_deleted():
    """And nothing is there before."""
    objects = Objects(claims=PLAIN)
    assert objects.is_there(A) is False
    objects.put(A, content("a"), answered=True)
    assert objects.may_be(A) == {content("a")}
    assert objects.delete_answers(A) == {True}
    objects.deleted(A, answered=True)
    assert objects.is_there(A) is False


def test_a_put_that_keeps_the_old_bytes_answers_no():
    """It says so, and the old bytes stay."""
    objects = Objects(claims=StoreClaims(overwrite=Overwrite.KEEP))
    objects.put(A, content("a"), answered=True)
    assert objects.put_answers(A, content("a", 2)) == {False}
    objects.put(A, content("a", 2), answered=False)
    assert objects.may_be(A) == {content("a")}


def test_a_put_that_failed_leaves_the_old_bytes_or_none():
    """Never the new ones."""
    objects = Objects(claims=PLAIN)
    objects.put(A, content("a"), answered=True)
    objects.put(A, content("a", 2), answered=False)
    assert objects.may_be(A) == {content("a"), ABSENT}


@pytest.mark.parametrize(
    ("policy", "right"),
    [
        (BatchAnswer.PER_KEY, [True, False, True]),
        (BatchAnswer.PREFIX, [True, False, False]),
        (BatchAnswer.ALL_OR_NOTHING, [False, False, False]),
    ],
)
def test_a_batch_with_an_absent_key_answers_as_declared(policy, right):
    """Where it is not known whether a key is there, either answer is right from there on."""
    objects = Objects(claims=PLAIN)
    for place, name in ((A, "a"), (C, "c")):
        objects.put(place, content(name), answered=True)
    assert objects.batch(policy, [A, B, C]) == right
    objects.put_unknown(B, [content("b")])
    unknown = {
        BatchAnswer.PER_KEY: [True, None, True],
        BatchAnswer.PREFIX: [True, None, None],
        BatchAnswer.ALL_OR_NOTHING: [None, None, None],
    }
    assert objects.batch(policy, [A, B, C]) == unknown[policy]


@pytest.mark.parametrize(("evicts", "answers"), [(False, {False}), (True, {True})])
def test_where_there_is_no_room_a_put_is_refused_or_others_make_way(evicts, answers):
    """As the store claims."""
    more = {StoreCapability.EVICTS} if evicts else set()
    claims = StoreClaims(capabilities=frozenset({StoreCapability.BOUNDED, *more}))
    objects = Objects(claims=claims, capacity_bytes=25)
    for place, name in ((A, "a"), (B, "b")):
        objects.put(place, content(name), answered=True)
    assert objects.put_answers(C, content("c")) == answers
    objects.put(C, content("c"), answered=evicts)
    assert objects.is_there(A) is (None if evicts else True)
    assert objects.is_there(C) is evicts
