"""All cases of the matrices of a run, found by pattern."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kvconform.expectations.pattern import ANY, Pattern
from kvconform.matrix.problems import nearest, shown, suggest

_SEPARATOR = "-"
"""Between the components of a row id, none of which contains it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Row ids of one matrix, and at which positions each component stands."""

    ids: tuple[str, ...]
    position: Mapping[str, int]
    having: Mapping[str, frozenset[int]]

    @classmethod
    def of(cls, ids: Sequence[str]) -> _Rows:
        having: dict[str, set[int]] = {}
        for at, row in enumerate(ids):
            for component in row.split(_SEPARATOR):
                having.setdefault(component, set()).add(at)
        return cls(
            ids=tuple(ids),
            position={row: at for at, row in enumerate(ids)},
            having={component: frozenset(found) for component, found in having.items()},
        )

    def match(self, components: Sequence[str]) -> Sequence[int]:
        """Positions of the rows meant, in order."""
        if len(components) == 1 and components[0] in self.position:
            # A whole id is one case, also where other ids continue it by further axes.
            return [self.position[components[0]]]
        wanted = [component for component in components if component != ANY]
        if not wanted:
            return range(len(self.ids))
        sets = [self.having.get(component, frozenset[int]()) for component in wanted]
        return sorted(frozenset.intersection(*sets))

    def most_alike(self, components: Iterable[str]) -> str | None:
        """The row that has most of ``components``; None if none has any."""
        shared = Counter(at for one in components for at in self.having.get(one, ()))
        if not shared:
            return None
        best = max(shared.values())
        return self.ids[min(at for at, count in shared.items() if count == best)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSpace:
    """The whole of the matrices that a run has loaded, whichever of their cases it selects.

    Of ``partial`` matrices it has not all cases that their files ask for.
    """

    _rows: Mapping[str, _Rows] = field(repr=False)
    partial: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, rows: Mapping[str, Sequence[str]], *, partial: Iterable[str] = ()
    ) -> CaseSpace:
        """The space of these row ids, by the name of their matrix."""
        return cls(
            _rows={name: _Rows.of(ids) for name, ids in rows.items()}, partial=frozenset(partial)
        )

    def is_partial(self, pattern: Pattern) -> bool:
        """Whether a case that the pattern means may be one that was left out."""
        return any(pattern.names(name) for name in self.partial)

    @property
    def matrices(self) -> tuple[str, ...]:
        """Names of the matrices."""
        return tuple(self._rows)

    def loaded(self, pattern: Pattern) -> list[str]:
        """Names of the matrices that ``pattern`` speaks of."""
        if ANY not in pattern.matrix:
            return [pattern.matrix] if pattern.matrix in self._rows else []
        return [name for name in self._rows if pattern.names(name)]

    def match(self, pattern: Pattern) -> Iterator[str]:
        """Ids of the cases that ``pattern`` means."""
        for name in self.loaded(pattern):
            rows = self._rows[name]
            for at in rows.match(pattern.components):
                yield f"{name}[{rows.ids[at]}]"

    def explain(self, pattern: Pattern) -> tuple[str, str]:
        """Message and hint for a pattern of loaded matrices that means none of their cases."""
        names = self.loaded(pattern)
        message = f"no case of {shown(pattern.matrix)} {_wanted(pattern.components)}"
        alike = next(filter(None, (self._alike(name, pattern) for name in names)), None)
        if alike is not None:
            return message, f"did you mean {alike!r}?"
        known = dict.fromkeys(one for name in names for one in self._rows[name].having)
        return message, suggest(pattern.components[0], known)

    def _alike(self, name: str, pattern: Pattern) -> str | None:
        """A pattern or id near ``pattern`` that means cases of the matrix ``name``."""
        rows = self._rows[name]
        words = [word for one in pattern.components for word in one.split(_SEPARATOR)]
        mended = [word if word in rows.having else _mend(word, rows) for word in words]
        mended = list(dict.fromkeys(word for word in mended if word != ANY))
        if mended and rows.match(mended):
            whole = _SEPARATOR.join(mended)
            return f"{name}[{whole if whole in rows.position else ','.join(mended)}]"
        row = rows.most_alike(mended)
        return None if row is None else f"{name}[{row}]"


def _mend(word: str, rows: _Rows) -> str:
    return next(iter(nearest(word, rows.having)), word)


def _wanted(components: Sequence[str]) -> str:
    listed = ", ".join(map(shown, components))
    if any(_SEPARATOR in component for component in components):
        return f"has the id {listed}"
    return f"has the component {listed}" if len(components) == 1 else f"has all of {listed}"
