"""From a matrix file to a matrix: reads, checks everything, and tells all that is wrong at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from kvconform import resources
from kvconform.contract.clauses import CHECKS, CLAUSES
from kvconform.matrix import meaning, selection
from kvconform.matrix.axes import read_space
from kvconform.matrix.choice import Choice, Chooser
from kvconform.matrix.constraints import read_constraints
from kvconform.matrix.document import Document, Unreadable, read_document
from kvconform.matrix.lock import LockError, LockState, read_lock
from kvconform.matrix.model import Header, Matrix, Row
from kvconform.matrix.paths import LAYOUTS, display
from kvconform.matrix.plan import OWN, Level, Plan
from kvconform.matrix.problems import MatrixError, Problem, shown, suggest
from kvconform.matrix.report import Report, TooManyProblemsError
from kvconform.matrix.rules import Rules
from kvconform.matrix.scenario import (
    Scenario,
    ScenarioError,
    ScenarioNotFoundError,
    Subject,
    load_scenario,
)
from kvconform.matrix.space import Space
from kvconform.ports import Capability, StoreCapability

_LEVELS = 4
"""How far above a matrix its folder of layouts is looked for."""

_NO_LAYOUT = {"hash_block": 1, "groups": [{"name": "none", "kind": "full", "block_size": 1}]}
"""The layout of cases that have none."""

_ROWS_NEED = frozenset(
    {"layout", "engine", "given", "axes", "zip", "exclude", "implies", "select", "expect"}
)


def load_matrix(
    path: str | Path, *, templates: Iterable[str | Path] = (), plan: Plan = OWN
) -> Matrix:
    """The matrix in ``path``; ``templates`` are folders whose scenarios win over the shipped ones.

    Raises `MatrixError` with everything that is wrong with the file.
    """
    return _Loading(Path(path), templates, plan).run()


def load_matrices(
    paths: Iterable[str | Path], *, templates: Iterable[str | Path] = (), plan: Plan = OWN
) -> list[Matrix]:
    """The matrices in ``paths`` that ``plan`` takes.

    Raises one `MatrixError` for all files, duplicate names included.
    """
    folders = list(templates)
    problems: list[Problem] = []
    matrices: list[Matrix] = []
    first: dict[str, Matrix] = {}
    for path in paths:
        try:
            matrix = load_matrix(path, templates=folders, plan=plan)
        except MatrixError as error:
            problems += error.problems
            continue
        known = first.setdefault(matrix.name, matrix)
        if known is not matrix:
            line, column = read_document(matrix.path, matrix.file).at(("name",))
            problems.append(
                Problem(
                    file=matrix.file,
                    line=line,
                    column=column,
                    message=f"two matrices are named {matrix.name!r}",
                    hint=f"the other is {known.file}",
                )
            )
        matrices.append(matrix)
    if problems:
        raise MatrixError(problems)
    return [matrix for matrix in matrices if plan.level is not Level.SMOKE or matrix.smoke]


@cache
def matrix_schema() -> dict[str, Any]:
    """The JSON Schema of matrix files."""
    text = (resources.schema_dir() / "matrix.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


@cache
def _rules(pointer: str = "") -> Rules:
    return Rules(matrix_schema(), pointer)


class _Loading:
    """The steps of loading one file; each adds to the report what it finds."""

    def __init__(self, path: Path, templates: Iterable[str | Path], plan: Plan) -> None:
        self.path = path
        self.plan = plan
        self.templates = list(templates)
        self.document: Document = read_document(path, display(path))
        self.report = Report(self.document)

    def run(self) -> Matrix:
        """Load; raises `MatrixError`."""
        matrix = None
        with suppress(TooManyProblemsError):
            matrix = self._load() if self.document.root is not None else None
        if self.report.problems or matrix is None:
            raise MatrixError(self.report.problems)
        return matrix

    def _load(self) -> Matrix | None:
        data = self.document.plain()
        broken = self.report.add_faults(_rules().faults(data), data)
        if not isinstance(data, dict):
            return None
        scenario = self._check_names(data, broken)
        self._settle_layout(data, scenario)
        if isinstance(data.get("layout"), str) and "layout" not in broken:
            self._read_layout(data)
        # A key that nobody knows may be a misspelt section, without which the rest looks wrong.
        unknown = set(data) - set(matrix_schema()["properties"])
        if (
            self.document.problems
            or broken & _ROWS_NEED
            or unknown
            or not {"layout", "given"} <= set(data)
        ):
            return None
        return self._load_rows(data, scenario, valid=not broken)

    def _check_names(self, data: dict[str, Any], broken: set[str | int]) -> Scenario | None:
        """Check what the header refers to; returns the scenario if it can be used."""
        scenario = None
        if "scenario" in data and "scenario" not in broken:
            scenario = self._find_scenario(data["scenario"])
        self._check_clauses(_texts(data.get("clauses")), scenario)
        of_stores = scenario is not None and scenario.subject is Subject.STORE
        known = [one.value for one in (StoreCapability if of_stores else Capability)]
        for at, name in _texts(data.get("requires")):
            if name not in known:
                message = f"no capability is named {shown(name)}"
                self.report.add(("requires", at), message, suggest(name, known))
        return scenario

    def _settle_layout(self, data: dict[str, Any], scenario: Scenario | None) -> None:
        """A store knows no layout; every other scenario needs one."""
        of_stores = scenario is not None and scenario.subject is Subject.STORE
        if of_stores and "layout" in data:
            self.report.add(("layout",), "a store knows no layout", "leave it out", key=True)
        elif of_stores:
            data["layout"] = dict(_NO_LAYOUT)
        elif scenario is not None and "layout" not in data:
            self.report.add((), "the key 'layout' is missing")

    def _find_scenario(self, name: str) -> Scenario | None:
        try:
            return load_scenario(name, self.templates)
        except ScenarioNotFoundError as error:
            self.report.add(("scenario",), error.message, error.hint)
        except ScenarioError as error:
            self.report.add_all(error.problems)
        return None

    def _check_clauses(self, clauses: list[tuple[int, str]], scenario: Scenario | None) -> None:
        cited = {CHECKS[check].clause for check in scenario.checks} if scenario else set(CLAUSES)
        for at, clause in clauses:
            if clause not in CLAUSES:
                message, hint = f"no clause is named {shown(clause)}", suggest(clause, CLAUSES)
                self.report.add(("clauses", at), message, hint)
            elif scenario is not None and clause not in cited:
                self.report.add(
                    ("clauses", at),
                    f"no check of the scenario {scenario.name!r} cites the clause {clause!r}",
                    f"it cites {', '.join(sorted(cited))}",
                )

    def _read_layout(self, data: dict[str, Any]) -> None:
        """Replace the name of a layout by the layout, read from its own file."""
        name = data["layout"]
        above = [folder / LAYOUTS for folder in list(self.path.absolute().parents)[:_LEVELS]]
        folders = [*above, resources.matrix_dir() / LAYOUTS]
        path = next(
            (file for folder in folders if (file := folder / f"{name}.yaml").is_file()), None
        )
        if path is None:
            known = sorted({file.stem for folder in folders for file in folder.glob("*.yaml")})
            self.report.add(("layout",), f"no layout is named {name!r}", suggest(name, known))
            data["layout"] = None
            return
        document = read_document(path, display(path))
        self.report.mount(("layout",), document)
        layout = document.plain()
        faults = _rules("#/$defs/layout").faults(layout, ("layout",)) if document.root else []
        broken = self.report.add_faults(faults, {"layout": layout})
        data["layout"] = None if broken or document.problems else layout

    def _load_rows(
        self, data: dict[str, Any], scenario: Scenario | None, *, valid: bool
    ) -> Matrix | None:
        report = self.report
        space = read_space(data, report)
        if space is None:
            return None
        layout, engine, given = data["layout"], data.get("engine", {}), data["given"]
        before = len(report.problems)
        pins = selection.read_pins(data, space, report)
        if len(report.problems) > before:
            pins, valid = [], False
        known = self._check_references(data, space)
        choice = self._choose(data, space)
        if not known or layout is None or choice is None:
            return None
        points = choice.points
        line = report.line_of_key(("axes",) if data.get("axes") else ("name",))
        rows = space.rows(points, line, choice.fresh)
        decided = selection.first_matches(pins, points, report)
        under_check = meaning.Rows(space=space, points=points, ids=[row.id for row in rows])
        right = meaning.check_values(
            _rules("#/$defs/layout"), layout, ("layout",), under_check, report
        )
        right &= meaning.check_values(
            _rules("#/$defs/engine"), engine, ("engine",), under_check, report
        )
        if right:
            meaning.check_layouts(layout, engine, under_check, report)
        groups = [group["name"] for group in layout["groups"]]
        if scenario is not None:
            meaning.check_values(Rules(scenario.schema), given, ("given",), under_check, report)
        meaning.check_given(given, layout, engine, under_check, report)
        ids = dict(zip(points, under_check.ids, strict=True))
        decided_rows = [
            meaning.Rows(space=space, points=some, ids=[ids[point] for point in some])
            for some in decided
        ]
        meaning.check_pins(pins, decided_rows, groups, _rules("#/$defs/pin"), report)
        if not valid or report.problems:
            return None
        document = {
            "layout": layout,
            "engine": engine,
            "given": given,
            "pins": [pin.data for pin in pins],
        }
        return self._matrix(data, space, rows, document, choice)

    def _check_references(self, data: dict[str, Any], space: Space) -> bool:
        """Whether every reference names an axis; unused axes are told too."""
        expect = data.get("expect", {})
        all_pins: Sequence[Any] = expect["pins"] if isinstance(expect, dict) and expect else ()
        used = {name for pin in all_pins for name in pin.get("when", {})}
        for exclude in (*data.get("exclude", []), *data.get("implies", [])):
            used.update(exclude["when"], exclude.get("then", {}))
        sections: dict[tuple[str | int, ...], Any] = {
            (key,): data[key] for key in ("layout", "engine", "given") if key in data
        }
        for at, pin in enumerate(all_pins):
            rest = {key: value for key, value in pin.items() if key != "when"}
            sections["expect", "pins", at] = rest
        if data["layout"] is None:
            # A layout that cannot be read may be what uses the axes.
            used.update(axis.name for axis in space.axes)
        return meaning.check_references(sections, used, space, self.report)

    def _choose(self, data: dict[str, Any], space: Space) -> Choice | None:
        constraints = read_constraints(data, space, self.report)
        if constraints is None:
            return None
        name = data.get("name", "")  # without one the matrix is not loaded, and the rest still told
        chooser = Chooser(
            name=name, space=space, constraints=constraints, report=self.report
        )
        lock = None
        if self.plan.is_own:
            try:
                found = read_lock(self.path, name)
            except LockError as error:
                self.report.add(("select",), str(error), key="select" in data)
                return None
            lock = (None, LockState.MISSING) if self.plan.relock else found
        return chooser.choose(self.plan.selection(data.get("select", "all")), lock)

    def _matrix(
        self,
        data: dict[str, Any],
        space: Space,
        rows: list[Row],
        document: dict[str, Any],
        choice: Choice,
    ) -> Matrix:
        header = Header(
            name=data["name"],
            title=data["title"],
            scenario=data["scenario"],
            clauses=tuple(data["clauses"]),
            requires=tuple(data.get("requires", ())),
            source=data.get("source", ""),
            file=self.document.file,
            axes=tuple(axis.name for axis in space.axes),
            document=document,
            event_lines=self._event_lines(data["given"].get("events")),
        )
        return Matrix(
            header=header,
            axes=space.axes,
            rows=tuple(rows),
            path=self.path,
            choice=choice,
            smoke="level" in data,
            partial=not self.plan.is_own,
        )

    def _event_lines(self, events: Any) -> tuple[int, ...]:
        """Where the events of a trace stand, if the matrix lists them one by one."""
        count = len(events) if isinstance(events, list) else 0
        return tuple(self.document.at(("given", "events", at))[0] for at in range(count))


def _texts(value: Any) -> list[tuple[int, str]]:
    """The readable texts of a list, with their positions; the rest was told already."""
    entries = enumerate(value) if isinstance(value, list) else ()
    return [
        (at, one) for at, one in entries if isinstance(one, str) and not isinstance(one, Unreadable)
    ]
