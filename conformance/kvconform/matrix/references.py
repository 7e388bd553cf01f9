"""``{axis: NAME}``: the one way in which a matrix says "this row's value"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Path = tuple[str | int, ...]


def is_reference(value: object) -> bool:
    """Whether ``value`` is ``{axis: ...}`` and nothing else."""
    return isinstance(value, dict) and len(value) == 1 and "axis" in value


def references(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Path and axis name of every reference inside ``value`` (the name as written, not checked)."""
    if is_reference(value):
        yield path, value["axis"]
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from references(item, (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from references(item, (*path, at))


def axes_of(value: Any) -> frozenset[str]:
    """Names of the axes that ``value`` depends on."""
    return frozenset(name for _, name in references(value))


def substitute(value: Any, values: Mapping[str, Any]) -> Any:
    """A copy of ``value`` in which every reference is replaced by the axis's value."""
    if isinstance(value, dict):
        if is_reference(value):
            return _copy(values[value["axis"]])
        return {key: substitute(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [substitute(item, values) for item in value]
    return value


def _copy(value: Any) -> Any:
    """A value of its own for each case, so that no case can change another's."""
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value
