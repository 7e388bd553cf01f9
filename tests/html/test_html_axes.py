"""Axes of recorded cases, the two that tell most, and what a lookup lacked."""

from __future__ import annotations

import pytest
from html_records import scene

from kvconform.results.html.axes import grid_of, label, telling_axes
from kvconform.results.html.text import name, visible
from kvconform.results.html.tracks import missing
from kvconform.results.scene import GroupShape, Picture, Track


def _cases(**axes: list[object]) -> list[dict[str, object]]:
    """Every combination of the values."""
    cases: list[dict[str, object]] = [{}]
    for axis, values in axes.items():
        cases = [{**case, axis: value} for case in cases for value in values]
    return cases


def _names(cases: list[dict[str, object]], failed: list[bool]) -> list[str]:
    grid = grid_of(cases)
    return [grid.axes[at].name for at in telling_axes(grid, failed)]


def test_numbers_are_in_order_and_other_values_as_they_come() -> None:
    """Also where cases came in another order; values of unlike types are not one."""
    cases = [
        {"n": 30, "s": "b"},
        {"n": 4, "s": "a"},
        {"n": 4.5, "s": ["a", 1]},
        {"s": True},
        {"s": "true"},
    ]
    grid = grid_of(cases)
    assert [axis.values for axis in grid.axes] == [
        ("4", "4.5", "30"),
        ("b", "a", '["a", 1]', "true", "true"),
    ]
    assert grid.positions == ((2, 0), (0, 1), (1, 2), (-1, 3), (-1, 4))


def test_two_axes_that_tell_failures_apart_come_first() -> None:
    """A failure that needs two values is told by both axes, the longer one as rows."""
    cases = _cases(noise=[1, 2, 3], window=[128, 256], other=["x", "y"], bound=[1, 2, 3, 4])
    failed = [case["window"] == 256 and case["bound"] == 3 for case in cases]
    assert _names(cases, failed) == ["bound", "window"]


def test_an_axis_of_many_values_does_not_win_by_their_number() -> None:
    """A number of its own for each case says everything about these cases and nothing of others."""
    cases = [
        {**case, "seed": at}
        for at, case in enumerate(_cases(window=[128, 256], left=["a", "b", "c"], n=[1, 2, 3, 4]))
    ]
    failed = [case["window"] == 256 and case["left"] == "b" for case in cases]
    assert _names(cases, failed) == ["left", "window"]


@pytest.mark.parametrize(
    ("cases", "axes"),
    [([{}], []), ([{"a": 1}], ["a"]), ([{"a": 1, "b": 1}, {"a": 1, "b": 2}], ["b", "a"])],
)
def test_few_axes(cases: list[dict[str, object]], axes: list[str]) -> None:
    """One or none is enough for a map; one with several values goes first."""
    assert _names(cases, [False] * len(cases)) == axes


def test_without_failures_the_first_axes_are_taken() -> None:
    """They are as good as any."""
    cases = _cases(a=[1, 2], b=[1, 2], c=[1, 2])
    assert _names(cases, [False] * len(cases)) == ["a", "b"]


def test_labels() -> None:
    """Short, on one line."""
    assert [label(value) for value in ("x", 3, None, False, {"a": [1]})] == [
        "x",
        "3",
        "null",
        "false",
        '{"a": [1]}',
    ]
    assert label("a\nb") == "a\\nb"


def test_what_cannot_be_seen_is_written_out() -> None:
    """Controls, surrogates and marks of direction; letters and spaces of any script stay."""
    assert (
        visible("a\x1b[0m\x00\u202e\ud800\r\nb\rc\u2028")
        == "a\\x1b[0m\\x00\\u202e\\ud800\nb\\x0dc\\u2028"
    )
    assert visible("Ünïcødé \u05d0\u00a0漢字\t😀") == "Ünïcødé \u05d0\u00a0漢字\t😀"
    assert visible("abcdef", 4) == "abcd (and 2 more characters)"
    assert name("a\tb") == "a\\tb"


SHAPE = GroupShape(name="swa", kind="sliding", block_tokens=8, chunk_tokens=16, window=24)


def _picture(expected: int | None, track: Track) -> Picture:
    return Picture(
        answer=0,
        request="r",
        num_tokens=99,
        local_tokens=0,
        expected=expected,
        got=96,
        tracks=(track,),
    )


@pytest.mark.parametrize(
    ("track", "lacking"),
    [
        (Track(group="swa", needed=((56, 96),), verified=((48, 96),), stored=((64, 96),)), ((48, 64),)),
        (Track(group="swa", needed=((56, 96),), verified=((48, 96),), stored=((56, 96),)), ()),
        (Track(group="swa", needed=((56, 96),), verified=((48, 96),), stored=((60, 96),)), ((56, 60),)),
        (Track(group="swa", needed=((64, 96),), verified=((64, 112),), stored=((64, 96),)), ((96, 112),)),
        (Track(group="swa", needed=((64, 96),), verified=((64, 96),), stored=((64, 80),), in_flight=((80, 96),)), ()),
    ],
    ids=["whole chunk", "part that nobody needs", "part that is needed", "dropped tail", "on its way"],
)  # fmt: skip
def test_what_a_lookup_lacked(track: Track, lacking: tuple[tuple[int, int], ...]) -> None:
    """Needed tokens, and chunks to be verified of which there was nothing."""
    assert missing(track, SHAPE, _picture(0, track)) == lacking
    assert missing(track, SHAPE, _picture(None, track)) == ()


def test_the_boundary_that_is_drawn() -> None:
    """That of the hit which was expected."""
    assert scene().pictures[0].drawn_boundary == 96
