"""From one file to its entries, with everything that is wrong in the file alone."""

from __future__ import annotations

import datetime as dt
import json
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from kvconform import resources
from kvconform.contract.clauses import CLAUSES
from kvconform.expectations.entry import Entry, Status
from kvconform.expectations.pattern import Pattern, PatternError
from kvconform.matrix.document import Unreadable, read_document
from kvconform.matrix.paths import display
from kvconform.matrix.problems import shown, suggest
from kvconform.matrix.report import Report, TooManyProblemsError
from kvconform.matrix.rules import Rules

_UNWRITTEN = re.compile(r"\s*TODO\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryFile:
    """A file as read: the entries that are right in themselves, and the report of the others."""

    entries: tuple[Entry, ...]
    report: Report


def read_entries(path: Path) -> EntryFile:
    """Read a file of expectations; raises nothing, its problems are in the report."""
    document = read_document(path, display(path), when_empty="write [] if nothing is expected")
    report = Report(document)
    entries: list[Entry] = []
    with suppress(TooManyProblemsError):
        data = document.plain()
        if isinstance(data, list):
            for at, item in enumerate(data):
                line, _ = document.at((at,))
                entry = _Reading(item, at, report).entry(document.file, line)
                entries += [] if entry is None else [entry]
        elif document.root is not None:
            report.add_faults(_rules().faults(data), data)
    return EntryFile(entries=tuple(entries), report=report)


@cache
def _rules(pointer: str = "") -> Rules:
    text = (resources.schema_dir() / "expectations.schema.json").read_text(encoding="utf-8")
    return Rules(json.loads(text), pointer)


class _Reading:
    """Reads one entry; each step adds to the report what it finds."""

    def __init__(self, data: Any, at: int, report: Report) -> None:
        self._data = data
        self._at = at
        self._report = report
        self._whole = True

    def entry(self, file: str, line: int) -> Entry | None:
        """The entry, or None if something is wrong with it."""
        broken = self._check_schema()
        if not isinstance(self._data, dict):
            return None
        given = {
            key: value
            for key, value in self._data.items()
            if key not in broken and not isinstance(value, Unreadable)
        }
        pattern = self._pattern(given.get("case"))
        review = self._review(given.get("review"))
        versions = self._versions(given.get("versions"))
        self._check_clauses(self._data.get("clauses"))
        reason = self._reason(given.get("reason", ""))
        if not self._whole or pattern is None or review is None:
            return None
        return Entry(
            pattern=pattern,
            status=Status(given["status"]),
            reason=reason,
            review=review,
            file=file,
            line=line,
            at=self._at,
            clauses=tuple(given.get("clauses", ())),
            link=given.get("link", ""),
            versions=versions,
        )

    def _tell(self, key: str, message: str, hint: str = "", *inner: int) -> None:
        self._whole = False
        self._report.add((self._at, key, *inner), message, hint)

    def _check_schema(self) -> set[str | int]:
        """Tell what breaks the schema; returns the keys whose values cannot be used."""
        if isinstance(self._data, Unreadable):
            self._whole = False
            return set()
        broken: set[str | int] = set()
        for fault in _rules("#/$defs/entry").faults(self._data):
            self._whole = False
            broken.update(fault.path[:1])
            value = self._data.get(fault.path[0]) if fault.path else None
            inner = value if isinstance(value, list) else ()
            if not any(isinstance(one, Unreadable) for one in (value, *inner)):
                path = (self._at, *fault.path)
                self._report.add(path, fault.message, fault.hint, key=fault.key)
        return broken

    def _pattern(self, text: str | None) -> Pattern | None:
        if text is None:
            return None
        try:
            return Pattern.parse(text)
        except PatternError as error:
            self._tell("case", error.message, error.hint)
            return None

    def _review(self, text: str | None) -> dt.date | None:
        if text is None:
            return None
        try:
            return dt.date.fromisoformat(text)
        except ValueError:
            self._tell("review", f"the calendar has no {text}")
            return None

    def _versions(self, text: str | None) -> SpecifierSet | None:
        if text is None:
            return None
        try:
            return SpecifierSet(text)
        except InvalidSpecifier:
            self._tell(
                "versions",
                f"{shown(text)} is no condition on a version",
                'write specifiers such as ">=0.30,<0.31"',
            )
            return None

    def _check_clauses(self, names: Any) -> None:
        for at, name in enumerate(names if isinstance(names, list) else ()):
            readable = isinstance(name, str) and not isinstance(name, Unreadable)
            if readable and name not in CLAUSES:
                message = f"no clause is named {shown(name)}"
                self._tell("clauses", message, suggest(name, CLAUSES), at)

    def _reason(self, text: str) -> str:
        if _UNWRITTEN.match(text):
            self._tell("reason", "the reason is still to be written", "say why the cases fail")
        return " ".join(text.split())
