"""The bytes that the forward pass writes: each slot says whose it is.

A slot is a row of 64-bit words.  Word 0 depends on the whole token prefix (and on what partitions the
cache), the group, the layer and the rank; word 1 is a plain descriptor, so that a stray slot can be named;
further words are drawn from word 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kvconform.ports import PLAIN, Partition

Words = NDArray[np.uint64]

POISON_BYTE = 0xDB
_POISON_WORD = np.uint64(int.from_bytes(bytes([POISON_BYTE]) * 8, "little"))
_MARK = 0xA5
_MOST_ROWS = 1 << 12
"""Rows of a recurrent state, which differ by 1 each in their first word."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(x: Words) -> Words:
    """A 64-bit finaliser: every input bit reaches every output bit."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _word(*parts: object) -> np.uint64:
    """A word that depends on all parts."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """Where a slot lives apart from its token: one layer of one group on one rank."""

    group: int
    layer: int
    rank: int

    @property
    def tag(self) -> int:
        """The lower half of a slot's descriptor."""
        return self.group << 24 | self.layer << 16 | self.rank << 8 | _MARK


class Prefix:
    """The bytes of a sequence of tokens: one word for each position, and slots made from it.

    A position's word depends on every token up to it, on every image that begins at or before
    it, and on salt, adapter and embeddings.
    """

    def __init__(self, token_ids: Sequence[int], partition: Partition) -> None:
        tokens = np.asarray(token_ids, dtype=np.uint64)
        places = np.arange(1, len(tokens) + 1, dtype=np.uint64)
        with np.errstate(over="ignore"):
            sums = np.cumsum(_mix(tokens + places * _GOLDEN), dtype=np.uint64)
            sums += _word("request", partition.salt, partition.lora, partition.embeddings)
            for image in partition.images:
                sums[image.start :] += _word("image", image.digest, image.start)
            self._words = _mix(sums)
        self._tables: dict[tuple[Lane, int], Words] = {}

    def __len__(self) -> int:
        return len(self._words)

    def slots(self, lane: Lane, num_words: int) -> Words:
        """The slots of all positions in one lane: shape (len(self), num_words)."""
        table = self._tables.get((lane, num_words))
        if table is None:
            table = self._tables[lane, num_words] = self._make(lane, num_words)
        return table

    def content(self, lane: Lane, token: int) -> int:
        """The first word of the slot at position ``token``."""
        return int(self.slots(lane, 2)[token, 0])

    def state(self, lane: Lane, num_tokens: int, num_rows: int, num_words: int) -> Words:
        """The state of a recurrent layer after ``num_tokens`` tokens: shape (num_rows, num_words).

        Its last row is the slot of the last of these tokens, so that it has the same content.
        """
        words = np.empty((num_rows, num_words), dtype=np.uint64)
        own = self.slots(lane, 2)[num_tokens - 1]
        with np.errstate(over="ignore"):
            words[:, 0] = own[0] + np.arange(num_rows - 1, -1, -1, dtype=np.uint64)
            words[:, 1] = own[1]
            for more in range(2, num_words):
                words[:, more] = _mix(words[:, 0] + np.uint64(more) * _GOLDEN)
        return words

    def _make(self, lane: Lane, num_words: int) -> Words:
        words = np.empty((len(self), num_words), dtype=np.uint64)
        tag = np.uint64(lane.tag)
        with np.errstate(over="ignore"):
            words[:, 0] = _mix(self._words + tag * _GOLDEN)
            words[:, 1] = np.arange(len(self), dtype=np.uint64) << np.uint64(32) | tag
            for more in range(2, num_words):
                words[:, more] = _mix(words[:, 0] + np.uint64(more) * _GOLDEN)
        return words


@lru_cache(maxsize=32)
def prefix_of(token_ids: tuple[int, ...], partition: Partition = PLAIN) -> Prefix:
    """The prefix of these tokens; many cases have the same one."""
    return Prefix(token_ids, partition)


