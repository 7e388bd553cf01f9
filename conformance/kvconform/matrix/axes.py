"""The ``axes`` and ``zip`` sections: what varies, together or alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from kvconform.matrix.model import Axis, value_key
from kvconform.matrix.problems import shown, suggest
from kvconform.matrix.references import Path, references
from kvconform.matrix.report import Report
from kvconform.matrix.rules import describe
from kvconform.matrix.space import Factor, Space

_LONGEST_TOKEN = 60
_TOKEN = re.compile(r"[a-z0-9_.]+")


@dataclass(slots=True)
class _Draft:
    """An axis while its values are gathered; ``keys`` maps `value_key` to position."""

    name: str
    at: int
    data: dict[str, Any]
    values: list[Any] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)
    used_labels: set[str] = field(default_factory=set)
    seen_labels: set[str] = field(default_factory=set)


def read_space(data: dict[str, Any], report: Report) -> Space | None:
    """The axes and how they combine; None if something was wrong, which ``report`` then has."""
    before = len(report.problems)
    drafts: dict[str, _Draft] = {}
    ids: dict[str, str] = {}
    for at, axis in enumerate(data.get("axes", [])):
        name, short = axis["name"], axis["id"]
        if name in drafts:
            report.add(("axes", at, "name"), f"the axis {name!r} is declared twice")
            continue
        if short in ids:
            report.add(
                ("axes", at, "id"),
                f"the axes {ids[short]!r} and {name!r} have the same id {short!r}",
            )
        ids.setdefault(short, name)
        drafts[name] = _Draft(name, at, axis)
    zipped = _read_zip(data.get("zip", []), drafts, report)
    for draft in drafts.values():
        _read_values(draft, zipped, report)
    axes = tuple(_finish(draft, report) for draft in drafts.values())
    if len(report.problems) > before:
        return None
    return Space(axes=axes, factors=_factors(list(drafts), drafts, data.get("zip", [])))


def _read_zip(groups: list[Any], drafts: dict[str, _Draft], report: Report) -> set[str]:
    """Check the coupled axes and gather their values; returns the axes' names."""
    owner: dict[str, int] = {}
    for number, group in enumerate(groups):
        for name in group[0]:
            path: Path = ("zip", number, 0, name)
            if name not in drafts:
                message = f"zip couples the axis {shown(name)}, which is not declared"
                report.add(path, message, suggest(name, drafts), key=True)
            elif name in owner:
                report.add(path, f"the axis {name!r} is coupled twice", key=True)
            elif "values" in drafts[name].data:
                report.add(
                    ("axes", drafts[name].at, "values"),
                    f"the axis {name!r} has values here and in zip",
                    "leave out one of the two",
                    key=True,
                )
            owner.setdefault(name, number)
        mine = [draft for name, draft in drafts.items() if owner.get(name) == number]
        _read_coupled(group, ("zip", number), mine, report)
    return set(owner)


def _read_coupled(group: list[Any], path: Path, drafts: list[_Draft], report: Report) -> None:
    """Gather the values of one list of combinations for the axes of ``drafts``."""
    names = list(group[0])
    seen: set[str] = set()
    for at, entry in enumerate(group):
        wrong = [f"{name!r} is missing" for name in names if name not in entry]
        wrong += [f"{shown(name)} is too many" for name in entry if name not in names]
        if wrong:
            report.add(
                (*path, at),
                f"this entry has other axes than the first of its list: {', '.join(wrong)}",
            )
            continue
        key = value_key({name: _value(entry[name])[0] for name in names})
        if key in seen:
            report.add((*path, at), "this combination stands twice")
        seen.add(key)
        for draft in drafts:
            if "values" not in draft.data:
                _gather(draft, entry[draft.name], (*path, at, draft.name), report, again=True)


