"""Axes become rows: their order, their ids, what is excluded and what is sampled."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvconform.matrix import Matrix
from kvconform.matrix.space import sample

Load = Callable[[str], Matrix]


def ids(matrix: Matrix) -> list[str]:
    """The row ids in order."""
    return [row.id for row in matrix.rows]


def test_product_order_and_ids(load: Load, tiny: str) -> None:
    """Rows are all combinations in declared order, the last axis fastest, booleans as on and off."""
    matrix = load(tiny)
    assert ids(matrix) == [
        "win.8-eagle.off",
        "win.8-eagle.on",
        "win.16-eagle.off",
        "win.16-eagle.on",
    ]
    assert [row.values for row in matrix.rows[:2]] == [
        {"window": 8, "eagle": False},
        {"window": 8, "eagle": True},
    ]
    assert {row.line for row in matrix.rows} == {14}


def test_no_axes(load: Load, tiny: str) -> None:
    """A matrix without axes has one row, called ``only``, at the line of its name."""
    text = (
        tiny[: tiny.index("axes:")].replace("{axis: window}", "8").replace("{axis: eagle}", "true")
    )
    matrix = load(text)
    assert ids(matrix) == ["only"]
    assert matrix.rows[0].line == 2
    assert matrix.case(matrix.rows[0]).id == "tiny[only]"


def test_default_keeps_old_ids(load: Load, tiny: str) -> None:
    """An axis added later leaves the ids of the rows that were there as they are."""
    before = ids(load(tiny))
    added = "  - {name: world, id: world, values: [1, 2], default: 1}\n"
    after = ids(
        load(tiny.replace("  hash_block: 8", "  hash_block: 8\n  world: {axis: world}") + added)
    )
    assert [one for one in after if "world" not in one] == before
    assert [one for one in after if "world" in one] == [f"{one}-world.2" for one in before]


def test_all_defaults(load: Load, tiny: str) -> None:
    """A row with every axis at its default is called ``only``."""
    text = tiny.replace("[8, 16]", "[8, 16], default: 16").replace(
        "[false, true]", "[false, true], default: true"
    )
    assert ids(load(text)) == ["win.8-eagle.off", "win.8", "eagle.off", "only"]


def test_labels(load: Load, tiny: str) -> None:
    """A label stands in ids for a value that cannot; the row has the value itself."""
    text = tiny.replace("[8, 16]", "[8, {label: wide, value: 16}], labels: {8: narrow}")
    text = text.replace("[false, true]", "[false, true], labels: {true: draft}")
    matrix = load(text)
    assert ids(matrix) == [
        "win.narrow-eagle.off",
        "win.narrow-eagle.draft",
        "win.wide-eagle.off",
        "win.wide-eagle.draft",
    ]
    assert matrix.rows[3].values == {"window": 16, "eagle": True}


def test_zip(load: Load, tiny: str) -> None:
    """Coupled axes vary together, at the place of the first of them; ids keep declared order."""
    text = tiny.replace(", values: [8, 16]", "") + (
        "  - {name: keep, id: keep}\nzip:\n  - [{keep: 3, window: 16}, {keep: 0, window: 8}, {keep: 1, window: 16}]\n"
    )
    matrix = load(
        text.replace("eagle: {axis: eagle}}", "eagle: {axis: eagle}, extra_retained: {axis: keep}}")
    )
    assert ids(matrix) == [
        "win.16-eagle.off-keep.3",
        "win.16-eagle.on-keep.3",
        "win.8-eagle.off-keep.0",
        "win.8-eagle.on-keep.0",
        "win.16-eagle.off-keep.1",
        "win.16-eagle.on-keep.1",
    ]
    assert list(matrix.rows[0].values) == ["window", "eagle", "keep"]
    assert [axis.values for axis in matrix.axes] == [(16, 8), (False, True), (3, 0, 1)]


def test_exclude(load: Load, tiny: str) -> None:
    """A row is left out if it is in every set of ``when`` and ``then``."""
    exclude = "exclude: [{when: {eagle: [true]}, then: {window: [8]}}]\n"
    assert ids(load(exclude + tiny)) == ["win.8-eagle.off", "win.16-eagle.off", "win.16-eagle.on"]
    exclude = "exclude: [{when: {eagle: [true]}}]\n"
    assert ids(load(exclude + tiny)) == ["win.8-eagle.off", "win.16-eagle.off"]


def test_exclude_of_coupled_axes(load: Load, tiny: str) -> None:
    """Sets of coupled axes are met by one combination, not by parts of two."""
    text = tiny.replace(", values: [8, 16]", "").replace(", values: [false, true]", "") + (
        "zip:\n  - [{window: 8, eagle: true}, {window: 16, eagle: false}, {window: 16, eagle: true}]\n"
        "exclude: [{when: {window: [16]}, then: {eagle: [true]}}]\n"
    )
    assert ids(load(text)) == ["win.8-eagle.on", "win.16-eagle.off"]


def test_sample_is_stable(load: Load, tiny: str) -> None:
    """The same seed gives the same rows, in product order, on every Python."""
    assert ids(load(tiny + "select: {sample: 2, seed: 1}\n")) == [
        "win.8-eagle.on",
        "win.16-eagle.on",
    ]
    assert sample([f"r.{at}" for at in range(20)], 5, 7) == [2, 3, 5, 6, 7]


@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 5))
def test_sample_grows(rows: int, count: int, seed: int) -> None:
    """A larger sample contains the smaller one, and a longer list keeps what it still has room for."""
    names = [f"row.{at}" for at in range(rows)]
    few, more = sample(names, count, seed), sample(names, count + 1, seed)
    assert set(few) <= set(more)
    assert few == sorted(few)
    assert len(few) == min(count, rows)
    longer = sample([*names, "new"], count, seed)
    assert set(longer) - {rows} <= set(few)


@pytest.mark.parametrize("text", ["select: all\n", "expect: oracle\n", "engine: {}\n"])
def test_optional_sections(load: Load, tiny: str, text: str) -> None:
    """Sections may be written out with what they mean when left out."""
    assert ids(load(tiny + text)) == ids(load(tiny))
