"""The command line that runs a recorded case again."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from kvconform.connector_config import written
from kvconform.resources import matrix_dir
from kvconform.results.journal import RunHeader
from kvconform.results.record import CaseRecord


def reproduction(record: CaseRecord, header: RunHeader | None) -> str:
    """The command line that runs exactly this case again, quoted for a shell."""
    words = ["kvconform", "run", matrix_argument(record.source)]
    if header is not None:
        words += ["--connector", header.connector]
        if header.device != "cpu":
            words += ["--device", header.device]
        for pair in written(header.options):
            words += ["--connector-config", pair]
        for folder in header.templates:
            words += ["--templates", folder]
        for file in header.expect:
            words += ["--expect", file]
    return shlex.join([*words, "--case", record.case])


def matrix_argument(source: str) -> str:
    """What to type for the matrix of ``source`` (file:line): shipped ones by their bare name."""
    named = Path(source.rpartition(":")[0] or source)
    places = (named, matrix_dir() / named)
    file = next((path for path in places if os.path.exists(path)), named)  # noqa: PTH110 - takes any name
    for base, suffix in ((matrix_dir(), False), (Path.cwd(), True)):
        try:
            inside = file.resolve().relative_to(base.resolve())
        except ValueError:
            continue
        return (inside if suffix else inside.with_suffix("")).as_posix()
    return str(file)
