"""``kvconform stores``: every store that comes with the project, one line for each at the end."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from kvconform import resources
from kvconform.cli.command import (
    Command,
    add_plan,
    add_templates,
    load,
    make_folder,
    positive_seconds,
    say,
)
from kvconform.matrix import Matrix
from kvconform.ports import KvconformError
from kvconform.registry import STORE_PROVIDER
from kvconform.results.summary import summarize
from kvconform.run import RunRequest, run
from kvconform.run.progress import Progress
from kvconform.run.request import CASE_SECONDS
from kvconform.run.session import terminable
from kvconform.store.counts import StoreCount, read_counts, write_counts
from kvconform.store.environments import (
    ENVIRONMENTS,
    environment_of,
    expectations_name,
    file_name,
    is_ours,
    stores_of_this_environment,
)

_MATRICES = "stores"
_GRACE_S = 10.0
_INTERRUPTED = 130


class NoCheckoutError(KvconformError):
    """tox environments are asked for where there is no ``tox.ini`` of ours."""


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        metavar="NAME|PATH",
        nargs="*",
        help=f"a store ({', '.join(ENVIRONMENTS)}; default: those for which this tox environment "
        "is made, outside of one all), or a matrix as for 'kvconform run' "
        f"(default: {_MATRICES})",
    )
    add_templates(parser)
    add_plan(parser)
    parser.add_argument(
        "--case-timeout",
        metavar="SECONDS",
        type=positive_seconds,
        default=CASE_SECONDS,
        help=f"a case that takes longer has hung and fails (default: {CASE_SECONDS:g})",
    )
    parser.add_argument(
        "--tox",
        action="store_true",
        help="run each store in the tox environment that installs what it needs (in a checkout)",
    )
    parser.add_argument(
        "--records",
        metavar="DIR",
        type=Path,
        help="keep the records of each store as NAME.jsonl in this folder, for 'kvconform report'",
    )
    parser.add_argument(
        "--counts", metavar="FILE", type=Path, help="write the numbers as JSON as well"
    )


def execute(options: argparse.Namespace) -> int:
    """Run store after store; a store that cannot be run has a line with the cause."""
    names = [name for name in options.names if is_ours(name)]
    options.paths = [name for name in options.names if not is_ours(name)] or [_MATRICES]
    matrices = load(options)
    if options.records is not None:
        make_folder(options.records)
    counts: list[StoreCount] = []
    with terminable():
        for environment, some in groupby(names or stores_of_this_environment(), environment_of):
            asked = list(some)
            counts += (
                _by_tox(environment, asked, options)
                if options.tox and environment
                else [_here(name, matrices, options) for name in asked]
            )
    if options.counts is not None:
        write_counts(counts, options.counts)
    say("\n".join(map(str, counts)))
    return int(not all(one.is_good for one in counts))


def _here(name: str, matrices: Sequence[Matrix], options: argparse.Namespace) -> StoreCount:
    """One store in this environment, with what is known to fail."""
    expect = resources.root() / "expectations" / expectations_name(name)
    request = RunRequest(
        connector=f"{STORE_PROVIDER}:{name}",
        case_seconds=options.case_timeout,
        records=options.records / f"{file_name(name)}.jsonl" if options.records is not None else None,
        templates=tuple(folder.absolute() for folder in options.templates),
        expect=(os.path.relpath(expect),) if expect.exists() else (),
        pytest_args=options.pytest_args,
    )
    try:
        result = run(matrices, request, Progress(sys.stderr))
    except KvconformError as error:
        return StoreCount(name=name, problem=_one_line(str(error).splitlines()))
    if result.exit_code == _INTERRUPTED:
        raise KeyboardInterrupt
    say(f"{name}\n{summarize(result.journal)}\n")
    return StoreCount.of(name, result.journal)


def _by_tox(environment: str, names: list[str], options: argparse.Namespace) -> list[StoreCount]:
    """The stores of one environment, which tox makes if it is not there."""
    ini = resources.root() / "tox.ini"
    if not ini.exists():
        raise NoCheckoutError("--tox needs a checkout of kvconform: there is no tox.ini beside the matrices")
    with tempfile.TemporaryDirectory(prefix="kvconform-counts-") as folder:
        file = Path(folder) / "counts.json"
        words = [*names, *options.paths, *_plan(options), "--counts", str(file)]
        rest = ["--", *options.pytest_args] if options.pytest_args else []
        command = [sys.executable, "-m", "tox", "run", "-c", str(ini), "-e", environment, "--"]
        said, code = _echoed([*command, *words, *rest])
        found = {count.name: count for count in read_counts(file)}
    problem = f"tox -e {environment} ended with {code}: {_one_line(said)}"
    return [found.get(name, StoreCount(name=name, problem=problem)) for name in names]


def _plan(options: argparse.Namespace) -> list[str]:
    """The options of this command as they were given, with paths that hold in another folder."""
    given = {
        "--level": options.level,
        "--strength": options.strength,
        "--seed": options.seed,
        "--max-cases": options.max_cases,
        "--shard": options.shard,
        "--case-timeout": options.case_timeout,
    }
    words = [word for name, value in given.items() if value is not None for word in (name, f"{value}")]
    if options.records is not None:
        words += ["--records", str(options.records.absolute())]
    return words + [word for folder in options.templates for word in ("--templates", str(folder.absolute()))]


def _echoed(command: Sequence[str]) -> tuple[list[str], int]:
    """Run a command that says on our standard error what it says; its lines and its exit status.

    It has a process group of its own, which ends with us.
    """
    process = subprocess.Popen(  # noqa: S603 - our own tox
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        env={name: value for name, value in os.environ.items() if name != "TOX_ENV_NAME"},
    )
    said: list[str] = []
    try:
        for line in process.stdout or ():
            sys.stderr.write(line)
            said.append(line.rstrip())
        return said, process.wait()
    except KeyboardInterrupt:
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, signal.SIGINT)
            process.wait(_GRACE_S)
        raise
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _one_line(lines: Iterable[str]) -> str:
    """The line that says best why it ended: the last one of an installer's errors, or of ours."""
    told = [line.strip() for line in lines if line.strip()]
    causes = [line for line in told if line.startswith(("ERROR", "error:", "kvconform: "))]
    return (causes or told or ["(it said nothing)"])[-1].removeprefix("kvconform: ")


COMMAND = Command(
    name="stores",
    summary="run the matrices of stores on every store that comes with the project",
    add_options=_add_options,
    execute=execute,
    takes_pytest_args=True,
    epilog="What a store is known to fail stands in expectations/store-NAME.yaml and counts as expected.\n"
    "Exit codes: 0 every store was run and nothing failed, 1 otherwise, 2 usage.",
)
