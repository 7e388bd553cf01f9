"""Faults of coverage: lookup, load window, store mask, draft tail.

The first four undo parts of vllm-project/vllm#56709.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kvconform_reference.connector import ReferenceConnector
from kvconform_reference.demand import GroupDemand, StoreMask, cdiv
from kvconform_reference.mutants.base import Mutant


@dataclass(frozen=True, slots=True, kw_only=True)
class _BareRun(GroupDemand):
    """The lookup's lower bound knows the attention window only."""

    @property
    def run_chunks(self) -> int:
        return cdiv(self.group.window, self.chunk)


@dataclass(frozen=True, slots=True, kw_only=True)
class _BareLoad(GroupDemand):
    """The load window knows the attention window only."""

    def load_chunks(self, boundary: int) -> int:
        return max(1, cdiv(self.group.window - 1 + -boundary % self.chunk, self.chunk))


@dataclass(frozen=True, slots=True, kw_only=True)
class _BareBoth(GroupDemand):
    """Neither knows what is retained below the window."""

    @property
    def run_chunks(self) -> int:
        return cdiv(self.group.window, self.chunk)

    def load_chunks(self, boundary: int) -> int:
        return max(1, cdiv(self.group.window - 1 + -boundary % self.chunk, self.chunk))


@dataclass(frozen=True, slots=True, kw_only=True)
class _BareMask(StoreMask):
    """Chunks are kept for the attention window only."""

    def kept_below(self, demand: GroupDemand) -> int:
        return demand.group.window - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NoTail(GroupDemand):
    """Draft groups are looked up like all others."""

    def tail(self, boundary: int) -> None:
        """Nothing beyond the boundary is asked for."""
        del boundary


def _remade_mask(kind: type[StoreMask], mask: StoreMask) -> StoreMask:
    return kind(
        demands=mask.demands,
        hash_block=mask.hash_block,
        retention_interval=mask.retention_interval,
    )


class _Remade(ReferenceConnector):
    """The reference with another kind of demand."""

    kind: type[GroupDemand] = GroupDemand

    def make_demands(self, *, seed_bound: bool) -> tuple[GroupDemand, ...]:
        return tuple(
            self.kind(group=demand.group, chunk=demand.chunk, seed_bound=demand.seed_bound)
            if type(demand) is GroupDemand
            else demand
            for demand in super().make_demands(seed_bound=seed_bound)
        )


class _LookupBoundUndone(_Remade):
    kind = _BareRun


class _LoadWindowUndone(_Remade):
    kind = _BareLoad


class _StoreMaskUndone(ReferenceConnector):
    def make_mask(self, demands: Sequence[GroupDemand]) -> StoreMask:
        return _remade_mask(_BareMask, super().make_mask(demands))


class _SeedUndone(_Remade):
    kind = _BareBoth

    def make_mask(self, demands: Sequence[GroupDemand]) -> StoreMask:
        return _remade_mask(_BareMask, super().make_mask(demands))


class _EagleIgnored(_Remade):
    kind = NoTail


class _RetentionIgnored(ReferenceConnector):
    def make_mask(self, demands: Sequence[GroupDemand]) -> StoreMask:
        return replace(super().make_mask(demands), retention_interval=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _NoReplayMask(StoreMask):
    """Keeps the multiples of the interval and nothing else."""

    def replay_boundary(self, prompt_tokens: int) -> int:
        del prompt_tokens
        return 0


class _ReplayForgotten(ReferenceConnector):
    def make_mask(self, demands: Sequence[GroupDemand]) -> StoreMask:
        return _remade_mask(_NoReplayMask, super().make_mask(demands))


@dataclass(frozen=True, slots=True, kw_only=True)
class _WholePromptMask(StoreMask):
    """Takes a replay to hit the whole prompt, its last token included."""

    def replay_boundary(self, prompt_tokens: int) -> int:
        return StoreMask.replay_boundary(self, prompt_tokens + 1)


class _ReplayOfWholePrompt(ReferenceConnector):
    def make_mask(self, demands: Sequence[GroupDemand]) -> StoreMask:
        return _remade_mask(_WholePromptMask, super().make_mask(demands))


COVERAGE = (
    Mutant(
        name="seed-undone",
        fault="Lookup, load window and store mask know the attention window but not what is retained below it.",
        clauses=("COV-2",),
        factory=_SeedUndone,
        seed_cases=14,
        classes=("C1", "C2"),
    ),
    Mutant(
        name="load-window-undone",
        fault="The lookup checks too few chunks where the boundary lies inside a chunk.",
        clauses=("COV-2",),
        factory=_LoadWindowUndone,
        seed_cases=6,
        classes=("C1",),
    ),
    Mutant(
        name="store-mask-undone",
        fault="The producer leaves out chunks that only the retained history needs.",
        clauses=("COV-5",),
        factory=_StoreMaskUndone,
        seed_cases=2,
        classes=("C2",),
    ),
    Mutant(
        name="lookup-bound-undone",
        fault="A lookup that falls back to an older run accepts one that is a chunk short.",
        clauses=("COV-2",),
        factory=_LookupBoundUndone,
        seed_cases=0,
        classes=("C1",),
    ),
    Mutant(
        name="eagle-ignored",
        fault="The volatile trailing chunk of a draft group is served.",
        clauses=("SPC-1",),
        factory=_EagleIgnored,
        seed_cases=0,
        classes=("C2",),
    ),
    Mutant(
        name="retention-ignored",
        fault="Windows are stored for every boundary, whatever the engine's retention interval.",
        clauses=("COV-5",),
        factory=_RetentionIgnored,
        seed_cases=0,
        classes=("C2",),
    ),
    Mutant(
        name="replay-forgotten",
        fault="With a retention interval nothing is kept for the last boundary of a prompt.",
        clauses=("COV-5",),
        factory=_ReplayForgotten,
        seed_cases=0,
        classes=("C2",),
    ),
    Mutant(
        name="replay-of-whole-prompt",
        fault="With a retention interval a prompt that ends with a chunk is kept for a hit on all of it.",
        clauses=("COV-5",),
        factory=_ReplayOfWholePrompt,
        seed_cases=0,
        classes=("C2",),
    ),
)