_WRONG = 1 << 20
"""Added to a token, makes one that occurs in no prompt and no answer."""


@lru_cache(maxsize=32)
def drafts_of(
    token_ids: tuple[int, ...], partition: Partition = PLAIN, spare: int = 0
) -> Prefix:
    """What wrong drafts leave behind at each position of these tokens and ``spare`` ones beyond."""
    wrong = (*(token + _WRONG for token in token_ids), *range(_WRONG, _WRONG + spare))
    return Prefix(wrong, partition)


def position_of(words: Words) -> NDArray[np.int64]:
    """Token positions that slots name in their descriptor, -1 where they are no slot of ours."""
    known = (words[..., 1] & np.uint64(0xFF)) == np.uint64(_MARK)
    return np.where(known, (words[..., 1] >> np.uint64(32)).astype(np.int64), -1)


def lane_of(slot: Words) -> Lane | None:
    """The lane that one slot names in its descriptor; None if it is no slot of ours."""
    tag = int(slot[1]) & 0xFFFFFFFF
    if tag & 0xFF != _MARK:
        return None
    return Lane(group=tag >> 24, layer=tag >> 16 & 0xFF, rank=tag >> 8 & 0xFF)


@dataclass(slots=True)
class Owners:
    """Names the owner of a stray slot."""

    _prefixes: dict[str, Prefix] = field(default_factory=dict)
    _drafts: dict[str, Prefix] = field(default_factory=dict)

    def add(self, request: str, prefix: Prefix, drafts: Prefix | None = None) -> None:
        """Remember the prefix of ``request``, and what its wrong ``drafts`` leave behind."""
        self._prefixes[request] = prefix
        if drafts is not None:
            self._drafts[request] = drafts

    def own(self, slots: Words, lane: Lane) -> NDArray[np.bool_]:
        """Which slots hold a token of some request at the position that they name."""
        positions = position_of(slots)
        right = np.zeros(len(slots), dtype=np.bool_)
        for prefix in self._prefixes.values():
            within = (positions >= 0) & (positions < len(prefix))
            own = prefix.slots(lane, slots.shape[1])[np.where(within, positions, 0)]
            right |= within & (own == slots).all(axis=1)
        return right

    def name(self, slot: Words) -> str:
        """Whose bytes a slot holds, in words."""
        if bool((slot == _POISON_WORD).all()):
            return "nobody's: poison of a block that was never filled"
        if not slot.any():
            return "nobody's: zeros"
        position, lane = int(position_of(slot)), lane_of(slot)
        if lane is None:
            return "nobody's: bytes that no step wrote"
        where = f"group {lane.group}, layer {lane.layer}, token {position}, rank {lane.rank}"
        for request, prefix in self._drafts.items():
            if position < len(prefix) and bool((prefix.slots(lane, len(slot))[position] == slot).all()):
                return f"a rejected draft of request {request!r}, {where}"
        return self._name_own(slot, position, lane) or f"a request unknown to this case, {where}"

    def _name_own(self, slot: Words, position: int, lane: Lane) -> str:
        where = f"group {lane.group}, layer {lane.layer}, token {position}, rank {lane.rank}"
        told = (self._told(request, prefix, position, lane, slot) for request, prefix in self._prefixes.items())
        return next((text for text in told if text), "").format(where)

    @staticmethod
    def _told(request: str, prefix: Prefix, position: int, lane: Lane, slot: Words) -> str:
        """Whether a slot is this request's, in words with a gap for its place; "" if it is not."""
        if position >= len(prefix):
            return ""
        own = prefix.slots(lane, len(slot))[position]
        name = repr(request).replace("{", "{{").replace("}", "}}")
        if bool((own == slot).all()):
            return f"request {name}, {{}}"
        if 0 < int(slot[0]) - int(own[0]) < _MOST_ROWS:
            return f"request {name}, {{}}, which is a state after {position + 1} tokens"
        return f"request {name}, {{}}, damaged" if own[0] == slot[0] else ""
