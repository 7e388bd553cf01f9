"""From files of expectations to what is expected of a run, or to everything wrong with them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from packaging.version import InvalidVersion, Version

from kvconform.expectations.cases import CaseSpace
from kvconform.expectations.entry import Entry, Status
from kvconform.expectations.judge import Bound, Expectations
from kvconform.expectations.pattern import ANY
from kvconform.expectations.read import EntryFile, read_entries
from kvconform.matrix.paths import shipped_names
from kvconform.matrix.problems import Problem, ProblemsError, nearest, shown
from kvconform.matrix.report import Report, TooManyProblemsError


class ExpectationsError(ProblemsError):
    """Files of expectations that cannot be used, so that nothing is run."""


def load_expectations(
    paths: Iterable[str | Path],
    space: CaseSpace,
    *,
    version: str | None = None,
    strict: bool = False,
    today: dt.date | None = None,
) -> Expectations:
    """What the files at ``paths`` expect of the cases of ``space``.

    ``version`` is the connector's: without it (None) conditions on versions are not judged, only
    read.  An entry about a matrix that is not in ``space``, or about cases
    of one that is there in part, is inactive; if no shipped matrix has
    that name either, a warning says so, and with ``strict`` it is a problem.  Raises
    `ExpectationsError` with everything that is wrong with all files.
    """
    files = {Path(path).resolve(): Path(path) for path in paths}
    read = [read_entries(path) for path in files.values()]
    check = _Checking(read, space, version)
    bound = check.bind(strict=strict)
    problems: list[Problem] = [problem for file in read for problem in file.report.problems]
    if problems:
        raise ExpectationsError(problems)
    return Expectations.of(
        bound,
        version=version,
        today=today or dt.datetime.now(tz=dt.UTC).date(),
        unknown=check.unknown,
    )


class _Checking:
    """What only shows between entries, cases and the connector's version."""

    def __init__(self, files: Sequence[EntryFile], space: CaseSpace, version: str | None) -> None:
        self._reports = {entry: file.report for file in files for entry in file.entries}
        self._space = space
        self._version = version
        # By the convention of their folder, shipped matrices are named as their files.
        self._shipped = [name.rpartition("/")[2].replace("_", "-") for name in shipped_names()]
        self.unknown: dict[Entry, str] = {}

    def bind(self, *, strict: bool) -> list[Bound]:
        """Every entry with its cases; what is wrong is in the reports of the files."""
        bound: list[Bound] = []
        first: dict[object, Entry] = {}
        for entry in self._reports:
            same = first.setdefault(_meaning(entry), entry)
            if same is not entry:
                self._tell(entry, "this entry stands twice", f"first at {same.place}", "case")
                continue
            cases = self._cases(entry, strict=strict)
            if cases and entry.versions is not None:
                self._check_version(entry)
            bound.append(Bound(entry=entry, cases=cases))
        self._check_conflicts(bound)
        return bound

    def _tell(self, entry: Entry, message: str, hint: str, key: str) -> None:
        report: Report = self._reports[entry]
        with suppress(TooManyProblemsError):
            report.add((entry.at, key), message, hint)

    def _cases(self, entry: Entry, *, strict: bool) -> tuple[str, ...]:
        cases = tuple(self._space.match(entry.pattern))
        if cases:
            return cases
        if self._space.is_partial(entry.pattern):
            return ()
        if self._space.loaded(entry.pattern):
            message, hint = self._space.explain(entry.pattern)
            self._tell(entry, message, hint, "case")
        elif not any(map(entry.pattern.names, self._shipped)):
            hint = self._nearest_matrix(entry.pattern.matrix)
            if strict:
                message = f"no matrix here is named {shown(entry.pattern.matrix)}"
                self._tell(entry, message, hint, "case")
            self.unknown[entry] = hint
        return ()

    def _nearest_matrix(self, name: str) -> str:
        known = dict.fromkeys([*self._space.matrices, *self._shipped])
        found = nearest(name.replace(ANY, ""), known)
        return f"did you mean {found[0]!r}?" if found else ""

    def _check_version(self, entry: Entry) -> None:
        if self._version is None:
            return
        if not self._version:
            self._tell(entry, "the connector tells no version", "leave versions out", "versions")
            return
        try:
            Version(self._version)
        except InvalidVersion:
            message = f"the connector's version {shown(self._version)} is none by PEP 440"
            self._tell(entry, message, "leave versions out", "versions")

    def _check_conflicts(self, bound: Sequence[Bound]) -> None:
        """A case cannot be expected to fail and to be left out at once."""
        active = [one for one in bound if one.entry.versions is None or self._version is not None]
        active = [one for one in active if one.is_active(self._version)]
        seen: dict[str, dict[Status, Entry]] = {}
        clashes: dict[tuple[Entry, Entry], list[str]] = {}
        for one in active:
            for case in one.cases:
                mine = seen.setdefault(case, {})
                for status, other in mine.items():
                    if status is not one.entry.status:
                        clashes.setdefault((one.entry, other), []).append(case)
                mine.setdefault(one.entry.status, one.entry)
        for (entry, other), cases in clashes.items():
            more = f" (and {len(cases) - 1} more)" if len(cases) > 1 else ""
            self._tell(
                entry,
                f"{cases[0]}{more} is matched as both {other.status.value!r} and "
                f"{entry.status.value!r}",
                f"the other entry is at {other.place}",
                "case",
            )


def _meaning(entry: Entry) -> object:
    return entry.pattern.key, entry.status, frozenset(entry.clauses), entry.versions
