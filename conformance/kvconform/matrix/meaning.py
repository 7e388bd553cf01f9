"""Checks of what a matrix says about layouts, parameters and pins, for every distinct value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvconform.matrix.model import build_group, build_layout
from kvconform.matrix.problems import shown, suggest
from kvconform.matrix.references import Path, axes_of, is_reference, references, substitute
from kvconform.matrix.report import Report
from kvconform.matrix.rules import Rules, describe, label
from kvconform.matrix.selection import PinSpec
from kvconform.matrix.space import Point, Space
from kvconform.matrix.traces import check_trace
from kvconform.ports import LayoutError

_POSITIONS = ("needed_at", "left_of", "boundary", "length")
_GROUP = re.compile(r"(?:group|named) '([a-z0-9_]+)'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows under check: their points and, for hints, their ids."""

    space: Space
    points: Sequence[Point]
    ids: Sequence[str]

    def variants(self, *parts: Any) -> Iterator[tuple[Mapping[str, Any], str]]:
        """Distinct values of the axes that ``parts`` refer to, each with a hint at its first row."""
        names = frozenset[str]().union(*map(axes_of, parts))
        if not names:
            yield {}, ""
            return
        for key, first in self.space.distinct(self.points, names).items():
            yield self.space.named(key, names), f"in row [{self.ids[first]}]"


def check_references(
    sections: Mapping[Path, Any], used: set[str], space: Space, report: Report
) -> bool:
    """Whether every reference names an axis; also tells axes neither ``used`` nor referred to."""
    names = [axis.name for axis in space.axes]
    seen = set(used)
    right = True
    for prefix, section in sections.items():
        for path, name in references(section, prefix):
            if name in names:
                seen.add(name)
                continue
            right = False
            if isinstance(name, str):
                report.add((*path, "axis"), f"no axis is named {shown(name)}", suggest(name, names))
            else:
                report.add(
                    (*path, "axis"),
                    f"{label(path)}: expected {{axis: NAME}}, got {describe(name)} as NAME",
                )
    for at, name in enumerate(names):
        if name not in seen:
            hint = f"write {{axis: {name}}} where it belongs"
            report.add(("axes", at, "name"), f"the axis {name!r} is never used", hint)
    return right


def check_values(rules: Rules, value: Any, at: Path, rows: Rows, report: Report) -> bool:
    """Whether ``value`` obeys its schema with the values of every row put in."""
    told: set[tuple[Path, str]] = set()
    for part in rules.parts(value, at):
        for values, hint in rows.variants(part.value):
            put_in = substitute(part.value, values) if values else part.value
            for fault in rules.faults_of(
                type(part)(path=part.path, value=put_in, schema=part.schema)
            ):
                if (fault.path, fault.message) not in told:
                    told.add((fault.path, fault.message))
                    hints = "; ".join(text for text in (fault.hint, hint) if text)
                    report.add(fault.path, fault.message, hints, key=fault.key)
    return not told


def check_layouts(layout: Any, engine: Any, rows: Rows, report: Report) -> None:
    """Every distinct layout is one that an engine could have."""
    groups_path: Path = ("layout", "groups")
    right = True
    for at, group in enumerate(layout["groups"]):
        if {"layers", "layers_by_rank"} <= set(group):
            right = False
            message = "layers_by_rank says how many layers there are"
            report.add((*groups_path, at, "layers"), message, "leave layers out", key=True)
        errors = _layout_errors(
            lambda values, group=group: build_group(substitute(group, values)),  # type: ignore[misc]
            rows,
            group,
        )
        for message, hint in errors.items():
            right = False
            report.add((*groups_path, at), message, hint)
    if not right:
        return
    names = [group["name"] for group in layout["groups"]]
    errors = _layout_errors(
        lambda values: build_layout(substitute(layout, values), substitute(engine, values)),
        rows,
        layout,
        engine,
    )
    for message, hint in errors.items():
        found = _GROUP.search(message)
        if found and found[1] in names:
            last = len(names) - 1 - names[::-1].index(found[1])
            report.add((*groups_path, last), message, hint)
        else:
            report.add(("layout",), message, hint)


