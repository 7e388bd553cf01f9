"""Scenario definitions: what a template is for, what it checks, and what it wants to be given."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from kvconform import resources
from kvconform.contract.clauses import CHECKS
from kvconform.matrix.document import read_document
from kvconform.matrix.paths import display
from kvconform.matrix.problems import ProblemsError, suggest
from kvconform.matrix.report import Report
from kvconform.matrix.rules import Rules, resolve_pointer
from kvconform.ports import KvconformError

_SUFFIX = ".scenario.yaml"
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@cache
def _definition() -> Rules:
    text = (resources.schema_dir() / "scenario.schema.json").read_text(encoding="utf-8")
    return Rules(json.loads(text))


class Subject(StrEnum):
    """What the cases of a scenario put to the test."""

    CONNECTOR = "connector"
    STORE = "store"
    """A store by itself, without requests: its matrices have no layout."""


class ScenarioNotFoundError(KvconformError, LookupError):
    """A scenario that no template folder defines: names it, with the nearest one as ``hint``."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name = name
        self.message = f"no scenario is named {name!r}"
        self.hint = suggest(name, known)
        super().__init__(f"{self.message} ({self.hint})")


class ScenarioError(ProblemsError):
    """A scenario definition that cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A template and its definition.

    ``checks`` are names in `kvconform.contract.clauses.CHECKS`; ``schema`` is the JSON Schema of
    the ``given`` section after axis values were put in; ``template`` is the path of the
    ``.py.j2`` file.
    """

    name: str
    title: str
    checks: tuple[str, ...]
    subject: Subject
    schema: dict[str, Any]
    template: Path


def scenario_names(templates_dirs: Iterable[str | Path] = ()) -> list[str]:
    """Every scenario that the extra folders or the shipped one define, sorted."""
    return sorted(
        {
            path.name.removesuffix(_SUFFIX)
            for folder in _folders(templates_dirs)
            for path in folder.glob("*" + _SUFFIX)
        }
    )


def load_scenario(name: str, templates_dirs: Iterable[str | Path] = ()) -> Scenario:
    """The scenario called ``name``: from the first of ``templates_dirs`` that has it, else shipped.

    Raises `ScenarioNotFoundError`, or `ScenarioError` with everything wrong with its definition.
    """
    folders = _folders(templates_dirs)
    if _NAME.fullmatch(name):
        for folder in folders:
            path = folder / (name + _SUFFIX)
            if path.is_file():
                return _load(name, path, path.stat().st_mtime_ns)
    raise ScenarioNotFoundError(name, scenario_names(templates_dirs))


def _folders(extra: Iterable[str | Path]) -> list[Path]:
    return [*map(Path, extra), resources.templates_dir()]


@cache
def _load(name: str, path: Path, changed_ns: int) -> Scenario:  # noqa: ARG001 - part of the key
    document = read_document(path, display(path))
    report = Report(document)
    data = document.plain()
    broken = set() if document.root is None else report.add_faults(_definition().faults(data), data)
    template = path.with_name(name + ".py.j2")
    if not template.is_file():
        report.add((), f"the template {template.name} is missing beside this file")
    if not report.problems and not broken:
        for at, check in enumerate(data["checks"]):
            if check not in CHECKS:
                report.add(("checks", at), f"no check is named {check!r}", suggest(check, CHECKS))
        _check_schema(data["given"], report)
    if report.problems:
        raise ScenarioError(report.problems)
    return Scenario(
        name=name,
        title=data["title"],
        checks=tuple(data["checks"]),
        subject=Subject(data.get("subject", Subject.CONNECTOR)),
        schema=data["given"],
        template=template,
    )


def _check_schema(schema: dict[str, Any], report: Report) -> None:
    try:
        Draft202012Validator.check_schema(
            schema, format_checker=Draft202012Validator.FORMAT_CHECKER
        )
    except SchemaError as error:
        report.add(("given", *error.absolute_path), f"this is not a JSON Schema: {error.message}")
        return
    for path, reference in _schema_references(schema, ("given",)):
        if resolve_pointer(schema, reference) is None:
            report.add(path, f"the reference {reference!r} names nothing in this schema")


def _schema_references(
    value: Any, path: tuple[str | int, ...]
) -> Iterable[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key in {"$ref", "$dynamicRef"} and isinstance(item, str):
                yield (*path, key), item
            yield from _schema_references(item, (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _schema_references(item, (*path, at))
