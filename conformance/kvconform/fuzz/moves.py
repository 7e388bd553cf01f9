"""The moves of which traffic is drawn.

A move names requests by number, so that any move can be left out while an example is made
smaller; it becomes events only when the requests before it are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from kvconform.ports import Capability

_MOST_HASH_BLOCKS = 20
"""Length of a prompt."""


class Spice(StrEnum):
    """What a trace may have beside requests that come, go and ask again.

    Few of these are in one trace: each lets less be known for certain, so that all together
    would leave little to judge.
    """

    ENDS = "ends"
    """Requests are aborted and preempted."""
    FAILURES = "failures"
    """Copies fail."""
    RESETS = "resets"
    SHARERS = "sharers"
    """Requests with one prompt that must go on together."""
    ORDER = "order"
    """What is due together comes in reverse, and ranks lag behind each other."""
    NEUTRAL = "neutral"
    """What happened so far is compared with a run without a connector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit:
    """A request enters.  Its prompt has ``blocks`` hash blocks and ``more`` tokens.

    It begins with ``shared`` tokens (None: all) of request number ``like``, if that is not None;
    with ``as_long`` it has ``more`` tokens more than that one's prompt.  ``accepted`` says which
    drafts are right, if the engine has some; empty for all.
    """

    blocks: int
    more: int
    output: int
    like: int | None
    shared: int | None
    as_long: bool
    salt: bool
    accepted: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OfOne:
    """An event that names one request and nothing else: run, abort or preempt."""

    kind: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """A chunk of a request's prompt is dropped, so many before its last one.

    With ``asked`` that happens at rest, and a cold request follows that asks for the prompt up to
    so many chunks behind it (0: for all of it).
    """

    number: int
    group: int
    chunk: int
    asked: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """Copies of a request's blocks fail.

    With ``chunk`` only those that have the chunk so many before the request's last one, in that
    group; with ``rank`` only those of a rank.
    """

    load: bool
    number: int
    group: int
    chunk: int | None
    part: bool
    rank: int | None
    nth: int
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Reports or copies are held, or go on, on one rank or on all, in one direction or in both."""

    release: bool
    what: str
    rank: int | None
    direction: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """So many requests with the prompt of an earlier one, perhaps while something is held."""

    number: int
    count: int
    output: int
    held: str | None
    steps: int


Plain = Sequence[Any]
"""Events that need no number."""

Move = Submit | OfOne | Drop | Fail | Part | Together | Plain

_LAST = st.integers(0, 3)
"""A request by how many came after it."""

SUBMIT = st.builds(
    Submit,
    blocks=st.integers(0, _MOST_HASH_BLOCKS),
    more=st.sampled_from([0, 1, 0, 2, 3, 5, 7]),
    output=st.sampled_from([1, 2, 3, 9, 20]),
    like=st.one_of(_LAST, st.none()),
    shared=st.one_of(st.none(), st.none(), st.integers(1, 120)),
    as_long=st.booleans(),
    salt=st.sampled_from([False] * 5 + [True]),
    accepted=st.lists(st.integers(0, 5), max_size=3).map(tuple),
)

_DROP = st.builds(
    Drop,
    number=_LAST,
    group=st.integers(0, 2),
    chunk=st.sampled_from([1, 0, 2, 1, 4]),
    asked=st.sampled_from([1, 0, 2, None]),
)

_FAIL = st.builds(
    Fail,
    load=st.booleans(),
    number=st.sampled_from([0, 0, 0, 1, 2]),
    group=st.integers(0, 2),
    chunk=st.one_of(st.none(), st.integers(0, 4)),
    part=st.booleans(),
    rank=st.sampled_from([None, None, 0, 1]),
    nth=st.sampled_from([1, 1, 1, 2]),
    times=st.sampled_from([1, 1, 2, 20]),
)


def _together(held: Sequence[str]) -> SearchStrategy[Together]:
    return st.builds(
        Together,
        number=_LAST,
        count=st.integers(1, 6),
        output=st.sampled_from([1, 2, 9]),
        held=st.sampled_from([None, *held]),
        steps=st.integers(1, 4),
    )


def _part(held: Sequence[str]) -> SearchStrategy[Part]:
    return st.builds(
        Part,
        release=st.booleans(),
        what=st.sampled_from(held),
        rank=st.sampled_from([0, 1, None]),
        direction=st.sampled_from(["load", "store", None]),
    )


@lru_cache
def moves(claims: frozenset[Capability], spices: frozenset[Spice]) -> SearchStrategy[Move]:
    """Most moves are requests, and before many of these the pool is made cold.

    What a connector does not claim is not asked of it.
    """
    held = ["reports"]
    if Capability.TRANSFER_CONTROL in claims:
        held += ["copies", "both"]
    plain: list[Move] = [("settle",), ("wipe_pool",), ("release",)]
    plain += [({"hold": what},) for what in held]
    plain += [({"step": count},) for count in range(1, 13)]
    kinds: list[SearchStrategy[Move]] = [
        *[SUBMIT] * 8,
        *[st.just(("settle", "wipe_pool"))] * 4,
        *[st.sampled_from(plain)] * 3,
        st.builds(OfOne, kind=st.just("run"), number=_LAST),
    ]
    if Capability.CHUNK_CONTROL in claims:
        kinds += [_DROP] * 3
    if Capability.TRANSFER_CONTROL in claims and Spice.FAILURES in spices:
        kinds += [_FAIL] * 4
    if Spice.ENDS in spices:
        kinds += [st.builds(OfOne, kind=st.sampled_from(["abort", "preempt"]), number=_LAST)] * 4
    if Spice.RESETS in spices:
        kinds += [st.just(("reset",))] * 2
    if Spice.SHARERS in spices:
        kinds += [_together(held)] * 2
    if Spice.ORDER in spices:
        kinds += [st.just(("last_first",)), *[_part(held)] * 3]
    if Spice.NEUTRAL in spices:
        kinds += [st.just(("neutral",))] * 3
    return st.sampled_from(kinds).flatmap(lambda kind: kind)
