"""A connector that does nothing: what an engine does with it, it does without a connector."""
# ruff: noqa: ARG002 - the ports say what each method is for

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kvconform.ports import (
    BlockTable,
    Capability,
    ChunkControl,
    ChunkState,
    Layout,
    Request,
    SchedulerSide,
    Setting,
    Step,
    WorkerSide,
)


class _Scheduler(SchedulerSide):
    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        return 0, False

    def update_state_after_alloc(
        self, request: Request, blocks: BlockTable, num_external_tokens: int
    ) -> None:
        return

    def build_connector_meta(self, step: Step) -> Any:
        return None

    def request_finished(
        self, request: Request, blocks: BlockTable
    ) -> tuple[bool, Mapping[str, object] | None]:
        return False, None


class _Worker(WorkerSide):
    def register_kv_caches(self, kv_caches: Mapping[str, torch.Tensor]) -> None:
        return

    def start_load_kv(self) -> None:
        return

    def wait_for_save(self) -> None:
        return

    def get_finished(self, finished_request_ids: set[str]) -> tuple[set[str], set[str]]:
        return set(), set()


class _Chunks:
    def seed(
        self, request: Request, group: int, chunk: int, state: ChunkState, block_ids: Sequence[int]
    ) -> None:
        return

    def finish(self, request: Request, group: int, chunk: int) -> None:
        return

    def drop(self, request: Request, group: int, chunk: int) -> None:
        return


class NoConnector:
    """It never hits.  It refuses nothing that a trace may ask for, so that any trace can be played."""

    capabilities = frozenset(Capability)

    def __init__(self, layout: Layout, setting: Setting) -> None:
        self.scheduler: SchedulerSide = _Scheduler()
        self.workers: Sequence[WorkerSide] = [_Worker() for _ in range(layout.world)]
        self.chunk_control: ChunkControl | None = _Chunks()
        self.chunk_tokens = layout.chunk_tokens
