"""What may be under each key of a store, followed from what was put and what was answered.

Nothing here reads a store: it says which answers are right, and which contents a get may bring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kvconform.ports import BatchAnswer, Overwrite, StoreCapability, StoreClaims


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The bytes of one put: those of ``key`` in ``version``; ``size`` in bytes."""

    namespace: str
    key: str
    version: int
    size: int
    random: bool = False


Place = tuple[str, str]
"""(namespace, name of a key)."""

ABSENT = None
"""What a get finds where nothing is."""


@dataclass(slots=True, kw_only=True)
class Objects:
    """The contents that a get of each key may find, `ABSENT` among them where it may miss.

    ``ttl_s`` and ``lease_s`` count in seconds of ``now_s``, which only moves when it is set.
    """

    claims: StoreClaims
    capacity_bytes: int | None = None
    ttl_s: float | None = None
    lease_s: float | None = None
    now_s: float = 0.0
    _may: dict[Place, frozenset[Content | None]] = field(default_factory=dict)
    _put_s: dict[Place, float] = field(default_factory=dict)
    _leased_until_s: dict[Place, float] = field(default_factory=dict)

    def may_be(self, place: Place) -> frozenset[Content | None]:
        """What a get of the key may find."""
        may = self._may.get(place, frozenset({ABSENT}))
        if self.ttl_s is None or not self._claims(StoreCapability.TTL) or place not in self._put_s:
            return may
        age_s = self.now_s - self._put_s[place]
        if age_s < self.ttl_s:
            return may
        # At the very end either is right, and so it is where a lease outlasts it.
        return may | {ABSENT} if age_s == self.ttl_s or self.is_leased(place) else frozenset({ABSENT})

    def looked_up(self, place: Place, *, found: bool) -> None:
        """An exists or a get was answered: what it found is leased from now on."""
        if found and self.lease_s is not None and self._claims(StoreCapability.LEASES):
            self._leased_until_s[place] = self.now_s + self.lease_s

    def is_leased(self, place: Place) -> bool:
        """Whether a lease keeps the object that is there."""
        return self.now_s < self._leased_until_s.get(place, self.now_s)

    def is_there(self, place: Place) -> bool | None:
        """Whether a get must succeed (True) or must not (False); None where either is right."""
        may = self.may_be(place)
        if ABSENT not in may:
            return True
        return False if may == {ABSENT} else None

    def put_answers(self, place: Place, content: Content) -> frozenset[bool]:
        """The right answers to a put."""
        there = self.is_there(place)
        keeps = self.claims.overwrite is Overwrite.KEEP
        if there is None:
            return frozenset({True, False})
        if there and keeps:
            return frozenset({False})
        if not self._has_bound():
            return frozenset({True})
        if self._claims(StoreCapability.EVICTS):
            kept = self.most_bytes(without=place, leased=True) + content.size
            return frozenset({kept <= (self.capacity_bytes or 0)})
        fits = self.most_bytes(without=place) + content.size <= (self.capacity_bytes or 0)
        # What a store needs beside the bytes themselves is its own affair.
        return frozenset({True, False}) if fits else frozenset({False})

    def put(self, place: Place, content: Content, *, answered: bool) -> None:
        """A put was answered."""
        before = self.may_be(place)
        if answered:
            self._may[place] = frozenset({content})
            self._put_s[place] = self.now_s
        elif self.claims.overwrite is Overwrite.REPLACE:
            # It failed half way: the old bytes may be gone, but nothing else may be there.
            self._may[place] = before | {ABSENT}
        if self._has_bound() and self._claims(StoreCapability.EVICTS):
            self._forget_some(but=place)

    def _forget_some(self, but: Place) -> None:
        if self.most_bytes() > (self.capacity_bytes or 0):
            for place in self._may:
                if place != but and not self.is_leased(place):
                    self._may[place] |= {ABSENT}

    def put_unknown(self, place: Place, contents: Sequence[Content | None]) -> None:
        """Puts of which nobody knows how they ended, or in which order."""
        self._may[place] = self.may_be(place) | set(contents)

    def put_at_once(self, place: Place, contents: Sequence[Content]) -> None:
        """Puts by several processes, all answered True: one of them is there."""
        self._may[place] = frozenset(contents)

    def deleted(self, place: Place, *, answered: bool) -> None:
        """A delete was answered."""
        if self.is_leased(place) and not answered:
            return
        if answered or self.is_there(place) is not True:
            self._may[place] = frozenset({ABSENT})
        else:
            self._may[place] |= {ABSENT}

    def delete_answers(self, place: Place) -> frozenset[bool]:
        """The right answers to a delete."""
        there = self.is_there(place)
        if there and self.is_leased(place):
            return frozenset({False})
        if there is None or (there and not self._claims(StoreCapability.DELETES)):
            return frozenset({True, False})
        return frozenset({there})

    def damaged(self, place: Place) -> None:
        """The object was tampered with: it is whole, or a miss."""
        self._may[place] = self.may_be(place) | {ABSENT}

    def places(self) -> list[Place]:
        """Every key that was ever put."""
        return list(self._may)

    def found(self, place: Place, content: Content | None) -> None:
        """A get showed what is there, where several contents were right."""
        if content in self.may_be(place) and content is not ABSENT:
            self._may[place] = frozenset({content})

    def most_bytes(self, without: Place | None = None, *, leased: bool = False) -> int:
        """Bytes of all objects that may be there, or of those alone that a lease keeps."""
        return sum(
            max(content.size for content in self.may_be(place) if content is not ABSENT)
            for place in self._may
            if place != without
            and self.may_be(place) != {ABSENT}
            and (self.is_leased(place) or not leased)
        )

    def batch(self, policy: BatchAnswer, places: Sequence[Place]) -> list[bool | None]:
        """The right answer for each key of a batch; None where either is right."""
        there = [self.is_there(place) for place in places]
        if policy is BatchAnswer.PER_KEY:
            return there
        if policy is BatchAnswer.ALL_OR_NOTHING:
            whole = False if False in there else None if None in there else True
            return [whole] * len(there)
        answers: list[bool | None] = []
        so_far: bool | None = True
        for one in there:
            so_far = False if False in {so_far, one} else None if None in {so_far, one} else True
            answers.append(so_far)
        return answers

    def _has_bound(self) -> bool:
        return self.capacity_bytes is not None and self._claims(StoreCapability.BOUNDED)

    def _claims(self, capability: StoreCapability) -> bool:
        return capability in self.claims.capabilities
