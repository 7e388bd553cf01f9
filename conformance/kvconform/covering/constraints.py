"""Which rows are valid: states that are narrowed value by value, and an exact search in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvconform.covering.errors import TooLargeError
from kvconform.covering.model import Model, Row

MAX_DEAD_ENDS = 100_000
"""Wrong turns that the search may take for all questions about one model together."""

NO_ROW = 0
"""The state of no row."""


class Constraints:
    """The valid rows of a model.

    A state is a set of rows: an integer with one bit for each value of each factor that is open.
    A constraint is kept as its escapes, the bits of all values outside of the sets that it names:
    a row meets it by holding one of them.
    """

    def __init__(self, model: Model) -> None:
        self._bits: list[list[int]] = []
        offset = 0
        for size in model.sizes:
            self._bits.append([1 << value for value in range(offset, offset + size)])
            offset += size
        self._fields = [sum(bits) for bits in self._bits]
        self._factor_of = [factor for factor, size in enumerate(model.sizes) for _ in range(size)]
        self._escapes = []
        for clause in model.forbidden:
            escapes = 0
            for factor, values in clause:
                named = sum(self._bits[factor][value] for value in values)
                escapes |= self._fields[factor] & ~named
            self._escapes.append(escapes)
        self._escapes_of = [
            [escapes for escapes in self._escapes if escapes & field] for field in self._fields
        ]
        self._dead_ends = 0
        self.root = self._root()

    def _root(self) -> int:
        """The state of all rows, less what follows from constraints with a single factor."""
        if NO_ROW in self._escapes:
            return NO_ROW
        state = sum(self._fields)
        for factor in range(len(self._fields)):
            state = self._propagate(state, factor)
        return state

    def open_values(self, state: int, factor: int) -> list[int]:
        """Values that ``factor`` may have in ``state``."""
        return [value for value, bit in enumerate(self._bits[factor]) if state & bit]

    def assign(self, state: int, factor: int, value: int) -> int:
        """The rows of ``state`` with this value, less what is seen to be invalid at once."""
        bit = self._bits[factor][value]
        return (
            self._propagate(state & ~self._fields[factor] | bit, factor) if state & bit else NO_ROW
        )

    def broken(self, row: Sequence[int]) -> list[int]:
        """Positions of the constraints that ``row`` breaks."""
        held = sum(bits[value] for bits, value in zip(self._bits, row, strict=True))
        return [at for at, escapes in enumerate(self._escapes) if not held & escapes]

    def feasible(self, state: int) -> bool:
        """Whether any row of ``state`` is valid; exact. Raises `TooLargeError`."""
        stack = [state]
        while stack:
            state = stack.pop()
            if state == NO_ROW:
                continue
            branches = list(self._branches(state))
            if not branches:
                return True
            self._dead_ends += branches.count(NO_ROW)
            if self._dead_ends > MAX_DEAD_ENDS:
                raise TooLargeError("dead ends of a search", self._dead_ends, MAX_DEAD_ENDS)
            stack += branches
        return False

    def simplest(self, state: int) -> Row:
        """The valid row of a feasible ``state`` with the lowest values, earlier factors first."""
        for factor in range(len(self._fields)):
            narrowed = (
                self.assign(state, factor, value) for value in self.open_values(state, factor)
            )
            state = next(filter(self.feasible, narrowed))
        return tuple(self.open_values(state, factor)[0] for factor in range(len(self._fields)))

    def _branches(self, state: int) -> Iterator[int]:
        """Two states that share the rows of ``state``, or none if all of its rows are valid.

        They differ in how one factor stands to a constraint that some rows break: the second one
        meets it.
        """
        for escapes in self._escapes:
            fields = [field for field in self._fields if state & escapes & field]
            if all(state & field & ~escapes for field in fields):
                factor = self._fields.index(fields[0])
                yield self._propagate(state & ~(fields[0] & escapes), factor)
                yield self._propagate(state & ~(fields[0] & ~escapes), factor)
                return

    def _propagate(self, state: int, factor: int) -> int:
        """What follows from a change of ``factor``: a factor that alone can meet a constraint must."""
        changed = [factor]
        while changed:
            for escapes in self._escapes_of[changed.pop()]:
                ways = state & escapes
                if not ways:
                    return NO_ROW
                last = self._factor_of[ways.bit_length() - 1]
                field = self._fields[last]
                cut = state & field & ~escapes
                if cut and not ways & ~field:
                    state ^= cut
                    changed.append(last)
        return state
