"""``kvconform reference``: the pages that are made from schemas, docstrings and options."""

from __future__ import annotations

import argparse
from pathlib import Path

from kvconform.cli import COMMANDS
from kvconform.cli.command import Command, make_folder, say
from kvconform.cli.schema import NAMES, schema
from kvconform.pages.commands import commands_page
from kvconform.pages.page import differences, write_page
from kvconform.pages.ports import ports_page
from kvconform.pages.schemas import schema_page

_INDEX = """\
# Reference

<!-- Made by `kvconform reference --write docs/reference`; do not edit. -->

- [The contract](../contract.md): every clause, with its checks, matrices and mutants.
- [The ports](ports.md): what an implementer provides and is handed, name by name.
- [The command line](commands.md): every command and option.
- The files: {files}.

[Back to all pages](../README.md).
"""


def reference_pages() -> dict[str, str]:
    """The text of each page by its file's name."""
    told = {name: (one.summary, one.parser()) for name, one in sorted(COMMANDS.items())}
    files = ", ".join(f"[{name}]({name}.md)" for name in NAMES)
    return {
        "README.md": _INDEX.format(files=files),
        "ports.md": ports_page(),
        "commands.md": commands_page(told),
        **{f"{name}.md": schema_page(name, schema(name)) for name in NAMES},
    }


def _add_options(parser: argparse.ArgumentParser) -> None:
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--write", metavar="DIR", type=Path, help="write the pages into this folder")
    target.add_argument(
        "--check", metavar="DIR", type=Path, help="write nothing; tell which pages are not up to date"
    )


def execute(options: argparse.Namespace) -> int:
    """Write the pages, or compare them with what stands there."""
    pages = reference_pages()
    if options.write is not None:
        make_folder(options.write)
        for name, text in pages.items():
            write_page(options.write / name, text)
        say(f"written: {len(pages)} pages in {options.write}")
        return 0
    different = [line for name, text in pages.items() for line in differences(options.check / name, text)]
    for line in different:
        say(line)
    say(f"run: kvconform reference --write {options.check}" if different else f"{options.check}: up to date")
    return 1 if different else 0


COMMAND = Command(
    name="reference",
    summary="write the reference pages, made from schemas, docstrings and options",
    add_options=_add_options,
    execute=execute,
    epilog="Exit codes: 0 written or up to date, 1 a page of --check differs, 2 usage.",
)
