"""``kvconform contract``: every clause with its checks, matrices and mutants."""

from __future__ import annotations

import argparse

from kvconform.cli.command import Command, say
from kvconform.cli.pages import add_page, deliver
from kvconform.matrix import find_matrices, load_matrices
from kvconform.matrix.gate import exemptions
from kvconform.pages.contract import contract_page
from kvconform.registry import list_mutants


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_page(parser, "the contract")


def execute(options: argparse.Namespace) -> int:
    """Print the page, write it, or compare it with what stands there."""
    text = contract_page(load_matrices(find_matrices([])), list_mutants(), exemptions())
    if options.write is None and options.check is None:
        say(text, end="")
        return 0
    return deliver(options, text, "kvconform contract")


COMMAND = Command(
    name="contract",
    summary="print every clause with its checks, and the matrices and mutants that are about it",
    add_options=_add_options,
    execute=execute,
    epilog="Exit codes: 0 printed, written or up to date, 1 the page of --check differs, 2 usage.",
)
