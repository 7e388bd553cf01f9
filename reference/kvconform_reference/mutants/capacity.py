"""Faults of a connector whose memory is too small, and of what it tells of its chunks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvconform.ports import ChunkEvent, ChunkRemoved, ChunkStored, Layout
from kvconform_reference.manager import Chunk, ChunkManager, OffloadKey
from kvconform_reference.mutants.base import Mutant, Patched

Offers = Sequence[tuple[OffloadKey, int]]


class Managed(Patched):
    """The reference with other books on chunks."""

    manager_kind: type[ChunkManager] = ChunkManager

    def make_manager(self, num_slots: int) -> ChunkManager:
        """The books of the mutant's kind."""
        return self.manager_kind(num_slots)


class _OverBudget(Patched):
    def slots_within(self, layout: Layout) -> int:
        return 2 * super().slots_within(layout)


class _HeadFirstManager(ChunkManager):
    def use(self, keys: Iterable[OffloadKey], access: int) -> None:
        super().use(reversed(list(keys)), access)


class _HeadFirst(Managed):
    manager_kind = _HeadFirstManager


class _NewestFirstManager(ChunkManager):
    """Ranks by the negative of what is right."""

    def use(self, keys: Iterable[OffloadKey], access: int) -> None:
        super().use(keys, -access)

    def may_evict(self, chunk: Chunk, access: int) -> bool:
        return super().may_evict(chunk, -access)


class _NewestFirst(Managed):
    manager_kind = _NewestFirstManager


class _FirstInManager(ChunkManager):
    """A chunk keeps the place that it got when it was stored."""

    def use(self, keys: Iterable[OffloadKey], access: int) -> None:
        super().use([key for key in keys if key in self._chunks and not self._chunks[key].rank[0]], access)


class _FirstIn(Managed):
    manager_kind = _FirstInManager


class _OwnOfferManager(ChunkManager):
    """Makes room before it looks at what of the offer is there."""

    def prepare_store(self, offers: Offers, access: int | None = None) -> list[Chunk]:
        new = [offer for offer in offers if offer[0] not in self._chunks]
        self._make_room(len(new) - len(self._free), 0)
        return super().prepare_store(new, access)


class _OwnOffer(Managed):
    manager_kind = _OwnOfferManager


class _RefusesManager(ChunkManager):
    """Stores only into what is free."""

    def may_evict(self, chunk: Chunk, access: int) -> bool:
        del chunk, access
        return False


class _Refuses(Managed):
    manager_kind = _RefusesManager


class _ForEverManager(ChunkManager):
    def __init__(self, num_slots: int) -> None:
        super().__init__(num_slots)
        self._refused: set[OffloadKey] = set()

    def prepare_store(self, offers: Offers, access: int | None = None) -> list[Chunk]:
        taken = super().prepare_store([o for o in offers if o[0] not in self._refused], access)
        self._refused |= {key for key, _ in offers if key not in self._chunks}
        return taken


class _RefusesForEver(Managed):
    manager_kind = _ForEverManager


class _ClearsOutManager(ChunkManager):
    """Evicts all that it may as soon as it needs room for anything."""

    def _make_room(self, count: int, access: int) -> None:
        super()._make_room(len(self._chunks) if count > 0 else 0, access)


class _ClearsOut(Managed):
    manager_kind = _ClearsOutManager


class _UnpinnedManager(ChunkManager):
    """Does not look at loads in flight: the slot of a chunk that is being read is free at once."""

    def may_evict(self, chunk: Chunk, access: int) -> bool:
        return chunk.ready and chunk.rank[0] != access

    def _remove(self, chunk: Chunk) -> None:
        loads, chunk.loads = chunk.loads, 0
        super()._remove(chunk)
        chunk.loads = loads

    def complete_load(self, chunks: Iterable[Chunk]) -> None:
        super().complete_load(chunk for chunk in chunks if not chunk.forgotten)


class _LoadingEvicted(Managed):
    manager_kind = _UnpinnedManager


class _StoringEvictedManager(ChunkManager):
    """Does not look at stores in flight."""

    def may_evict(self, chunk: Chunk, access: int) -> bool:
        return not chunk.loads and chunk.rank[0] != access

    def _remove(self, chunk: Chunk) -> None:
        ready, chunk.ready = chunk.ready, True
        super()._remove(chunk)
        chunk.ready = ready

    def complete_store(self, chunk: Chunk, *, success: bool = True) -> None:
        if not chunk.forgotten:
            super().complete_store(chunk, success=success)


class _StoringEvicted(Managed):
    manager_kind = _StoringEvictedManager


class _RemovedUntoldManager(ChunkManager):
    def take_events(self) -> list[ChunkEvent]:
        return [event for event in super().take_events() if not isinstance(event, ChunkRemoved)]


class _RemovedUntold(Managed):
    manager_kind = _RemovedUntoldManager


class _StoredUntoldManager(ChunkManager):
    def take_events(self) -> list[ChunkEvent]:
        return [event for event in super().take_events() if not isinstance(event, ChunkStored)]


class _StoredUntold(Managed):
    manager_kind = _StoredUntoldManager


class _ToldEarlyManager(ChunkManager):
    """Tells that a chunk is stored when its store is queued."""

    def prepare_store(self, offers: Offers, access: int | None = None) -> list[Chunk]:
        taken = super().prepare_store(offers, access)
        self._events += [ChunkStored(group=chunk.key[1], key=chunk.key[0]) for chunk in taken]
        return taken

    def complete_store(self, chunk: Chunk, *, success: bool = True) -> None:
        before = len(self._events)
        super().complete_store(chunk, success=success)
        del self._events[before:]


