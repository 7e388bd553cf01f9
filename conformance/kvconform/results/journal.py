"""The records file: one JSON object a line, written as things happen, and read back.

Events are ``run`` (the header, first), ``selected`` (ids of the cases that are to run), ``start``
(a case began), ``case`` (its record), ``forget`` (records that no longer hold), ``warnings``
(what a summary has to say beside the verdict) and ``end`` (a test session closed properly;
``stopped`` says why it left cases out).  A killed process leaves at most one unfinished last
line, which readers pass over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Self

from kvconform import CONTRACT_REVISION, RECORDS_FORMAT, __version__
from kvconform.matrix.tuples import Held
from kvconform.ports import KvconformError
from kvconform.results.lines import Lines
from kvconform.results.record import CaseRecord, Outcome


class RecordsError(KvconformError, ValueError):
    """A records file that cannot be used: ``file:line`` and what is wrong there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHeader:
    """What was put to the test: the first line of a records file.

    ``cases`` is the number of cases that are to run.  ``options`` are the user's own settings of
    the connector, ``templates`` the folders of templates beside the shipped ones, ``expect`` the
    files of expectations.  ``matrices`` are the numbers of all cases of each matrix, selected
    or not, ``tuples`` what these cases hold together.
    """

    connector: str
    connector_version: str = ""
    engine: str = "built-in"
    device: str = "cpu"
    cases: int = 0
    options: Mapping[str, object] = field(default_factory=dict)
    templates: tuple[str, ...] = ()
    expect: tuple[str, ...] = ()
    matrices: Mapping[str, int] = field(default_factory=dict)
    tuples: tuple[Held, ...] = ()
    kvconform: str = __version__
    contract: int = CONTRACT_REVISION
    format: int = RECORDS_FORMAT

    def to_json(self) -> dict[str, Any]:
        """Plain data for one JSON line."""
        return {"event": "run", **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunHeader:
        """The header of a line; raises `RecordsError` for a format that this release cannot read."""
        if data.get("format") != RECORDS_FORMAT:
            raise RecordsError(
                f"records of format {data.get('format')!r:.40}; "
                f"this release of kvconform reads format {RECORDS_FORMAT}"
            )
        known = {key: data[key] for key in cls.__dataclass_fields__ if key in data}
        for key in ("templates", "expect"):
            known[key] = tuple(known.get(key, ()))
        known["tuples"] = tuple(Held(**one) for one in known.get("tuples", ()))
        return cls(**known)


@dataclass(slots=True, kw_only=True)
class Journal:
    """Everything that the lines of a records file say, kept up to date line by line.

    ``running`` are the cases that began and have no record yet, in that order.  ``stopped`` says
    why the last session left cases out on purpose (``-x``), empty if it did not.  ``told``
    counts the records that came, those that replaced others too.
    """

    header: RunHeader | None = None
    selected: tuple[str, ...] = ()
    records: dict[str, CaseRecord] = field(default_factory=dict)
    running: dict[str, None] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    told: int = 0
    sessions_ended: int = 0
    stopped: str = ""

    def apply(self, event: Mapping[str, Any]) -> None:
        """Take one line in; raises KeyError, TypeError or ValueError if it is none of ours."""
        kind = event["event"]
        if kind == "case":
            record = CaseRecord.from_json(event)
            self.records[record.case] = record
            self.running.pop(record.case, None)
            self.told += 1
        elif kind == "start":
            self.running[str(event["case"])] = None
        elif kind == "run":
            self.header = RunHeader.from_json(event)
        elif kind == "selected":
            self.selected = tuple(str(case) for case in event["cases"])
        elif kind == "forget":
            for case in event["cases"]:
                self.records.pop(case, None)
        elif kind == "warnings":
            self.warnings = tuple(str(text) for text in event["texts"])
        elif kind == "end":
            self.sessions_ended += 1
            self.stopped = str(event.get("stopped", ""))
        else:
            raise ValueError(f"unknown event {kind!r}")

    @property
    def missing(self) -> tuple[str, ...]:
        """Ids of the cases that were to run and have no record."""
        return tuple(case for case in self.selected if case not in self.records)

    def exit_code(self) -> int:
        """0 pass, 1 failures, 3 the suite broke, 5 no case reached pass or fail (DESIGN section 8)."""
        outcomes = {record.outcome for record in self.records.values()}
        if Outcome.ERROR in outcomes or (self.missing and not self.stopped):
            return 3
        if any(outcome.is_bad for outcome in outcomes):
            return 1
        return 0 if outcomes & {Outcome.PASS, Outcome.EXPECTED_FAILURE} else 5


def read_records(path: Path) -> Journal:
    """All of a records file; raises `RecordsError` with ``file:line`` for a line that is none."""
    journal = Journal()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecordsError(f"{path}: cannot be read: {error.strerror}") from error
    lines = Lines()
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        _apply_line(journal, lines, line, f"{path}:{number}")
    return journal


def read_run(path: Path) -> Journal:
    """The records of a run that has some; raises `RecordsError` for anything else.

    What holds no whole line, or lines and no header, is no records file; what holds no case says
    nothing to anybody.
    """
    journal = read_records(path)
    if journal.header is None:
        raise RecordsError(
            f"{path}: no records file, or one that was cut off in its first line; "
            "'kvconform run --records FILE' writes one"
        )
    if not journal.records:
        raise RecordsError(f"{path}: the run ended before its first case; nothing is recorded")
    return journal


def _apply_line(journal: Journal, lines: Lines, line: bytes, where: str) -> None:
    try:
        text = line.decode("utf-8")
        if text.strip():
            journal.apply(lines.read(text))
    except RecordsError as error:
        raise RecordsError(f"{where}: {error}") from error
    except UnicodeDecodeError as error:
        raise RecordsError(f"{where}: no line of a records file: not text in UTF-8") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RecordsError(f"{where}: no line of a records file: {error}") from error


class RecordsFollower:
    """Reads a records file while another process writes it."""

    def __init__(self, path: Path) -> None:
        self.journal = Journal()
        self._path = path
        self._offset = 0
        self._rest = b""
        self._lines = Lines()
        self._number = 0

    def poll(self) -> bool:
        """Take in what was written since the last call; False if nothing was."""
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._offset)
                data = stream.read()
        except FileNotFoundError:
            return False
        self._offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._number += 1
            _apply_line(self.journal, self._lines, line, f"{self._path}:{self._number}")
        return bool(lines)

    def drop_unfinished_line(self) -> None:
        """Cut off what a killed writer left behind, so that the next one starts on a new line."""
        if self._rest:
            self._offset -= len(self._rest)
            self._rest = b""
            with self._path.open("rb+") as stream:
                stream.truncate(self._offset)


