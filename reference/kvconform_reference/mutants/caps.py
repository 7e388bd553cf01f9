"""Faults of caps, and of prompts that end with a chunk."""

from __future__ import annotations

from kvconform.ports import Request, load_cap, store_cap
from kvconform_reference.lookup import Lookup
from kvconform_reference.mutants.base import Mutant, Patched
from kvconform_reference.scheduler import ReferenceScheduler


class _Uncapped:
    """A request as if its client had asked for nothing."""

    def __init__(self, request: Request) -> None:
        self.token_ids = request.token_ids
        self.block_hashes = request.block_hashes
        self.num_prompt_tokens = request.num_prompt_tokens
        self.transfer_params: dict[str, object] = {}


class _NoLoadCap(Lookup):
    def limit(self, request: Request, local_tokens: int) -> int:
        return super().limit(_Uncapped(request), local_tokens)  # type: ignore[arg-type]


class _ZeroIsNone(Lookup):
    """Takes a cap of 0 for none, as a test for truth does."""

    def limit(self, request: Request, local_tokens: int) -> int:
        allowed = request if load_cap(request) else _Uncapped(request)
        return super().limit(allowed, local_tokens)  # type: ignore[arg-type]


class _CapCountsLocal(Lookup):
    """Takes a cap for the length of the whole hit, local tokens included."""

    def limit(self, request: Request, local_tokens: int) -> int:
        allowed = super().limit(request, local_tokens)
        cap = load_cap(request)
        return allowed if cap is None else min(allowed, self._whole(cap))


class _NoStoreCap(ReferenceScheduler):
    def storable_tokens(self, request: Request) -> int:
        return super().storable_tokens(_Uncapped(request))  # type: ignore[arg-type]


class _ZeroStoresAll(ReferenceScheduler):
    """Takes a cap of 0 for none, as a test for truth does."""

    def storable_tokens(self, request: Request) -> int:
        allowed = request if store_cap(request) else _Uncapped(request)
        return super().storable_tokens(allowed)  # type: ignore[arg-type]


class _LastBlockShort(Lookup):
    """Where a prompt ends with a hash block, gives all of that block up for its last token."""

    def limit(self, request: Request, local_tokens: int) -> int:
        return self._whole(super().limit(request, local_tokens))


class _DipLookup(Lookup):
    """Finds nothing for a prompt that ends with a hash block."""

    def limit(self, request: Request, local_tokens: int) -> int:
        whole = len(request.token_ids) % self.hash_block == 0
        return 0 if whole else super().limit(request, local_tokens)


class _LoadCapIgnored(Patched):
    lookup_kind = _NoLoadCap


class _ZeroLoadCap(Patched):
    lookup_kind = _ZeroIsNone


class _LoadCapOfAll(Patched):
    lookup_kind = _CapCountsLocal


class _StoreCapIgnored(Patched):
    scheduler_kind = _NoStoreCap


class _ZeroStoreCap(Patched):
    scheduler_kind = _ZeroStoresAll


class _WholePromptShort(Patched):
    lookup_kind = _LastBlockShort


class _Dip(Patched):
    lookup_kind = _DipLookup


CAPS = (
    Mutant(
        name="load-cap-ignored",
        fault="A request's cap on loaded tokens is not looked at.",
        clauses=("CAP-1",),
        factory=_LoadCapIgnored,
        seed_cases=0,
        classes=("C10",),
    ),
    Mutant(
        name="zero-load-cap",
        fault="A cap of no loaded tokens is taken for no cap.",
        clauses=("CAP-1",),
        factory=_ZeroLoadCap,
        seed_cases=0,
        classes=("C10",),
    ),
    Mutant(
        name="load-cap-of-all",
        fault="A cap on loaded tokens counts the local ones too.",
        clauses=("COV-3",),
        factory=_LoadCapOfAll,
        seed_cases=0,
        classes=("C7", "C10"),
    ),
    Mutant(
        name="store-cap-ignored",
        fault="A request's cap on stored tokens is not looked at.",
        clauses=("CAP-1",),
        factory=_StoreCapIgnored,
        seed_cases=0,
        classes=("C10",),
    ),
    Mutant(
        name="zero-store-cap",
        fault="A cap of no stored tokens is taken for no cap.",
        clauses=("CAP-1",),
        factory=_ZeroStoreCap,
        seed_cases=0,
        classes=("C10",),
    ),
    Mutant(
        name="whole-prompt-short",
        fault="Of a prompt that ends with a hash block all of that block is given up, not its last token.",
        clauses=("COV-3",),
        factory=_WholePromptShort,
        seed_cases=0,
        classes=("C2",),
    ),
    Mutant(
        name="dip",
        fault="A prompt that ends with a hash block hits nothing, longer and shorter ones do.",
        clauses=("COV-6",),
        factory=_Dip,
        seed_cases=0,
        classes=("C2",),
    ),
)
