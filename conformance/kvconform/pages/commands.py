"""The page of the command line: every command with its options."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from kvconform.pages.page import code, table

_HEAD = """\
# The command line

<!-- Made by `kvconform reference --write docs/reference`; do not edit. -->

Every command with its options, as `kvconform COMMAND --help` tells them.
[All reference pages](README.md).
"""


def commands_page(commands: Mapping[str, tuple[str, argparse.ArgumentParser]]) -> str:
    """The page; ``commands`` have a summary and a parser by name."""
    parts = [_HEAD]
    for name, (summary, parser) in commands.items():
        rows = [
            [_spelled(action), _help(action)]
            for action in parser._actions  # noqa: SLF001 - argparse has no other list of them
            if action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction)  # noqa: SLF001
        ]
        parts.append(f"## {code('kvconform ' + name)}\n\n{summary[:1].upper()}{summary[1:]}.\n")
        if rows:
            parts.append(table(["option", "meaning"], rows) + "\n")
        if parser.epilog:
            parts.append("\n".join(line.strip() for line in parser.epilog.splitlines()) + "\n")
    return "\n".join(parts)


def _spelled(action: argparse.Action) -> str:
    value = action.metavar
    if value is None and action.choices is not None:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    taken = str(value or "") if action.nargs != 0 else ""
    return ", ".join(code(f"{name} {taken}".strip()) for name in action.option_strings or [""])


def _help(action: argparse.Action) -> str:
    known = {**vars(action), "prog": "kvconform"}
    return str(action.help or "") % known if "%" in str(action.help) else str(action.help or "")
