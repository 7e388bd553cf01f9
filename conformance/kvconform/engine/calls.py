"""Calls into the connector under test: whatever it does wrong becomes an event, never ours."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from kvconform.engine.effort import METER
from kvconform.engine.interrupts import INTERRUPTS
from kvconform.ports import Capability, Connector, UnsupportedLayoutError
from kvconform.ports.connector import SchedulerSide, WorkerSide

_PACKAGE = Path(__file__).resolve().parent.parent
_MAY_REFUSE = frozenset({"factory", "__init__", "register_kv_caches", "chunk_tokens"})
"""Methods in which a connector may refuse a layout by name: before anything runs."""


ENGINE = "engine"
"""The name of calls into an engine that calls the connector itself."""


class ConnectorBrokeError(Exception):
    """The connector raised or answered nonsense; the engine of this case is dead."""

    def __init__(self, method: str, text: str) -> None:
        super().__init__(f"{method}: {text}")
        self.method = method
        self.text = text


def call(method: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call a method of the connector; an exception becomes `ConnectorBrokeError`.

    So does what ends a process or a test: a connector must neither leave nor judge its own case.
    Only a Ctrl-C of the user's goes its way, whatever the connector makes of it.
    """
    before = INTERRUPTS.count
    try:
        counted = METER.counting is not None and method != ENGINE
        answer = METER.run(function, args) if counted else function(*args)
    except ConnectorBrokeError:
        raise
    except BaseException as error:
        if _is_users(error, before):
            raise KeyboardInterrupt from error
        if isinstance(error, UnsupportedLayoutError) and method in _MAY_REFUSE:
            raise
        raise ConnectorBrokeError(method, describe(error)) from error
    if INTERRUPTS.count > before:
        raise KeyboardInterrupt
    return answer


def _is_users(error: BaseException, before: int) -> bool:
    """Whether a Ctrl-C came since ``before`` interrupts, or may have come as ``error``."""
    unclear = isinstance(error, KeyboardInterrupt) and not INTERRUPTS.certain
    return unclear or INTERRUPTS.count > before


def describe(error: BaseException) -> str:
    """Kind, text and the place in the connector's own code where it was raised."""
    text = _in_words(str, error) or "(no text)"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _is_ours(f.filename)]
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {text}{where}"


def shown(value: object) -> str:
    """The ``repr`` of a connector's answer, whatever that does."""
    return _in_words(repr, value)


def _in_words(render: Callable[[object], str], value: object) -> str:
    before = INTERRUPTS.count
    try:
        text = render(value)
    except BaseException as error:
        if _is_users(error, before):
            raise KeyboardInterrupt from error
        return f"(its __{render.__name__}__ raises {type(error).__name__})"
    # A lone surrogate, say of a file's name, could be written nowhere.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


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
    claims = _listed("capabilities", parts["capabilities"])
    if claims is None:
        problems.append(f"capabilities is {shown(parts['capabilities'])}, expected a set of claims")
    known = {str(capability) for capability in Capability}
    problems += [
        f"the unknown capability {claim!r} is claimed; there are {', '.join(sorted(known))}"
        for claim in claims or ()
        if not isinstance(claim, str) or claim not in known
    ]
    workers = _listed("workers", parts["workers"])
    if workers is None:
        return [*problems, f"workers is {shown(parts['workers'])}, expected one for each rank"]
    if len(workers) != world:
        problems.append(f"{len(workers)} worker(s) for {world} rank(s)")
    sides: list[tuple[str, object, type]] = [("scheduler side", parts["scheduler"], SchedulerSide)]
    sides += [(f"worker of rank {rank}", worker, WorkerSide) for rank, worker in enumerate(workers)]
    for what, side, port in sides:
        problems += [
            f"the {what} ({type(side).__name__}) lacks the required method {name!r}"
            for name in required_methods(port)
            if not callable(call(name, getattr, side, name, None))
        ]
    return problems


def _listed(name: str, value: object) -> list[Any] | None:
    """The items of a collection, None of anything else (a text is no collection of claims)."""
    collection = isinstance(value, Iterable) and not isinstance(value, str)
    return call(name, list, value) if collection else None


def optional(side: object, port: type, name: str) -> Callable[..., Any]:
    """A method of ``side``, or the port's default bound to it where the side has none."""
    own = call(name, getattr, side, name, None)
    return own if own is not None else getattr(port, name).__get__(side)  # type: ignore[no-any-return]
