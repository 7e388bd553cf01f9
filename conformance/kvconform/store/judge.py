"""Judgements on the answers of a store: what came back on one side, the model on the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kvconform.contract.objects import ABSENT, Content, Objects, Place
from kvconform.ports import BatchAnswer, StoreCapability, StoreClaims
from kvconform.stage.tally import Tally
from kvconform.store.contents import bytes_of, difference, whose
from kvconform.store.events import StoreEvent
from kvconform.store.second import Reply, margins_hold, within


@dataclass(slots=True, kw_only=True)
class StoreJudge:
    """Judges one case; ``objects`` is what may be where by all answers so far."""

    claims: StoreClaims
    capacity_bytes: int | None
    tally: Tally
    ttl_s: float | None = None
    lease_s: float | None = None
    objects: Objects = field(init=False)
    troubled: bool = False
    """Whether the place is made to fail, so that misses and refusals are right."""
    usual: str = "put-is-found"
    """The check of keys about which nothing special is known."""
    known: dict[Content, None] = field(default_factory=dict)
    """Every content that was ever put, to tell whose bytes are found."""
    special: dict[Place, str] = field(default_factory=dict)
    """The check that a key is about since it was damaged, torn or overwritten."""

    def __post_init__(self) -> None:
        self.objects = Objects(
            claims=self.claims,
            capacity_bytes=self.capacity_bytes,
            ttl_s=self.ttl_s,
            lease_s=self.lease_s,
        )

    def answers(
        self, method: str, places: Sequence[Place], reply: Reply, event: StoreEvent
    ) -> list[bool] | None:
        """The reply as one bool for each key; None, and told, if it is none."""
        count = len(places)
        self.tally.saw("store-answers")
        if self.troubled:
            self.tally.saw("outlives-trouble")
            if reply.unavailable:
                return None
        if reply.error:
            about = {self.special.get(place, "") for place in places} - {""}
            for check in about | ({self.usual} if self.troubled else set()):
                self.tally.wrong(check, "no exception", reply.error, f"in {method}", event=event)
            self.tally.wrong("store-answers", "no exception", reply.error, f"in {method}", event=event)
            return None
        found: Any = reply.answer
        fits = isinstance(found, Sequence) and not isinstance(found, (str, bytes))
        if not fits or len(found) != count or not all(isinstance(one, bool) for one in found):
            self.tally.wrong(
                "store-answers", f"{count} bool(s), one for each key", f"{found!r:.120}", f"in {method}", event=event
            )
            return None
        return list(found)

    def put(self, places: Sequence[Place], contents: Sequence[Content], answers: Sequence[bool], event: StoreEvent) -> None:
        """A batch was put."""
        for place, content, answer in zip(places, contents, answers, strict=True):
            self.known[content] = None
            right = self.objects.put_answers(place, content) | ({False} if self.troubled else set())
            before = self.objects.is_there(place)
            check = self.usual
            # Where a lease refused a delete, a key is there in cases that are about other things.
            if before and self.tally.makes("overwrite-as-declared"):
                check = "overwrite-as-declared"
                self.special[place] = check
            elif answer:
                # Whatever was damaged or torn before, these bytes are there from now on.
                self.special.pop(place, None)
            if before is not None:
                self.tally.saw(check)
            bounded = self.capacity_bytes is not None and before is False
            if answer not in right:
                self.tally.wrong(
                    "capacity-kept" if bounded else check,
                    f"a put of {_named(place)} that answers {not answer}",
                    str(answer),
                    f"{event}; the store declares {self._policy()}",
                    event=event,
                )
            self.objects.put(place, content, answered=answer)

    def _policy(self) -> str:
        kept = f", at most {self.capacity_bytes} bytes" if self.capacity_bytes else ""
        return f"overwriting: {self.claims.overwrite}{kept}"

    def exists(self, places: Sequence[Place], answers: Sequence[bool], event: StoreEvent) -> None:
        """A batch was asked about."""
        self._presence("exists", self.claims.exists_answer, places, answers, event)

    def get(self, places: Sequence[Place], reply: Reply, answers: Sequence[bool], event: StoreEvent) -> None:
        """A batch was got: whether each is there, fits its buffer, and whose bytes came."""
        for place, answer, found in zip(places, answers, reply.found, strict=True):
            if not margins_hold(found):
                self.tally.wrong(
                    "own-bytes", "bytes beside the buffer stay as they are", "they are overwritten", f"at {_named(place)}", event=event
                )
            if answer:
                self._bytes(place, within(found), event)
        sizes = [len(within(found)) for found in reply.found]
        if all(map(self._fits, places, sizes)):
            self._presence("get", self.claims.get_answer, places, answers, event)
            return
        for place, size, answer in zip(places, sizes, answers, strict=True):
            if answer and not self._fits(place, size):
                self.tally.wrong(
                    "own-bytes",
                    f"a miss: {_named(place)} has another size than the buffer of {size} bytes",
                    "a get that succeeds",
                    str(event),
                    event=event,
                )

    def _fits(self, place: Place, size: int) -> bool:
        """Whether a buffer of that size is one for what is there."""
        front = StoreCapability.PARTIAL_READS in self.claims.capabilities
        return all(
            size == content.size or (front and size < content.size)
            for content in self.objects.may_be(place)
            if content is not ABSENT
        )

    def _presence(
        self, method: str, policy: BatchAnswer, places: Sequence[Place], answers: Sequence[bool], event: StoreEvent
    ) -> None:
        right = self.objects.batch(policy, places)
        there = [self.objects.is_there(place) for place in places]
        mixed = len(set(there)) > 1
        for place, answer, expected, own in zip(places, answers, right, there, strict=True):
            check = self._check_of(place, mixed=mixed)
            if own is True or mixed or check in self.special.values():
                self.tally.saw(check)
            self.objects.looked_up(place, found=answer)
            if expected is not None and answer is not expected:
                if not answer and (check == "damage-is-a-miss" or self.troubled):
                    continue
                self.tally.wrong(
                    check if not answer or mixed else self._of_absent(place, method),
                    f"{method} of {_named(place)} that answers {expected}",
                    f"{answer} (all: {_short(answers)})",
                    f"{event}; a batch answers {policy}",
                    event=event,
                )

    def _check_of(self, place: Place, *, mixed: bool) -> str:
        special = self.special.get(place, "")
        if special:
            return special
        return "batch-as-declared" if mixed and self.tally.makes("batch-as-declared") else self.usual

    def _of_absent(self, place: Place, method: str) -> str:
        if self.special.get(place):
            return self.special[place]
        elsewhere = any(content.key == place[1] and content.namespace != place[0] for content in self.known)
        if elsewhere:
            return "namespaces-apart"
        return "own-bytes" if method == "get" else self.usual

    def _bytes(self, place: Place, found: bytes, event: StoreEvent) -> None:
        """A get that succeeds brought one of the contents that may be there."""
        check = self.special.get(place, "own-bytes")
        self.tally.saw(check)
        self.tally.saw("own-bytes")
        may = self.objects.may_be(place)
        for content in may:
            if content is not ABSENT and self._equal(found, content):
                self.objects.found(place, content)
                return
        wanted = next((content for content in self.known if content in may), None)
        expected = bytes_of(wanted)[: len(found)] if wanted is not None else b""
        at = difference(found, expected) or 0
        self.tally.wrong(
            check if wanted is not None else self._of_absent(place, "get"),
            f"the bytes put under {_named(place)}" if wanted else f"a miss: nothing is under {_named(place)}",
            f"a get that succeeds; byte {at} of {len(found)} is from {whose(found, at, self.known)}",
            str(event),
            event=event,
        )

    def _equal(self, found: bytes, content: Content) -> bool:
        own = bytes_of(content)
        return found == own or (len(found) < len(own) and own.startswith(found))

    def weight(self, grown_bytes: int | None, size_bytes: int, event: StoreEvent) -> None:
        """A get of so many bytes took that much memory beside its buffer; None if nobody knows."""
        if grown_bytes is None:
            return
        self.tally.saw("no-second-copy")
        if grown_bytes > size_bytes // 2:
            self.tally.wrong(
                "no-second-copy",
                f"a get of {size_bytes} bytes that takes no memory of that size beside its buffer",
                f"the process was larger by {grown_bytes} bytes meanwhile",
                event=event,
            )

    def bound(self, present_bytes: int, event: StoreEvent) -> None:
        """All that is found fits into the capacity."""
        if self.capacity_bytes is None:
            return
        self.tally.saw("capacity-kept")
        if present_bytes > self.capacity_bytes:
            self.tally.wrong(
                "capacity-kept",
                f"objects of at most {self.capacity_bytes} bytes",
                f"objects of {present_bytes} bytes are found",
                event=event,
            )


def _named(place: Place) -> str:
    return f"{place[1]!r}" if place[0] == "model" else f"{place[1]!r} in namespace {place[0]!r}"


def _short(answers: Sequence[bool]) -> str:
    return "".join("T" if answer else "F" for answer in answers[:32]) + ("..." if len(answers) > 32 else "")  # noqa: PLR2004