def _layout_errors(
    build: Callable[[Mapping[str, Any]], object], rows: Rows, *parts: Any
) -> dict[str, str]:
    """Distinct errors of ``build`` with a hint at a row, unless they come in every row."""
    first: dict[str, str] = {}
    count: dict[str, int] = {}
    variants = 0
    for values, hint in rows.variants(*parts):
        variants += 1
        try:
            build(values)
        except LayoutError as error:
            first.setdefault(str(error), hint)
            count[str(error)] = count.get(str(error), 0) + 1
    return {
        message: "" if count[message] == variants > 1 else hint for message, hint in first.items()
    }


def check_given(
    given: Mapping[str, Any],
    layout: Mapping[str, Any],
    engine: Mapping[str, Any],
    rows: Rows,
    report: Report,
) -> None:
    """What a schema cannot see: positions inside the prompt, names of groups, events of traces."""
    _check_prompt(given, rows, report)
    check_trace(given, layout, engine, rows, report)
    groups = [group["name"] for group in layout["groups"]]
    for path, value in _chunks(given.get("chunks"), ("given", "chunks")):
        for values, hint in rows.variants(value):
            for inner, name in _group_names(substitute(value, values), path):
                if name not in groups:
                    hints = "; ".join(text for text in (suggest(name, groups), hint) if text)
                    report.add(inner, f"no group of the layout is named {shown(name)}", hints)


def _chunks(chunks: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The smallest pieces of a list of chunks that decide which groups they name."""
    if is_reference(chunks):
        yield path, chunks
    elif isinstance(chunks, list):
        for at, chunk in enumerate(chunks):
            yield from _chunks(chunk, (*path, at))
    elif isinstance(chunks, dict) and "group" in chunks:
        yield path, {"group": chunks["group"]}


def _group_names(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, list):
        for at, item in enumerate(value):
            yield from _group_names(item, (*path, at))
    elif isinstance(value, dict) and isinstance(value.get("group"), str):
        yield (*path, "group"), value["group"]


def _check_prompt(given: Mapping[str, Any], rows: Rows, report: Report) -> None:
    if "prompt_tokens" not in given:
        return
    prompt = given["prompt_tokens"]
    places = list(_positions(given, ("given",)))
    referred = {name for _, value in places for name in axes_of(value)}
    for at, axis in enumerate(rows.space.axes):
        if axis.name == "boundary" and axis.name not in referred:
            places.append((("axes", at, "boundary"), {"axis": axis.name}))
    told: set[tuple[Path, int, int]] = set()
    for path, value in places:
        for values, hint in rows.variants(prompt, value):
            tokens = substitute(prompt, values)
            for inner, position in _positions(substitute(value, values), path):
                too_far = _is_int(tokens) and _is_int(position) and position > tokens
                if too_far and (inner, position, tokens) not in told:
                    told.add((inner, position, tokens))
                    what = "an image" if inner[-1] == "length" else "a boundary"
                    report.add(
                        inner, f"{what} past the prompt: {position} of {tokens} tokens", hint
                    )


def _positions(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Every place of a number of tokens, or of what refers to axes and may hold some."""
    if is_reference(value) or (_is_extent(value) and axes_of(value)):
        yield path, value
    elif _is_extent(value):
        if _is_int(value["start"]) and _is_int(value["length"]):
            yield (*path, "length"), value["start"] + value["length"]
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _positions(item, (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _positions(item, (*path, at))
    elif path[-1] in _POSITIONS or "consumers" in path:
        yield path, value


def _is_extent(value: Any) -> bool:
    """Whether it is what has a start and a length in tokens, such as an image."""
    return isinstance(value, dict) and {"start", "length"} <= set(value)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def check_pins(
    pins: Sequence[PinSpec],
    decided: Sequence[Rows],
    groups: Sequence[str],
    rules: Rules,
    report: Report,
) -> None:
    """Pinned values are of the right kind in the rows that they decide, and name groups."""
    for pin, rows in zip(pins, decided, strict=True):
        expected = {key: value for key, value in pin.data.items() if key != "when"}
        check_values(rules, expected, pin.path, rows, report)
        for key in ("stored", "loaded"):
            for name in expected.get(key, {}):
                if name not in groups:
                    report.add(
                        (*pin.path, key, name),
                        f"no group of the layout is named {shown(name)}",
                        suggest(name, groups),
                        key=True,
                    )
