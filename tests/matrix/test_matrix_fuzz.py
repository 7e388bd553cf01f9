"""No text whatever gives anything but a matrix or a `MatrixError` with positions in the file."""

from __future__ import annotations

import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvconform.matrix import MatrixError, document, load_matrix

RELAXED = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 5000)
    | st.floats(allow_nan=True)
    | st.sampled_from(
        ["later", "all", "window", "eagle", "swa", "full", "on", "017", "", "\u2028", "admission"]
    )
    | st.text(max_size=8)
)
keys = st.sampled_from(
    [
        "axis",
        "label",
        "value",
        "window",
        "eagle",
        "when",
        "then",
        "group",
        "state",
        "index",
        "needed_at",
        "name",
        "id",
    ]
) | st.text(max_size=5)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=8,
)
yamlish = st.text(st.sampled_from("ab:-[]{}&*!|>?,#'\"%@ \n\t01.~<")) | st.text()


def judge(raw: bytes, templates: Path) -> None:
    """Load ``raw``: a matrix whose cases can all be built, or problems inside the text."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.yaml"
        path.write_bytes(raw)
        try:
            matrix = load_matrix(path, templates=[templates])
        except MatrixError as error:
            assert error.problems  # noqa: PT017 - either outcome is right, and judged
            lines = raw.count(b"\n") + raw.count(b"\r") + 1
            for problem in error.problems:
                # YAML has more line breaks than bytes have, so only texts without them are exact.
                assert problem.line >= 1
                assert problem.column >= 1
                assert problem.line <= lines or not raw.isascii()
                assert "\n" not in str(problem)
                assert "is not valid under any" not in str(problem)
        else:
            assert matrix.rows
            for row in matrix.rows[:20]:
                assert matrix.case(row).id == f"{matrix.name}[{row.id}]"


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
@given(text=yamlish)
@RELAXED
def test_any_text(text: str, loader: str, templates: Path) -> None:
    """Random text, with and without libyaml."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document, "_LOADER", getattr(yaml, loader))
        judge(text.encode("utf-8", "surrogatepass"), templates)


@given(raw=st.binary())
@RELAXED
def test_any_bytes(raw: bytes, templates: Path) -> None:
    """Random bytes."""
    judge(raw, templates)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in items:
        found += _places(item, (*path, key))
    return found


FULL: dict[str, Any] = yaml.safe_load("""
format: 1
name: full
title: Every section
scenario: admission
clauses: [COV-1]
requires: [eagle]
source: here
layout:
  hash_block: 8
  groups:
    - {name: full, kind: full, block_size: 16}
    - {name: swa, kind: sliding, block_size: 8, window: {axis: window}, extra_retained: {axis: keep}, eagle: {axis: eagle}}
engine: {scheduling: {axis: sched}, max_batched_tokens: 64}
given:
  prompt_tokens: 64
  boundary: {axis: boundary}
  chunks:
    - {needed_at: {axis: boundary}, state: ready}
    - {group: swa, left_of: 16, state: {axis: left}}
axes:
  - {name: window, id: win}
  - {name: keep, id: keep}
  - {name: eagle, id: eagle, values: [false, true], default: false, labels: {true: draft}}
  - {name: boundary, id: bound, values: [16, {label: far, value: 64}]}
  - {name: left, id: left, values: [ready, missing]}
  - {name: sched, id: sched, values: [sync, async]}
zip: [[{window: 8, keep: 0}, {window: 16, keep: 1}]]
exclude: [{when: {eagle: [true]}, then: {boundary: [16]}}]
select: {sample: 9, seed: 3}
expect: {pins: [{when: {left: [missing]}, verdict: 0}, {verdict: {axis: boundary}, stored: {swa: [1]}}]}
""")
PLACES = _places(FULL)[1:]


@given(data=st.data())
@RELAXED
def test_spoiled_matrices(data: st.DataObject, templates: Path) -> None:
    """A full matrix with some values replaced, removed or renamed."""
    matrix = copy.deepcopy(FULL)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(PLACES))
        parent: Any = matrix
        try:
            for step in path[:-1]:
                parent = parent[step]
            old = parent[path[-1]]
        except (KeyError, IndexError, TypeError):
            continue
        if not isinstance(parent, dict | list):
            continue
        action = data.draw(st.sampled_from(["replace", "replace", "remove", "rename", "swap"]))
        if action == "remove":
            del parent[path[-1]]
        elif action == "rename" and isinstance(parent, dict):
            parent[data.draw(keys)] = parent.pop(path[-1])
        elif action == "swap":
            other: Any = FULL
            for step in data.draw(st.sampled_from(PLACES)):
                other = other[step]
            parent[path[-1]] = copy.deepcopy(other)
        else:
            parent[path[-1]] = data.draw(values | st.just([old, old]))
    judge(yaml.safe_dump(matrix, allow_unicode=True).encode("utf-8", "surrogatepass"), templates)


def test_the_full_matrix_is_valid(templates: Path) -> None:
    """What the test above spoils is right to begin with, else it would prove nothing."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.yaml"
        path.write_text(yaml.safe_dump(FULL), encoding="utf-8")
        assert len(load_matrix(path, templates=[templates]).rows) == 9
