"""What the modules of commands have in common."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kvconform.matrix import Matrix, find_matrices, load_matrices
from kvconform.matrix.plan import Level, Plan, Shard, cut
from kvconform.plugin_options import DEVICES
from kvconform.ports import KvconformError
from kvconform.run.request import CASE_SECONDS, MAX_RESTARTS


class FolderError(KvconformError):
    """A folder to write into cannot be made: names it and why."""


class NoCasesError(KvconformError):
    """What is asked for has no case in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command: ``add_options`` fills its parser, ``execute`` returns the exit code."""

    name: str
    summary: str
    add_options: Callable[[argparse.ArgumentParser], None]
    execute: Callable[[argparse.Namespace], int]
    takes_pytest_args: bool = False
    epilog: str = ""

    def parser(self) -> argparse.ArgumentParser:
        """The parser of what stands after the command."""
        parser = argparse.ArgumentParser(
            prog=f"kvconform {self.name}",
            description=self.summary[0].upper() + self.summary[1:] + ".",
            epilog=self.epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.add_options(parser)
        parser.add_argument(
            "--debug", action="store_true", help="show the traceback of what goes wrong"
        )
        return parser


def add_paths(parser: argparse.ArgumentParser) -> None:
    """The matrices that a command is about."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="a matrix, a folder of them, or the bare name of a shipped one such as "
        "coverage/unaligned_hit (default: all that are shipped)",
    )
    add_templates(parser)


def add_templates(parser: argparse.ArgumentParser) -> None:
    """Where templates are looked up beside the shipped ones."""
    parser.add_argument(
        "--templates",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="a folder of templates that is searched before the shipped one (templates are "
        "code: name only what you trust); may be repeated",
    )


def add_expect(parser: argparse.ArgumentParser) -> None:
    """What is known not to work."""
    parser.add_argument(
        "--expect",
        metavar="FILE",
        action="append",
        default=[],
        help="a file of expected failures of the connector; may be repeated",
    )


def add_connector_options(parser: argparse.ArgumentParser) -> None:
    """Where and with which settings connectors run, and how long a case may take."""
    parser.add_argument(
        "--device",
        choices=DEVICES,
        default="auto",
        help="where the engine's KV memory lives; auto takes CUDA if there is any (default: auto)",
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
        help=f"a case that takes longer has hung and fails (default: {CASE_SECONDS:g})",
    )
    parser.add_argument(
        "--max-restarts",
        metavar="N",
        type=natural_number,
        default=MAX_RESTARTS,
        help="give the cases that are left up after so many hangs and crashes "
        f"(default: {MAX_RESTARTS})",
    )


def make_folder(path: Path) -> None:
    """Make a folder to write into, if it is not there; raises `FolderError`."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderError(f"{path}: cannot be made: {error.strerror}") from error


def say(text: str, *, end: str = "\n") -> None:
    """Write a command's answer: standard output holds nothing else."""
    sys.stdout.write(text + end)


def count(number: int, one: str, many: str) -> str:
    """``1 case``, ``2 cases``."""
    return f"{number} {one if number == 1 else many}"


def add_plan(parser: argparse.ArgumentParser) -> None:
    """How many of the rows of each matrix are wanted."""
    parser.add_argument(
        "--level",
        choices=[level.value for level in Level],
        default=None,
        help="smoke: is the adapter sane; quick: every pair of axis values; required: what each "
        "matrix selects (default); full: every row",
    )
    parser.add_argument(
        "--strength",
        metavar="T",
        type=positive_number,
        help="rows that hold every combination of values of T axes, whatever the matrices select",
    )
    parser.add_argument(
        "--seed", metavar="N", type=natural_number, help="draw other rows of the same strength"
    )
    parser.add_argument(
        "--max-cases",
        metavar="N",
        type=positive_number,
        help="at most so many cases, those first that hold most combinations of axis values",
    )
    parser.add_argument(
        "--shard",
        metavar="K/N",
        help="part K of N, by a hash of each case's id: the same case is always in the same part",
    )


def load(options: argparse.Namespace) -> list[Matrix]:
    """The matrices that the command line names, with the rows that it wants.

    Raises what `kvconform.matrix` raises.
    """
    paths = find_matrices(options.paths)
    if "level" not in options:
        return load_matrices(paths, templates=options.templates)
    plan = Plan(
        level=Level(options.level or Level.REQUIRED), strength=options.strength, seed=options.seed
    )
    shard = Shard.parse(options.shard) if options.shard else None
    matrices = load_matrices(paths, templates=options.templates, plan=plan)
    matrices = cut(matrices, shard=shard, max_cases=options.max_cases)
    if not matrices:
        raise NoCasesError("no case is left: the level, the shard or the matrices leave out all")
    return sorted(matrices, key=lambda matrix: not matrix.smoke)


def positive_seconds(text: str) -> float:
    """A number of seconds above 0, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value


def positive_number(text: str) -> int:
    """A whole number from 1, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def natural_number(text: str) -> int:
    """A whole number from 0, for argparse."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)
