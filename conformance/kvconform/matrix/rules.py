"""JSON Schema rules applied to data from files, with messages for the people who wrote them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry

from kvconform.matrix.problems import MAX_PROBLEMS, nearest, shown, suggest
from kvconform.matrix.references import Path, axes_of, is_reference

Schema = Mapping[str, Any]

# Floats such as 1.0 are integers to JSON Schema and not to anyone who counts tokens.
_Validator: Any = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)

_ANNOTATIONS = {
    "title",
    "description",
    "errorMessage",
    "default",
    "examples",
    "$defs",
    "$schema",
    "$id",
}
_OF_OBJECTS = {"type", "properties", "required", "additionalProperties", "minProperties"}
_OF_LISTS = {"type", "items", "minItems", "maxItems"}
_WORD = re.compile(r"[A-Za-z0-9_-]{1,60}")
_MOST_HOPS = 20  # of references to references; nobody needs as many
_COMBINED = ("anyOf", "oneOf")
_COUNTED = {
    "minItems": ("at least", "entry", "entries"),
    "maxItems": ("at most", "entry", "entries"),
    "minProperties": ("at least", "key", "keys"),
    "maxProperties": ("at most", "key", "keys"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A breach at ``path``; ``key`` says that the key itself is meant, not its value."""

    path: Path
    message: str
    hint: str = ""
    key: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a value that can be judged on its own."""

    path: Path
    value: Any
    schema: Any


class Rules:
    """A schema, whole or (``pointer``) one of its definitions."""

    def __init__(self, schema: Schema, pointer: str = "") -> None:
        self._root = schema
        # An empty registry: a schema never makes us fetch anything.
        self._validator = _Validator(schema, registry=Registry())
        self._schema: Any = {"$ref": pointer} if pointer else schema

    def faults(self, value: Any, at: Path = ()) -> list[Fault]:
        """Everything wrong with ``value``, which stands at ``at`` in its file."""
        return self.faults_of(Part(path=at, value=value, schema=self._schema))

    def faults_of(self, part: Part) -> list[Fault]:
        """Everything wrong with one part."""
        validator = self._validator.evolve(schema=part.schema)
        found: dict[Fault, None] = {}
        for error in validator.iter_errors(part.value):
            found.update(dict.fromkeys(self._explain(error, part.path)))
            if len(found) > MAX_PROBLEMS:
                break
        return list(found)

    def parts(self, value: Any, at: Path = ()) -> Iterator[Part]:
        """Pieces of ``value`` that are valid one by one exactly if the whole is.

        Each depends on few axes, so that judging every distinct piece costs little where there
        are many rows.
        """
        yield from self._parts(Part(path=at, value=value, schema=self._schema))

    def _parts(self, part: Part) -> Iterator[Part]:
        value = part.value
        schema = self._container(part.schema, value)
        if schema is None or not axes_of(value) or is_reference(value):
            yield part
        elif isinstance(value, dict):
            known = schema.get("properties", {})
            others = schema.get("additionalProperties", True)
            shallow = {**schema, "properties": dict.fromkeys(known, True)}
            shallow["additionalProperties"] = others is not False
            yield Part(path=part.path, value=dict.fromkeys(value), schema=shallow)
            for key, item in value.items():
                if key in known or others is not False:
                    yield from self._parts(
                        Part(path=(*part.path, key), value=item, schema=known.get(key, others))
                    )
        else:
            shallow = {**schema, "items": True}
            yield Part(path=part.path, value=[None] * len(value), schema=shallow)
            for at, item in enumerate(value):
                yield from self._parts(
                    Part(path=(*part.path, at), value=item, schema=schema.get("items", True))
                )

    def _container(self, schema: Any, value: Any) -> dict[str, Any] | None:
        """The schema of a list or mapping if its entries can be judged one by one, else None."""
        schema = self._resolved(schema)
        if not isinstance(value, dict | list) or not isinstance(schema, dict):
            return None
        kind, allowed = ("object", _OF_OBJECTS) if isinstance(value, dict) else ("array", _OF_LISTS)
        if set(schema) - _ANNOTATIONS == {"anyOf"} and not _about_keys(schema["anyOf"]):
            fitting = [
                branch
                for branch in map(self._resolved, schema["anyOf"])
                if isinstance(branch, dict)
                and branch.get("type") == kind
                and "errorMessage" not in branch
            ]
            return self._container(fitting[0], value) if len(fitting) == 1 else None
        combined = {key for key in _COMBINED if key in schema and _about_keys(schema[key])}
        return schema if set(schema) - _ANNOTATIONS - combined <= allowed else None

    def _resolved(self, schema: Any) -> Any:
        """The definition that a lone local ``$ref`` names."""
        for _ in range(_MOST_HOPS):
            if not isinstance(schema, dict) or set(schema) - _ANNOTATIONS != {"$ref"}:
                break
            target = resolve_pointer(self._root, schema["$ref"])
            if target is None:
                break
            schema = target
        return schema

    def _explain(self, error: ValidationError, base: Path) -> Iterator[Fault]:
        path: Path = (*base, *error.absolute_path)
        where = label(path)
        schema: Any = error.schema
        value: Any = error.instance
        keyword = error.validator
        if keyword == "additionalProperties":
            yield from _unknown_keys(path, schema, value)
        elif keyword == "required":
            for key in schema["required"]:
                if key not in value:
                    yield Fault(path=path, message=f"the key {key!r} is missing{_inside(path)}")
        elif keyword in _COMBINED:
            yield from self._explain_choice(error, base)
        elif keyword == "uniqueItems":
            seen: set[str] = set()
            for at, item in enumerate(value):
                text = json.dumps(item, sort_keys=True)
                if text in seen:
                    yield Fault(path=(*path, at), message=f"{where}: {describe(item)} stands twice")
                seen.add(text)
        elif keyword in _COUNTED:
            yield Fault(
                path=path, message=f"{where}: {_counted(keyword, schema[keyword], len(value))}"
            )
        else:
            yield self._mismatch(path, schema, value)

    def _explain_choice(self, error: ValidationError, base: Path) -> Iterator[Fault]:
        path: Path = (*base, *error.absolute_path)
        branches: Any = error.validator_value
        value: Any = error.instance
        if _about_keys(branches) and not isinstance(value, dict):
            yield self._mismatch(path, error.schema, value)
            return
        if _about_keys(branches):
            names = [name for branch in branches for name in branch["required"]]
            given = [name for name in names if name in value]
            one = "exactly one" if error.validator == "oneOf" else "at least one"
            yield Fault(
                path=path,
                message=f"{label(path)}: expected {one} of the keys {_listed(names)}, "
                f"got {_listed(given) if given else 'none'}",
            )
            return
        kind = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else None
        fitting = [
            number
            for number, branch in enumerate(map(self._resolved, branches))
            if isinstance(branch, dict)
            and branch.get("type") == kind
            and "errorMessage" not in branch
        ]
        if kind is None or len(fitting) != 1:
            yield self._mismatch(path, error.schema, value)
            return
        alone = self._words({"anyOf": branches})
        for inner in error.context or ():
            if inner.schema_path[0] == fitting[0]:
                for fault in self._explain(inner, base):
                    yield _standing_alone(fault, alone)

    def _mismatch(self, path: Path, schema: Any, value: Any) -> Fault:
        hint = self._whole_form(schema, value)
        if isinstance(value, str) and not hint:
            found = nearest(value, self._words(schema))
            hint = f"did you mean {found[0]!r}?" if found else ""
        return Fault(
            path=path,
            message=f"{label(path)}: expected {self.expected(schema)}, got {describe(value)}",
            hint=hint,
        )

    def _whole_form(self, schema: Any, value: Any) -> str:
        """What to write where a value stands alone and is a part of the mapping that is expected."""
        schema = self._resolved(schema)
        branches = schema.get("anyOf", [schema]) if isinstance(schema, dict) else []
        for branch in map(self._resolved, branches):
            if not isinstance(branch, dict) or branch.get("type") != "object" or "errorMessage" in branch:
                continue
            known, needed = branch.get("properties", {}), branch.get("required", [])
            if isinstance(value, str) and value in known and not needed:
                return f"write {value} with what it is about: {value}: ..."
            if len(needed) == 1 and isinstance(value, str | int):
                part = Part(path=(), value=value, schema=known.get(needed[0], False))
                if not self.faults_of(part):
                    return f"write {{{needed[0]}: {_bare(value)}}}"
        return ""

    def _words(self, schema: Any) -> list[str]:
        schema = self._resolved(schema)
        if not isinstance(schema, dict):
            return []
        words = [*schema.get("enum", []), schema.get("const")]
        for branch in schema.get("anyOf", []):
            words += self._words(branch)
        return [word for word in words if isinstance(word, str)]

    def expected(self, schema: Any) -> str:
        """What a schema accepts, in words."""
        schema = self._resolved(schema)
        if not isinstance(schema, dict):
            return "nothing here" if schema is False else "a value"
        if "errorMessage" in schema:
            return str(schema["errorMessage"])
        for keyword in _COMBINED:
            if keyword in schema and not _about_keys(schema[keyword]):
                return " or ".join(dict.fromkeys(map(self.expected, schema[keyword])))
        if "const" in schema:
            return _bare(schema["const"])
        if "enum" in schema:
            return f"one of {', '.join(map(_bare, schema['enum']))}"
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        return " or ".join(_kind(kind, schema) for kind in kinds) or "something else"


def _standing_alone(fault: Fault, words: list[str]) -> Fault:
    """A fault about a key that is known as a word without anything behind it says so."""
    if fault.key and fault.path[-1] in words:
        message = f"{fault.path[-1]} takes nothing"
        return replace(fault, message=message, hint=f"write the word alone: - {fault.path[-1]}")
    return fault


def resolve_pointer(root: Schema, reference: str) -> Any:
    """What a local reference (``#/$defs/NAME``) names in ``root``, or None."""
    found: Any = root
    if not reference.startswith("#"):
        return None
    for step in reference[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    return found


def label(path: Path) -> str:
    """A path as people write it: ``layout.groups[1].window``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            name = step if _WORD.fullmatch(step) else shown(step)
            text += f".{name}" if text else name
    return text or "the file"


def describe(value: Any) -> str:
    """A value as messages name it."""
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, dict):
        keys = f"a mapping with the key{'s' if len(value) > 1 else ''} {_listed(value)}"
        return keys if value else "an empty mapping"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the text {shown(str(value))}"
    return "nothing" if value is None else f"the number {value}"


def _listed(names: Any) -> str:
    shown_names = [shown(name) for name in names]
    if len(shown_names) > 4:  # noqa: PLR2004 - enough to recognise a mapping by
        shown_names = [*shown_names[:4], "..."]
    return ", ".join(shown_names)


def _unknown_keys(path: Path, schema: Any, value: Any) -> Iterator[Fault]:
    known = list(schema.get("properties", {}))
    for key in value:
        if key not in known:
            yield Fault(
                path=(*path, key),
                message=f"unknown key {shown(key)}{_inside(path)}",
                hint=suggest(key, [name for name in known if name not in value] or known),
                key=True,
            )


def _counted(keyword: str, wanted: int, got: int) -> str:
    bound, one, many = _COUNTED[keyword]
    return f"expected {bound} {wanted} {one if wanted == 1 else many}, got {got or 'none'}"


def _inside(path: Path) -> str:
    return f" in {label(path)}" if path else ""


def _about_keys(branches: Any) -> bool:
    return all(isinstance(branch, dict) and set(branch) == {"required"} for branch in branches)


def _bare(value: Any) -> str:
    return value if isinstance(value, str) else describe(value)


def _kind(kind: str, schema: Any) -> str:
    if kind == "integer":
        low, high = schema.get("minimum"), schema.get("maximum")
        if low is not None and high is not None:
            return f"an integer from {low} to {high}"
        if low is not None:
            return f"an integer >= {low}"
        return f"an integer <= {high}" if high is not None else "an integer"
    return {
        "boolean": "true or false",
        "string": "text",
        "array": "a list",
        "object": "a mapping",
        "null": "nothing",
        "number": "a number",
    }[kind]
