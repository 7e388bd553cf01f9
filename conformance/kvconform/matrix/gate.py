"""The registry gate: whatever is registered in code is exercised by a matrix, or exempt for a reason."""

from __future__ import annotations

import importlib.metadata
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kvconform import resources
from kvconform.contract.clauses import CHECKS, CLAUSES
from kvconform.contract.field_classes import FIELD_CLASS, FIELD_CLASSES
from kvconform.matrix.model import Matrix
from kvconform.matrix.references import is_reference
from kvconform.matrix.scenario import load_scenario, scenario_names
from kvconform.ports import (
    Capability,
    ChunkState,
    GroupKind,
    KvconformError,
    Scheduling,
    StoreCapability,
)
from kvconform.registry import GROUP, Listed, list_mutants

_EXEMPT = "exempt.toml"
"""The file beside the shipped matrices that says what they leave out, and why that is right."""

_STORE_CLAIM = "store claim"
_BY = {
    "clause": "mutant declares",
    FIELD_CLASS: "mutant stands for",
    _STORE_CLAIM: "mutant claims and does not keep",
}
"""What exercises the kinds that are not exercised by a matrix."""

_DISTRIBUTION = "kvconform"
_TESTED = "reference"


class GateError(KvconformError):
    """Something is registered that nothing exercises: one line for each."""


def unexercised(matrices: Sequence[Matrix]) -> list[str]:
    """One line for everything registered that ``matrices`` leave out and no exemption names.

    An exemption that is not needed is told too.
    """
    used = {(kind, name) for matrix in matrices for kind, name in _used(matrix)}
    used.add(("connector", _TESTED))
    used.update(used_by_mutants(list_mutants()))
    registered = {(kind, name) for kind, names in _registered().items() for name in names}
    exempt = exemptions()
    told = [
        f"no {_BY.get(kind, 'matrix exercises')} the {kind} {name!r}: write one, or exempt it with a reason"
        for kind, name in sorted(registered - used - set(exempt))
    ]
    told += [
        f"the {kind} {name!r} is exempt ({reason}) and "
        + ("exercised" if (kind, name) in used else "not registered")
        for (kind, name), reason in sorted(exempt.items())
        if (kind, name) in used or (kind, name) not in registered
    ]
    return told


def exemptions() -> dict[tuple[str, str], str]:
    """Reasons by kind and name, from the file beside the shipped matrices."""
    text = (resources.matrix_dir() / _EXEMPT).read_text(encoding="utf-8")
    return {
        (kind, name): reason
        for kind, reasons in tomllib.loads(text).items()
        for name, reason in reasons.items()
    }


def used_by_mutants(mutants: Iterable[Listed]) -> Iterator[tuple[str, str]]:
    """Clauses that mutants declare, classes of field reports that they stand for, claims unkept."""
    for kind, key in (("clause", "clause"), (FIELD_CLASS, "classes"), (_STORE_CLAIM, "unkept")):
        for mutant in mutants:
            for name in filter(None, mutant.describe.get(key, "").split(",")):
                yield kind, name.strip()


def _connectors() -> Iterator[str]:
    """Names of the providers that come with the suite; those of others are theirs to run."""
    for point in importlib.metadata.distribution(_DISTRIBUTION).entry_points:
        if point.group == GROUP:
            yield point.name


def _registered() -> dict[str, Iterable[str]]:
    """Names of everything that a matrix can speak of, by kind."""
    return {
        "group kind": [kind.value for kind in GroupKind],
        "chunk state": [state.value for state in ChunkState],
        "scheduling": [scheduling.value for scheduling in Scheduling],
        "capability": [capability.value for capability in Capability],
        "check": list(CHECKS),
        "scenario": scenario_names(()),
        "connector": _connectors(),
        "event": _events(load_scenario("trace").schema),
        "clause": list(CLAUSES),
        FIELD_CLASS: list(FIELD_CLASSES),
        _STORE_CLAIM: [capability.value for capability in StoreCapability],
    }


def _events(schema: Mapping[str, Any]) -> Iterator[str]:
    """Names of the kinds of events that a trace may have, as its schema lists them."""
    yield from schema["$defs"]["word"]["enum"]
    yield from schema["$defs"]["event"]["properties"]


def _used(matrix: Matrix) -> Iterator[tuple[str, str]]:
    """What one matrix exercises, by kind and name."""
    yield "scenario", matrix.scenario
    yield from (("capability", name) for name in matrix.requires)
    for check in load_scenario(matrix.scenario).checks:
        yield "check", check
        yield from (("capability", need.value) for need in CHECKS[check].needs)
    values = {axis.name: axis.values for axis in matrix.axes}
    for key, value in _items(matrix.document, values):
        if key in _KINDS and isinstance(value, str):
            # The state of a chunk that is there is also called present.
            yield _KINDS[key], "ready" if value == "present" else value
            if key == "state" and value in _JUDGED_BY_STATE:
                yield "capability", _JUDGED_BY_STATE[value].value
        elif key == "eagle" and value is True:
            yield "capability", Capability.EAGLE.value
    for event in matrix.document["given"].get("events", ()):
        yield from (("event", name) for name in ([event] if isinstance(event, str) else event))


_JUDGED_BY_STATE = {"pending": Capability.LATER, "loading": Capability.DEDUP_LOADS}
"""Claims that say what the best answer is while a chunk is in such a state."""

_KINDS = {"kind": "group kind", "state": "chunk state", "scheduling": "scheduling"}
"""What the values of these keys are the names of."""


def _items(node: Any, values: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, Any]]:
    """Every key with its value, and with each value of the axis that it refers to."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            for one in values[value["axis"]] if is_reference(value) else [value]:
                yield key, one
                yield from _items(one, values)
    elif isinstance(node, list | tuple):
        for one in node:
            for inner in values[one["axis"]] if is_reference(one) else [one]:
                yield from _items(inner, values)
