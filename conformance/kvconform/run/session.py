"""One run from matrices to exit code."""

from __future__ import annotations

import difflib
import shlex
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType

from kvconform import CONTRACT_REVISION
from kvconform.connector_config import read_settings, written
from kvconform.expectations import load_expectations
from kvconform.matrix import Matrix
from kvconform.matrix.tuples import count_tuples
from kvconform.ports import KvconformError
from kvconform.render import render
from kvconform.results.journal import Journal, RecordsWriter, forget_event, read_records
from kvconform.run.progress import Progress
from kvconform.run.request import CaseIndex, RunRequest
from kvconform.run.supervisor import InterruptedRunError, Places, Supervisor, Watcher


class UnknownCaseError(KvconformError, LookupError):
    """A case id that none of the matrices has: names the nearest ones."""


class ResumeError(KvconformError):
    """Records that cannot be continued: they are of something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What a run came to.

    ``lost`` are ids of cases that the matrices have and the test process never saw, which only
    a fault of the suite can bring about.
    """

    journal: Journal
    exit_code: int
    lost: tuple[str, ...] = ()


def run(
    matrices: Sequence[Matrix],
    request: RunRequest,
    progress: Progress,
    *,
    cancelled: Callable[[], bool] = lambda: False,
) -> RunResult:
    """Render, run and supervise; the records are in ``request.records`` if that is set.

    ``cancelled`` is asked often; once it says True the run ends as by Ctrl-C.
    Raises `UnknownCaseError`, `ExpectationsError`, `ResumeError`, and what `render` and the
    supervisor raise.
    """
    index = CaseIndex.of(matrices)
    _refuse_unknown(request.cases, index)
    # Once more in the test process, which alone knows the connector's version.
    known = load_expectations(request.expect, index.space())
    with tempfile.TemporaryDirectory(prefix="kvconform-") as temporary, terminable():
        folder = Path(temporary) / "cases"
        render(matrices, folder, templates=request.templates, tuples=count_tuples(matrices))
        records = (request.records or Path(temporary) / "records.jsonl").absolute()
        _prepare(records, request, index, progress)
        supervisor = Supervisor(
            request,
            index,
            Places(folder=folder, records=records, log=Path(temporary) / "output.txt"),
            Watcher(progress=progress, cancelled=cancelled, expected=known),
        )
        try:
            journal = supervisor.run()
        except InterruptedRunError as error:
            return RunResult(journal=error.journal, exit_code=130)
    expected = request.cases or (() if request.pytest_args else tuple(index.rows))
    seen = {*journal.selected, *journal.records}
    lost = tuple(case for case in expected if case not in seen)
    return RunResult(
        journal=journal,
        exit_code=3 if lost and not journal.stopped else journal.exit_code(),
        lost=lost,
    )


def _refuse_unknown(cases: Sequence[str], index: CaseIndex) -> None:
    for case in cases:
        if case not in index.rows:
            near = difflib.get_close_matches(case, list(index.rows), n=1, cutoff=0.4)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise UnknownCaseError(f"no matrix of this run has a case {case!r}{hint}")


def _prepare(records: Path, request: RunRequest, index: CaseIndex, progress: Progress) -> None:
    """An old records file is continued only if that was asked for, and only by the same run."""
    try:
        if not request.resume:
            records.write_bytes(b"")
            return
    except OSError as error:
        raise ResumeError(f"{records}: cannot be written: {error.strerror}") from error
    if not records.exists():
        return
    # Cut in place: whatever moment the machine picks to die, no whole line is ever gone.
    with records.open("rb+") as stream:
        stream.truncate(stream.read().rfind(b"\n") + 1)
    journal = read_records(records)
    header = journal.header
    # How a name without an argument is spelt in full, the test process knows, and looks.
    asked = request.connector.rstrip(":")
    if header is not None and asked not in {header.connector, header.connector.partition(":")[0]}:
        raise ResumeError(
            f"{records} holds records of connector {header.connector!r}, "
            f"not of {request.connector!r}; name another file"
        )
    if header is not None:
        _refuse_other_settings(records, header.options, read_settings(request.connector_config))
    if header is not None and header.contract != CONTRACT_REVISION:
        raise ResumeError(
            f"{records} holds records by revision {header.contract} of the contract, and this "
            f"release judges by revision {CONTRACT_REVISION}; name another file"
        )
    foreign = [case for case in (*journal.selected, *journal.records) if case not in index.rows]
    if foreign:
        raise ResumeError(
            f"{records} holds records of another run: no matrix of this one has "
            f"{foreign[0]!r}; name another file, or the matrices of that run"
        )
    _forget_changed(records, journal, index, progress)


def _refuse_other_settings(
    records: Path, recorded: Mapping[str, object], asked: Mapping[str, object]
) -> None:
    """Verdicts on one connector with different settings never mix."""
    if sorted(written(recorded)) == sorted(written(asked)):
        return
    said = [
        shlex.join(word for pair in written(one) for word in ("--connector-config", pair))
        or "no --connector-config"
        for one in (recorded, asked)
    ]
    raise ResumeError(
        f"{records} holds records with {said[0]}, not with {said[1]}; name another file"
    )


def _forget_changed(
    records: Path, journal: Journal, index: CaseIndex, progress: Progress
) -> None:
    """A record holds only as long as its case asks the same: others are taken back."""
    changed = [
        case
        for case, record in journal.records.items()
        if record.fingerprint not in {"", index.case(case).fingerprint}
    ]
    if changed:
        with RecordsWriter(records, append=True) as writer:
            writer.write(forget_event(changed))
        first = index.case(changed[0])
        progress.note(
            f"{records}: {len(changed)} case(s) are run again, since what they ask has changed: "
            f"{first.id} ({first.source})" + (" and others" if len(changed) > 1 else "")
        )


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does: with the test process ended and the records kept."""
    if current_thread() is not main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
