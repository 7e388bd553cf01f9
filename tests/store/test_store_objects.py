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


def test_an_object_is_there_until_its_time_is_over():
    """At the very end either is right; a put begins anew."""
    claims = StoreClaims(capabilities=frozenset({StoreCapability.TTL}))
    objects = Objects(claims=claims, ttl_s=10)
    objects.put(A, content("a"), answered=True)
    there = []
    for now in (9, 10, 11):
        objects.now_s = now
        there.append(objects.is_there(A))
    assert there == [True, None, False]
    objects.put(A, content("a", 2), answered=True)
    assert objects.may_be(A) == {content("a", 2)}


def test_a_time_to_live_counts_only_where_it_is_claimed():
    """What a store does not claim is not asked."""
    objects = Objects(claims=PLAIN, ttl_s=10)
    objects.put(A, content("a"), answered=True)
    objects.now_s = 99
    assert objects.is_there(A) is True


def test_a_lease_keeps_what_was_found_until_it_ends():
    """It is neither deleted nor makes way; where nothing can, a put is refused."""
    capabilities = {"bounded", "evicts", "leases", "deletes"}
    claims = StoreClaims(capabilities=frozenset(map(StoreCapability, capabilities)))
    objects = Objects(claims=claims, capacity_bytes=20, lease_s=5)
    for place, name in ((A, "a"), (B, "b")):
        objects.put(place, content(name), answered=True)
    objects.looked_up(A, found=True)
    assert objects.delete_answers(A) == {False}
    assert objects.delete_answers(B) == {True}
    assert objects.put_answers(C, content("c")) == {True}
    objects.looked_up(B, found=True)
    assert objects.put_answers(C, content("c")) == {False}
    objects.now_s = 5
    assert objects.delete_answers(A) == {True}
    assert objects.put_answers(C, content("c")) == {True}
    objects.put(C, content("c"), answered=True)
    assert objects.is_there(A) is None
