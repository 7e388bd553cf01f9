"""``kvconform explain CASE``: one case, run again and told event by event."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kvconform.cli.cases import with_cases
from kvconform.matrix import find_matrices, load_matrices
from kvconform.results.failure import bad_checks, connector_title
from kvconform.results.journal import Journal, RunHeader
from kvconform.results.picture import draw
from kvconform.results.record import CaseRecord
from kvconform.results.terminal import show
from kvconform.results.timeline import timeline
from kvconform.run import RunRequest, run
from kvconform.run.progress import Progress


def tell_case(case: str, options: argparse.Namespace) -> int:
    """Run the case on the connector of the options, and print its timeline and what was judged."""
    matrices = load_matrices(find_matrices(options.paths), templates=options.templates)
    named = [matrix for matrix in matrices if matrix.name == case.partition("[")[0]]
    result = run(
        with_cases(named or matrices, [case], options.templates),
        RunRequest(
            connector=options.connector,
            device=options.device,
            connector_config=tuple(options.connector_config),
            templates=tuple(folder.absolute() for folder in options.templates),
            case_seconds=options.case_timeout,
            cases=(case,),
            pytest_args=("--trace-all",),
        ),
        Progress(sys.stderr, quiet=True),
    )
    show(_told(result.journal, case))
    return result.exit_code


def _told(journal: Journal, case: str) -> str:
    record = journal.records.get(case)
    if record is None:
        return f"{case}: did not run"
    parts = [_head(record, journal.header), "\n".join(timeline(record)), *_pictures(record)]
    parts.append(_checks(record))
    if record.reason:
        parts.append(f"reason: {record.reason}")
    return "\n\n".join(part for part in parts if part)


def _head(record: CaseRecord, header: RunHeader | None) -> str:
    axes = ", ".join(f"{name}={value}" for name, value in record.axes.items())
    return "\n".join(
        [
            f"{record.case}: {record.outcome.value}",
            f"  connector  {connector_title(header)}",
            f"  axes       {axes}",
            f"  matrix     {record.source}",
        ]
    )


def _pictures(record: CaseRecord) -> list[str]:
    scene = record.scene
    if scene is None:
        return []
    return ["\n".join(draw(scene, picture)) for picture in scene.pictures]


def _checks(record: CaseRecord) -> str:
    bad = bad_checks(record)
    lines = [
        f"  {one.clause:<6} {one.check}: {one.outcome.value}"
        + (f"; expected {one.expected}, got {one.got}" if one in bad else "")
        for one in record.checks
    ]
    return "\n".join(["checks", *lines]) if lines else ""


def is_case(target: str) -> bool:
    """Whether the words name a case, and no file: ``matrix[values]``."""
    return target.endswith("]") and "[" in target and not Path(target).exists()
