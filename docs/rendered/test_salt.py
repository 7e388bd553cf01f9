"""salt: Equal tokens under different salts, full attention only (rendered from matrix/isolation/salt.yaml; do not edit)."""

from pathlib import Path

import pytest

from kvconform.matrix import RowsFile

ROWS = RowsFile.read(Path(__file__).with_suffix(".json"))
CHECKS = ('never-shared', 'bytes-after-load', 'hit-is-covered', 'hit-is-best', 'reads-own-bytes', 'no-exception', 'every-request-ends')


@pytest.mark.parametrize("row", ROWS, ids=ROWS.ids)
def test_isolation(stage):
    """Equal tokens of another partition never share; those of the same one do."""
    stage.produce()
    stage.wipe_pool()
    stage.consume_as_stranger()
    for boundary in stage.cuts():
        stage.wipe_pool()
        stage.consume(boundary)
    stage.conclude()
