"""Calls into the connector under test: whatever it does wrong becomes an event, never ours."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from kvconform.ports import Capability, Connector, UnsupportedLayoutError
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

    ``SystemExit`` counts too, and what a test runner takes for a skip: a connector must neither
    end the process nor judge its own case.
    """
    try:
        return function(*args)
    except (ConnectorBrokeError, UnsupportedLayoutError, KeyboardInterrupt):
        raise
    except BaseException as error:
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
    missing = object()
    parts = {
        name: call(name, getattr, connector, name, missing)
        for name in ("scheduler", "workers", "capabilities", "chunk_tokens")
    }
    problems = [
        f"the factory's result has no attribute {name!r}"
        for name, part in parts.items()
        if part is missing
    ]
    if problems:
        return problems
    claims = _listed(parts["capabilities"])
    if claims is None:
        problems.append(f"capabilities is {parts['capabilities']!r}, expected a set of claims")
    known = {str(capability) for capability in Capability}
    problems += [
        f"the unknown capability {claim!r} is claimed; there are {', '.join(sorted(known))}"
        for claim in claims or ()
        if not isinstance(claim, str) or claim not in known
    ]
    workers = _listed(parts["workers"])
    if workers is None:
        return [*problems, f"workers is {parts['workers']!r}, expected one for each rank"]
    if len(workers) != world:
        problems.append(f"{len(workers)} worker(s) for {world} rank(s)")
    sides: list[tuple[str, object, type]] = [("scheduler side", parts["scheduler"], SchedulerSide)]
    sides += [(f"worker of rank {rank}", worker, WorkerSide) for rank, worker in enumerate(workers)]
    for what, side, port in sides:
        problems += [
            f"the {what} ({type(side).__name__}) lacks the required method {name!r}"
            for name in required_methods(port)
            if not callable(getattr(side, name, None))
        ]
    return problems


def _listed(value: object) -> list[Any] | None:
    """The items of a collection, None of anything else (a text is no collection of claims)."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else None


def optional(side: object, port: type, name: str) -> Callable[..., Any]:
    """A method of ``side``, or the port's default bound to it where the side has none."""
    own = getattr(side, name, None)
    if own is not None:
        return own  # type: ignore[no-any-return]
    return getattr(port, name).__get__(side)  # type: ignore[no-any-return]
