"""Calls into the connector under test: whatever it does wrong becomes an event, never ours."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kvconform.ports import Connector, UnsupportedLayoutError
from kvconform.ports.connector import SchedulerSide, WorkerSide

_PACKAGE = Path(__file__).resolve().parent.parent


class ConnectorBrokeError(Exception):
    """The connector raised or answered nonsense; the engine of this case is dead."""

    def __init__(self, method: str, text: str) -> None:
        super().__init__(f"{method}: {text}")
        self.method = method
        self.text = text


def call(method: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call a method of the connector; an exception becomes `ConnectorBrokeError`.

    ``SystemExit`` counts too: a connector must not end the process.
    """
    try:
        return function(*args)
    except (ConnectorBrokeError, UnsupportedLayoutError):
        raise
    except (Exception, SystemExit) as error:
        raise ConnectorBrokeError(method, describe(error)) from error


def describe(error: BaseException) -> str:
    """Kind, text and the place in the connector's own code where it was raised."""
    text = str(error) or "(no text)"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _is_ours(f.filename)]
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {text}{where}"


def _is_ours(filename: str) -> bool:
    return Path(filename).is_relative_to(_PACKAGE)


def required_methods(side: type) -> Sequence[str]:
    """Names of the methods that an implementer of ``side`` must have."""
    return sorted(getattr(side, "__abstractmethods__", ()))


def problems_of(connector: Connector, world: int) -> list[str]:
    """What a factory's result lacks, in words; empty if it is a connector."""
    problems = [
        f"the factory's result has no attribute {name!r}"
        for name in ("scheduler", "workers", "capabilities", "chunk_tokens")
        if not hasattr(connector, name)
    ]
    if problems:
        return problems
    sides: list[tuple[str, object, type]] = [("scheduler side", connector.scheduler, SchedulerSide)]
    workers = list(connector.workers)
    if len(workers) != world:
        problems.append(f"{len(workers)} worker(s) for {world} rank(s)")
    sides += [(f"worker of rank {rank}", worker, WorkerSide) for rank, worker in enumerate(workers)]
    for what, side, port in sides:
        problems += [
            f"the {what} ({type(side).__name__}) lacks the required method {name!r}"
            for name in required_methods(port)
            if not callable(getattr(side, name, None))
        ]
    return problems


def optional(side: object, port: type, name: str) -> Callable[..., Any]:
    """A method of ``side``, or the port's default bound to it where the side has none."""
    own = getattr(side, name, None)
    if own is not None:
        return own  # type: ignore[no-any-return]
    return getattr(port, name).__get__(side)  # type: ignore[no-any-return]
