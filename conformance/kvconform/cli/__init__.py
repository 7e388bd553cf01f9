"""The command line: ``kvconform COMMAND``, one module a command.

The user's own mistakes give clear lines on standard error and exit code 2; faults of the suite
give one line, exit code 3, and their traceback only with ``--debug``.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module

from kvconform import __version__
from kvconform.cli.command import Command
from kvconform.ports import KvconformError
from kvconform.run.supervisor import TestProcessError

_MODULES = (
    *("run", "render", "list_", "check", "contract", "reference", "diff", "expect", "explain"),
    *("report", "repro", "fuzz", "lock", "mutants", "mutate", "schema", "new", "bench", "stores"),
)


class Commands(Mapping[str, Command]):
    """Commands by name, each imported when it is asked for: one that needs no torch starts at once."""

    def __init__(self, modules: Iterable[str]) -> None:
        self._modules = {module.rstrip("_"): module for module in modules}

    def __getitem__(self, name: str) -> Command:
        command: Command = import_module(f"kvconform.cli.{self._modules[name]}").COMMAND
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


COMMANDS = Commands(_MODULES)

USAGE_ERROR = 2
SUITE_ERROR = 3
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (without the program's name) and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    own, rest = _split(words)
    debug = "--debug" in own
    try:
        return _dispatch(own, rest)
    except TestProcessError as error:
        _complain(str(error), debug=debug)
        return error.exit_code
    except KvconformError as error:
        _complain(str(error), debug=debug)
        return USAGE_ERROR
    except KeyboardInterrupt:
        _complain("interrupted", debug=debug)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone; nothing is left to say, at exit neither.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SUITE_ERROR
    except Exception as error:  # noqa: BLE001 - the user gets one line, not our traceback
        _complain(f"the suite broke: {type(error).__name__}: {error}", debug=debug)
        if not debug:
            sys.stderr.write("kvconform: add --debug for the traceback\n")
        return SUITE_ERROR


class _TopParser(argparse.ArgumentParser):
    """Imports the commands for their summaries when its help is asked for, and not before."""

    def format_help(self) -> str:
        lines = [f"  {name:<10} {command.summary}" for name, command in COMMANDS.items()]
        self.epilog = "\n".join(
            ["commands:", *lines, "", "'kvconform COMMAND --help' tells the options of a command."]
        )
        return super().format_help()


def top_parser() -> argparse.ArgumentParser:
    """The parser of what stands before the command."""
    parser = _TopParser(
        prog="kvconform",
        usage="kvconform [-h] [--version] COMMAND ...",
        description="Tells whether a KV-cache offloading connector gives back exactly what the "
        "engine will read.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"kvconform {__version__}")
    parser.add_argument(
        "command", choices=list(COMMANDS), metavar="COMMAND", help=argparse.SUPPRESS
    )
    return parser


def _split(words: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """What is ours, and what stands after ``--`` (None if there is no ``--``)."""
    if "--" not in words:
        return list(words), None
    at = words.index("--")
    return list(words[:at]), list(words[at + 1 :])


def _dispatch(own: list[str], rest: list[str] | None) -> int:
    parser = top_parser()
    at = next((n for n, word in enumerate(own) if not word.startswith("-")), len(own))
    try:
        name: str = parser.parse_args(own[: at + 1]).command
        command = COMMANDS[name]
        options = command.parser().parse_intermixed_args(own[at + 1 :])
        if rest is not None and not command.takes_pytest_args:
            command.parser().error(f"arguments after -- are for 'kvconform run', not {name!r}")
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else USAGE_ERROR
    options.pytest_args = tuple(rest or ())
    return command.execute(options)


def _complain(text: str, *, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    for line in text.splitlines() or [""]:
        sys.stderr.write(f"kvconform: {line}\n")
