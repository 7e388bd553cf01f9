"""Checks of what a matrix says about layouts, parameters and pins, for every distinct value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvconform.matrix.model import build_group, build_layout
from kvconform.matrix.problems import shown, suggest
from kvconform.matrix.references import Path, axes_of, is_reference, references, substitute
from kvconform.matrix.report import Report
from kvconform.matrix.rules import Rules, label
from kvconform.matrix.selection import PinSpec
from kvconform.matrix.space import Point, Space
from kvconform.ports import LayoutError

_POSITIONS = ("needed_at", "left_of", "boundary")
_GROUP = re.compile(r"group '([a-z0-9_]+)'")


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
) -> None:
    """Every reference names an axis, and every axis is ``used`` or referred to."""
    names = [axis.name for axis in space.axes]
    seen = set(used)
    for prefix, section in sections.items():
        for path, name in references(section, prefix):
            if isinstance(name, str) and name in names:
                seen.add(name)
            elif isinstance(name, str):
                report.add((*path, "axis"), f"no axis is named {shown(name)}", suggest(name, names))
            else:
                report.add((*path, "axis"), f"{label(path)}: expected {{axis: NAME}}")
    for at, name in enumerate(names):
        if name not in seen:
            report.add(
                ("axes", at, "name"),
                f"the axis {name!r} is never used",
                f"write {{axis: {name}}} where it belongs",
            )


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
    told: set[str] = set()

    def tell(path: Path, error: LayoutError, hint: str) -> None:
        if str(error) not in told:
            told.add(str(error))
            report.add(path, str(error), hint)

    groups_path: Path = ("layout", "groups")
    for at, group in enumerate(layout["groups"]):
        for values, hint in rows.variants(group):
            try:
                build_group(substitute(group, values))
            except LayoutError as error:
                tell((*groups_path, at), error, hint)
    if told:
        return
    names = [group["name"] for group in layout["groups"]]
    for values, hint in rows.variants(layout, engine):
        try:
            build_layout(substitute(layout, values), substitute(engine, values))
        except LayoutError as error:
            found = _GROUP.search(str(error)) or re.search("named '([a-z0-9_]+)'", str(error))
            if found and found[1] in names:
                last = len(names) - 1 - names[::-1].index(found[1])
                tell((*groups_path, last), error, hint)
            else:
                tell(("layout",), error, hint)


def check_given(
    given: Mapping[str, Any], groups: Sequence[str], rows: Rows, report: Report
) -> None:
    """What a schema cannot see: positions inside the prompt, and names of groups."""
    _check_prompt(given, rows, report)
    chunks = given.get("chunks")
    if not isinstance(chunks, list):
        return
    for at, chunk in enumerate(chunks):
        if not isinstance(chunk, dict) or is_reference(chunk) or "group" not in chunk:
            continue
        path: Path = ("given", "chunks", at, "group")
        for values, hint in rows.variants(chunk["group"]):
            name = substitute(chunk["group"], values)
            if name not in groups:
                hints = "; ".join(text for text in (suggest(str(name), groups), hint) if text)
                report.add(path, f"no group of the layout is named {shown(name)}", hints)


def _check_prompt(given: Mapping[str, Any], rows: Rows, report: Report) -> None:
    if "prompt_tokens" not in given:
        return
    prompt = given["prompt_tokens"]
    places = list(_positions(given, ("given",)))
    referred = {name for _, value in places for name in axes_of(value)}
    for at, axis in enumerate(rows.space.axes):
        if axis.name == "boundary" and axis.name not in referred:
            places.append((("axes", at), {"axis": axis.name}))
    for path, value in places:
        told: set[Any] = set()
        for values, hint in rows.variants(prompt, value):
            tokens, position = substitute(prompt, values), substitute(value, values)
            if (
                not _is_int(tokens)
                or not _is_int(position)
                or position <= tokens
                or position in told
            ):
                continue
            told.add(position)
            report.add(path, f"a boundary past the prompt: {position} of {tokens} tokens", hint)


def _positions(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and not is_reference(value):
        for key, item in value.items():
            if key in _POSITIONS:
                yield (*path, key), item
            elif key == "consumers" and isinstance(item, list):
                yield from (((*path, key, at), one) for at, one in enumerate(item))
            else:
                yield from _positions(item, (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _positions(item, (*path, at))


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
