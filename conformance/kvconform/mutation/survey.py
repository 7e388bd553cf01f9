"""Runs a connector's package with one change after another, until a case fails or all have passed."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import ModuleType

from kvconform.mutation.operators import Change
from kvconform.mutation.package import Package
from kvconform.ports import ConnectorFactory
from kvconform.results.record import Outcome
from kvconform.run.forked import Lost, forked, within
from kvconform.run.inline import Player

_CASE_CPU_SECONDS = 10.0
_CHANGE_SECONDS = 1800.0


class Fate(StrEnum):
    """What became of a change."""

    KILLED = "killed"
    SURVIVED = "survived"
    BROKE = "broke the suite"
    """A case ended with an error of the suite, which is no verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One case with settings of the connector, as ``options``."""

    case: str
    options: tuple[tuple[str, object], ...] = ()

    def __str__(self) -> str:
        told = "".join(f" {key}={value}" for key, value in self.options)
        return f"{self.case}{told}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One change and its fate; ``how`` is the case that told, or the way in which it was lost."""

    change: Change
    fate: Fate
    how: str = ""
    play: Play | None = None
    played: int = 0
    seconds: float = 1.0
    """Processor time that the play took."""


def _places(change: Change) -> tuple[str, str]:
    """Where a change is, the narrower place first."""
    return f"{change.file}:{change.function}", change.file


@dataclass(slots=True, kw_only=True)
class Survey:
    """Looks for the case that tells each change from the connector as it is (``unchanged``).

    ``plays`` are tried in their order; before them those that have told changes so far: of the
    same function, of the same file, of any, and the quick ones among equals.  A play that the
    unchanged connector does not pass tells nothing.
    """

    package: Package
    unchanged: ConnectorFactory
    player: Player
    plays: Sequence[Play]
    told: Counter[Play] = field(default_factory=Counter)
    _told_of: Counter[tuple[Play, str]] = field(default_factory=Counter, init=False)
    """The same by file, and by file and function."""
    _seconds: dict[Play, float] = field(default_factory=dict, init=False)
    """Of this process's kind of time, that a play took last where it told."""

    def run(
        self, changes: Sequence[Change], limits: Mapping[str, int], most: int | None = None
    ) -> Iterator[Finding]:
        """The fate of each change, in the order in which they are found out.

        ``limits`` are numbers of plays, by a change's key, after which it counts as survived;
        ``most`` holds for all others.
        """
        for change, finding in forked(
            changes,
            lambda change: self._try(change, limits.get(change.key, most)),
            side_by_side=len(os.sched_getaffinity(0)),
            seconds=_CHANGE_SECONDS,
        ):
            if isinstance(finding, Lost):
                yield Finding(change=change, fate=Fate.KILLED, how=finding.how)
                continue
            if finding.play is not None and finding.fate is Fate.KILLED:
                self._learn(finding.play, finding)
            yield finding

    def _learn(self, play: Play, finding: Finding) -> None:
        self.told[play] += 1
        for place in _places(finding.change):
            self._told_of[play, place] += 1
        self._seconds[play] = finding.seconds

    def _order(self, change: Change) -> list[Play]:
        here = _places(change)

        def worth(play: Play) -> tuple[float, ...]:
            often = [self._told_of[play, place] for place in here]
            return tuple(-times / self._seconds[play] for times in [*often, self.told[play]])

        first = sorted(self.told, key=worth)
        return [*first, *(play for play in self.plays if play not in self.told)]

    def _try(self, change: Change, limit: int | None) -> Finding:
        """In a process of its own: what is imported here is gone with it."""
        within(_CASE_CPU_SECONDS)
        before = self.package.loaded()
        try:
            factory = self.package.with_change(change)
        except Exception as error:  # noqa: BLE001 - code that does not load serves nobody
            how = f"does not load: {type(error).__name__}"
            return Finding(change=change, fate=Fate.KILLED, how=how)
        order = self._order(change)[:limit]
        for count, play in enumerate(order, start=1):
            within(_CASE_CPU_SECONDS)
            since = time.process_time()
            played = self.player.play(play.case, factory, dict(play.options))
            seconds = max(0.001, time.process_time() - since)
            if not played.outcome.is_bad or not self._is_sound(play, before):
                continue
            broke = played.outcome is Outcome.ERROR
            clauses = ", ".join(sorted(played.failed_clauses)) or "untestable"
            return Finding(
                change=change,
                fate=Fate.BROKE if broke else Fate.KILLED,
                how=f"{play}: {played.text if broke else clauses}",
                play=play,
                played=count,
                seconds=seconds,
            )
        return Finding(change=change, fate=Fate.SURVIVED, played=len(order))

    def _is_sound(self, play: Play, before: Mapping[str, ModuleType]) -> bool:
        """Whether the unchanged connector passes, with its modules back in their places."""
        if play in self.told:
            return True
        within(_CASE_CPU_SECONDS)
        now = self.package.loaded()
        # What is pickled between the sides is looked up by its module's name.
        sys.modules.update(before)
        try:
            unchanged = self.player.play(play.case, self.unchanged, dict(play.options))
        finally:
            sys.modules.update(now)
        return unchanged.outcome is Outcome.PASS
