"""Runs a connector's package with one change after another, until a case fails or all have passed."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from enum import StrEnum

from kvconform.mutation.operators import Change
from kvconform.mutation.package import Package
from kvconform.mutation.play import Play, Plays
from kvconform.mutation.reach import Place, Reach
from kvconform.results.record import Outcome
from kvconform.run.forked import Lost, forked, within

_LOAD_CPU_SECONDS = 20.0
_CASE_CPU_SECONDS = 2.0
_CASE_TIMES = 20
"""A case hangs after so much of its own processor time, and so many times what it takes else."""
_CHANGE_SECONDS = 1800.0
_BEST = 60
"""Plays that go first for what they have told; more of them are like one another."""


class Fate(StrEnum):
    """What became of a change."""

    KILLED = "killed"
    SURVIVED = "survived"
    BROKE = "broke the suite"
    """A case ended with an error of the suite, which is no verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One change and its fate; ``how`` is what told, or the way in which it was lost.

    ``played`` are so many of the ``reaching`` plays, those that come to the change's statement.
    """

    change: Change
    fate: Fate
    how: str = ""
    play: Play | None = None
    played: int = 0
    reaching: int = 0


def _places(change: Change) -> tuple[str, str]:
    """Where a change is, the narrower place first."""
    return f"{change.file}:{change.function}", change.file


@dataclass(slots=True, kw_only=True)
class Survey:
    """Looks for the play that tells each change from the connector as it is.

    ``reached`` are the plays that the connector passes, in the order in which they are tried.
    Of those that reach a change's statement, some go first that have told changes so far: of the
    same function, of the same file, of any, and the quick ones among equals.  The others follow as
    they come, so that a change which those do not tell meets something of every matrix.  A statement
    that is not among ``places`` runs at import, and every play reaches it.
    """

    package: Package
    plays: Plays
    reached: InitVar[Sequence[Reach]]
    places: frozenset[Place]
    _at: dict[Place, list[Play]] = field(init=False)
    _seconds: dict[Play, float] = field(init=False)
    _told: Counter[Play] = field(default_factory=Counter, init=False)
    _told_of: Counter[tuple[Play, str]] = field(default_factory=Counter, init=False)
    """The same by file, and by file and function."""

    def __post_init__(self, reached: Sequence[Reach]) -> None:
        self._at = defaultdict(list)
        for reach in reached:
            for place in reach.places:
                self._at[place].append(reach.play)
        self._seconds = {reach.play: reach.seconds for reach in reached}

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
                self._learn(finding.play, finding.change)
            yield finding

    def reaching(self, change: Change) -> Sequence[Play]:
        """The plays that come to a change's statement, in their order."""
        place = change.file, change.statement
        return self._at[place] if place in self.places else list(self._seconds)

    def _learn(self, play: Play, change: Change) -> None:
        self._told[play] += 1
        for place in _places(change):
            self._told_of[play, place] += 1

    def _ordered(self, change: Change, plays: Sequence[Play]) -> list[Play]:
        here = _places(change)

        def worth(play: Play) -> tuple[float, ...]:
            often = [self._told_of[play, place] for place in here]
            return tuple(-times / self._seconds[play] for times in [*often, self._told[play]])

        best = {play: None for play in sorted(plays, key=worth)[:_BEST] if self._told[play]}
        return [*best, *(play for play in plays if play not in best)]

    def _try(self, change: Change, limit: int | None) -> Finding:
        """In a process of its own: what is imported here is gone with it."""
        reaching = self.reaching(change)
        if not reaching:
            return Finding(change=change, fate=Fate.SURVIVED, how="no case reaches it")
        within(_LOAD_CPU_SECONDS)
        try:
            self.package.import_with({change.file: self.package.changed(change)})
            factories = self.plays.factories()
        except Exception as error:  # noqa: BLE001 - code that does not load serves nobody
            how = f"does not load: {type(error).__name__}"
            return Finding(change=change, fate=Fate.KILLED, how=how)
        order = self._ordered(change, reaching)[:limit]
        for count, play in enumerate(order, start=1):
            within(_CASE_CPU_SECONDS + _CASE_TIMES * self._seconds[play])
            played = self.plays.play(play, factories)
            if not played.outcome.is_bad:
                continue
            broke = played.outcome is Outcome.ERROR
            clauses = ", ".join(sorted(played.failed_clauses)) or "untestable"
            return Finding(
                change=change,
                fate=Fate.BROKE if broke else Fate.KILLED,
                how=f"{self.plays.told(play)}: {played.text if broke else clauses}",
                play=play,
                played=count,
                reaching=len(reaching),
            )
        return Finding(
            change=change, fate=Fate.SURVIVED, played=len(order), reaching=len(reaching)
        )