class RecordsWriter:
    """Writes a records file; every event is with the operating system when its call returns."""

    def __init__(self, path: Path, *, append: bool = False) -> None:
        self._stream: IO[str] = path.open("a" if append else "w", encoding="utf-8")

    def write(self, event: Mapping[str, Any]) -> None:
        """One event, one line."""
        self._stream.write(json.dumps(event, separators=(",", ":")) + "\n")
        self._stream.flush()

    def close(self) -> None:
        """No more events follow."""
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def selected_event(cases: Iterable[str]) -> dict[str, Any]:
    """The line that says which cases are to run."""
    return {"event": "selected", "cases": list(cases)}


def start_event(case: str) -> dict[str, Any]:
    """The line that says that a case began."""
    return {"event": "start", "case": case}


def forget_event(cases: Iterable[str]) -> dict[str, Any]:
    """The line that takes back the records of cases that are to run again."""
    return {"event": "forget", "cases": list(cases)}


def warnings_event(texts: Iterable[str]) -> dict[str, Any]:
    """The line with what a summary has to say beside the verdict."""
    return {"event": "warnings", "texts": list(texts)}


def end_event(stopped: str) -> dict[str, Any]:
    """The line that says that a session closed properly."""
    return {"event": "end", "stopped": stopped}


def plain(value: object) -> Any:
    """``value`` as JSON data; what JSON does not know becomes its text."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(item) for item in value]
    if isinstance(value, bool | int | float) or value is None:
        return value
    return str(value)
