"""The reference on a CUDA device: pinned memory, own streams.  Skipped where there is none."""

from __future__ import annotations

import pytest
import torch

from kvconform.matrix import find_matrices, load_matrices, load_scenario
from kvconform.ports import Direction, Group, GroupKind, Layout
from kvconform.stage import Stage
from kvconform_reference import make_connector
from kvconform_reference.transfer import CudaCopier, HostChunks, Part, Transfer

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]

LAYOUT = Layout(
    groups=(Group(name="full", kind=GroupKind.FULL, block_size=16, layers=2),),
    hash_block=16,
    blocks_per_chunk=2,
    num_blocks=16,
)


def test_bytes_come_back_through_pinned_memory():
    """What was stored from some blocks is loaded into others, in every layer."""
    page = LAYOUT.groups[0].page_bytes
    caches = {
        name: torch.randint(0, 256, (16, page), dtype=torch.uint8, device="cuda")
        for name in LAYOUT.groups[0].layer_names()
    }
    copier = CudaCopier(LAYOUT, caches, HostChunks(LAYOUT, 2, 4, pinned=True))
    stored = Part(group=0, blocks=(3, 5, 7), slots=(0, 0, 2), subs=(0, 1, 1))
    loaded = Part(group=0, blocks=(9, 11, 13), slots=(0, 0, 2), subs=(0, 1, 1))
    copier.start(Transfer(job_id=1, direction=Direction.STORE, parts=(stored,))).wait()
    copier.start(Transfer(job_id=2, direction=Direction.LOAD, parts=(loaded,))).wait()
    torch.cuda.synchronize()
    for cache in caches.values():
        assert torch.equal(cache[[3, 5, 7]], cache[[9, 11, 13]])


@pytest.mark.parametrize("own_transfers", [False, True])
@pytest.mark.parametrize("name", ["coverage/cold_consumer", "coverage/prefill_steps"])
def test_cases_pass_on_the_device(name, own_transfers):
    """Through the engine's gate and on the reference's own streams."""
    (matrix,) = load_matrices(find_matrices([name]))
    checks = load_scenario(matrix.scenario).checks
    for row in matrix.rows:
        stage = Stage(
            matrix.case(row),
            factory=make_connector,
            device="cuda",
            checks=checks,
            options={"own_transfers": own_transfers},
        )
        stage.produce()
        stage.judge_stores()
        for boundary in stage.cuts():
            stage.wipe_pool()
            stage.consume(boundary)
        stage.conclude()
