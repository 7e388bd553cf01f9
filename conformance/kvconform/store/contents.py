"""The bytes of objects: each word says whose it is, or all are random."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from kvconform.contract.objects import Content

_INDEX_BITS = 32
_WORD = 8


def key_bytes(name: str, length: int) -> bytes:
    """The key of that name, ``length`` bytes long; ``0x...`` spells its bytes out."""
    if name.startswith("0x"):
        return bytes.fromhex(name[2:])
    stretched = hashlib.shake_128(name.encode()).hexdigest(length)
    # Letters and digits, which every store takes; the front differs soonest, the end surely.
    return stretched[:length].encode()


@lru_cache(maxsize=256)
def bytes_of(content: Content) -> bytes:
    """All bytes of an object, the same in every process."""
    words = -(-content.size // _WORD)
    if content.random:
        return np.random.default_rng(_owner(content)).bytes(content.size)
    coded = np.uint64(_owner(content) << _INDEX_BITS) | np.arange(words, dtype=np.uint64)
    return coded.tobytes()[: content.size]


def _owner(content: Content) -> int:
    said = f"{content.namespace}/{content.key}/{content.version}".encode()
    return int.from_bytes(hashlib.blake2b(said, digest_size=4).digest(), "little")


def difference(found: bytes, expected: bytes) -> int | None:
    """Position of the first byte that differs; None if none does."""
    if found == expected:
        return None
    pairs = zip(found, expected, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(found), len(expected)))


def whose(found: bytes, at: int, known: Iterable[Content]) -> str:
    """Whose bytes are found at position ``at``, in words."""
    start = at - at % _WORD
    word = found[start : start + _WORD]
    for content in known:
        own = bytes_of(content)
        places = [place for place in range(0, len(own), _WORD) if own[place : place + _WORD] == word]
        if len(word) == _WORD and places:
            place = start if start in places else places[0]
            return f"byte {place} on of {content.key!r}, version {content.version}, namespace {content.namespace!r}"
    return "zeros" if not any(word) else f"nobody's bytes ({word.hex()})"
