"""What the command line leaves open is filled in from the repository's own settings."""

from __future__ import annotations

import argparse
from pathlib import Path

from kvconform.ports import KvconformError
from kvconform.project import FILE, TABLE, read_project
from kvconform.registry import STORE_PROVIDER

REFERENCE = "reference"
"""The connector under test where nobody names one."""

EPILOG = f"""What the command line does not say is taken from {TABLE} of the nearest {FILE}."""


class OptionsError(KvconformError):
    """Options that do not go together."""


def add_subject(parser: argparse.ArgumentParser) -> None:
    """What is put to the test."""
    parser.add_argument(
        "--connector",
        metavar="NAME",
        default=None,
        help="connector under test: a registered NAME[:ARG] or package.module:factory "
        "(default: reference)",
    )
    parser.add_argument(
        "--store",
        metavar="NAME",
        default=None,
        help="a store under test, a registered NAME[:ARG] or package.module:factory: matrices of "
        "stores, and all others on the reference connector with its chunks in it; the same as "
        "--connector store:NAME",
    )


def settle_store(options: argparse.Namespace) -> None:
    """``--store NAME`` is short for a connector."""
    if options.store is None:
        return
    if options.connector is not None:
        raise OptionsError("--store and --connector name what is tested: give one of them")
    options.connector = f"{STORE_PROVIDER}:{options.store}"


def add_project(parser: argparse.ArgumentParser) -> None:
    """The way to do without."""
    parser.add_argument(
        "--no-project",
        action="store_true",
        help=f"take nothing from {TABLE} of the nearest {FILE}",
    )


def fill_in(options: argparse.Namespace) -> None:
    """Complete ``options``, as far as the command has them.

    Expectations and settings belong to the connector that the file names: they do not hold for
    another one that the command line names.
    """
    project = read_project(Path.cwd()) if not options.no_project else None
    asked = getattr(options, "connector", None)
    if "connector" in options:
        options.connector = asked or (project.connector if project else "") or REFERENCE
    if project is None:
        return
    own_matrices = not options.paths
    options.paths = options.paths or list(project.matrices)
    options.templates = options.templates or list(project.templates)
    same_connector = asked is None or asked == project.connector
    if "expect" in options and same_connector and (own_matrices or "connector" in options):
        # `check` wants every entry to match: it holds them against the file's own matrices alone.
        options.expect = options.expect or list(project.expectations)
    if "connector_config" in options and same_connector:
        given = {pair.partition("=")[0] for pair in options.connector_config}
        options.connector_config += [
            f"{key}={value}" for key, value in project.connector_config.items() if key not in given
        ]
