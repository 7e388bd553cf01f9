"""cold-consumer: What a producer stored is what a cold consumer needs, extra retained history included (rendered from matrix/coverage/cold_consumer.yaml; do not edit)."""

from pathlib import Path

import pytest

from kvconform.matrix import RowsFile

ROWS = RowsFile.read(Path(__file__).with_suffix(".json"))
CHECKS = ('bytes-after-load', 'hit-is-covered', 'hit-is-best', 'state-at-boundary', 'hits-are-monotone', 'load-is-exact', 'store-is-exact', 'load-is-async', 'reads-own-bytes', 'writes-only-loads', 'job-blocks', 'no-exception', 'every-request-ends')


@pytest.mark.parametrize("row", ROWS, ids=ROWS.ids)
def test_cold_consumer(stage):
    """A producer computes and stores; the pool is wiped before each consumer asks."""
    stage.produce()
    stage.judge_stores()
    for boundary in stage.cuts():
        stage.wipe_pool()
        stage.consume(boundary)
    stage.drop_chunks()
    for boundary in stage.cuts_once_dropped():
        stage.wipe_pool()
        stage.consume(boundary)
    stage.conclude()