class _ToldEarly(Managed):
    manager_kind = _ToldEarlyManager


class _RefusedToldManager(ChunkManager):
    """Tells that all of an offer is stored, whatever found room."""

    def prepare_store(self, offers: Offers, access: int | None = None) -> list[Chunk]:
        taken = super().prepare_store(offers, access)
        refused = [key for key, _ in offers if key not in self._chunks]
        self._events += [ChunkStored(group=group, key=key) for key, group in refused]
        return taken


class _RefusedTold(Managed):
    manager_kind = _RefusedToldManager


class _WrongGroupManager(ChunkManager):
    def take_events(self) -> list[ChunkEvent]:
        return [
            ChunkStored(group=0, key=event.key) if isinstance(event, ChunkStored) else event
            for event in super().take_events()
        ]


class _WrongGroup(Managed):
    manager_kind = _WrongGroupManager


class _WrongKeyManager(ChunkManager):
    """Tells a key that only it knows."""

    def take_events(self) -> list[ChunkEvent]:
        return [
            ChunkStored(group=event.group, key=event.key[::-1]) if isinstance(event, ChunkStored) else event
            for event in super().take_events()
        ]


class _WrongKey(Managed):
    manager_kind = _WrongKeyManager


class _ToldTwiceManager(ChunkManager):
    """Tells a chunk stored once more when it is offered once more."""

    def prepare_store(self, offers: Offers, access: int | None = None) -> list[Chunk]:
        there = [key for key, _ in offers if key in self._chunks and self._chunks[key].ready]
        self._events += [ChunkStored(group=group, key=key) for key, group in there]
        return super().prepare_store(offers, access)


class _ToldTwice(Managed):
    manager_kind = _ToldTwiceManager


CAPACITY = (
    Mutant(
        name="over-budget",
        fault="Memory holds twice the chunks that the layout has room for.",
        clauses=("CPC-1",),
        factory=_OverBudget,
        classes=("C15", "C14"),
    ),
    Mutant(
        name="head-first",
        fault="Of a request the first chunk is evicted first.",
        clauses=("CPC-3",),
        factory=_HeadFirst,
        classes=("C15",),
    ),
    Mutant(
        name="newest-first",
        fault="The most recently used request is evicted first.",
        clauses=("CPC-3",),
        factory=_NewestFirst,
        classes=("C15",),
    ),
    Mutant(
        name="first-in-first-out",
        fault="What was stored first is evicted first, however often it was used since.",
        clauses=("CPC-3",),
        factory=_FirstIn,
        classes=("C15",),
    ),
    Mutant(
        name="own-offer-evicted",
        fault="To make room for the end of a prompt its own front is evicted.",
        clauses=("CPC-3",),
        factory=_OwnOffer,
        classes=("C15", "C8"),
    ),
    Mutant(
        name="refuses-when-full",
        fault="What does not fit into free memory is refused, although chunks could be evicted.",
        clauses=("CPC-2",),
        factory=_Refuses,
        classes=("C15",),
    ),
    Mutant(
        name="refuses-for-ever",
        fault="A chunk that once found no room is never stored again.",
        clauses=("CPC-2",),
        factory=_RefusesForEver,
        classes=("C15",),
    ),
    Mutant(
        name="clears-out",
        fault="All that may be evicted is evicted as soon as anything is.",
        clauses=("CPC-3",),
        factory=_ClearsOut,
        classes=("C15",),
    ),
    Mutant(
        name="loading-evicted",
        fault="A chunk is evicted while a load reads it.",
        clauses=("COV-1",),
        factory=_LoadingEvicted,
        classes=("C8",),
    ),
    Mutant(
        name="storing-evicted",
        fault="A chunk is evicted while its store is in flight, and two stores write to one place.",
        clauses=("COV-1",),
        factory=_StoringEvicted,
        classes=("C8",),
    ),
    Mutant(
        name="removed-untold",
        fault="That a chunk is evicted is not told.",
        clauses=("EVT-1",),
        factory=_RemovedUntold,
        classes=("C16",),
    ),
    Mutant(
        name="stored-untold",
        fault="That a chunk is stored is not told.",
        clauses=("EVT-1",),
        factory=_StoredUntold,
        classes=("C16",),
    ),
    Mutant(
        name="told-early",
        fault="A chunk is told stored when its store is queued, before its bytes are there.",
        clauses=("EVT-2",),
        factory=_ToldEarly,
        classes=("C16",),
    ),
    Mutant(
        name="refused-told",
        fault="A chunk that found no room is told stored.",
        clauses=("EVT-1", "EVT-2"),
        factory=_RefusedTold,
        classes=("C16",),
    ),
    Mutant(
        name="told-twice",
        fault="A chunk that is there is told stored once more when it is offered once more.",
        clauses=("EVT-2",),
        factory=_ToldTwice,
        classes=("C16",),
    ),
    Mutant(
        name="told-wrong-group",
        fault="Every chunk is told as one of the first group.",
        clauses=("EVT-1", "EVT-2"),
        factory=_WrongGroup,
        classes=("C16",),
    ),
    Mutant(
        name="told-wrong-key",
        fault="What is told of a stored chunk is a key that no request has.",
        clauses=("EVT-1", "EVT-2"),
        factory=_WrongKey,
        classes=("C16",),
    ),
)