def _read_values(draft: _Draft, zipped: set[str], report: Report) -> None:
    if "values" not in draft.data:
        if draft.name not in zipped:
            report.add(
                ("axes", draft.at),
                f"the axis {draft.name!r} has no values",
                "give it values, or couple it in zip",
            )
        return
    for number, value in enumerate(draft.data["values"]):
        _gather(draft, value, ("axes", draft.at, "values", number), report, again=False)


def _value(written: Any) -> tuple[Any, str | None]:
    """Value and label of an entry as written."""
    if isinstance(written, dict):
        return written["value"], written["label"]
    return written, None


def _gather(draft: _Draft, written: Any, path: Path, report: Report, *, again: bool) -> None:
    """Add one value to an axis; ``again`` says that it may come more than once (zip)."""
    value, label = _value(written)
    key = value_key(value)
    if key in draft.keys:
        if not again:
            report.add(path, f"the axis {draft.name!r} has the value {describe(value)} twice")
        elif label is not None and draft.labels[draft.keys[key]] != label:
            report.add(path, f"the axis {draft.name!r} gives {describe(value)} two labels")
        return
    if any(True for _ in references(value)):
        report.add(path, "a value of an axis cannot refer to an axis")
    text = _text(draft, value) if label is None else label
    if not _TOKEN.fullmatch(text) or len(text) > _LONGEST_TOKEN:
        report.add(
            path,
            f"the axis {draft.name!r}: {describe(value)} cannot stand in a row id "
            f"([a-z0-9_.]+, at most {_LONGEST_TOKEN} characters)",
            "give it a label, under labels or as {label: TEXT, value: ...}",
        )
    elif text in draft.seen_labels:
        report.add(
            path,
            f"the axis {draft.name!r}: two values are {text!r} in row ids",
            "give one of them a label",
        )
    draft.keys[key] = len(draft.values)
    draft.values.append(value)
    draft.labels.append(text)
    draft.seen_labels.add(text)


def _text(draft: _Draft, value: Any) -> str:
    written = str(value).lower() if isinstance(value, bool) else str(value)
    labels = draft.data.get("labels", {})
    if written in labels:
        draft.used_labels.add(written)
        return str(labels[written])
    if isinstance(value, bool):
        return "on" if value else "off"
    return written


def _finish(draft: _Draft, report: Report) -> Axis:
    labels = draft.data.get("labels", {})
    for written in labels:
        if written not in draft.used_labels:
            report.add(
                ("axes", draft.at, "labels", written),
                f"the axis {draft.name!r} has no value {shown(written)} to label",
                suggest(written, [str(value) for value in draft.values]),
                key=True,
            )
    axis = Axis(
        name=draft.name,
        id=draft.data["id"],
        values=tuple(draft.values),
        labels=tuple(draft.labels),
    )
    if "default" not in draft.data:
        return axis
    default = axis.find(draft.data["default"])
    if default is None and draft.values:
        report.add(
            ("axes", draft.at, "default"),
            f"default: {describe(draft.data['default'])} is no value of the axis {draft.name!r}",
            suggest(str(draft.data["default"]), axis.labels),
        )
    return Axis(name=axis.name, id=axis.id, values=axis.values, labels=axis.labels, default=default)


def _factors(names: list[str], drafts: dict[str, _Draft], groups: list[Any]) -> tuple[Factor, ...]:
    position = {name: at for at, name in enumerate(names)}
    factors = []
    coupled: set[str] = set()
    for group in groups:
        members = sorted(group[0], key=position.__getitem__)
        coupled.update(members)
        factors.append(
            Factor(
                axes=tuple(position[name] for name in members),
                entries=tuple(
                    tuple(drafts[name].keys[value_key(_value(entry[name])[0])] for name in members)
                    for entry in group
                ),
            )
        )
    factors += [
        Factor(
            axes=(position[name],), entries=tuple((at,) for at in range(len(drafts[name].values)))
        )
        for name in names
        if name not in coupled
    ]
    return tuple(sorted(factors, key=lambda factor: factor.axes[0]))
