"""Watches the test process: turns hangs and crashes into records and goes on with the rest.

The supervisor knows the run only by its records file, which the test process writes line by
line.  What was recorded is never lost; a process that dies is started again for what is left.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kvconform.expectations import Expectations
from kvconform.ports import KvconformError
from kvconform.results.blame import crash_record, hang_record, is_unsound, not_run_record
from kvconform.results.journal import Journal, RecordsFollower, RecordsWriter, end_event, plain
from kvconform.results.record import CaseRecord, Outcome
from kvconform.run.child import Child
from kvconform.run.progress import Progress
from kvconform.run.request import CaseIndex, RunRequest

_POLL_SECONDS = 0.03
_START_SECONDS = 300.0
"""Importing torch and the connector and collecting the cases may take this long."""
_LINGER_SECONDS = 10.0
"""After its last word the test process may take this long to exit."""
_INTERRUPTED, _INTERNAL, _USAGE, _NOTHING = 2, 3, 4, 5
# Exit codes of pytest; a collection error interrupts.


class TestProcessError(KvconformError):
    """The test process ended before its first case; ``exit_code`` is that of the run."""

    __test__ = False

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class InterruptedRunError(KvconformError):
    """The user ended the run; ``journal`` is what there was by then."""

    def __init__(self, journal: Journal) -> None:
        super().__init__("interrupted")
        self.journal = journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Files of a run: the rendered folder, the records, the output of the test process."""

    folder: Path
    records: Path
    log: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Watcher:
    """Who looks on: ``cancelled`` is asked often, and True ends the run as by Ctrl-C.

    ``expected`` is what is known of the connector, whichever its version.
    """

    progress: Progress
    cancelled: Callable[[], bool] = lambda: False
    expected: Expectations = field(default_factory=Expectations)


@dataclass(slots=True, kw_only=True)
class _Watch:
    """What one test process did so far, on the supervisor's clock (seconds)."""

    started: dict[str, float]
    last_event: float
    sessions_before: int
    records_before: int
    heard: bool = False
    expected_end: bool = False
    hung: tuple[str, ...] = ()
    stuck: str = ""


