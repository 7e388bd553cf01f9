"""The stage of a store case: operations happen as listed, and every answer is judged."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kvconform.case import Case
from kvconform.engine.calls import ConnectorBrokeError, call
from kvconform.engine.events import Event
from kvconform.ports import (
    Store,
    StoreCapability,
    StoreClaims,
    StoreFactory,
    StoreSetting,
    StoreUnavailableError,
)
from kvconform.results.excerpt import excerpt
from kvconform.results.failure import broken_by, detail_of
from kvconform.results.record import CheckResult, Outcome, combine
from kvconform.stage.errors import CaseFailedError, NotApplicableError, UnfinishedScenarioError
from kvconform.stage.tally import Tally
from kvconform.store.damage import clear_away
from kvconform.store.events import StoreEvent
from kvconform.store.judge import StoreJudge
from kvconform.store.kinds import happen, kinds_in, spelled_keys
from kvconform.store.second import Asked, Reply, SecondProcess
from kvconform.store.worker import perform

_ARISES_WITH = {
    "overwrite-as-declared": frozenset({"overwrite"}),
    "put-is-found": frozenset({"put", "exists", "delete", "troubled", "no_copy"}),
    "damage-is-a-miss": frozenset({"damage", "lock"}),
    "whole-or-nothing": frozenset({"race", "killed_put"}),
    "exists-agrees-with-get": frozenset({"agree", "fill"}),
    "namespaces-apart": frozenset({"namespace"}),
    "batch-as-declared": frozenset({"batch"}),
    "capacity-kept": frozenset({"fill"}),
    "outlives-trouble": frozenset({"troubled"}),
    "expires-as-set": frozenset({"pass_time"}),
    "lease-holds": frozenset({"lease"}),
    "no-second-copy": frozenset({"no_copy"}),
}
"""Checks that come up only in cases with one of these kinds of event."""


@dataclass(slots=True)
class CaseClock:
    """The time of a case in seconds: it passes where an event says so."""

    now_s: float = 1000.0

    def __call__(self) -> float:
        """The time."""
        return self.now_s


class StoreStage:
    """One case on one store.

    ``connector`` is the name under which another process finds the same store.  Raises
    `NotApplicableError` where the store does not claim what the case requires.
    """

    def __init__(
        self, case: Case, *, factory: StoreFactory, connector: str, checks: Iterable[str] = ()
    ) -> None:
        self.case = case
        self.given: dict[str, Any] = dict(case.given)
        self.events: list[Event] = []
        self.results: tuple[CheckResult, ...] = ()
        self.outcome = Outcome.ERROR
        self.concluded = False
        self._connector = connector
        self._factory = factory
        self._folder = Path(tempfile.mkdtemp(prefix="kvconform-store-"))
        self._stack = ExitStack()
        self._stack.callback(clear_away, self._folder)
        self._second: SecondProcess | None = None
        self._stores: dict[str, Store] = {}
        self.namespace = "model"
        self.clock = CaseClock()
        self.trouble = ""
        """What the second process's place suffers from."""
        self.dead = ""
        kinds = kinds_in(self.given["events"])
        self.expected = tuple(
            c for c in checks if c not in _ARISES_WITH or _ARISES_WITH[c] & kinds
        )
        if "ttl_s" not in self.given:
            self.expected = tuple(c for c in self.expected if c != "expires-as-set")
        """The checks that the case has, known before anything runs."""
        self.tally = Tally(self.expected, frozenset())
        claims = self._open_first()
        missing = [need for need in case.requires if need not in claims.capabilities]
        if missing and not self.dead:
            self.close()
            raise NotApplicableError(f"n/a: {StoreCapability(missing[0])}")
        if "pass_time" in kinds and StoreCapability.REAL_TIME in claims.capabilities and not self.dead:
            self.close()
            raise NotApplicableError("n/a: real_time: its time is the machine's, not the case's")
        self.judge = StoreJudge(
            claims=claims,
            capacity_bytes=self.given.get("capacity_bytes"),
            tally=self.tally,
            ttl_s=self.given.get("ttl_s"),
            lease_s=self.given.get("lease_s"),
        )
        self._needs_key(claims)

    def _open_first(self) -> StoreClaims:
        """Open the store; one that cannot say what it claims leaves a dead stage."""
        try:
            claims = call("open", lambda: self._store().claims)
        except ConnectorBrokeError as error:
            self._died(error)
            return StoreClaims(capabilities=frozenset(StoreCapability))
        if not isinstance(claims, StoreClaims):
            self._died(ConnectorBrokeError("claims", f"is {claims!r:.80}, expected StoreClaims"))
            return StoreClaims(capabilities=frozenset(StoreCapability))
        return claims

    def _needs_key(self, claims: StoreClaims) -> None:
        keys = spelled_keys(self.given["events"])
        longest = max([len(key) for key in keys] or [self.given.get("key_bytes", 16)])
        largest = self.given.get("bytes", 1)
        if longest > claims.max_key_bytes or largest > claims.max_object_bytes:
            self.close()
            raise NotApplicableError(
                f"n/a: keys of {claims.max_key_bytes} and objects of {claims.max_object_bytes} "
                f"bytes at most, the case has {longest} and {largest}"
            )

    @property
    def trace(self) -> tuple[str, ...]:
        """The events in words, oldest first."""
        return tuple(str(event) for event in self.events)

    def setting(self, namespace: str = "") -> StoreSetting:
        """The setting of the case, in the current namespace."""
        return StoreSetting(
            directory=self._folder,
            namespace=namespace or self.namespace,
            capacity_bytes=self.given.get("capacity_bytes"),
            ttl_s=self.given.get("ttl_s"),
            lease_s=self.given.get("lease_s"),
            clock=self.clock,
        )

    def play(self) -> None:
        """Every event of the case, one after another."""
        self.tally.open(*self.expected)
        for event in self.given["events"]:
            if not self.dead:
                happen(self, event)

    def note(self, text: str) -> StoreEvent:
        """Something happened."""
        event = StoreEvent(step=len(self.events) + 1, text=text)
        self.events.append(event)
        return event

    def ask(self, asked: Asked, *, elsewhere: bool = False) -> Reply:
        """Call a method of the store, here or in the second process."""
        if elsewhere:
            return self.second().call(replace(asked, trouble=self.trouble))
        try:
            return call(asked.method, perform, self._store(), asked)  # type: ignore[no-any-return]
        except ConnectorBrokeError as error:
            failed = isinstance(error.__cause__, StoreUnavailableError)
            return Reply(error=error.text, unavailable=failed)

    def second(self) -> SecondProcess:
        """The second process, with the store of the current namespace open."""
        if self._second is None:
            self._second = self._stack.enter_context(self._process())
            reply = self._second.open(self.setting())
            if reply.error:
                self._died(ConnectorBrokeError("open", f"in a second process: {reply.error}"))
        return self._second

    def leave_second(self) -> None:
        """The second process closes its store and ends."""
        if self._second is not None:
            self._second.close()
            self._second.end()
            self._second = None

    def killed(self, asked: Asked) -> None:
        """A process of its own opens the store, calls a method, and is killed inside it."""
        with self._process() as process:
            opened = process.open(self.setting())
            if opened.error:
                self._died(ConnectorBrokeError("open", f"in a second process: {opened.error}"))
                return
            process.call(asked)

    def _process(self) -> SecondProcess:
        modules = {type(self._factory).__module__, getattr(self._factory, "__module__", "")}
        return SecondProcess(self._connector, sorted(modules - {"", "builtins"}))

    def close_here(self) -> None:
        """Close every store of this process."""
        stores, self._stores = self._stores, {}
        for store in stores.values():
            try:
                call("close", store.close)
            except ConnectorBrokeError as error:
                self._died(error)

    def object_file(self, key: bytes) -> Path | None:
        """Where the store says that an object is."""
        try:
            file = call("object_file", self._store().object_file, key)
        except ConnectorBrokeError as error:
            self._died(error)
            return None
        return Path(file) if file is not None else None

    def until_the_end(self, context: Any) -> None:
        """Enter a context that is left when the case ends."""
        self._stack.enter_context(context)

    def _store(self) -> Store:
        if self.namespace not in self._stores:
            store: object = self._factory(self.setting())
            if not isinstance(store, Store):
                raise ConnectorBrokeError("open", f"returned {store!r:.80}, expected a Store")
            self._stores[self.namespace] = store
        return self._stores[self.namespace]

    def _died(self, error: ConnectorBrokeError) -> None:
        self.dead = f"{error.method}: {error.text}"
        event = self.note(f"{error.method} raises {error.text}")
        self.tally.wrong("store-answers", "no exception", error.text, f"in {error.method}", event=event)

    def conclude(self) -> None:
        """End the case with its verdict.

        Raises `CaseFailedError` if a check failed or measured nothing, `UnfinishedScenarioError`
        if nothing was played.
        """
        __tracebackhide__ = True
        if not self.events:
            raise UnfinishedScenarioError("the case needs the step play; missing from its template")
        self.leave_second()
        self.close_here()
        self.results = self.tally.results(self.dead, self.events)
        self.outcome = combine(self.results)
        self.concluded = True
        if self.outcome.is_bad:
            raise CaseFailedError(self._picture())

    def scene(self, *, every_answer: bool = False) -> None:
        """A store has no tokens to draw."""

    def _picture(self) -> str:
        lines = [f"{self.case.id} ({self.case.source})"]
        for result in self.results:
            if result.outcome.is_bad:
                lines += [
                    f"{result.clause} {result.check}: {result.outcome}",
                    f"  expected: {result.expected}",
                    f"  got:      {result.got}",
                    *([f"  {detail_of(result)}"] if result.detail else []),
                ]
        shown: Sequence[str] = excerpt(self.trace, broken_by(self.results))
        return "\n".join([*lines, "events:", *(f"  {line}" for line in shown)])

    def close(self) -> None:
        """End what the case has started, and remove its folder."""
        self.close_here()
        self._stack.close()
