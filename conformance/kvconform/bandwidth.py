"""How fast a connector moves bytes, as a share of one plain copy of the same bytes in the same run."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import torch

from kvconform.engine.engine import Engine
from kvconform.ports import (
    Capability,
    Connector,
    ConnectorFactory,
    Direction,
    Group,
    GroupKind,
    KvconformError,
    Layout,
    RequestSpec,
    Setting,
    TransferGate,
    TransferJob,
)

_BLOCK_TOKENS = 16
_BLOCKS = 128
"""Blocks that one store and one load move."""
_ROUNDS = 16
"""The fastest of so many counts; the first ones meet memory that nobody has touched yet."""
_TARGETS = 4
_STEPS = 50


class NoBandwidthError(KvconformError):
    """A connector whose copies cannot be timed: says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bandwidth:
    """Store and load of blocks of ``block_bytes``; ``plain`` are bytes a second of one copy.

    ``store`` and ``load`` are shares of it.
    """

    device: str
    block_bytes: int
    plain: float
    store: float
    load: float

    def __str__(self) -> str:
        return (
            f"{self.device}, blocks of {self.block_bytes // 1024} KiB: plain copy "
            f"{self.plain / 1e9:.1f} GB/s, store {self.store:.0%} of it, load {self.load:.0%}"
        )


class _TimedGate:
    """A transfer gate that takes the time of each copy while it is performed."""

    def __init__(self, gate: TransferGate, seconds: dict[Direction, list[float]]) -> None:
        self._gate = gate
        self._seconds = seconds

    def submit(self, job: TransferJob, perform: Callable[[], None]) -> None:
        """Hand the copy on, with a clock around it."""

        def timed() -> None:
            start = time.perf_counter()
            perform()
            self._seconds[job.direction].append(time.perf_counter() - start)

        self._gate.submit(job, timed)

    def finished(self) -> list[tuple[int, bool]]:
        """As the gate says."""
        return self._gate.finished()

    def wait(self, job_ids: Iterable[int]) -> None:
        """As the gate does."""
        self._gate.wait(job_ids)


def measure(factory: ConnectorFactory, device: str, block_bytes: int) -> Bandwidth:
    """Store and load whole prompts through the connector, and copy as many bytes in between.

    Torch gets one thread, so that neither side waits for cores that others use.

    Raises `NoBandwidthError` if the connector does not run its copies through the gate, or runs
    on an engine of its own.
    """
    torch.set_num_threads(1)
    if hasattr(factory, "make_bench"):
        raise NoBandwidthError("its copies run on an engine of its own, which does not time them")
    group = Group(
        name="full",
        kind=GroupKind.FULL,
        block_size=_BLOCK_TOKENS,
        slot_bytes=block_bytes // _BLOCK_TOKENS,
    )
    layout = Layout(groups=(group,), hash_block=_BLOCK_TOKENS, num_blocks=_BLOCKS + 4)
    seconds: dict[Direction, list[float]] = defaultdict(list)

    def timed_factory(layout: Layout, setting: Setting) -> Connector:
        gates = tuple(_TimedGate(gate, seconds) for gate in setting.gates)
        return factory(layout, replace(setting, gates=gates))

    engine = Engine(layout, timed_factory, device, {})
    if Capability.TRANSFER_CONTROL not in engine.capabilities:
        raise NoBandwidthError("it does not claim transfer_control, so its copies are not seen")
    source = torch.ones(_BLOCKS * block_bytes, dtype=torch.uint8, device=device)
    # Neither side finds its target in a processor's cache.
    targets = torch.zeros((_TARGETS, len(source)), dtype=torch.uint8, pin_memory=source.is_cuda)
    plain = []
    for number in range(_ROUNDS):
        plain.append(_time_copy(source, targets[number % _TARGETS]))
        _store_and_load(engine, number)
    engine.close()
    best = min(plain)
    return Bandwidth(
        device=device,
        block_bytes=block_bytes,
        plain=len(source) / best,
        store=best / min(seconds[Direction.STORE]),
        load=best / min(seconds[Direction.LOAD]),
    )


def _time_copy(source: torch.Tensor, target: torch.Tensor) -> float:
    start = time.perf_counter()
    target.copy_(source)
    if source.is_cuda:
        torch.cuda.synchronize(source.device)
    return time.perf_counter() - start


def _store_and_load(engine: Engine, number: int) -> None:
    """A prompt of its own is stored, and loaded again by a cold consumer."""
    first = number * _BLOCKS * _BLOCK_TOKENS
    prompt = tuple(range(first, first + _BLOCKS * _BLOCK_TOKENS + 1))
    for name in (f"producer-{number}", f"consumer-{number}"):
        engine.prepare(RequestSpec(name=name, prompt=prompt))
        engine.submit(name)
        for _ in range(_STEPS):
            engine.step()
            if engine.ended(name) and engine.idle():
                break
        else:
            raise NoBandwidthError(f"{name} does not end: {engine.events[-1]}")
        engine.reset_prefix_cache()
