"""One example: a layout and a trace, as data, as a case and as a matrix file."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvconform import MATRIX_FORMAT
from kvconform.case import Case
from kvconform.matrix import Matrix
from kvconform.matrix.model import ONLY, Row, build_layout
from kvconform.matrix.references import substitute

SCENARIO = "trace"

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*([ (-]+[A-Za-z0-9_]+\)?)*")
_NOT_TEXT = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words that a reader of YAML may take for something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """What a matrix of the scenario ``trace`` says about its one case, in plain data.

    ``events`` and ``hits`` are those of ``templates/trace.scenario.yaml``.
    """

    layout: Mapping[str, Any]
    engine: Mapping[str, Any]
    events: Sequence[Any]
    hits: Mapping[str, int]

    @classmethod
    def of_row(cls, matrix: Matrix, row: Row) -> Example:
        """The example that one row of a matrix is."""
        layout, engine, given = (
            substitute(matrix.document[key], row.values) for key in ("layout", "engine", "given")
        )
        return cls(layout=layout, engine=engine, events=given["events"], hits=given["hits"])

    @property
    def digest(self) -> str:
        """Eight letters and figures that stand for layout, engine and events."""
        said = json.dumps([self.layout, self.engine, self.events], sort_keys=True)
        return hashlib.blake2b(said.encode(), digest_size=4).hexdigest()

    def case(self) -> Case:
        """The case, as a matrix would have it."""
        return Case(
            id=f"fuzz[{ONLY}]",
            matrix="fuzz",
            source="fuzz",
            scenario=SCENARIO,
            clauses=(),
            requires=(),
            layout=build_layout(self.layout, self.engine),
            given={"events": self.events, "hits": self.hits},
        )

    def text(
        self, name: str, title: str, clauses: Iterable[str], *, source: str = "", comment: str = ""
    ) -> str:
        """A matrix file; ``comment`` are lines that stand above all else."""
        head = {"format": MATRIX_FORMAT, "name": name, "title": title, "scenario": SCENARIO}
        head["clauses"] = list(clauses)
        if source:
            head["source"] = source
        lines = [f"# {line}".rstrip() for line in comment.splitlines()]
        lines += [f"{key}: {_flow(value)}" for key, value in head.items()]
        lines += ["", "layout:"]
        lines += [f"  {key}: {_flow(v)}" for key, v in self.layout.items() if key != "groups"]
        lines += ["  groups:", *(f"    - {_flow(group)}" for group in self.layout["groups"])]
        if self.engine:
            lines += ["engine:", *(f"  {key}: {_flow(v)}" for key, v in self.engine.items())]
        lines += ["", "given:", "  events:", *_events(self.events)]
        lines.append(f"  hits: {_flow(self.hits)}")
        return "\n".join(lines) + "\n"


def _events(events: Sequence[Any]) -> Iterator[str]:
    for event in events:
        if isinstance(event, dict):
            ((kind, what),) = event.items()
            yield f"    - {kind}: {_flow(what)}"
        else:
            yield f"    - {_flow(event)}"


def _flow(value: Any) -> str:
    """A value on one line: JSON, but without quotes where nobody needs them."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_flow(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT:
        return value
    return json.dumps(value)
