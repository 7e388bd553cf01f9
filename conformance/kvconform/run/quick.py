"""The kill table without full runs: each mutant on as few cases as it takes to catch it.

Either on the one case that it names itself (``killer``), or on all cases, those of matrices about
its clauses first, until one fails by a clause that it declares.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kvconform.contract.clauses import CHECKS, CLAUSES
from kvconform.contract.field_classes import FIELD_CLASS, FIELD_CLASSES
from kvconform.matrix import Matrix
from kvconform.registry import Listed, resolve_connector
from kvconform.results.record import Outcome
from kvconform.run.forked import Lost, forked, within
from kvconform.run.inline import Played, Player
from kvconform.run.kills import Verdict

_CASE_CPU_SECONDS = 30.0
_MUTANT_SECONDS = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickKill:
    """One line of the quick table.

    ``case`` is the case that tells the mutant apart, empty if there is none; ``problem`` says what
    is wrong with the line itself: no case is named, the reference fails it, the suite broke.
    """

    mutant: str
    fault: str
    declared: tuple[str, ...]
    classes: tuple[str, ...]
    case: str = ""
    failed: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    played: int = 0
    problem: str = ""

    @property
    def verdict(self) -> Verdict:
        """Killed only by a failure of a declared clause, on a case that the reference passes."""
        if self.problem:
            return Verdict.ERROR
        if not self.failed:
            return Verdict.SURVIVED
        return Verdict.KILLED if set(self.declared) & set(self.failed) else Verdict.WRONG_CLAUSE


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """On what mutants are told apart: the cases, and the connector that must pass them."""

    player: Player
    matrices: Mapping[str, Matrix]
    reference: str

    @classmethod
    def of(cls, matrices: Sequence[Matrix], player: Player, reference: str) -> Grounds:
        """Over these matrices."""
        return cls(player=player, matrices={m.name: m for m in matrices}, reference=reference)

    def ordered(self, clauses: Iterable[str]) -> list[str]:
        """All cases, those of matrices about one of ``clauses`` first, one of each in turn."""
        wanted = set(clauses)
        about = {name for name, m in self.matrices.items() if wanted & set(m.clauses)}
        turns: Counter[str] = Counter()
        keys = []
        for case in self.player.cases:
            name = case.partition("[")[0]
            keys.append((name not in about, turns[name], case))
            turns[name] += 1
        return [case for *_, case in sorted(keys)]


def listed(text: str) -> tuple[str, ...]:
    """``A, B`` as a mutant's description has it."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def by_killer(mutants: Sequence[Listed], grounds: Grounds) -> Iterator[QuickKill]:
    """Each mutant on the case that it names."""

    def work(mutant: Listed) -> QuickKill:
        killer = mutant.describe.get("killer", "")
        if not killer:
            return _line(mutant, problem="it names no case that tells it apart")
        if killer not in grounds.player.cases:
            return _line(mutant, problem=f"no shipped matrix has the case {killer}")
        return _told(mutant, grounds, [killer])

    return _forked(mutants, work)


def by_search(mutants: Sequence[Listed], grounds: Grounds) -> Iterator[QuickKill]:
    """Each mutant on all cases, until one fails by a clause that it declares."""

    def work(mutant: Listed) -> QuickKill:
        return _told(mutant, grounds, grounds.ordered(listed(mutant.describe.get("clause", ""))))

    return _forked(mutants, work)


def _forked(mutants: Sequence[Listed], work: Callable[[Listed], QuickKill]) -> Iterator[QuickKill]:
    side_by_side = len(os.sched_getaffinity(0))
    for mutant, kill in forked(mutants, work, side_by_side=side_by_side, seconds=_MUTANT_SECONDS):
        yield _line(mutant, problem=kill.how) if isinstance(kill, Lost) else kill


def _told(mutant: Listed, grounds: Grounds, cases: Sequence[str]) -> QuickKill:
    """The first case that fails by a declared clause, else the first that fails at all."""
    factory = resolve_connector(mutant.name).factory
    sound = mutant.describe.get("against") or grounds.reference
    reference = resolve_connector(sound).factory
    line = _line(mutant)
    other: tuple[int, Played] | None = None
    for count, case in enumerate(cases, start=1):
        within(_CASE_CPU_SECONDS)
        played = grounds.player.play(case, factory, name=mutant.name)
        if played.outcome is Outcome.ERROR:
            return _line(mutant, case=case, problem=f"the suite broke: {played.text}")
        if not played.outcome.is_bad:
            continue
        if not played.failed_clauses & set(line.declared):
            other = other or (count, played)
            continue
        passed = grounds.player.play(case, reference, name=sound)
        if passed.outcome is not Outcome.PASS:
            return _line(mutant, case=case, problem=f"the reference does not pass {case}")
        return _line(mutant, case=case, played=played, count=count)
    if other is None:
        return _line(mutant, count=len(cases))
    return _line(mutant, case=other[1].case, played=other[1], count=other[0])


def _line(
    mutant: Listed, *, case: str = "", played: Played | None = None, count: int = 0, problem: str = ""
) -> QuickKill:
    said = mutant.describe
    return QuickKill(
        mutant=mutant.name,
        fault=said.get("fault", ""),
        declared=listed(said.get("clause", "")),
        classes=listed(said.get("classes", "")),
        case=case,
        failed=tuple(sorted(played.failed_clauses)) if played else (),
        checks=tuple(sorted(played.failed_checks)) if played else (),
        played=count,
        problem=problem,
    )


def gaps(kills: Sequence[QuickKill], exempt: Mapping[tuple[str, str], str]) -> list[str]:
    """One line for every clause and check that no mutant fails, and every class without a mutant.

    ``exempt`` are reasons by kind and name, as ``matrix/exempt.toml`` has them.
    """
    found = {
        "clause": {clause for kill in kills for clause in kill.failed},
        "check": {check for kill in kills for check in kill.checks},
        FIELD_CLASS: {one for kill in kills for one in kill.classes},
    }
    wanted: Mapping[str, Iterable[str]] = {"clause": CLAUSES, "check": CHECKS, FIELD_CLASS: FIELD_CLASSES}
    missing = {
        "clause": "no mutant fails the clause",
        "check": "no mutant fails the check",
        FIELD_CLASS: "no mutant stands for the field class",
    }
    return [
        f"{missing[kind]} {name}"
        for kind, names in wanted.items()
        for name in names
        if name not in found[kind] and (kind, name) not in exempt
    ]
