"""Settings of a vendor's repository: ``[tool.kvconform]`` in its ``pyproject.toml``.

They say what the command line does not.  Paths are relative to the folder of that file, so that
a run means the same from anywhere below it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kvconform import resources
from kvconform.matrix import MatrixNotFoundError, Problem, ProblemsError, find_matrices, suggest
from kvconform.matrix.paths import display
from kvconform.matrix.problems import shown

FILE = "pyproject.toml"
TABLE = "[tool.kvconform]"
KEYS = ("connector", "matrices", "expectations", "connector-config", "templates")


class ProjectError(ProblemsError):
    """Settings that cannot be used: everything that is wrong with the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """What a repository says about its runs; empty where it says nothing.

    ``matrices`` are names for `find_matrices`, ``connector_config`` is KEY=VALUE as on the command
    line.
    """

    connector: str = ""
    matrices: tuple[str, ...] = ()
    expectations: tuple[str, ...] = ()
    connector_config: Mapping[str, str] = field(default_factory=dict)
    templates: tuple[Path, ...] = ()


def find_project(folder: Path) -> Path | None:
    """The nearest ``pyproject.toml`` with the table, in ``folder`` or above it."""
    for above in (folder, *folder.parents):
        path = above / FILE
        if path.is_file() and "kvconform" in _text(path) and _table(path) is not None:
            return path
    return None


def read_project(folder: Path) -> Project:
    """The settings that hold in ``folder``; raises `ProjectError` with ``file:line`` of each fault."""
    path = find_project(folder)
    return Project() if path is None else _Reading(path).project()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProjectError([_problem(path, 1, f"cannot be read: {error}")]) from error


def _table(path: Path) -> Any:
    """The table, or None if there is none."""
    try:
        tool = tomllib.loads(_text(path)).get("tool")
    except tomllib.TOMLDecodeError as error:
        message, _, place = str(error).partition(" (at ")
        found = re.search(r"line (\d+)", place)
        line = int(found[1]) if found else len(_text(path).splitlines())
        raise ProjectError([_problem(path, line, f"this is not TOML: {message}")]) from error
    return tool.get("kvconform") if isinstance(tool, dict) else None


def _problem(path: Path, line: int, message: str, hint: str = "") -> Problem:
    return Problem(file=display(path), line=line, column=1, message=message, hint=hint)


class _Reading:
    """Reads one table; each step notes what it finds wrong."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = _text(path).splitlines()
        self._problems: list[Problem] = []

    def project(self) -> Project:
        table = _table(self._path)
        if not isinstance(table, dict):
            self._tell("", f"{TABLE} must be a table, not {shown(table)}")
            raise ProjectError(self._problems)
        for key in table:
            if key not in KEYS:
                self._tell(key, f"unknown key {key!r} in {TABLE}", suggest(key, KEYS))
        project = Project(
            connector=self._connector(table.get("connector", "")),
            matrices=tuple(self._matrices(self._texts(table, "matrices"))),
            expectations=tuple(self._existing(table, "expectations", "file")),
            connector_config=self._settings(table.get("connector-config", {})),
            templates=tuple(map(Path, self._existing(table, "templates", "folder"))),
        )
        if self._problems:
            raise ProjectError(self._problems)
        return project

    def _tell(self, key: str, message: str, hint: str = "") -> None:
        self._problems.append(_problem(self._path, self._line(key), message, hint))

    def _line(self, key: str) -> int:
        """Line of the key: below the table's head, or that of the head where it stands elsewhere."""
        name = rf"""["']?{re.escape(key)}["']?"""
        head = re.compile(
            r"\s*\[\s*tool\s*\.\s*kvconform\s*[.\]]|\s*tool\.kvconform|\s*kvconform\s*[.=]"
        )
        own = re.compile(rf"\s*{name}\s*[.=]|\s*\[\s*tool\s*\.\s*kvconform\s*\.\s*{name}\s*\]")
        inside, first = False, 0
        for number, line in enumerate(self._lines, start=1):
            if head.match(line):
                inside, first = True, first or number
            elif line.lstrip().startswith("["):
                inside = False
            if inside and key and own.match(line):
                return number
        return first or 1

    def _connector(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        self._tell("connector", f"connector must be text, not {shown(value)}")
        return ""

    def _texts(self, table: Mapping[str, Any], key: str) -> list[str]:
        value = table.get(key, [])
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            return value
        hint = f"write [{json.dumps(value)}]" if isinstance(value, str) else ""
        self._tell(key, f"{key} must be a list of texts, not {shown(value)}", hint)
        return []

    def _existing(self, table: Mapping[str, Any], key: str, kind: str) -> Iterator[str]:
        for name in self._texts(table, key):
            path = self._place(name)
            if path.is_dir() if kind == "folder" else path.is_file():
                yield str(path)
            else:
                self._tell(key, f"{key}: there is no {kind} {name!r}")

    def _matrices(self, names: list[str]) -> Iterator[str]:
        """Paths from here, and shipped names by their own path, so that the folder does not matter."""
        for name in names:
            path = self._place(name)
            if path.exists():
                yield str(path)
                continue
            shipped = resources.matrix_dir() / name
            if shipped.is_dir():
                yield str(shipped)
                continue
            try:
                yield from map(str, find_matrices([name]))
            except MatrixNotFoundError as error:
                self._tell("matrices", f"matrices: {error}")

    def _place(self, name: str) -> Path:
        """The path that ``name`` means: as written where the working folder is that of the file."""
        here = Path(name)
        return here if self._path.parent == Path.cwd() else self._path.parent / here

    def _settings(self, value: Any) -> dict[str, str]:
        key = "connector-config"
        if not isinstance(value, dict):
            self._tell(key, f"{key} must be a table, not {shown(value)}")
            return {}
        settings: dict[str, str] = {}
        for name, one in value.items():
            try:
                settings[name] = json.dumps(one)
            except TypeError:
                self._tell(
                    key,
                    f"{key}: {name} must be text, a number, true, false, a list or a "
                    f"table, not {shown(one)}",
                )
            if "=" in name or not name:
                self._tell(key, f"{key}: {name!r} cannot be a key: it is handed on as KEY=VALUE")
        return settings
