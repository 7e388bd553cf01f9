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
    """What a rank reports: ids of the jobs that are over on it, and of those among them that failed."""

    stores: tuple[int, ...] = ()
    loads: tuple[int, ...] = ()
    failed: frozenset[int] = frozenset()


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

    synchronous: bool
    """Whether a step waits for the loads that start in it."""

    def __init__(
        self, layout: Layout, blocks_per_chunk: int, num_slots: int, gate: TransferGate | None
    ) -> None:
        self._layout = layout
        self._blocks_per_chunk = blocks_per_chunk
        self._num_slots = num_slots
        self._gate = gate
        self._own = _Own()
        self._deferred: list[Transfer] = []
        self._loading: dict[int, Transfer] = {}
        self._storing: set[int] = set()
        self._over: list[tuple[int, bool]] = []
        """Jobs that are over and not reported."""
        self._load_errors: set[int] = set()
        self._completed = Completed()
        self._host: HostChunks | None = None
        self._copier: Copier | None = None

    @property
    def host(self) -> HostChunks:
        """Where this rank's chunks lie."""
        if self._host is None:
            raise RuntimeError("register_kv_caches was not called")
        return self._host

    @property
    def copier(self) -> Copier:
        """The copier over the registered memory."""
        if self._copier is None:
            raise RuntimeError("register_kv_caches was not called")
        return self._copier

    def register_kv_caches(self, kv_caches: Mapping[str, torch.Tensor]) -> None:
        """Make the host memory and the copier that suits the device."""
        on_cuda = next(iter(kv_caches.values())).is_cuda
        self._host = HostChunks(
            self._layout, self._blocks_per_chunk, self._num_slots, pinned=on_cuda
        )
        kind = CudaCopier if on_cuda else HostCopier
        self._copier = kind(self._layout, kv_caches, self._host)

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
            self._loading[transfer.job_id] = transfer
            self.submit(transfer)
        if self.synchronous:
            self.flush(tuple(transfer.job_id for transfer in self.metadata.loads))

    def wait_for_save(self) -> None:
        """Keep the step's stores for the next step.

        What was computed behind a load that this step waited for in vain is wrong: it is not stored.
        """
        spoiled = set()
        if self.synchronous:
            self._over += self._finished()
            failed = {job for job, success in self._over if not success}
            spoiled = {t.request_id for job, t in self._loading.items() if job in failed}
        for transfer in self.metadata.stores:
            if transfer.request_id in spoiled:
                self._storing.add(transfer.job_id)
                self._over.append((transfer.job_id, False))
            else:
                self._deferred.append(transfer)

    def submit(self, transfer: Transfer) -> None:
        """Start a copy, or hand it to the gate."""
        if self._gate is None:
            self._own.copies[transfer.job_id] = self.copier.start(transfer)
        else:
            self._gate.submit(transfer.as_job(), lambda: self.copier.start(transfer).wait())

    def get_finished(self, finished_request_ids: set[str]) -> tuple[set[str], set[str]]:
        """Requests whose loads are over; stores of ended requests keep no blocks.

        A load that failed is over too: its blocks are told beside, in the same step.
        """
        del finished_request_ids
        stores, loads, failed, waiting = [], [], set(), set()
        over, self._over = [*self._over, *self._finished()], []
        for job, success in over:
            if not success:
                failed.add(job)
            if job in self._storing:
                self._storing.discard(job)
                stores.append(job)
                continue
            loads.append(job)
            transfer = self._loading.pop(job)
            if not self.synchronous:
                waiting.add(transfer.request_id)
            if not success:
                self._load_errors |= {block for part in transfer.parts for block in part.blocks}
        self._completed = Completed(
            stores=tuple(stores), loads=tuple(loads), failed=frozenset(failed)
        )
        return set(), waiting

    def get_block_ids_with_load_errors(self) -> set[int]:
        """Every block of a load that failed: which of them were filled is not known."""
        told, self._load_errors = self._load_errors, set()
        return told

    def _finished(self) -> list[tuple[int, bool]]:
        return self._own.finished() if self._gate is None else self._gate.finished()

    def build_connector_worker_meta(self) -> Completed:
        """The jobs that completed since the last report."""
        return self._completed
