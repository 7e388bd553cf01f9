"""What each check of a case has seen so far: witnesses and the first thing that was wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from kvconform.contract.clauses import CHECKS
from kvconform.engine.events import Event
from kvconform.ports import Capability
from kvconform.results.record import CheckResult, Outcome
from kvconform.stage.errors import UnfinishedScenarioError


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    expected: str
    got: str
    detail: str
    event: Event | None

    def __str__(self) -> str:
        return f"{self.got}, expected {self.expected}: {self.detail}"


@dataclass(slots=True)
class _Entry:
    opened: bool = False
    witnesses: int = 0
    failures: list[_Failure] = field(default_factory=list)
    note: str = ""
    """Why there may have been nothing to measure."""


class Tally:
    """Collects judgements; nothing already seen is hidden by what comes later.

    ``open`` says that a judgement was made, ``saw`` that it had something to measure, ``wrong``
    that it was not as expected.
    """

    def __init__(self, checks: Iterable[str], claims: frozenset[Capability]) -> None:
        self._entries = {name: _Entry() for name in checks}
        self._claims = claims

    def open(self, *names: str) -> None:
        """These checks were made, whether or not there was anything to see."""
        for name in names:
            if name in self._entries:
                self._entries[name].opened = True

    def drop(self, name: str) -> None:
        """The check does not arise in this case, as the case itself shows."""
        self._entries.pop(name, None)

    def saw(self, name: str) -> None:
        """The check had its witness."""
        self.open(name)
        if name in self._entries:
            self._entries[name].witnesses += 1

    def explain(self, name: str, why: str) -> None:
        """What is told of the check if it has nothing to measure."""
        if name in self._entries:
            self._entries[name].note = why

    def makes(self, name: str) -> bool:
        """Whether the check is one of the case's."""
        return name in self._entries

    def has_seen(self, name: str) -> bool:
        """Whether the check is one of the case's and had its witness."""
        return name in self._entries and self._entries[name].witnesses > 0

    def wrong(
        self, name: str, expected: str, got: str, detail: str = "", *, event: Event | None = None
    ) -> None:
        """The check failed, by what ``event`` shows where it is a single one.

        The first failure is what is told of the check, the others come along.
        """
        self.saw(name)
        if name not in self._entries:
            return
        if event is not None:
            step = f"step {event.step}: "
            detail = step + detail.removeprefix(step) if detail else str(event)
        self._entries[name].failures.append(
            _Failure(expected=expected, got=got, detail=detail, event=event)
        )

    def results(self, dead: str, events: Sequence[Event]) -> tuple[CheckResult, ...]:
        """One result for each expected check of a case with these events.

        ``dead`` says why the engine ended early (empty if it did not): then a check without a
        witness is untestable for that reason.  Raises `UnfinishedScenarioError` if a check was
        never made although the scenario ran to its end.
        """
        silent = [
            name
            for name, entry in self._entries.items()
            if not entry.opened and not dead and not self._missing_claims(name)
        ]
        if silent:
            raise UnfinishedScenarioError(
                f"the scenario declares the check(s) {', '.join(silent)} but never made them; "
                "a step is missing from its template"
            )
        results = (self._result(name, entry, dead, events) for name, entry in self._entries.items())
        return tuple(results)

    def _missing_claims(self, name: str) -> Sequence[str]:
        return [need for need in CHECKS[name].needs if need not in self._claims]

    def _result(
        self, name: str, entry: _Entry, dead: str, events: Sequence[Event]
    ) -> CheckResult:
        check = CHECKS[name]
        result = CheckResult(check=name, clause=check.clause, outcome=Outcome.PASS)
        missing = self._missing_claims(name)
        if missing:
            return replace(result, outcome=Outcome.NOT_APPLICABLE, detail=f"n/a: {missing[0]}")
        if entry.failures:
            first, *others = entry.failures
            return replace(
                result,
                outcome=Outcome.FAIL,
                expected=first.expected,
                got=first.got,
                detail=first.detail,
                event=next((at for at, e in enumerate(events) if e is first.event), None),
                more=tuple(map(str, others)),
            )
        if entry.witnesses:
            return result
        return replace(
            result,
            outcome=Outcome.UNTESTABLE,
            expected=check.witness,
            got="nothing to measure",
            detail=f"the engine ended early: {dead}" if dead else entry.note,
        )
