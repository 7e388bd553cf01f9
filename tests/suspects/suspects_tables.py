"""Small tables with outcomes, and what brute force says about them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, combinations, product

from hypothesis import strategies as st

from kvconform.matrix.model import Axis
from kvconform.suspects import Condition, Outcomes, Row, Table


def axis(name: str, *values: object) -> Axis:
    """An axis whose labels are its values as texts."""
    return Axis(name=name, id=name, values=values, labels=tuple(map(str, values)))


def table(axes: Iterable[Axis], points: Iterable[tuple[int | None, ...]]) -> Table:
    """A table of rows named by their value positions."""
    rows = tuple(Row(id=named(point), positions=point) for point in points)
    return Table(axes=tuple(axes), rows=rows)


def named(point: tuple[int | None, ...]) -> str:
    """The id of a row: ``0-2--``, without a digit for an axis that it lacks."""
    return "-".join("" if at is None else str(at) for at in point)


def outcomes(whole: Table, fails, runs=lambda _: True) -> Outcomes:
    """Outcomes of the rows that ``runs`` picks by their positions; ``fails`` says which fail."""
    run = [row for row in whole.rows if runs(row.positions)]
    return Outcomes.of(
        whole,
        failed=[row.id for row in run if fails(row.positions)],
        passed=[row.id for row in run if not fails(row.positions)],
    )


@st.composite
def some_outcomes(draw: st.DrawFn) -> Outcomes:
    """Up to 9 rows of up to 3 axes, some of which lack an axis, and how some of them ended."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    cells = st.tuples(*(st.none() | st.integers(0, size - 1) for size in sizes))
    points = draw(st.lists(cells, min_size=1, max_size=9, unique=True))
    whole = table([axis(f"x{at}", *range(size)) for at, size in enumerate(sizes)], points)
    ends = st.lists(
        st.sampled_from(["failed", "passed", "open"]),
        min_size=len(points),
        max_size=len(points),
    ).filter(lambda drawn: "failed" in drawn)
    drawn = dict(zip(map(named, points), draw(ends), strict=True))
    return Outcomes.of(
        whole,
        failed=[row for row, end in drawn.items() if end == "failed"],
        passed=[row for row, end in drawn.items() if end == "passed"],
    )


def fewest(known: Outcomes, alternatives: int, order: int) -> tuple[int, int] | None:
    """By brute force: alternatives and axes of the smallest exact explanation, if there is one."""
    whole = known.table
    sizes: dict[int, int] = {}
    for size in range(order + 1):
        for conjunction in _conjunctions(whole, size):
            rows = whole.meeting(conjunction)
            if not rows & known.passed:
                sizes.setdefault(rows & known.failed, size)
    reached = {0: 0}
    for count in range(1, alternatives + 1):
        further: dict[int, int] = {}
        for (covered, axes), (rows, size) in product(reached.items(), sizes.items()):
            both = covered | rows
            further[both] = min(further.get(both, axes + size), axes + size)
        reached = further
        if known.failed in reached:
            return count, reached[known.failed]
    return None


def fewest_exceptions(known: Outcomes) -> int:
    """By brute force: passing rows that meet a conjunction which all failing rows meet."""
    whole = known.table
    every = chain.from_iterable(_conjunctions(whole, size) for size in range(len(whole.axes) + 1))
    return min(
        (whole.meeting(one) & known.passed).bit_count()
        for one in every
        if not known.failed & ~whole.meeting(one)
    )


def _conjunctions(whole: Table, size: int) -> Iterable[tuple[Condition, ...]]:
    for axes in combinations(range(len(whole.axes)), size):
        yield from product(*(_conditions(whole, one) for one in axes))


def _conditions(whole: Table, at: int) -> list[Condition]:
    values = range(len(whole.axes[at].values) + 1)
    return [(at, chosen) for count in values for chosen in combinations(values, count + 1)]
