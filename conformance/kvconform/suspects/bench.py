"""How often, and after how many extra runs, a seeded fault is named exactly.

``python -m kvconform.suspects.bench`` tells the figures; it fails if they miss their bounds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from kvconform.covering.prng import SplitMix
from kvconform.suspects.explain import explain
from kvconform.suspects.faults import Sampled, random_fault, random_model
from kvconform.suspects.outcomes import Outcomes
from kvconform.suspects.probes import settle
from kvconform.suspects.table import Conjunction, Row

LEAST_EXACT = 0.95
MOST_EXTRA_RUNS = 3.0

_FAULTS_PER_MODEL = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One fault: whether it was named exactly, before and after ``probes`` extra runs.

    Exact is an explanation that is true of the same valid rows as the fault.
    """

    at_once: bool
    exact: bool
    probes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """The trials of one bench, and the seconds that they took in all."""

    trials: tuple[Trial, ...]
    seconds: float

    @property
    def exact(self) -> float:
        """Share of faults that were named exactly."""
        return sum(trial.exact for trial in self.trials) / len(self.trials)

    @property
    def extra_runs(self) -> float:
        """Mean number of extra runs, those of faults that needed none included."""
        return sum(trial.probes for trial in self.trials) / len(self.trials)

    @property
    def good(self) -> bool:
        """Whether both figures keep their bounds."""
        return self.exact >= LEAST_EXACT and self.extra_runs <= MOST_EXTRA_RUNS

    def __str__(self) -> str:
        at_once = sum(trial.at_once for trial in self.trials) / len(self.trials)
        most = max(trial.probes for trial in self.trials)
        return (
            f"{len(self.trials)} faults: {self.exact:.1%} exact ({at_once:.1%} without extra runs),"
            f" {self.extra_runs:.2f} extra runs on average, {most} at most, {self.seconds:.1f} s"
        )


def measure(faults: int, *, seed: int = 0, strength: int = 2, order: int = 2) -> Accuracy:
    """Seed faults of up to ``order`` axes into models whose selections have this strength."""
    numbers = SplitMix(seed)
    start = time.perf_counter()
    trials: list[Trial] = []
    while len(trials) < faults:
        sampled = random_model(numbers, strength)
        count = min(_FAULTS_PER_MODEL, faults - len(trials))
        seeded = [random_fault(sampled, order, numbers) for _ in range(count)]
        trials += [_try(sampled, fault) for fault in seeded]
    return Accuracy(trials=tuple(trials), seconds=time.perf_counter() - start)


def _try(sampled: Sampled, fault: Conjunction) -> Trial:
    table = sampled.table
    truth = table.meeting(fault)

    def run(row: Row) -> bool:
        return bool(truth >> table.numbers[row.id] & 1)

    outcomes = Outcomes(
        table=table, failed=truth & sampled.selected, passed=sampled.selected & ~truth
    )
    first = explain(outcomes)
    settled = settle(first, run)
    last = settled.explanation
    return Trial(
        at_once=first.exact and first.candidates[0].rows == truth,
        exact=last.exact and last.candidates[0].rows == truth,
        probes=len(settled.probes),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print one line, and say by the exit status whether the bounds are kept."""
    parser = argparse.ArgumentParser(prog="kvconform.suspects.bench", description=__doc__)
    parser.add_argument("--faults", type=int, default=400, help="faults to seed (default: 400)")
    parser.add_argument("--seed", type=int, default=0, help="of all random choices (default: 0)")
    parser.add_argument("--strength", type=int, default=2, help="of selections (default: 2)")
    parser.add_argument("--order", type=int, default=2, help="most axes of a fault (default: 2)")
    given = parser.parse_args(arguments)
    accuracy = measure(given.faults, seed=given.seed, strength=given.strength, order=given.order)
    print(accuracy)  # noqa: T201 - the figures are what it is for
    return 0 if accuracy.good else 1


if __name__ == "__main__":
    sys.exit(main())