class Supervisor:
    """Runs the cases of one rendered folder to their end, whatever the connector does."""

    def __init__(
        self, request: RunRequest, index: CaseIndex, places: Places, watcher: Watcher
    ) -> None:
        self._request = request
        self._index = index
        self._folder = places.folder
        self._records = places.records
        self._log = places.log
        self._progress = watcher.progress
        self._cancelled = watcher.cancelled
        self._expected = watcher.expected
        self._follower = RecordsFollower(places.records)
        self.journal = self._follower.journal

    def run(self) -> Journal:
        """All cases, restarting as often as needed and allowed; expected crashes are free.

        Raises `TestProcessError` if not one case could be started, `InterruptedRunError` on Ctrl-C.
        """
        restarts = 0
        self._follower.poll()
        while True:
            again, as_expected = self._session()
            if self._insane():
                self._leave_rest(f"not run, since the smoke case {self._insane()} failed")
                break
            if not again:
                break
            restarts += not as_expected
            if restarts > self._request.max_restarts:
                self._give_up(restarts)
                break
        self._progress.clear()
        return self.journal

    def _session(self) -> tuple[bool, bool]:
        """One test process: whether another one is needed for what is left, and if it ended as expected."""
        child = Child(self._arguments(), self._log, shown=self._request.show_output)
        watch = _Watch(
            started={},
            last_event=time.monotonic(),
            sessions_before=self.journal.sessions_ended,
            records_before=self.journal.told,
        )
        self.journal.running.clear()
        self.journal.stopped = ""
        try:
            self._follow(child, watch)
        except KeyboardInterrupt:
            child.interrupt()
            self._settle()
            self._append([], end_event("interrupted"))
            self._progress.clear()
            raise InterruptedRunError(self.journal) from None
        finally:
            child.kill()
        self._settle()
        if not self._insane():
            self._blame(child, watch)
        return self._go_on(child, watch), watch.expected_end

    def _follow(self, child: Child, watch: _Watch) -> None:
        """Read along until the process has ended, or has to be."""
        while True:
            over = child.exit_status() is not None
            now = time.monotonic()
            if self._follower.poll():
                watch.last_event, watch.heard = now, True
            self._progress.update(self.journal)
            child.echo()
            if over:
                return
            if self._cancelled():
                raise KeyboardInterrupt
            if self._insane():
                return
            idle = now - watch.last_event
            if self.journal.sessions_ended > watch.sessions_before:
                if idle > _LINGER_SECONDS:
                    watch.stuck = "the test process did not exit after its last word and was killed"
                    self._progress.note(watch.stuck)
                    return
                time.sleep(_POLL_SECONDS)
                continue
            running = self.journal.running
            watch.started = {case: watch.started.get(case, now) for case in running}
            limit = self._request.case_seconds
            watch.hung = tuple(case for case, at in watch.started.items() if now - at > limit)
            if watch.hung:
                return
            if not running and idle > (limit if watch.heard else max(limit, _START_SECONDS)):
                watch.stuck = f"the test process did nothing for {idle:.0f} s and was killed"
                return
            time.sleep(_POLL_SECONDS)

    def _settle(self) -> None:
        """Take in the last lines; nobody writes any more."""
        self._follower.poll()
        self._follower.drop_unfinished_line()

    def _blame(self, child: Child, watch: _Watch) -> None:
        """Record the cases that ended the process, or that had to be ended with it."""
        connector = self._request.connector
        hung = [case for case in watch.hung if case in self.journal.running]
        records: list[CaseRecord] = []
        how = "hang"
        if hung:
            stack = child.stack() if len(hung) == 1 else ()
            for case in hung:
                seconds = self._request.case_seconds
                records.append(hang_record(self._index.case(case), connector, seconds, stack))
        elif not watch.hung and len(self.journal.running) == 1:
            # Of several that ran side by side nobody knows which one it was: they run again.
            (case,) = self.journal.running
            ended = self.journal.sessions_ended > watch.sessions_before
            end = "the case ended the test session" if ended else child.describe_end()
            how = f"crash ({end})"
            records.append(crash_record(self._index.case(case), connector, end, child.stack()))
        version = self.journal.header.connector_version if self.journal.header else ""
        expected = self._expected.for_version(version) if records else self._expected
        records = [expected.judge(record) for record in records]
        for record in records:
            known = "expected " if record.outcome is Outcome.EXPECTED_FAILURE else ""
            self._progress.note(f"{record.case}: {known}{how}, the test process is started again")
        self._append(records)
        watch.expected_end = {record.outcome for record in records} == {Outcome.EXPECTED_FAILURE}

    def _go_on(self, child: Child, watch: _Watch) -> bool:
        new_records = self.journal.told > watch.records_before
        status = child.exit_status() or 0
        ended = self.journal.sessions_ended > watch.sessions_before
        if not new_records and not self.journal.running:
            self._refuse_silence(child, watch, status)
        if not self.journal.missing or not new_records:
            return False
        # A session that was told to stop leaves cases out on purpose.  Any other that brought
        # something is followed by another: pytest-xdist loses cases when a worker crashes.
        return not (ended and self.journal.stopped)

    def _refuse_silence(self, child: Child, watch: _Watch, status: int) -> None:
        """Nothing at all came: say what the process said."""
        if status in {0, 1} and not watch.stuck:
            return
        if status == _NOTHING and self.journal.records:
            return
        if status == _NOTHING:
            raise TestProcessError("no case is selected", _NOTHING)
        said = child.complaint()
        if watch.stuck:
            raise TestProcessError("\n".join(filter(None, [watch.stuck, said])), _INTERNAL)
        if status == _USAGE:
            raise TestProcessError(said or "pytest refused its arguments", 2)
        if self.journal.header is None and status not in {_INTERNAL, _INTERRUPTED}:
            end = child.describe_end()
            text = f"the test process ended ({end}) while it loaded connector {self._request.connector!r}"
            stack = child.stack()
            calls = ["innermost call first:", *stack] if stack else []
            raise TestProcessError("\n".join([text, *calls]), 2)
        raise TestProcessError(
            f"the test process ended ({child.describe_end()}) before the first case\n{said}", 3
        )

    def _insane(self) -> str:
        """The first smoke case that failed, once all of them have their verdict: empty if none.

        A connector that falls short of a policy is sane; one that breaks what binds everybody,
        or with which nothing can be measured, is not.
        """
        smoke = self._index.smoke
        if any(case not in self.journal.records for case in smoke):
            return ""
        return next((case for case in smoke if is_unsound(self.journal.records[case])), "")

    def _give_up(self, restarts: int) -> None:
        self._leave_rest(f"given up after {restarts} hangs and crashes")

    def _leave_rest(self, reason: str) -> None:
        """Record the cases that are left as untestable."""
        self._append(
            [
                not_run_record(self._index.case(case), self._request.connector, reason)
                for case in self.journal.missing
            ]
        )
        self._progress.note(reason)

    def _append(self, records: Sequence[CaseRecord], *events: dict[str, object]) -> None:
        if not records and not events:
            return
        with RecordsWriter(self._records, append=True) as writer:
            for record in records:
                writer.write(plain(record.to_json()))
            for event in events:
                writer.write(event)
        self._follower.poll()

    def _arguments(self) -> list[str]:
        """The command line of the test process; ours stand last and win."""
        request = self._request
        arguments = [
            *request.pytest_args,
            *(["-v"] if request.show_output else ["-q", "--no-header"]),
            *("-c", str(self._folder / "pytest.ini"), "--rootdir", str(self._folder)),
            *("-p", "no:cacheprovider", "-p", "kvconform.plugin", "-p", "kvconform.run.orphan"),
            *("-o", f"faulthandler_timeout={request.case_seconds * 0.9:g}"),
            "--no-summary-by-clause",
            *("--connector", request.connector, "--device", request.device),
            *("--records", str(self._records), "--skip-recorded", str(self._records)),
        ]
        for pair in request.connector_config:
            arguments += ["--connector-config", pair]
        for file in request.expect:
            arguments += ["--expect", file]
        for case in request.cases:
            arguments += ["--case", case]
        return [*arguments, str(self._folder)]
