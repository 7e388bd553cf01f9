"""vLLM's SimpleCPUOffloadConnector: real books, a copy backend of ours behind the gate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import count
from typing import Any

import torch

from kvconform.engine.transfers import Gate
from kvconform.ports import (
    Capability,
    Direction,
    GroupKind,
    Layout,
    TransferJob,
    UnsupportedLayoutError,
)
from kvconform_vllm.config import Transfer
from kvconform_vllm.connectors.base import ConnectorClass

_ROOM = 4
"""Times the pool's bytes that the CPU tier holds."""


class SimpleCpu(ConnectorClass):
    """Copies block by block; a chunk is a block.

    It stores every block that has a hash and finds what its own KV cache coordinator finds.
    """

    claims = frozenset(
        {Capability.TRANSFER_CONTROL, Capability.ASYNC_LOAD, Capability.EXACT_LOAD}
    )

    def refuse(self, layout: Layout, transfer: Transfer) -> None:
        """There must be a full-attention group: vLLM asserts it."""
        super().refuse(layout, transfer)
        if not any(group.kind is GroupKind.FULL for group in layout.groups):
            raise UnsupportedLayoutError("SimpleCPUOffloadConnector needs a full-attention group")

    def extra_config(self, layout: Layout, options: Mapping[str, object]) -> Mapping[str, object]:
        """A tier of several pools."""
        layers = max(group.layers for group in layout.groups)
        pool = layout.groups[0].page_bytes * layers * layout.num_blocks
        return {"cpu_bytes_to_use": _ROOM * pool * layout.world, **options}

    def prepare_worker(self, worker: Any, rank: Any) -> Any:
        """Put streams, events and the copy backend in place of those that need CUDA.

        They are names of one module of vLLM; nothing of torch itself changes.
        """
        from vllm.v1.simple_kv_offload import worker as module  # noqa: PLC0415

        cuda = _Overlay(torch.cuda, Stream=_Stream, current_stream=lambda: None)
        module.torch = _Overlay(torch, cuda=cuda, Event=partial(_Event, gate=rank.gate))
        module.PIN_MEMORY = False
        module.DmaCopyBackend = partial(GatedBackend, rank.gate)
        return super().prepare_worker(worker, rank)


class GatedBackend:
    """In the place of ``DmaCopyBackend``: the same methods, no thread, completion at the gate."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._numbers = count()
        self._pool: Mapping[str, torch.Tensor] = {}
        self._tier: Mapping[str, torch.Tensor] = {}

    def init(self, gpu_caches: Any, cpu_caches: Any, *_: Any, **__: Any) -> None:
        """Remember both sides of the copies."""
        self._pool, self._tier = gpu_caches, cpu_caches

    def launch_copy(  # noqa: PLR0913, PLR0917 - vLLM's own
        self,
        src_blocks: Any,
        dst_blocks: Any,
        is_store: bool,
        event_idx: int,
        events_list: list[Any],
        wait_event: Any = None,
    ) -> None:
        """Hand the copy to the gate; its event is done when the gate has performed it."""
        del wait_event
        source, target = _ids(src_blocks), _ids(dst_blocks)
        event = _Event(gate=self._gate, job=next(self._numbers))
        blocks = source if is_store else target
        job = TransferJob(
            job_id=event.job,
            direction=Direction.STORE if is_store else Direction.LOAD,
            # The connector does not say which group a block belongs to.
            blocks=tuple((-1, int(block)) for block in blocks),
        )
        self._gate.submit(job, lambda: self._copy(source, target, event, is_store=is_store))
        events_list.append((event_idx, event))

    def _copy(
        self, source: torch.Tensor, target: torch.Tensor, event: _Event, *, is_store: bool
    ) -> None:
        for name, pool in self._pool.items():
            tier = self._tier[name]
            if is_store:
                tier[target] = pool[source].to(tier.device)
            else:
                pool[target] = tier[source].to(pool.device)
        event.done = True

    def shutdown(self) -> None:
        """Nothing runs on its own."""


class _Event:
    """Done when its copy is."""

    def __init__(self, *_: Any, gate: Gate, job: int = -1, **__: Any) -> None:
        self.job = job
        self.done = False
        self._gate = gate

    def record(self, *_: Any) -> None:
        """The order of copies is the gate's."""

    def elapsed_time(self, _: Any) -> float:
        """Milliseconds; nobody judges time here."""
        return 0.0

    def query(self) -> bool:
        """Whether the copy has been made."""
        return self.done

    def synchronize(self) -> None:
        """Have the copy made now."""
        self._gate.wait([self.job])


class _Stream:
    """A CUDA stream's methods, as far as they are called."""

    cuda_stream = 0

    def __init__(self, *_: Any, **__: Any) -> None: ...

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """(lowest, highest)."""
        return 0, 0

    def wait_event(self, _: Any) -> None: ...

    def wait_stream(self, _: Any) -> None: ...


class _Overlay:
    """A module with some names of ours."""

    def __init__(self, real: Any, **own: Any) -> None:
        self.__dict__.update(own, _real=real)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _ids(blocks: Iterable[int]) -> torch.Tensor:
    return torch.tensor([int(block) for block in blocks], dtype=torch.long)
