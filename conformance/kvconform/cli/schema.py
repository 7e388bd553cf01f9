"""``kvconform schema``: the JSON Schemas of the files that go in and come out."""

from __future__ import annotations

import argparse
import json
from typing import Any

from kvconform import resources
from kvconform.cli.command import Command, say

NAMES = ("matrix", "layout", "scenario", "expectations", "records")


def schema(name: str) -> dict[str, Any]:
    """The schema of that name, complete in itself."""
    found = _read(name)
    if name == "layout":
        # An editor gets one file: what the reference leads to comes along.
        return {**found, "$ref": "#/$defs/layout", "$defs": _read("matrix")["$defs"]}
    return found


def _read(name: str) -> dict[str, Any]:
    path = resources.schema_dir() / f"{name}.schema.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", metavar="NAME", choices=NAMES, help=f"which files: {', '.join(NAMES)}"
    )


def execute(options: argparse.Namespace) -> int:
    """Print it."""
    say(json.dumps(schema(options.name), indent=2, ensure_ascii=False))
    return 0


COMMAND = Command(
    name="schema",
    summary="print the JSON Schema of matrices, layouts, scenarios, expectations or records",
    add_options=_add_options,
    execute=execute,
    epilog="For editors: kvconform schema matrix > matrix.schema.json, and in the first line of\n"
    "a matrix: # yaml-language-server: $schema=matrix.schema.json",
)
