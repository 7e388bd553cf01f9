"""``kvconform bench``: how fast the suite is."""

from __future__ import annotations

import argparse

from kvconform.cli.command import Command, say
from kvconform.speed import time_cases, time_collection

_SEED = ("coverage/unaligned_hit", "coverage/cold_consumer")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--connector",
        metavar="NAME",
        default="reference",
        help="whose cases are timed (default: reference)",
    )
    parser.add_argument(
        "--rows",
        metavar="N",
        type=int,
        action="append",
        help="rows to render and collect, a multiple of 8; may be repeated (default: 10000)",
    )


def execute(options: argparse.Namespace) -> int:
    """Time the seed's cases, then rendering and collecting."""
    say(f"{options.connector}: {time_cases(_SEED, options.connector)}")
    for rows in options.rows or [10_000]:
        say(str(time_collection(max(8, rows))))
    return 0


COMMAND = Command(
    name="bench",
    summary="time the seed's cases, and rendering and collecting against empty pytest cases",
    add_options=_add_options,
    execute=execute,
    epilog="Times of one machine are no verdict; compare the ratios.",
)
