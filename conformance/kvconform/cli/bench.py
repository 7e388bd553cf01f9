"""``kvconform bench``: how fast the suite is."""

from __future__ import annotations

import argparse
from contextlib import nullcontext

from kvconform.cli.command import Command, say
from kvconform.registry import resolve_connector, resolve_store
from kvconform.speed import time_cases, time_collection

_SEED = ("coverage/unaligned_hit", "coverage/cold_consumer")

_KIB = (16, 64, 256, 1024)
"""Sizes of the blocks that are stored and loaded."""


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--connector",
        metavar="NAME",
        default="reference",
        help="whose cases are timed (default: reference)",
    )
    parser.add_argument(
        "--store",
        metavar="NAME",
        default=None,
        help="time the puts and gets of this store, and nothing else",
    )
    parser.add_argument(
        "--device",
        metavar="NAME",
        default="cpu",
        help="where the blocks lie that are stored and loaded (default: cpu)",
    )
    parser.add_argument(
        "--rows",
        metavar="N",
        type=int,
        action="append",
        help="rows to render and collect, a multiple of 8; may be repeated (default: 10000)",
    )


def execute(options: argparse.Namespace) -> int:
    """Time the seed's cases, then copies, then rendering and collecting; or a store."""
    if options.store is not None:
        return _time_store(options.store)
    say(f"{options.connector}: {time_cases(_SEED, options.connector)}")
    from kvconform.bandwidth import NoBandwidthError, measure  # noqa: PLC0415 - loads torch

    factory = resolve_connector(options.connector).factory
    try:
        for kib in _KIB:
            say(str(measure(factory, options.device, kib * 1024)))
    except NoBandwidthError as error:
        say(f"bandwidth of {options.connector}: not measured: {error}")
    for rows in options.rows or [10_000]:
        say(str(time_collection(max(8, rows))))
    return 0


def _time_store(name: str) -> int:
    from kvconform.store.speed import measure_store  # noqa: PLC0415 - few commands need it

    candidate = resolve_store(name)
    session = getattr(candidate.factory, "session", None) or nullcontext
    with session():
        for kib in _KIB:
            say(f"{candidate.name} {candidate.version}, batches of 16 objects of {kib} KiB".strip())
            for timed in measure_store(candidate.factory, kib * 1024):
                say(f"  {timed}")
    return 0


COMMAND = Command(
    name="bench",
    summary="time a store, or the seed's cases, copies against plain ones, and collecting against empty cases",
    add_options=_add_options,
    execute=execute,
    epilog="Times of one machine are no verdict; compare the ratios.",
)
