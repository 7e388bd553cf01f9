"""Pages of the files that people write: every key of a schema, with its type and meaning."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kvconform.pages.page import code, table

_HEAD = """\
# {title}

<!-- Made by `kvconform reference --write docs/reference`; do not edit. -->

Every key, from the JSON Schema that `kvconform schema {name}` prints for your editor.
A key in **bold** is required. [All reference pages](README.md).
"""

_AXIS = "axis"
"""The only key of what stands for the row's value of an axis."""

Schema = Mapping[str, Any]


def schema_page(name: str, schema: Schema) -> str:
    """The page of one schema: a table for each object that has keys of its own."""
    parts = [_HEAD.format(title=str(schema["title"]), name=name)]
    if schema.get("description"):
        parts.append(f"{schema['description']}\n")
    for where, found in _objects(schema, schema, ""):
        required = set(found.get("required", ()))
        rows = [
            [
                f"**{code(key)}**" if key in required else code(key),
                _type(value, schema),
                _meaning(value, schema),
            ]
            for key, value in found["properties"].items()
        ]
        parts.append(f"## {where or 'The file'}\n")
        if where and found.get("description"):
            parts.append(f"{found['description']}\n")
        parts.append(table(["key", "value", "meaning"], rows) + "\n")
    return "\n".join(parts)


def _objects(part: Schema, root: Schema, where: str) -> Iterator[tuple[str, Schema]]:
    """Every object with keys, the outer one first, each under the way to it."""
    seen: set[int] = set()

    def walk(part: Schema, where: str) -> Iterator[tuple[str, Schema]]:
        part = _resolved(part, root)
        if id(part) in seen:
            return
        seen.add(id(part))
        if set(part.get("properties", ())) == {_AXIS}:
            return  # told where it may stand
        if part.get("properties"):
            yield where, part
            for key, value in part["properties"].items():
                yield from walk(value, f"{where}.{key}" if where else key)
        for word in ("oneOf", "anyOf", "allOf"):
            for one in part.get(word, ()):
                yield from walk(one, _named(one, where))
        for word in ("items", "additionalProperties"):
            if isinstance(part.get(word), Mapping):
                yield from walk(part[word], f"{where}[]" if where else "each entry")

    yield from walk(part, where)


def _named(part: Schema, where: str) -> str:
    """Of several kinds of line, the one that its ``event`` names."""
    event = part.get("properties", {}).get("event", {}).get("const")
    return f"event: {event}" if event else where


def _resolved(part: Schema | bool, root: Schema) -> Schema:
    """What a reference leads to; *true* and *false* are schemas that say nothing."""
    if isinstance(part, bool):
        return {}
    reference = part.get("$ref")
    if reference is None:
        return part
    found: Any = root
    for word in reference.removeprefix("#/").split("/"):
        found = found[word]
    return _resolved(found, root)


def _type(part: Schema | bool, root: Schema) -> str:
    whole = _resolved(part, root)
    if "const" in whole:
        return code(json.dumps(whole["const"]))
    if "enum" in whole:
        return ", ".join(code(str(value)) for value in whole["enum"])
    if set(whole.get("properties", ())) == {_AXIS}:
        return code("{axis: NAME}")
    kinds = whole.get("type")
    if kinds is None:
        options = [*whole.get("oneOf", ()), *whole.get("anyOf", ())]
        return " or ".join(dict.fromkeys(_type(one, root) for one in options)) or "any"
    names = [kinds] if isinstance(kinds, str) else list(kinds)
    told = " or ".join(names)
    if "array" in names and isinstance(whole.get("items"), Mapping):
        told += f" of {_type(whole['items'], root)}"
    if "minimum" in whole:
        told += f", at least {whole['minimum']}"
    return told


def _meaning(part: Schema | bool, root: Schema) -> str:
    whole = _resolved(part, root)
    own = part if isinstance(part, Mapping) else {}
    text = own.get("description") or whole.get("description") or ""
    if "default" in whole:
        text = f"{text} Default: {code(json.dumps(whole['default']))}.".strip()
    return str(text)
