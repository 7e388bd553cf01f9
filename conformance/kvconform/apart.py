"""Functions called in a process of their own, which shares nothing with ours."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.forkserver import ensure_running
from typing import Any

from kvconform.ports import KvconformError

_SEED = "PYTHONHASHSEED"


class ProcessDiedError(KvconformError):
    """The process went away before it answered: says how."""


def context(modules: Sequence[str]) -> ForkServerContext:
    """Processes are forked from a server that has imported ``modules`` and opened nothing."""
    forked = multiprocessing.get_context("forkserver")
    forked.set_forkserver_preload(list(modules))
    with _other_hash_seed():
        ensure_running()
    return forked


@contextmanager
def _other_hash_seed() -> Iterator[None]:
    """Another process hashes text in another way: what depends on that, shows."""
    before = os.environ.get(_SEED)
    os.environ[_SEED] = "1" if before in {None, "0", "random"} else "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SEED]
        else:
            os.environ[_SEED] = before


def call_apart(function: Callable[..., Any], *args: Any) -> Any:
    """What ``function`` returns in another process; raises what it raises, or `ProcessDiedError`."""
    forked = context([function.__module__])
    ours, theirs = forked.Pipe()
    process = forked.Process(target=_answer, args=(theirs, function, args), daemon=True)
    process.start()
    theirs.close()
    try:
        kind, answer = ours.recv()
    except EOFError as error:
        process.join()
        raise ProcessDiedError(f"the process died with status {process.exitcode}") from error
    finally:
        ours.close()
    process.join()
    if kind == "raised":
        raise answer
    return answer


def _answer(pipe: Connection, function: Callable[..., Any], args: Sequence[Any]) -> None:
    try:
        pipe.send(("returned", function(*args)))
    except Exception as error:  # noqa: BLE001 - raised again where it was called
        pipe.send(("raised", error))
