"""The pytest plugin of rendered modules: options, the ``stage`` fixture, outcomes and records.

A rendered folder loads it from its ``conftest.py``, so plain ``pytest FOLDER`` knows the options
too.  Records are written where the reports arrive: by the controller, also under pytest-xdist.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kvconform.case import Case
from kvconform.engine.interrupts import INTERRUPTS
from kvconform.matrix.model import RowHandle
from kvconform.plugin_alone import Named
from kvconform.plugin_expectations import session_expectations, show_expectation
from kvconform.plugin_options import DEVICES
from kvconform.plugin_records import (
    NOT_APPLICABLE,
    Recorded,
    is_case_failure,
    later,
    record_of,
    template_line,
)
from kvconform.ports import KvconformError, StoreFactory, UnsupportedLayoutError
from kvconform.registry import STORE_PROVIDER, Candidate, resolve_connector
from kvconform.rendered import case_id, case_of_node, is_smoke, manifest_of, rendered_case
from kvconform.results.blame import crash_record
from kvconform.results.journal import (
    Journal,
    RecordsWriter,
    RunHeader,
    end_event,
    forget_event,
    plain,
    read_records,
    selected_event,
    start_event,
    warnings_event,
)
from kvconform.results.record import CaseRecord, Outcome
from kvconform.results.summary import summarize

_SESSION = pytest.StashKey["_Session"]()
_CASE = pytest.StashKey[Case | None]()
_STAGE = pytest.StashKey[Any]()
_RECORD = pytest.StashKey[CaseRecord]()


class OtherConnectorError(KvconformError):
    """Records that are to be continued with another connector: names both."""


class NotConcludedError(KvconformError):
    """A rendered test returned without ``stage.conclude()``: nothing was judged."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options that every rendered folder understands."""
    group = parser.getgroup("kvconform", "KV-cache connector conformance")
    group.addoption(
        "--connector",
        metavar="NAME",
        default=None,
        help="connector under test: a registered NAME[:ARG] or package.module:factory "
        "(default: reference)",
    )
    group.addoption(
        "--device",
        choices=DEVICES,
        default="auto",
        help="where the engine's KV memory lives; auto takes CUDA if there is any (default: auto)",
    )
    group.addoption(
        "--connector-config",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a setting handed to the connector as it stands (VALUE is read as JSON where it is "
        "JSON); may be repeated",
    )
    group.addoption(
        "--records", metavar="FILE", type=Path, help="write one JSON line for each event of the run"
    )
    group.addoption(
        "--case",
        metavar="ID",
        action="append",
        default=[],
        help="run this case alone, by its whole id; may be repeated",
    )
    group.addoption(
        "--skip-recorded",
        metavar="FILE",
        type=Path,
        help="leave out the cases that have a record in FILE; if --records names the same file, "
        "it is continued",
    )
    group.addoption(
        "--expect",
        metavar="FILE",
        action="append",
        default=[],
        help="a file of expected failures of the connector; may be repeated",
    )
    group.addoption(
        "--trace-all", action="store_true", help="record the events of cases that pass, too"
    )
    group.addoption("--no-summary-by-clause", action="store_true", help="no summary by clause")


def pytest_configure(config: pytest.Config) -> None:
    """Resolve the connector once; a name that leads nowhere ends the run with one line."""
    if getattr(config.option, "maxworkerrestart", "") is None:
        # pytest-xdist gives up after a few crashes of its workers; a crash is a verdict here.
        config.option.maxworkerrestart = str(10**9)
    if config.option.collectonly or config.option.help:
        return
    # Files that stand alone name a connector; pytest-xdist's controller never reads them.
    if config.getoption("connector") or config.getoption("numprocesses", None):
        _open(config, [])


def _open(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Resolve the connector and begin to record."""
    try:
        session = _Session(config, Named.of(config, items))
        config.stash[_SESSION] = session
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(_Controller(session, config), "kvconform-controller")
    except KvconformError as error:
        raise pytest.UsageError(*str(error).splitlines()) from error
    except OSError as error:
        raise pytest.UsageError(f"--records: {error}") from error


def pytest_unconfigure(config: pytest.Config) -> None:
    """Servers end with the session, however that ends."""
    session = config.stash.get(_SESSION, None)
    if session is not None:
        session.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Smoke cases first; leave out what ``--case`` does not name and ``--skip-recorded`` has."""
    if _SESSION not in config.stash and not config.option.collectonly:
        _open(config, items)
    items.sort(key=lambda item: not is_smoke(item.path))
    wanted = set(config.getoption("case"))
    skip = _recorded(config)
    if not wanted and not skip:
        return
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        case = _case_id(item)
        chosen = case is None or ((not wanted or case in wanted) and case not in skip)
        (kept if chosen else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """While a case runs, a Ctrl-C is told from a connector that raises the same exception."""
    with INTERRUPTS.watched():
        return (yield)


@pytest.fixture
def stage(request: pytest.FixtureRequest, row: Any) -> Iterator[Any]:
    """The case's own bench: the engine with a fresh connector, on which a template calls steps."""
    from kvconform import stage as stages  # noqa: PLC0415 - torch loads when the first case runs
    from kvconform.stages import open_stage, subject_of  # noqa: PLC0415 - the same

    __tracebackhide__ = True
    _one_thread()
    session = request.config.stash[_SESSION]
    request.node.stash[_CASE] = None
    case: Case = row.case()
    request.node.stash[_CASE] = case
    unsupported = session.expected.unsupported(case.id)
    if unsupported:
        pytest.skip(NOT_APPLICABLE + unsupported)
    try:
        made = open_stage(
            case,
            subject_of(request.module),
            factory=session.candidate.factory,
            connector=session.candidate.name,
            device=session.device,
            checks=tuple(request.module.CHECKS),
            options=session.options,
        )
    except stages.NotApplicableError as error:
        pytest.skip(_skip_reason(error))
    request.node.stash[_STAGE] = made
    yield made
    made.close()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Not applicable becomes a skip; a test that never asked for its verdict is an error."""
    __tracebackhide__ = True
    if "stage" not in pyfuncitem.fixturenames:
        return (yield)
    from kvconform import stage as stages  # noqa: PLC0415 - loaded already by the fixture

    try:
        result = yield
    except (stages.NotApplicableError, UnsupportedLayoutError) as error:
        pytest.skip(_skip_reason(error))
    used: Any = pyfuncitem.funcargs["stage"]
    if not used.concluded:
        raise NotConcludedError(
            f"the case was not concluded: {pyfuncitem.name} ended without stage.conclude()"
        )
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the record (plain data, so that it survives xdist) and show failures as their text."""
    report = yield
    if _CASE not in item.stash:
        return report
    before = item.stash.get(_RECORD, None)
    session = item.config.stash[_SESSION]
    subject = Recorded(
        item=item,
        case=item.stash[_CASE],
        case_id=_case_id(item),
        stage=item.stash.get(_STAGE, None),
        connector=session.candidate.name,
    )
    record = record_of(subject, call, report, trace_all=item.config.getoption("trace_all"))
    if before is not None:
        record = later(before, record)
    item.stash[_RECORD] = record
    if is_case_failure(call):
        report.longrepr = f"{call.excinfo.value}\n\n{template_line(item, call)}"  # type: ignore[union-attr]
    ended = report.when == "call" or (report.when == "setup" and not report.passed)
    if ended or not report.passed:
        record = session.expected.judge(record)
    if report.when == "call":
        show_expectation(record, report)
    if ended:
        item.user_properties += [
            ("outcome", record.outcome.value),
            ("connector", record.connector),
            ("clause", ",".join(record.clauses)),
            ("matrix", record.source),
        ]
    if ended or not report.passed:
        report.kvconform_record = plain(record.to_json())  # type: ignore[attr-defined]
    if report.when == "teardown":
        _let_go(item)
    return report


def _let_go(item: pytest.Item) -> None:
    """Pytest keeps its items to the end of the run: a case's pools and tensors go with the case."""
    if _STAGE in item.stash:
        del item.stash[_STAGE]
    getattr(item, "funcargs", {}).pop("stage", None)


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """A fault of the suite is told as an error, also when it showed while the test ran."""
    data = getattr(report, "kvconform_record", None)
    if data and report.when == "call" and data["outcome"] == Outcome.ERROR.value:
        return "error", "E", "ERROR"
    return None


class _Session:
    """What one process needs to run cases: the connector, how, and what is expected of it."""

    def __init__(self, config: pytest.Config, named: Named) -> None:
        self.options = named.options
        self.device = _device(config.getoption("device"))
        self.candidate: Candidate = resolve_connector(named.connector)
        check_options = getattr(self.candidate.factory, "check_options", None)
        if check_options is not None:
            check_options(self.options)
        self.expected = session_expectations(config, self.candidate.version)
        self._servers = ExitStack()
        session = getattr(self.candidate.factory, "session", None)
        # Under pytest-xdist the controller runs no case.
        controls = bool(config.getoption("numprocesses", None))
        if session is not None and not controls:
            self._servers.enter_context(session())
        store = getattr(self.candidate.factory, "store", None)
        if store is not None and not (session is not None and controls):
            self._probe(store)

    def _probe(self, store: StoreFactory) -> None:
        from kvconform.store.probe import probe  # noqa: PLC0415 - loads what stages need

        try:
            probe(self.candidate.name.removeprefix(f"{STORE_PROVIDER}:"), store)
        except KvconformError:
            self.close()
            raise

    def close(self) -> None:
        """End the servers that were started."""
        self._servers.close()


class _Controller:
    """Collects the records of a run and writes them as they come."""

    def __init__(self, session: _Session, config: pytest.Config) -> None:
        self.journal = Journal()
        self._config = config
        self._session = session
        self._cases: dict[str, str] = {}
        self._held: dict[str, dict[str, Any]] = {}
        self._planned = False
        self._writer: RecordsWriter | None = None
        path: Path | None = config.getoption("records")
        if path is not None:
            self._continued = path == config.getoption("skip_recorded") and path.exists()
            self._writer = RecordsWriter(path, append=self._continued)
            if self._continued:
                self.journal = read_records(path)
                self._refuse_another_connector(path)
                self._judge_anew()

    def _refuse_another_connector(self, path: Path) -> None:
        """Here, since only the connector's provider knows how its name is spelt in full."""
        header, name = self.journal.header, self._session.candidate.name
        if header is not None and header.connector != name:
            raise OtherConnectorError(
                f"{path} holds records of connector {header.connector!r}, not of {name!r}; "
                "name another file"
            )

    def _judge_anew(self) -> None:
        """What earlier sessions recorded stands, but for what is expected of it by now."""
        forgotten: list[str] = []
        for case, record in list(self.journal.records.items()):
            judged = self._session.expected.rejudge(record)
            if judged is None:
                forgotten.append(case)
            elif judged != record:
                self._tell(plain(judged.to_json()))
        if forgotten:
            self._tell(forget_event(forgotten))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._plan((item.nodeid, _case_id(item)) for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:  # noqa: ARG002
        root = self._config.rootpath
        self._plan((node_id, case_of_node(root, node_id)) for node_id in ids)

    def _plan(self, nodes: Iterable[tuple[str, str | None]]) -> None:
        """Say, once, what is run and which cases are to come."""
        self._cases |= {node_id: case for node_id, case in nodes if case is not None}
        if self._planned or not self._cases:
            return
        self._planned = True
        warnings = self._session.expected.warnings
        if self.journal.header is not None and warnings != self.journal.warnings:
            self._tell(warnings_event(warnings))
        if self.journal.header is not None:
            new = [case for case in self._cases.values() if case not in self.journal.selected]
            if new:
                self._tell(selected_event([*self.journal.selected, *new]))
            return
        manifest = manifest_of(self._config.rootpath)
        header = RunHeader(
            connector=self._session.candidate.name,
            connector_version=self._session.candidate.version,
            device=self._session.device,
            engine=getattr(self._session.candidate.factory, "engine_name", "built-in"),
            cases=len(self._cases),
            options=self._session.options,
            templates=manifest.templates if manifest is not None else (),
            expect=tuple(self._config.getoption("expect")),
            matrices=manifest.cases if manifest is not None else {},
            tuples=manifest.tuples if manifest is not None else (),
        )
        self._tell(header.to_json())
        if warnings:
            self._tell(warnings_event(warnings))
        self._tell(selected_event(self._cases.values()))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        case = self._cases.get(nodeid)
        if case is not None:
            self._tell(start_event(case))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(
        self, report: pytest.TestReport
    ) -> Generator[None, object, object]:
        data = getattr(report, "kvconform_record", None)
        if data is not None:
            self._held[report.nodeid] = data
        if report.when == "teardown" and report.nodeid in self._held:
            self._tell(self._held.pop(report.nodeid))
        elif report.when not in {"setup", "call", "teardown"} and report.failed:
            self._worker_died(report)
        return (yield)

    def _worker_died(self, report: pytest.TestReport) -> None:
        """What pytest-xdist reports of a worker that went away in the middle of a case."""
        self._held.pop(report.nodeid, None)
        case = rendered_case(self._config.rootpath, report.nodeid)
        if case is not None:
            how = "the test process died in the middle of the case"
            record = crash_record(case, self._session.candidate.name, how)
            record = self._session.expected.judge(record)
            show_expectation(record, report)  # before pytest counts it
            self._tell(plain(record.to_json()))

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        self._tell(end_event(str(session.shouldfail or session.shouldstop or "")))
        if (
            exitstatus == pytest.ExitCode.OK
            and self.journal.exit_code() == pytest.ExitCode.NO_TESTS_COLLECTED
        ):
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.journal.records and not self._config.getoption("no_summary_by_clause"):
            terminalreporter.section("kvconform", sep="=")
            terminalreporter.write_line(summarize(self.journal))

    def pytest_unconfigure(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def _tell(self, event: Mapping[str, Any]) -> None:
        self.journal.apply(event)
        if self._writer is not None:
            self._writer.write(event)


@cache
def _one_thread() -> None:
    """Copies here are many and tiny: threads would cost more than they bring."""
    torch: Any = sys.modules.get("torch")  # the stage has loaded it, if it needs it
    if torch is not None:
        torch.set_num_threads(1)


def _device(asked: str) -> str:
    if asked == "cpu":
        return asked
    import torch  # noqa: PLC0415 - a run on the CPU need not ask it

    if torch.cuda.is_available():
        return "cuda"
    if asked == "cuda":
        raise pytest.UsageError("--device cuda: torch finds no CUDA device here")
    return "cpu"


def _recorded(config: pytest.Config) -> frozenset[str]:
    path = config.getoption("skip_recorded")
    if path is None or not path.exists():
        return frozenset()
    try:
        return frozenset(read_records(path).records)
    except KvconformError as error:
        raise pytest.UsageError(str(error)) from error


def _case_id(item: pytest.Item) -> str | None:
    """The id of the item's case; None for tests that are none of ours."""
    callspec = getattr(item, "callspec", None)
    if callspec is None:
        return None
    row = callspec.params.get("row")
    return case_id(item.path, callspec.id) or (row.case_id if isinstance(row, RowHandle) else None)


def _skip_reason(error: Exception) -> str:
    text = str(error)
    return text if text.startswith(NOT_APPLICABLE) else NOT_APPLICABLE + text
