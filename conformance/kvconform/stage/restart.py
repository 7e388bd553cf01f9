"""Steps about a producer in another process, whose stores outlive it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from kvconform.apart import ProcessDiedError, call_apart
from kvconform.case import Case
from kvconform.engine.events import Broke, Event
from kvconform.ports import Capability, Connector, ConnectorFactory, Layout, Setting
from kvconform.registry import resolve_connector
from kvconform.stage.consumers import ConsumerSteps


class _InFolder:
    """A factory whose connectors keep their state in one folder."""

    def __init__(self, factory: ConnectorFactory, folder: Path) -> None:
        self._factory = factory
        self._folder = folder

    def __call__(self, layout: Layout, setting: Setting) -> Connector:
        return self._factory(layout, replace(setting, state_dir=self._folder))


class RestartSteps(ConsumerSteps):
    """What one process stored another one finds, in the folder that both are given.

    ``connector`` is the name under which the other process finds the connector.
    """

    def __init__(
        self,
        case: Case,
        *,
        factory: ConnectorFactory,
        connector: str = "",
        state_dir: Path | None = None,
        **rest: Any,
    ) -> None:
        self._own_folder: Path | None = None
        if state_dir is None and Capability.PERSISTENT in case.requires:
            state_dir = self._own_folder = Path(tempfile.mkdtemp(prefix="kvconform-state-"))
        if state_dir is not None and not hasattr(factory, "make_bench"):
            factory = _InFolder(factory, state_dir)
        self._connector_name = connector
        self._state_dir = state_dir
        self._how = {"factory": factory, **rest}
        super().__init__(case, factory=factory, **rest)

    def produce_elsewhere(self, name: str = "producer") -> None:
        """Compute a prompt and its answer in a process that then ends."""
        self._owe("consume")
        if self.dead:
            return
        self.bench.close()
        device, options = self._how.get("device", "cpu"), dict(self._how.get("options") or {})
        # What is read-only here cannot be sent as it is.
        layout = replace(self.layout, options=dict(self.layout.options))
        case = replace(self.case, layout=layout)
        events: Sequence[Event]
        try:
            events = call_apart(
                _produced, self._connector_name, case, device, options, self._state_dir
            )
        except ProcessDiedError as error:
            events = [Broke(step=0, method="the producer's process", text=str(error))]
        self._open(self._how["factory"], device, options)
        if self._bench is None:
            return
        self.bench.events[:0] = events
        self._prepare(name, self.given["prompt_tokens"])
        self._marks[name] = 0
        self.bench.dead = any(isinstance(event, Broke) for event in events)
        if self.dead:
            return
        self.bench.computed_elsewhere(name)
        self._policy = self._supply = self.oracle.supply(
            self._stored_tokens(name),
            self.bench.token_steps(name),
            prompt_tokens=self._prompt_tokens(name),
        )
        self._see_stores()

    def close(self) -> None:
        """Remove the folder."""
        if self._own_folder is not None:
            with suppress(OSError):
                shutil.rmtree(self._own_folder)


def _produced(
    connector: str, case: Case, device: str, options: dict[str, object], state_dir: Path
) -> list[Event]:
    """What happens where the producer runs."""
    stage = RestartSteps(
        case,
        factory=resolve_connector(connector).factory,
        device=device,
        options=options,
        connector=connector,
        state_dir=state_dir,
    )
    stage.produce()
    if not stage.dead:
        stage.bench.close()
    return list(stage.events)
