"""Which mutants are killed, and by the clause that they declare."""

from __future__ import annotations

import io
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from kvconform.matrix import Matrix
from kvconform.registry import Listed
from kvconform.results.journal import Journal
from kvconform.results.record import Outcome
from kvconform.run.progress import Progress
from kvconform.run.request import RunRequest
from kvconform.run.session import RunResult, run

SEED_MATRICES = ("unaligned-hit", "cold-consumer")
"""Matrices of the cases whose exact number of failures a mutant may declare (``cases``)."""

SIDE_BY_SIDE = 2
"""So many mutants run at a time."""


class Verdict(StrEnum):
    """What the suite made of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    WRONG_CLAUSE = "wrong clause"
    ERROR = "error"
    """The suite broke, so the run proves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """One line of the kill table.

    ``declared`` are clauses any of which must fail, ``failed`` those that did.  ``seed_failures``
    is the number of failed cases among the `SEED_MATRICES`, None unless all of them ran;
    ``seed_declared`` what the mutant says it is, None if it says nothing.
    """

    mutant: str
    fault: str
    declared: tuple[str, ...]
    failed: tuple[str, ...]
    cases_failed: int
    cases: int
    seed_failures: int | None = None
    seed_declared: int | None = None
    broken: bool = False

    @property
    def verdict(self) -> Verdict:
        """Killed only by a failure of a declared clause."""
        if self.broken:
            return Verdict.ERROR
        if not self.cases_failed:
            return Verdict.SURVIVED
        return Verdict.KILLED if set(self.declared) & set(self.failed) else Verdict.WRONG_CLAUSE

    @property
    def miscounted(self) -> bool:
        """Whether the seed's cases fail in another number than the mutant declares."""
        return None not in {self.seed_failures, self.seed_declared} and (
            self.seed_failures != self.seed_declared
        )


def kill_of(mutant: Listed, result: RunResult, matrices: Iterable[str]) -> Kill:
    """The line of ``mutant`` from its run over the matrices of those names."""
    journal = result.journal
    failed = [
        r for r in journal.records.values() if r.outcome in {Outcome.FAIL, Outcome.UNTESTABLE}
    ]
    clauses = {
        check.clause
        for record in failed
        for check in record.checks
        if check.outcome in {Outcome.FAIL, Outcome.UNTESTABLE}
    }
    seed_ran = set(SEED_MATRICES) <= set(matrices)
    declared_count = mutant.describe.get("cases", "")
    return Kill(
        mutant=mutant.name,
        fault=mutant.describe.get("fault", ""),
        declared=tuple(part.strip() for part in mutant.describe.get("clause", "").split(",")),
        failed=tuple(sorted(clauses)),
        cases_failed=len(failed),
        cases=len(journal.records),
        seed_failures=sum(r.matrix in SEED_MATRICES for r in failed) if seed_ran else None,
        seed_declared=int(declared_count) if declared_count.isdecimal() else None,
        broken=result.exit_code in {3, 130},
    )


def run_all(
    names: Sequence[str], matrices: Sequence[Matrix], request: RunRequest, progress: Progress
) -> Mapping[str, RunResult | Exception]:
    """Run every connector of ``names``, some at a time, each with records of its own.

    What a run raises stands in for its result, so that one does not take the others down.
    """
    cancel = threading.Event()

    def one(name: str, folder: str) -> RunResult | Exception:
        records = Path(folder) / f"{names.index(name)}.jsonl"
        mine = replace(request, connector=name, records=records)
        try:
            result = run(matrices, mine, _SILENT, cancelled=cancel.is_set)
        except Exception as error:  # noqa: BLE001 - told in the table
            return error
        if not cancel.is_set():
            progress.note(f"{name}: {_told(result.journal)}")
        return result

    with tempfile.TemporaryDirectory(prefix="kvconform-mutants-") as folder:
        pool = ThreadPoolExecutor(SIDE_BY_SIDE)
        futures = {name: pool.submit(one, name, folder) for name in names}
        try:
            return {name: future.result() for name, future in futures.items()}
        except KeyboardInterrupt:
            cancel.set()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _told(journal: Journal) -> str:
    failed = sum(record.outcome.is_bad for record in journal.records.values())
    return f"{failed} of {len(journal.records)} cases failed"


_SILENT = Progress(io.StringIO(), quiet=True)
