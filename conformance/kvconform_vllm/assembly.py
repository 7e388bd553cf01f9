"""Brings up vLLM's scheduler and ranks around both sides of one connector, and takes them down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvconform.engine.calls import ConnectorBrokeError, call
from kvconform.engine.events import Event
from kvconform.engine.faults import CopyFaults
from kvconform.engine.memory import RankMemory
from kvconform.engine.pattern import Owners
from kvconform.engine.transfers import Gate
from kvconform.engine.watch import WriteWatch
from kvconform.ports import Layout, UnsupportedLayoutError
from kvconform_vllm import config
from kvconform_vllm.connectors import ConnectorClass
from kvconform_vllm.copies import CopyWatch
from kvconform_vllm.observation import Observer
from kvconform_vllm.ranks import Rank
from kvconform_vllm.refusals import configured, wants_gpu
from kvconform_vllm.releases import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """The parts of one engine."""

    scheduler: Any
    observer: Observer
    ranks: Sequence[Rank]
    watches: Sequence[WriteWatch]
    """One for each rank: what writes to its memory that no load is for."""

    def take_down(self) -> list[ConnectorBrokeError]:
        """Empty the connector's store and shut both sides down; returns what they raised."""
        for watch in self.watches:
            watch.at_end()
        return _take_down([self.scheduler.connector, *(rank.worker for rank in self.ranks)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembler:
    """Makes the parts of one engine; ``record`` takes the events that they bring about."""

    layout: Layout
    kind: ConnectorClass
    release: Release
    device: str
    owners: Owners
    faults: CopyFaults
    record: Callable[[Event], None]

    def assemble(self, options: Mapping[str, object]) -> Assembly:
        """All parts, memory registered; nothing is left of them if one cannot be made.

        Raises `ConnectorBrokeError`, or `UnsupportedLayoutError` where only a GPU is missing.
        """
        sides: list[Any] = []
        try:
            return self._assemble(options, sides)
        except BaseException as error:
            _take_down(sides)
            self.kind.close()
            if isinstance(error, ConnectorBrokeError):
                refuse_for_want_of_a_gpu(error)
            raise

    def _assemble(self, options: Mapping[str, object], sides: list[Any]) -> Assembly:
        layout = self.layout
        transfer = configured(self.kind.transfer, layout, options)
        self.kind.refuse(layout, transfer)
        kv = config.kv_cache_config(layout)
        settings = configured(config.vllm_config, layout, transfer, self.release)
        scheduler = call("__init__", config.make_scheduler, settings, kv, layout, self.release)
        sides.append(scheduler.connector)
        observer = Observer(scheduler, self.record)
        copies = CopyWatch(layout, scheduler, observer, self.record)
        ranks, watches = [], []
        for number in range(layout.world):
            memory = RankMemory(layout, number, self.device, self.owners, overlaid=True)
            fails = copies.failer_of_rank(memory, self.faults)
            watch = copies.watch(memory)
            gate = Gate(copies.of_rank(number, memory, watch), fails, watch.after_copy)
            rank = Rank(layout, memory, gate, self.release)
            worker = call("__init__", config.make_worker, config.of_rank(settings, number), kv)
            sides.append(worker)
            rank.attach(worker, self.kind.prepare_worker(worker, rank))
            ranks.append(rank)
            watches.append(watch)
        return Assembly(scheduler=scheduler, observer=observer, ranks=tuple(ranks), watches=tuple(watches))


def refuse_for_want_of_a_gpu(error: ConnectorBrokeError) -> None:
    """Raise `UnsupportedLayoutError` if the machine's GPU is all that a connector lacks."""
    if wants_gpu(error.text):
        raise UnsupportedLayoutError(f"there is no GPU here: {error.method}: {error.text}") from error


def _take_down(sides: Sequence[Any]) -> list[ConnectorBrokeError]:
    """The scheduler side is the first; a store that outlives it is emptied as vLLM would ask for it."""
    raised = []
    asked = [("reset_cache", side) for side in sides[:1]] + [("shutdown", s) for s in sides[::-1]]
    for hook, side in asked:
        try:
            call(hook, getattr(side, hook))
        except ConnectorBrokeError as error:
            raised.append(error)
    return raised
