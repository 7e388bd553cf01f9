"""The worker side: submits copies at the right moment of a step and reports their end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from kvconform.ports import Layout, TransferGate, WorkerSide
from kvconform_reference.transfer import Copier, Copy, CudaCopier, HostChunks, HostCopier, Transfer


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMetadata:
    """What the scheduler side tells every rank about a step.

    ``flush`` are store jobs whose source blocks have a new owner from this step on.
    """

    stores: tuple[Transfer, ...] = ()
    loads: tuple[Transfer, ...] = ()
    flush: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """What a rank reports: ids of the jobs that are complete on it."""

    stores: tuple[int, ...] = ()
    loads: tuple[int, ...] = ()


@dataclass(slots=True)
class _Own:
    """Copies that the worker runs itself, where no gate is given."""

    copies: dict[int, Copy] = field(default_factory=dict)

    def finished(self) -> list[tuple[int, bool]]:
        done = [job for job, copy in self.copies.items() if copy.done()]
        for job in done:
            del self.copies[job]
        return [(job, True) for job in done]


class ReferenceWorker(WorkerSide):
    """One rank.  A step's stores are submitted at the start of the next step.

    By then the forward pass that wrote their blocks is over, and sampling was not delayed.
    """

    def __init__(
        self, layout: Layout, blocks_per_chunk: int, num_slots: int, gate: TransferGate | None
    ) -> None:
        self._layout = layout
        self._blocks_per_chunk = blocks_per_chunk
        self._num_slots = num_slots
        self._gate = gate
        self._own = _Own()
        self._deferred: list[Transfer] = []
        self._loading: dict[int, str] = {}
        self._storing: set[int] = set()
        self._completed = Completed()
        self._copier: Copier | None = None

    @property
    def copier(self) -> Copier:
        """The copier over the registered memory."""
        if self._copier is None:
            raise RuntimeError("register_kv_caches was not called")
        return self._copier

    def register_kv_caches(self, kv_caches: Mapping[str, torch.Tensor]) -> None:
        """Make the host memory and the copier that suits the device."""
        on_cuda = next(iter(kv_caches.values())).is_cuda
        host = HostChunks(self._layout, self._blocks_per_chunk, self._num_slots, pinned=on_cuda)
        kind = CudaCopier if on_cuda else HostCopier
        self._copier = kind(self._layout, kv_caches, host)

    def handle_preemptions(self, metadata: StepMetadata) -> None:
        """Submit the last step's stores; complete those whose blocks are about to be overwritten."""
        for transfer in self._deferred:
            self._storing.add(transfer.job_id)
            self.submit(transfer)
        self._deferred = []
        self.flush(metadata.flush)

    def flush(self, job_ids: tuple[int, ...]) -> None:
        """Wait for jobs."""
        if self._gate is not None:
            self._gate.wait(job_ids)
            return
        for job in job_ids:
            if job in self._own.copies:
                self._own.copies[job].wait()

    def start_load_kv(self) -> None:
        """Submit the step's loads."""
        for transfer in self.metadata.loads:
            self._loading[transfer.job_id] = transfer.request_id
            self.submit(transfer)

    def wait_for_save(self) -> None:
        """Keep the step's stores for the next step."""
        self._deferred.extend(self.metadata.stores)

    def submit(self, transfer: Transfer) -> None:
        """Start a copy, or hand it to the gate."""
        if self._gate is None:
            self._own.copies[transfer.job_id] = self.copier.start(transfer)
        else:
            self._gate.submit(transfer.as_job(), lambda: self.copier.start(transfer).wait())

    def get_finished(self, finished_request_ids: set[str]) -> tuple[set[str], set[str]]:
        """Requests whose loads are complete; stores of ended requests keep no blocks."""
        del finished_request_ids
        stores, loads, waiting = [], [], set()
        finished = self._own.finished() if self._gate is None else self._gate.finished()
        for job, _ in finished:
            if job in self._storing:
                self._storing.discard(job)
                stores.append(job)
            else:
                loads.append(job)
                waiting.add(self._loading.pop(job))
        self._completed = Completed(stores=tuple(stores), loads=tuple(loads))
        return set(), waiting

    def build_connector_worker_meta(self) -> Completed:
        """The jobs that completed since the last report."""
        return self._completed
