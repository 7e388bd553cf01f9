"""A matrix as loaded, its rows, and the case that a row becomes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from kvconform import MATRIX_FORMAT
from kvconform.case import Case
from kvconform.matrix.references import substitute
from kvconform.ports import Group, GroupKind, KvconformError, Layout, Scheduling, Storage

if TYPE_CHECKING:
    from kvconform.matrix.choice import Choice  # it is made of rows itself

ONLY = "only"
"""Id of the row of a matrix without axes (or with every axis at its default)."""


class RowsFileError(KvconformError):
    """A rows file that this version did not write: names the file and what to do."""


def value_key(value: object) -> str:
    """Text by which axis values are compared: unlike ``==`` it tells ``true`` from ``1``."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis: ``labels`` are the id texts of ``values``, in the same order.

    ``default`` is the position of the value that is left out of ids, or None.
    """

    name: str
    id: str
    values: tuple[Any, ...]
    labels: tuple[str, ...]
    default: int | None = None
    positions: Mapping[str, int] = field(init=False, compare=False, repr=False)
    """Position of each value by its `value_key`."""

    def __post_init__(self) -> None:
        positions = {value_key(value): at for at, value in enumerate(self.values)}
        object.__setattr__(self, "positions", positions)

    def find(self, value: object) -> int | None:
        """Position of ``value``, given as itself or by the label of a value that has one."""
        found = self.positions.get(value_key(value))
        if found is None and isinstance(value, str) and value in self.labels:
            at = self.labels.index(value)
            # Texts, numbers and booleans are named as they are; a label is the only name of the rest.
            if isinstance(self.values[at], dict | list) or self.values[at] is None:
                return at
        return found

    def token(self, at: int) -> str | None:
        """Part of the row id for the value at ``at``; None for the default."""
        return None if at == self.default else f"{self.id}.{self.labels[at]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row: ``id`` is the part in brackets, ``values`` go by axis name in declared order.

    ``fresh`` says how many tuples it was the first to hold, 0 where nobody counted.
    """

    id: str
    values: dict[str, Any]
    line: int
    fresh: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """Expected values for the rows whose values lie in every set of ``when`` (as `value_key`)."""

    when: Mapping[str, frozenset[str]]
    expected: Mapping[str, Any]

    def matches(self, values: Mapping[str, Any]) -> bool:
        """Whether it speaks of a row with these values."""
        return all(value_key(values[axis]) in allowed for axis, allowed in self.when.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Everything in a matrix but its rows; ``document`` keeps its axis references.

    ``document`` has the keys ``layout``, ``engine``, ``given`` and ``pins``.
    """

    name: str
    title: str
    scenario: str
    clauses: tuple[str, ...]
    requires: tuple[str, ...]
    source: str
    file: str
    axes: tuple[str, ...]
    document: Mapping[str, Any]
    event_lines: tuple[int, ...] = ()
    """Lines of the events of a trace."""
    pins: tuple[Pin, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        pins = tuple(
            Pin(
                when={
                    axis: frozenset(map(value_key, values))
                    for axis, values in pin.get("when", {}).items()
                },
                expected={key: value for key, value in pin.items() if key != "when"},
            )
            for pin in self.document["pins"]
        )
        object.__setattr__(self, "pins", pins)

    def to_json(self) -> dict[str, Any]:
        """Plain data, from which `from_json` makes an equal header."""
        return {
            "name": self.name,
            "title": self.title,
            "scenario": self.scenario,
            "clauses": list(self.clauses),
            "requires": list(self.requires),
            "source": self.source,
            "file": self.file,
            "axes": list(self.axes),
            "document": self.document,
            **({"event_lines": list(self.event_lines)} if self.event_lines else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Header:
        """The header of `to_json`; raises KeyError or TypeError if it is none."""
        rest = {key: tuple(data[key]) for key in ("clauses", "requires", "axes")}
        rest["event_lines"] = tuple(data.get("event_lines", ()))
        return cls(**{**data, **rest})


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A valid matrix: every row of it can be built into a case.

    ``choice`` says how the rows were chosen.  If a case of a ``smoke`` one fails, no other is run.
    A ``partial`` one has other or fewer rows than the file asks for.
    """

    header: Header
    axes: tuple[Axis, ...]
    rows: tuple[Row, ...]
    path: Path
    choice: Choice
    smoke: bool = False
    partial: bool = False

    def only(self, positions: Sequence[int]) -> Matrix:
        """The same with the rows at these positions."""
        rows = tuple(self.rows[at] for at in positions)
        partial = self.partial or len(rows) < len(self.rows)
        return replace(self, rows=rows, choice=self.choice.only(positions), partial=partial)

    @property
    def name(self) -> str:
        """Name, unique among the matrices of a run."""
        return self.header.name

    @property
    def title(self) -> str:
        """One line for listings."""
        return self.header.title

    @property
    def scenario(self) -> str:
        """Name of the scenario that its cases run."""
        return self.header.scenario

    @property
    def clauses(self) -> tuple[str, ...]:
        """Ids of the clauses that it covers."""
        return self.header.clauses

    @property
    def requires(self) -> tuple[str, ...]:
        """Capabilities without which none of its cases applies."""
        return self.header.requires

    @property
    def source(self) -> str:
        """Public place where the behaviour is described."""
        return self.header.source

    @property
    def file(self) -> str:
        """The file as messages call it."""
        return self.header.file

    @property
    def document(self) -> Mapping[str, Any]:
        """Layout, engine, given and pins with axis references left in."""
        return self.header.document

    def case(self, row: Row) -> Case:
        """The case of ``row``."""
        return build_case(self.header, row)

    def to_json(self) -> dict[str, Any]:
        """Plain data for a rows file; `RowsFile` reads it back."""
        return {
            "format": MATRIX_FORMAT,
            "header": self.header.to_json(),
            "rows": [[row.id, row.line, list(row.values.values())] for row in self.rows],
        }


def build_layout(layout: Mapping[str, Any], engine: Mapping[str, Any]) -> Layout:
    """The layout of substituted sections; raises `kvconform.ports.LayoutError`."""
    settings = dict(engine)
    if "scheduling" in settings:
        settings["scheduling"] = Scheduling(settings["scheduling"])
    if "storage" in layout:
        settings["storage"] = Storage(layout["storage"])
    return Layout(
        **{key: value for key, value in layout.items() if key not in {"groups", "storage"}},
        groups=tuple(build_group(group) for group in layout["groups"]),
        **settings,
    )


def build_group(group: Mapping[str, Any]) -> Group:
    """One group of a substituted layout; raises `kvconform.ports.LayoutError`."""
    sizes = tuple(group.get("layer_slot_bytes", ()))
    return Group(**{**group, "kind": GroupKind(group["kind"]), "layer_slot_bytes": sizes})


def build_case(header: Header | Matrix | Mapping[str, Any], row: Row) -> Case:
    """The case of ``row``: every ``{axis: NAME}`` replaced by the row's value.

    The header may also be a matrix, or a header as plain data.
    """
    if isinstance(header, Matrix):
        header = header.header
    elif not isinstance(header, Header):
        header = Header.from_json(header)
    document = header.document
    pin = next((pin for pin in header.pins if pin.matches(row.values)), None)
    return Case(
        id=f"{header.name}[{row.id}]",
        matrix=header.name,
        source=f"{header.file}:{row.line}",
        scenario=header.scenario,
        clauses=header.clauses,
        requires=header.requires,
        layout=build_layout(
            substitute(document["layout"], row.values), substitute(document["engine"], row.values)
        ),
        given=substitute(document["given"], row.values),
        axes=dict(row.values),
        pinned={} if pin is None else substitute(dict(pin.expected), row.values),
        event_lines=header.event_lines,
    )


class RowHandle:
    """A row of a rows file; costs nothing until its case is asked for."""

    __slots__ = ("_file", "id")

    def __init__(self, file: RowsFile, at: int) -> None:
        self._file = (file, at)
        self.id = file.ids[at]

    def __repr__(self) -> str:
        return f"<row {self.id}>"

    @property
    def case_id(self) -> str:
        """Id of the case, which is not built for it."""
        return f"{self._file[0].header.name}[{self.id}]"

    def case(self) -> Case:
        """Build the case."""
        file, at = self._file
        return file.case(at)


class RowsFile(Sequence[RowHandle]):
    """The rows beside a rendered module: read as JSON, built into cases one at a time."""

    __slots__ = ("_rows", "header", "ids")

    def __init__(self, header: Header, rows: list[Any]) -> None:
        self.header = header
        self._rows = rows
        self.ids: list[str] = [row[0] for row in rows]

    @classmethod
    def from_json(cls, data: Any) -> RowsFile:
        """What `Matrix.to_json` gave; raises `RowsFileError` if it is not that."""
        if not isinstance(data, dict) or data.get("format") != MATRIX_FORMAT:
            raise RowsFileError(
                f"not the rows of a matrix of format {MATRIX_FORMAT}; render it anew"
            )
        try:
            return cls(Header.from_json(data["header"]), data["rows"])
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise RowsFileError(f"the rows are damaged ({error!r}); render them anew") from error

    @classmethod
    def read(cls, path: str | Path) -> RowsFile:
        """Read a rows file; raises `RowsFileError` naming the file."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RowsFileError(f"{path}: cannot be read as rows: {error}") from error
        try:
            return cls.from_json(data)
        except RowsFileError as error:
            raise RowsFileError(f"{path}: {error}") from error

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> RowHandle: ...
    @overload
    def __getitem__(self, at: slice) -> list[RowHandle]: ...
    def __getitem__(self, at: int | slice) -> RowHandle | list[RowHandle]:
        positions = range(len(self._rows))[at]
        if isinstance(positions, range):
            return [RowHandle(self, position) for position in positions]
        return RowHandle(self, positions)

    def case(self, at: int) -> Case:
        """Build the case of the row at position ``at``."""
        row_id, line, values = self._rows[at]
        return build_case(
            self.header,
            Row(id=row_id, values=dict(zip(self.header.axes, values, strict=True)), line=line),
        )
