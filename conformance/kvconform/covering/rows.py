"""Rows that cover what is missing: greedy building, and sweeps that make rows superfluous."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kvconform.covering.constraints import NO_ROW, Constraints
from kvconform.covering.model import Row
from kvconform.covering.prng import SplitMix
from kvconform.covering.tuples import Tuples, TupleSet

Renewal = Callable[[Row, int, TupleSet], Row]
"""Makes a row of an old one, the state that fixes the values it must keep, and missing tuples."""


class Builder:
    """Builds valid rows, each with as many of the tuples still missing as it finds."""

    def __init__(self, constraints: Constraints, tuples: Tuples, prng: SplitMix) -> None:
        self._constraints = constraints
        self._tuples = tuples
        self._prng = prng

    def fill(self, covered: TupleSet) -> Iterator[Row]:
        """Rows that hold every tuple outside ``covered`` that a valid row can hold.

        Each is built around the first tuple still missing; one that no row can hold is passed by.
        """
        missing = self._tuples.everything & ~covered
        while missing:
            target, values = self._tuples.first(missing)
            state = self._constraints.root
            for factor, value in values:
                state = self._constraints.assign(state, factor, value)
            if self._constraints.feasible(state):
                row = self._build(state, missing) or self._constraints.simplest(state)
                missing &= ~self._tuples.held(row)
                yield row
            else:
                missing ^= target

    def sweep(self, rows: Sequence[Row], covered: TupleSet) -> list[Row]:
        """As many rows or fewer that hold, outside ``covered``, what ``rows`` hold or more.

        Those that alone hold the most tuples come first. Each takes over what it can from the ones
        behind it, so that the last ones become superfluous.
        """
        held = [self._tuples.held(row) for row in rows]
        once, twice = covered, 0
        for tuples in held:
            twice |= once & tuples
            once |= tuples
        order = sorted(
            self._prng.permutation(len(rows)), key=lambda at: -(held[at] & ~twice).bit_count()
        )

        def rebuild(row: Row, state: int, missing: TupleSet) -> Row:
            return self._build(state, missing) or row

        return self._renewed([rows[at] for at in order], covered, rebuild)

    def settle(self, rows: Sequence[Row], covered: TupleSet) -> list[Row]:
        """The rows with the simplest values wherever the value does not matter, each row needed."""

        def simplify(_row: Row, state: int, _missing: TupleSet) -> Row:
            return self._constraints.simplest(state)

        def keep(row: Row, _state: int, _missing: TupleSet) -> Row:
            return row

        return self._renewed(self._renewed(rows, covered, simplify), covered, keep)

    def _renewed(self, rows: Sequence[Row], covered: TupleSet, renew: Renewal) -> list[Row]:
        """The rows renewed one by one, without those whose tuples others hold by then.

        A row must keep the tuples that neither the renewed rows before it nor the rows behind hold.
        """
        needed = []
        behind = 0
        for row in reversed(rows):
            held = self._tuples.held(row)
            needed.append(held & ~behind)
            behind |= held
        result = []
        for row, tuples in zip(rows, reversed(needed), strict=True):
            kept = tuples & ~covered
            if kept:
                state = self._constraints.root
                for factor, value in enumerate(row):
                    if kept & self._tuples.about[factor]:
                        state = self._constraints.assign(state, factor, value)
                new = renew(row, state, self._tuples.everything & ~covered)
                covered |= self._tuples.held(new)
                result.append(new)
        return result

    def _build(self, state: int, missing: TupleSet) -> Row | None:
        """A row in ``state``, its open factors decided greedily in random order.

        None where propagation, which is not exact, has led to a factor without a value.
        """
        possible = missing
        row = [0] * len(self._tuples.about)
        undecided = []
        unfinished = [0]
        for factor in self._prng.permutation(len(row)):
            values = self._constraints.open_values(state, factor)
            if len(values) == 1:
                row[factor] = values[0]
                possible &= self._tuples.agreeing[factor][values[0]]
            else:
                undecided.append(factor)
                unfinished.append(unfinished[-1] | self._tuples.about[factor])
        while undecided:
            factor = undecided.pop()
            unfinished.pop()
            near = possible & self._tuples.about[factor]
            for value in self._ranked(state, factor, near & ~unfinished[-1], near):
                narrowed = self._constraints.assign(state, factor, value)
                if narrowed != NO_ROW:
                    break
            else:
                return None
            state = narrowed
            row[factor] = value
            possible &= self._tuples.agreeing[factor][value]
        return tuple(row)

    def _ranked(self, state: int, factor: int, complete: TupleSet, possible: TupleSet) -> list[int]:
        """Open values of a factor: the ones that complete most tuples first.

        Among these the ones that leave most tuples possible, then random ones: a sweep finds
        superfluous rows only if values that do not matter change.
        """
        values = self._constraints.open_values(state, factor)
        holding = self._tuples.holding[factor]

        def use(value: int) -> tuple[int, int]:
            held = holding[value]
            return -(complete & held).bit_count(), -(possible & held).bit_count()

        return sorted([values[at] for at in self._prng.permutation(len(values))], key=use)
