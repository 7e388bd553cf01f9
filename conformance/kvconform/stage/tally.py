"""What each check of a case has seen so far: witnesses and the first thing that was wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kvconform.contract.clauses import CHECKS
from kvconform.ports import Capability
from kvconform.results.record import CheckResult, Outcome
from kvconform.stage.errors import UnfinishedScenarioError


@dataclass(slots=True)
class _Entry:
    opened: bool = False
    witnesses: int = 0
    wrong: int = 0
    expected: str = ""
    got: str = ""
    detail: str = ""


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

    def wrong(self, name: str, expected: str, got: str, detail: str = "") -> None:
        """The check failed; the first failure is kept in full, the others are counted."""
        self.saw(name)
        entry = self._entries.get(name)
        if entry is None:
            return
        if not entry.wrong:
            entry.expected, entry.got, entry.detail = expected, got, detail
        entry.wrong += 1

    def results(self, dead: str) -> tuple[CheckResult, ...]:
        """One result for each expected check.

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
        return tuple(self._result(name, entry, dead) for name, entry in self._entries.items())

    def _missing_claims(self, name: str) -> Sequence[str]:
        return [need for need in CHECKS[name].needs if need not in self._claims]

    def _result(self, name: str, entry: _Entry, dead: str) -> CheckResult:
        check = CHECKS[name]
        missing = self._missing_claims(name)
        if missing:
            outcome, expected, got, detail = Outcome.NOT_APPLICABLE, "", "", f"n/a: {missing[0]}"
        elif entry.wrong:
            outcome, expected, got = Outcome.FAIL, entry.expected, entry.got
            more = f" (and {entry.wrong - 1} more of this check)" if entry.wrong > 1 else ""
            detail = entry.detail + more
        elif entry.witnesses:
            outcome, expected, got, detail = Outcome.PASS, "", "", ""
        else:
            outcome, expected, got = Outcome.UNTESTABLE, check.witness, "nothing to measure"
            detail = dead and f"the engine ended early: {dead}"
        return CheckResult(
            check=name, clause=check.clause, outcome=outcome, expected=expected, got=got, detail=detail
        )
