"""What the bench says of a connector's copies."""

from __future__ import annotations

import re

import pytest

from kvconform.bandwidth import NoBandwidthError, measure
from kvconform.cli import main
from kvconform.ports import Direction
from kvconform.registry import resolve_connector
from kvconform_reference.connector import ReferenceConnector
from kvconform_reference.transfer import Transfer
from kvconform_reference.worker import ReferenceWorker


class _TenfoldLoadingWorker(ReferenceWorker):
    """Makes every copy of a load ten times."""

    def submit(self, transfer: Transfer) -> None:
        if transfer.direction is Direction.LOAD and self._gate is not None:
            copies = [self.copier] * 10
            self._gate.submit(transfer.as_job(), lambda: [c.start(transfer).wait() for c in copies])
        else:
            super().submit(transfer)


class _TenfoldLoading(ReferenceConnector):
    def make_worker(self, num_slots, gate):
        return _TenfoldLoadingWorker(self.layout, self.layout.blocks_per_chunk, num_slots, gate)


def test_shares_of_a_plain_copy():
    """Both directions are measured, and ten copies for one take their time."""
    plain = measure(resolve_connector("reference").factory, "cpu", 256 * 1024)
    slow = measure(_TenfoldLoading, "cpu", 256 * 1024)
    assert plain.plain > 0
    assert plain.store > 0
    assert slow.load < plain.load / 2
    line = r"cpu, blocks of 256 KiB: plain copy [\d.]+ GB/s, store \d+% of it, load \d+%"
    assert re.fullmatch(line, str(plain))


def test_copies_that_are_not_seen_are_not_measured():
    """Without the engine's gate there is nothing to time: said, and no figure."""

    def own(layout, setting):
        connector = ReferenceConnector(layout, setting)
        connector.capabilities -= {"transfer_control"}
        return connector

    with pytest.raises(NoBandwidthError, match="does not claim transfer_control"):
        measure(own, "cpu", 64 * 1024)


@pytest.mark.slow
def test_the_bench_tells_cases_copies_and_collection(capsys):
    """One line for the cases, one for each block size, one for the rows."""
    assert main(["bench", "--rows", "8"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("reference: 102 cases: ")
    assert [line.split(":")[0] for line in lines[1:5]] == [
        f"cpu, blocks of {kib} KiB" for kib in (16, 64, 256, 1024)
    ]
    assert lines[5].startswith("8 rows: render and collect ")
