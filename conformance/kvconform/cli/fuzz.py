"""``kvconform fuzz``: random layouts and traffic against the oracle, shrunk into a file."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path

from kvconform.cli.command import Command, natural_number, positive_seconds
from kvconform.cli.settings import EPILOG, add_project, fill_in
from kvconform.ports import KvconformError
from kvconform.run.child import PARENT
from kvconform.run.request import CASE_SECONDS

_CORPUS = "fuzz-corpus"
_MINUTES = 1.0


class NeedsHypothesisError(KvconformError):
    """The extra that draws examples is not installed."""


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--connector",
        metavar="NAME",
        default=None,
        help="connector under test: a registered NAME[:ARG] or package.module:factory "
        "(default: reference)",
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--minutes",
        metavar="N",
        type=_positive_minutes,
        help=f"search so long; making a finding smaller may take longer (default: {_MINUTES:g})",
    )
    length.add_argument(
        "--examples", metavar="N", type=_positive_number, help="search among so many examples"
    )
    parser.add_argument(
        "--seed",
        metavar="S",
        type=natural_number,
        default=0,
        help="another seed draws other examples, the same one the same (default: 0)",
    )
    parser.add_argument(
        "--corpus",
        metavar="DIR",
        type=Path,
        default=Path(_CORPUS),
        help="the folder of traces that is replayed first and written to "
        f"(default: {_CORPUS}; made where there is none)",
    )
    parser.add_argument(
        "--device",
        choices=["cpu", "cuda"],
        default="cpu",
        help="where the engine's KV memory lives (default: cpu)",
    )
    parser.add_argument(
        "--connector-config",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a setting handed to the connector as it stands (VALUE is read as JSON where it is "
        "JSON); may be repeated",
    )
    parser.add_argument(
        "--case-timeout",
        metavar="SECONDS",
        type=positive_seconds,
        default=CASE_SECONDS,
        help=f"an example that takes longer has hung (default: {CASE_SECONDS:g})",
    )
    parser.add_argument(
        "--in-process",
        action="store_true",
        help="search in this process, for a debugger: nobody watches for hangs and crashes",
    )
    add_project(parser)
    parser.set_defaults(paths=[], templates=[])


def _positive_minutes(text: str) -> float:
    try:
        return positive_seconds(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of minutes above 0") from None


def _positive_number(text: str) -> int:
    number = natural_number(text)
    if not number:
        raise argparse.ArgumentTypeError("0 is no number of examples")
    return number


def execute(options: argparse.Namespace) -> int:
    """Search, watched from outside unless that is not wanted."""
    fill_in(options)
    if importlib.util.find_spec("hypothesis") is None:
        raise NeedsHypothesisError(
            "kvconform fuzz draws its examples with Hypothesis, which is not installed: "
            "python -m pip install 'hypothesis>=6.100'"
        )
    if PARENT in os.environ:
        import kvconform.run.orphan  # noqa: F401, PLC0415 - ends this process with its watcher
    from kvconform.fuzz.request import FuzzRequest, Limits  # noqa: PLC0415 - needs the extra
    from kvconform.fuzz.session import search  # noqa: PLC0415
    from kvconform.fuzz.watch import search_watched  # noqa: PLC0415

    minutes = options.minutes or (None if options.examples else _MINUTES)
    request = FuzzRequest(
        connector=options.connector,
        device=options.device,
        connector_config=tuple(options.connector_config),
        seed=options.seed,
        limits=Limits(examples=options.examples, seconds=minutes and minutes * 60),
        corpus=options.corpus,
        case_seconds=options.case_timeout,
    )
    return (search if options.in_process else search_watched)(request, _say)


def _say(text: str) -> None:
    """At once: two processes write."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


COMMAND = Command(
    name="fuzz",
    summary="search random layouts and traffic for a trace on which a connector fails",
    add_options=_add_options,
    execute=execute,
    epilog=f"{EPILOG}\n"
    "Exit codes: 0 nothing found, 1 found, 2 usage or bad file, 3 the suite broke,\n"
    "5 no request ever hit, 130 interrupted.",
)
