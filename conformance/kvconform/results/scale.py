"""A line of characters for a stretch of tokens."""

from __future__ import annotations

from dataclasses import dataclass

from kvconform.results.scene import Spans

CELLS = 64
"""Characters of one line at most."""

ALL, SOME, NONE = "#", "+", "."
"""What a character says of its tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """``cells`` characters from token ``first`` on, each of ``unit`` tokens."""

    first: int
    unit: int
    cells: int

    @classmethod
    def of(cls, tokens: int, fine: int) -> Scale:
        """All of ``tokens`` tokens; limits of ``fine`` tokens fall between characters, if they can."""
        fits = [unit for unit in range(1, fine) if fine % unit == 0 and tokens <= CELLS * unit]
        unit = min(fits, default=max(fine, -(-tokens // (CELLS * fine)) * fine))
        return cls(first=0, unit=unit, cells=max(1, -(-tokens // unit)))

    def around(self, token: int, unit: int) -> Scale:
        """The same with a finer ``unit``, cut off at both sides of ``token``."""
        last = -(-self.cells * self.unit // unit)
        first = min(max(0, token // unit - CELLS // 2), max(0, last - CELLS))
        return Scale(first=first * unit, unit=unit, cells=min(CELLS, last))

    def line(self, spans: Spans) -> str:
        """Which of the tokens are in ``spans``."""
        return "".join(self._cell(spans, self.first + at * self.unit) for at in range(self.cells))

    def at(self, token: int) -> int | None:
        """The character of a token; None outside."""
        cell = (token - self.first) // self.unit
        return cell if 0 <= cell < self.cells else None

    def marks(self, size: int) -> str:
        """Numbered intervals of ``size`` tokens: ``|12``, as far as there is room."""
        line = [" "] * self.cells
        for number in range(self.first // size, (self.first + self.cells * self.unit) // size + 1):
            at = self.at(number * size)
            if at is None:
                continue
            text = f"|{number}" if len(str(number)) < size // self.unit else "|"
            line[at : at + len(text)] = text[: self.cells - at]
        return "".join(line)

    def ruler(self) -> str:
        """The first token of every 16th character."""
        line = [" "] * self.cells
        for at in range(0, self.cells, 16):
            text = str(self.first + at * self.unit)
            line[at : at + len(text)] = text
        return "".join(line)

    def _cell(self, spans: Spans, start: int) -> str:
        end = start + self.unit
        inside = sum(max(0, min(end, stop) - max(start, begin)) for begin, stop in spans)
        return ALL if inside == self.unit else SOME if inside else NONE
