"""Faults of speculative decoding: drafts taken for tokens, and groups taken for draft groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kvconform.ports import BlockTable, Request, ScheduledRequest, Step
from kvconform_reference.connector import ReferenceConnector
from kvconform_reference.demand import GroupDemand
from kvconform_reference.lookup import Lookup
from kvconform_reference.manager import OffloadKey
from kvconform_reference.mutants.base import Mutant, Patched
from kvconform_reference.mutants.coverage import NoTail
from kvconform_reference.scheduler import Offer, ReferenceScheduler
from kvconform_reference.worker import ReferenceWorker, StepMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class _NamedLater(Lookup):
    """Chunks may lie under a placeholder for the key that they get in the end."""

    placeholders: dict[OffloadKey, OffloadKey] = field(default_factory=dict)

    def key(self, request: Request, group: int, chunk: int) -> OffloadKey | None:
        key = Lookup.key(self, request, group, chunk)
        return None if key is None else self.placeholders.get(key, key)


class _EarlyScheduler(ReferenceScheduler):
    """Stores chunks as soon as a step computes their last token, guessed or not."""

    named_later = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._unnamed: dict[OffloadKey, tuple[Request, int, int]] = {}

    def storable_tokens(self, request: Request) -> int:
        guessed = 1 + 2 * self.layout.spec_tokens if self.layout.spec_tokens else 0
        if self.layout.prompt_only or not guessed:
            return super().storable_tokens(request)
        return super().storable_tokens(request) + self.layout.hash_block + guessed

    def build_connector_meta(self, step: Step) -> StepMetadata:
        self._name()
        return super().build_connector_meta(step)

    def request_finished(
        self, request: Request, blocks: BlockTable
    ) -> tuple[bool, Mapping[str, object] | None]:
        self._name()
        return super().request_finished(request, blocks)

    def _key(self, request: Request, group: int, chunk: int) -> OffloadKey:
        key = self.lookup.key(request, group, chunk)
        if key is not None:
            return key
        placeholder = f"{request.request_id}/{chunk}".encode(), group
        self._unnamed[placeholder] = request, group, chunk
        return placeholder

    def _name(self) -> None:
        """Give stored chunks their keys where they are known by now."""
        if not (self.named_later and isinstance(self.lookup, _NamedLater)):
            return
        for placeholder, (request, group, chunk) in list(self._unnamed.items()):
            key = Lookup.key(self.lookup, request, group, chunk)
            if key is not None:
                self.lookup.placeholders.setdefault(key, placeholder)
                del self._unnamed[placeholder]


class _StoresDrafts(Patched):
    scheduler_kind = _EarlyScheduler
    lookup_kind = _NamedLater


class _PlaceholderScheduler(_EarlyScheduler):
    named_later = False


class _KeyBeforeConfirmed(Patched):
    scheduler_kind = _PlaceholderScheduler


class _RunsAheadScheduler(ReferenceScheduler):
    """The cursor passes whatever a step computes, drafts included."""

    def advance(self, scheduled: ScheduledRequest, offers: Sequence[Offer]) -> None:
        super().advance(scheduled, offers)
        computed = scheduled.num_computed_tokens + scheduled.num_scheduled_tokens
        cursors = self._cursors[scheduled.request.request_id]
        if self.layout.spec_tokens:
            for group, demand in enumerate(self.demands):
                cursors[group] = max(cursors[group], computed // demand.chunk)


class _RunsAhead(Patched):
    scheduler_kind = _RunsAheadScheduler


class _OptimisticScheduler(_EarlyScheduler):
    """Takes the count that a step begins with for tokens that are known."""

    def limit(self, scheduled: ScheduledRequest) -> int:
        drafts = scheduled.num_draft_tokens
        return super().limit(replace(scheduled, num_scheduled_tokens=1) if drafts else scheduled)


class _OptimisticCount(Patched):
    scheduler_kind = _OptimisticScheduler
    lookup_kind = _NamedLater


class _TooSoonWorker(ReferenceWorker):
    """Copies a step's stores before its forward pass."""

    def start_load_kv(self) -> None:
        super().start_load_kv()
        for transfer in self.metadata.stores:
            self._storing.add(transfer.job_id)
            self.submit(transfer)
            self.flush((transfer.job_id,))

    def wait_for_save(self) -> None:
        """Nothing is left to keep."""


class _StoredBeforeComputed(Patched):
    worker_kind = _TooSoonWorker


