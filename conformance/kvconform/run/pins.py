"""Pinned values against the oracle: found by playing the pinned cases, before anybody relies on them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from kvconform.matrix import Matrix, Problem
from kvconform.matrix.document import read_document
from kvconform.results.record import Outcome
from kvconform.run.progress import Progress
from kvconform.run.request import RunRequest
from kvconform.run.session import run

_SAID = "PinError: "


def wrong_pins(matrices: Sequence[Matrix], templates: Sequence[Path] = ()) -> list[Problem]:
    """A problem for every matrix with a pin that the oracle contradicts, with the first such row.

    The cases are played on the reference, whose claims bring every pin into play.
    """
    pinned = {matrix.name: matrix for matrix in matrices if matrix.header.pins}
    if not pinned:
        return []
    request = RunRequest(device="cpu", templates=tuple(folder.absolute() for folder in templates))
    journal = run(list(pinned.values()), request, Progress(sys.stderr, quiet=True)).journal
    found: dict[str, Problem] = {}
    for record in journal.records.values():
        said = record.reason.partition("\n")[0]
        if record.outcome is Outcome.ERROR and said.startswith(_SAID):
            matrix = pinned[record.matrix]
            line, column = read_document(matrix.path, matrix.file).at(("expect",), key=True)
            case, _, what = said.removeprefix(_SAID).partition("]: ")
            row = case.partition("[")[2]
            problem = Problem(
                file=matrix.file, line=line, column=column, message=what, hint=f"in row [{row}]"
            )
            found.setdefault(record.matrix, problem)
    return list(found.values())
