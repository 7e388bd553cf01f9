"""Which rows of a matrix run: all that its constraints allow, a sample, or a covering selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kvconform.covering import (
    Model,
    NoRowLeftError,
    PresetError,
    Strength,
    StrengthError,
    TooLargeError,
    select,
)
from kvconform.matrix.constraints import Constraint
from kvconform.matrix.lock import Lock, LockState, digest_of, lock_of, state_of
from kvconform.matrix.problems import shown, suggest
from kvconform.matrix.report import Report
from kvconform.matrix.rules import describe
from kvconform.matrix.space import MAX_ROWS, Condition, Point, Space, holds, sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Chosen points in product order, and how they came about.

    ``factors`` are the names of the model's factors, coupled axes joined by ``+``.  ``fresh`` says of each point how many tuples it was the first to hold, 0 where nobody
    counted.  ``strength`` is None where the rows are no covering selection.  ``lock`` is what the
    lock file should say.
    """

    points: tuple[Point, ...]
    model: Model
    factors: tuple[str, ...] = ()
    strength: Strength | None = None
    fresh: tuple[int, ...] = ()
    lock: Lock | None = None
    state: LockState = LockState.NONE

    def only(self, positions: Sequence[int]) -> Choice:
        """The same with fewer points."""
        return replace(
            self,
            points=tuple(self.points[at] for at in positions),
            fresh=tuple(self.fresh[at] for at in positions) if self.fresh else (),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chooser:
    """Chooses rows of one matrix; what is wrong goes to ``report``."""

    name: str
    space: Space
    constraints: Sequence[Constraint]
    report: Report

    def choose(self, wanted: Any, lock: tuple[Lock | None, LockState] | None) -> Choice | None:
        """The rows that ``wanted`` (a ``select`` section) asks for; None if that was reported.

        ``lock`` is the lock file and how it was found; None where locks do not matter.
        """
        if isinstance(wanted, Mapping) and not self._is_sound(wanted):
            return None
        if not self.space.axes:
            return Choice(points=((),), model=self._model(), fresh=(0,))
        if isinstance(wanted, Mapping) and "strength" in wanted:
            return self._covering(wanted, lock)
        points = self._allowed()
        if points is None:
            return None
        if isinstance(wanted, Mapping):
            points = self._sample(points, wanted)
        return Choice(
            points=tuple(points),
            model=self._model(),
            factors=self.space.factor_names(),
            fresh=(0,) * len(points),
        )

    def _is_sound(self, wanted: Mapping[str, Any]) -> bool:
        """Whether the keys of ``select`` go together: a sample with its seed, or a strength."""
        before = len(self.report.problems)
        if ("sample" in wanted) == ("strength" in wanted):
            self.report.add(("select",), "expected 'sample' with its 'seed', or 'strength'", key=True)
        elif "sample" in wanted and "seed" not in wanted:
            self.report.add(("select",), "the key 'seed' is missing in select")
        for key in ("parts", "presets"):
            if key in wanted and "strength" not in wanted:
                self.report.add(("select", key), f"{key!r} belongs to a 'strength'", key=True)
        return len(self.report.problems) == before

    def _model(self) -> Model:
        sizes = tuple(len(factor.entries) for factor in self.space.factors)
        return Model(sizes=sizes, forbidden=tuple(one.condition for one in self.constraints))

    def _allowed(self) -> list[Point] | None:
        """Every combination that no constraint forbids, in product order."""
        space = self.space
        if space.size > MAX_ROWS:
            sizes = " x ".join(str(len(factor.entries)) for factor in space.factors)
            self.report.add(
                ("axes",),
                f"the axes make {space.size:,} rows ({sizes}); at most {MAX_ROWS:,} are read",
                "fewer values, several matrices, or 'select: {strength: 2}'",
                key=True,
            )
            return None
        conditions: list[Condition] = [one.condition for one in self.constraints]
        points = [p for p in space.points() if not any(holds(c, p) for c in conditions)]
        if not points:
            self._nothing_left([one.name for one in self.constraints])
            return None
        return points

    def _nothing_left(self, names: Sequence[str]) -> None:
        section = self.constraints[0].path[:1]
        verb = "removes" if len(names) == 1 else "remove"
        told = " and ".join(", ".join(names).rsplit(", ", 1))
        message = f"no row is left: {told} {verb} all {self.space.size:,} rows"
        self.report.add(section, message, key=True)

    def _sample(self, points: list[Point], wanted: Mapping[str, Any]) -> list[Point]:
        count = wanted["sample"]
        if count > len(points):
            self.report.add(
                ("select", "sample"),
                f"a sample of {count:,} rows was asked for and there are {len(points):,}",
                "write 'select: all'",
            )
        ids = [row.id for row in self.space.rows(points, 0)]
        return [points[at] for at in sample(ids, count, wanted["seed"])]

    def _covering(
        self, wanted: Mapping[str, Any], lock: tuple[Lock | None, LockState] | None
    ) -> Choice | None:
        strength = self._strength(wanted, own=lock is not None)
        presets = self._presets(wanted)
        if strength is None or presets is None:
            return None
        model, seed = self._model(), int(wanted.get("seed", 0))
        described = digest_of([self.space.described(), self._constraints(), _plain(wanted)])
        held, read = lock if lock is not None else (None, LockState.NONE)
        state = state_of(held, read, described)
        kept = [p for key, _ in held.rows if (p := self.space.parse(key))] if held else []
        if held is not None and state is LockState.FRESH and len(kept) == len(held.rows):
            found, fresh = kept, [count for _, count in held.rows]
        else:
            chosen = self._select(model, strength, presets, kept, seed)
            if chosen is None:
                return None
            found, fresh = chosen
        keys = [self.space.key(point) for point in found]
        order = sorted(range(len(found)), key=lambda at: found[at])
        return Choice(
            points=tuple(found[at] for at in order),
            model=model,
            factors=self.space.factor_names(),
            strength=strength,
            fresh=tuple(fresh[at] for at in order),
            lock=lock_of(self.name, described, keys, fresh) if lock is not None else None,
            state=state,
        )

    def _select(
        self,
        model: Model,
        strength: Strength,
        presets: Sequence[Point],
        kept: Sequence[Point],
        seed: int,
    ) -> tuple[list[Point], list[int]] | None:
        try:
            chosen = select(model, strength, presets=presets, kept=kept, seed=seed)
        except NoRowLeftError as error:
            self._nothing_left([self.constraints[at].name for at in error.constraints])
        except PresetError as error:
            for at, problem in error.problems:
                self.report.add(("select", "presets", at), f"this preset {self._named(problem)}")
        except (TooLargeError, StrengthError) as error:
            self.report.add(("select",), str(error), key=True)
        else:
            return list(chosen.rows), list(chosen.fresh)
        return None

    def _named(self, problem: str) -> str:
        """A problem of a preset with constraints by their names in the file."""
        head, what, numbers = problem.partition("breaks constraint ")
        if not what:
            return problem
        names = [self.constraints[int(number)].name for number in numbers.split(", ")]
        return f"{head}is left out by {', '.join(names)}"

    def _strength(self, wanted: Mapping[str, Any], *, own: bool) -> Strength | None:
        """The strength among factors; one that a run asks for is no more than there are."""
        factor_of = self.space.factor_of()
        parts = []
        if own and wanted["strength"] > len(self.space.factors):
            message = f"strength {wanted['strength']} among {len(self.space.factors)} axes that vary apart"
            self.report.add(("select", "strength"), message, "write 'select: all'")
        before = len(self.report.problems)
        for at, part in enumerate(wanted.get("parts", ())):
            factors = set()
            for one, name in enumerate(part["axes"]):
                if name not in factor_of:
                    path = ("select", "parts", at, "axes", one)
                    message = f"no axis is named {shown(name)}"
                    self.report.add(path, message, suggest(name, factor_of))
                else:
                    factors.add(factor_of[name])
            if part["strength"] > len(factors) and factors:
                told = f"strength {part['strength']} among {len(factors)} axes that vary apart"
                hint = f"at most {len(factors)}"
                self.report.add(("select", "parts", at, "strength"), told, hint)
            parts.append((frozenset(factors), part["strength"]))
        if len(self.report.problems) > before:
            return None
        base = min(wanted["strength"], len(self.space.factors))
        return Strength(base=base, parts=tuple(part for part in parts if part[1] > base))

    def _presets(self, wanted: Mapping[str, Any]) -> list[Point] | None:
        before = len(self.report.problems)
        points = [
            self._preset(preset, ("select", "presets", at))
            for at, preset in enumerate(wanted.get("presets", ()))
        ]
        found = [point for point in points if point is not None]
        return found if len(self.report.problems) == before else None

    def _preset(self, preset: Mapping[str, Any], path: tuple[str | int, ...]) -> Point | None:
        axes = {axis.name: axis for axis in self.space.axes}
        values: dict[str, int] = {}
        for name, value in preset.items():
            if name not in axes:
                message = f"no axis is named {shown(name)}"
                self.report.add((*path, name), message, suggest(name, axes), key=True)
            elif (at := axes[name].find(value)) is None:
                message = f"{describe(value)} is no value of the axis {name!r}"
                self.report.add((*path, name), message)
            else:
                values[name] = at
        missing = [name for name in axes if name not in preset]
        if missing:
            message = f"a preset names a value of every axis; {', '.join(missing)} is missing"
            self.report.add(path, message)
        if len(values) < len(axes):
            return None
        point = self.space.point(values)
        if point is None:
            self.report.add(path, "the zip has no such combination")
        return point

    def _constraints(self) -> list[Any]:
        return [
            [[factor, sorted(entries)] for factor, entries in one.condition]
            for one in self.constraints
        ]


def _plain(wanted: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in wanted.items() if key != "presets"} | {
        "presets": [dict(preset) for preset in wanted.get("presets", ())]
    }
