"""A connector that does nothing, connectors with one named behaviour, and a driver."""
# ruff: noqa: ARG002, D102 - the port names and explains what fakes override

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from kvconform.engine.engine import Engine
from kvconform.engine.events import Event
from kvconform.ports import (
    Capability,
    Connector,
    ConnectorFactory,
    Group,
    GroupKind,
    Layout,
    RequestSpec,
    SchedulerSide,
    Setting,
    Step,
    WorkerSide,
)
from kvconform_reference import make_connector
from kvconform_reference.transfer import Transfer
from kvconform_reference.worker import ReferenceWorker

FULL = Group(name="full", kind=GroupKind.FULL, block_size=8)
SWA = Group(name="swa", kind=GroupKind.SLIDING, block_size=4, window=8, extra_retained=3)


def layout_of(*groups: Group, **settings: Any) -> Layout:
    """A layout of the given groups, by default one full and one sliding group."""
    return Layout(groups=groups or (FULL, SWA), hash_block=4, **settings)


def spec(name: str, prompt: int = 33, output: int = 1, *, branch: int = 0, shared: int = 0) -> RequestSpec:
    """A request; another ``branch`` differs from token ``shared`` on."""
    tokens = tuple(at + (1000 * branch if at >= shared else 0) for at in range(prompt))
    return RequestSpec(name=name, prompt=tokens, output=tuple(9000 + at for at in range(output)))


def engine_of(layout: Layout | None = None, factory: ConnectorFactory = make_connector, **options: object) -> Engine:
    """An engine on the CPU."""
    return Engine(layout or layout_of(), factory, "cpu", dict(options))


def run(engine: Engine, *specs: RequestSpec, steps: int = 400) -> Engine:
    """Submit requests and step until nothing is left to do."""
    for one in specs:
        engine.prepare(one)
        engine.submit(one.name)
    settle(engine, steps)
    return engine


def settle(engine: Engine, steps: int = 400) -> None:
    """Step until nothing is left to do; a stuck engine is a failed test."""
    for _ in range(steps):
        if engine.idle():
            return
        engine.step()
    raise AssertionError("not idle:\n" + "\n".join(map(str, engine.events[-12:])))


def of(engine: Engine, kind: type[Event], request: str = "") -> list[Any]:
    """Events of one kind, of one request if named."""
    return [
        event
        for event in engine.events
        if isinstance(event, kind) and (not request or event.request == request)
    ]


def differences(engine: Engine) -> list[Any]:
    """Everything that loads and reads found wrong."""
    return [d for event in engine.events if (d := getattr(event, "difference", None)) is not None]


def at_rest(engine: Engine) -> bool:
    """Whether every block of the pool is free again."""
    return engine._allocator.pool.at_rest()


class QuietScheduler(SchedulerSide):
    """Always misses."""

    def get_num_new_matched_tokens(self, request, num_computed_tokens):
        return 0, False

    def update_state_after_alloc(self, request, blocks, num_external_tokens):
        pass

    def build_connector_meta(self, step: Step) -> Any:
        return None

    def request_finished(self, request, blocks):
        return False, None


class QuietWorker(WorkerSide):
    """Moves nothing."""

    def register_kv_caches(self, kv_caches: Mapping[str, torch.Tensor]) -> None:
        self.caches = kv_caches

    def start_load_kv(self) -> None:
        pass

    def wait_for_save(self) -> None:
        pass

    def get_finished(self, finished_request_ids):
        return set(), set()


@dataclass
class Quiet:
    """A connector of any scheduler side and worker, with chunks of one block."""

    layout: Layout
    scheduler: SchedulerSide
    workers: list[WorkerSide]
    capabilities: frozenset[Capability] = frozenset()
    chunk_control: None = None
    gates: tuple[Any, ...] = field(default=())

    def chunk_tokens(self, group: int) -> int:
        return self.layout.groups[group].block_size


def quiet(
    scheduler: Callable[[], SchedulerSide] = QuietScheduler,
    worker: Callable[[], WorkerSide] = QuietWorker,
) -> ConnectorFactory:
    """A factory of quiet connectors with one part replaced."""

    def factory(layout: Layout, setting: Setting) -> Connector:
        workers = [worker() for _ in range(layout.world)]
        return Quiet(layout, scheduler(), workers, gates=setting.gates)

    return factory


def patched(worker: type[ReferenceWorker]) -> ConnectorFactory:
    """The reference with another worker."""

    def factory(layout: Layout, setting: Setting) -> Connector:
        from kvconform_reference.mutants.base import Patched  # noqa: PLC0415

        kind = type("With", (Patched,), {"worker_kind": worker})
        return kind(layout, setting)

    return factory


def damages(layer: str, block: int, byte: int) -> ConnectorFactory:
    """The reference, but each load flips one byte of the block at index ``block`` of its blocks.

    ``layer`` names a layer of the first group or of a later one: the index counts within it.
    """

    class Damaging(ReferenceWorker):
        def register_kv_caches(self, kv_caches: Mapping[str, torch.Tensor]) -> None:
            super().register_kv_caches(kv_caches)
            self.caches = kv_caches
            self.group = self._layout.index(layer.partition(".")[0])

        def submit(self, transfer: Transfer) -> None:
            super().submit(transfer)
            if transfer.request_id:
                (part,) = (part for part in transfer.parts if part.group == self.group)
                self.damage = part.blocks[block]

        def get_finished(self, finished_request_ids):
            stores, loads = super().get_finished(finished_request_ids)
            if loads:
                self.caches[layer][self.damage, byte] ^= 0xFF
            return stores, loads

    return patched(Damaging)
