"""What a line of a records file may say: the shipped schema, applied to what others may have written."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from kvconform import RECORDS_FORMAT
from kvconform.resources import schema_dir

_SHOWN = 100
"""So many characters of a complaint are shown: it may quote the whole line."""


class Lines:
    """Reads the lines of one file; those that are built alike are held against the schema once."""

    def __init__(self) -> None:
        self._right: set[Hashable] = set()

    def read(self, line: str) -> dict[str, Any]:
        """The event of one line; raises ValueError, which says what is wrong and where in it.

        The header of another format passes: `RunHeader.from_json` has the better words.
        """
        try:
            event = json.loads(line, parse_constant=_refuse)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
        if not isinstance(event, dict) or not isinstance(event.get("event"), str):
            raise ValueError("not an object with a key 'event'")  # noqa: TRY004 - a fault of a file
        kind = event["event"]
        if kind not in _branches():
            raise ValueError(f"unknown event {kind[:_SHOWN]!r}")
        built = _shape(event)
        if kind == "run" and event.get("format") != RECORDS_FORMAT:
            return event
        if (kind, built) not in self._right:
            for wrong in _branches()[kind].iter_errors(event):
                raise ValueError(f"{wrong.json_path[:_SHOWN]}: {wrong.message[:_SHOWN]}")
            self._right.add((kind, built))
        return event


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def _shape(value: object) -> Hashable:
    """All that the schema looks at but the words of texts, which outcomes themselves refuse."""
    if isinstance(value, dict):
        return frozenset((key, _shape(item)) for key, item in value.items())
    if isinstance(value, list):
        return "list", frozenset(map(_shape, value))
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number is too large")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return type(value).__name__, value < 0
    return type(value).__name__


@cache
def _branches() -> dict[str, Draft202012Validator]:
    """The validator of each kind of event."""
    text = (schema_dir() / "records.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return {
        branch["properties"]["event"]["const"]: Draft202012Validator(
            {**branch, "$defs": schema["$defs"]}
        )
        for branch in schema["oneOf"]
    }