class _LookaheadScheduler(_PlaceholderScheduler):
    """Offers every chunk that has a block in the table, known tokens or not."""

    def offers(self, scheduled: ScheduledRequest) -> list[Offer]:
        offers = super().offers(scheduled)
        if not scheduled.num_draft_tokens:
            return offers
        for group, demand in enumerate(self.demands):
            per_chunk = demand.chunk // demand.group.block_size
            passed = self._cursors[scheduled.request.request_id][group]
            chunk = max(passed, self.limit(scheduled) // demand.chunk)
            row = scheduled.table.held(group, chunk * per_chunk, (chunk + 1) * per_chunk)
            if row:
                key, end = self._key(scheduled.request, group, chunk), (chunk + 1) * demand.chunk
                blocks = tuple(block for _, block in row)
                subs = tuple(index - chunk * per_chunk for index, _ in row)
                offers.append(Offer(key, chunk, end, blocks, subs, per_chunk))
        return offers

    def storable_tokens(self, request: Request) -> int:
        return ReferenceScheduler.storable_tokens(self, request)


class _LookaheadStored(Patched):
    scheduler_kind = _LookaheadScheduler


class _VolatileScheduler(ReferenceScheduler):
    """Leaves out the trailing chunk of a draft group, and does not come back to it."""

    def offers(self, scheduled: ScheduledRequest) -> list[Offer]:
        offers = super().offers(scheduled)
        if not scheduled.num_draft_tokens:
            return offers
        return [offer for offer in offers if not self.demands[offer.key[1]].group.eagle]


class _VolatileNeverStored(Patched):
    scheduler_kind = _VolatileScheduler


class _TailKept(ReferenceConnector):
    """With drafts, draft groups are looked up like all others."""

    def make_demands(self, *, seed_bound: bool) -> tuple[GroupDemand, ...]:
        demands = super().make_demands(seed_bound=seed_bound)
        if not self.layout.spec_tokens:
            return demands
        return tuple(NoTail(group=d.group, chunk=d.chunk, seed_bound=d.seed_bound) for d in demands)


class _EveryGroupIsEagle(ReferenceConnector):
    """With drafts, every group is taken for one of the draft model."""

    def make_demands(self, *, seed_bound: bool) -> tuple[GroupDemand, ...]:
        demands = super().make_demands(seed_bound=seed_bound)
        if not self.layout.spec_tokens:
            return demands
        return tuple(replace(demand, group=replace(demand.group, eagle=True)) for demand in demands)


SPECULATION = (
    Mutant(
        name="stores-drafts",
        fault="A chunk is stored when its last token is computed, even if that is a guess, and named once it is known.",
        clauses=("SPC-2", "COV-1"),
        factory=_StoresDrafts,
        seed_cases=0,
        classes=("C4",),
    ),
    Mutant(
        name="key-before-confirmed",
        fault="A chunk that ends in drafts is stored under a placeholder, which never becomes its key.",
        clauses=("COV-3",),
        factory=_KeyBeforeConfirmed,
        seed_cases=0,
        classes=("C3",),
    ),
    Mutant(
        name="cursor-counts-drafts",
        fault="The store cursor passes chunks that end in drafts, and they are never offered.",
        clauses=("SPC-3",),
        factory=_RunsAhead,
        seed_cases=0,
        classes=("C3",),
    ),
    Mutant(
        name="optimistic-count",
        fault="Drafts of a step whose result has not arrived count as accepted, and their chunk is stored.",
        clauses=("SPC-2", "COV-1"),
        factory=_OptimisticCount,
        seed_cases=0,
        classes=("C4", "C5"),
    ),
    Mutant(
        name="stored-before-computed",
        fault="A chunk is copied in the step that computes its last token, before that is written.",
        clauses=("SPC-2", "COV-1"),
        factory=_StoredBeforeComputed,
        classes=("C5",),
    ),
    Mutant(
        name="lookahead-stored",
        fault="Blocks allocated for drafts are stored like all others.",
        clauses=("SPC-2",),
        factory=_LookaheadStored,
        seed_cases=0,
        classes=("C4",),
    ),
    Mutant(
        name="volatile-never-stored",
        fault="What a draft group completes while it decodes is never stored.",
        clauses=("SPC-3",),
        factory=_VolatileNeverStored,
        seed_cases=0,
        classes=("C2",),
    ),
    Mutant(
        name="draft-tail-kept",
        fault="With draft tokens the chunk after the boundary of a draft group is not asked for.",
        clauses=("SPC-1",),
        factory=_TailKept,
        seed_cases=0,
        classes=("C2",),
    ),
    Mutant(
        name="every-group-is-eagle",
        fault="With draft tokens every group gives up its trailing chunk.",
        clauses=("COV-3",),
        factory=_EveryGroupIsEagle,
        seed_cases=0,
        classes=("C2",),
    ),
)
