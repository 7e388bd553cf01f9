"""Work that may hang or crash, each piece in a forked process of its own.

A fork costs milliseconds and has everything loaded, torch above all.  Needs a system that forks.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from types import FrameType
from typing import Generic, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

_POLL_SECONDS = 1.0
_MEMORY_BYTES = 16 << 30
"""Address space of a piece of work: one that fills memory for ever must not take the machine."""

_HUNG = 79
"""Exit status of a process that ended itself by `within`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A piece of work that did not come back: ``how`` it ended."""

    how: str


@dataclass(slots=True)
class _Running(Generic[Task]):
    task: Task
    process: ForkProcess
    since: float


def forked(
    tasks: Iterable[Task],
    work: Callable[[Task], Result],
    *,
    side_by_side: int,
    seconds: float,
) -> Iterator[tuple[Task, Result | Lost]]:
    """Each task with what ``work`` made of it, in the order in which they end.

    A task is forked when its turn comes, so ``work`` sees what the caller has learnt by then.
    ``seconds`` (wall clock) is a net for what `within` cannot end, not a measure.
    """
    context = multiprocessing.get_context("fork")
    gc.freeze()  # else each fork's collector writes to all there is, and so has it copied
    running: dict[Connection, _Running[Task]] = {}
    waiting = iter(tasks)
    try:
        while True:
            while len(running) < side_by_side and (task := next(waiting, None)) is not None:
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_child, args=(theirs, work, task))
                process.start()
                theirs.close()
                running[ours] = _Running(task, process, time.monotonic())
            if not running:
                return
            ready = wait(list(running), timeout=_POLL_SECONDS)
            for pipe, one in list(running.items()):
                if pipe in ready or time.monotonic() - one.since > seconds:
                    del running[pipe]
                    yield one.task, _result(pipe, one.process, came=pipe in ready)
    finally:
        gc.unfreeze()
        for one in running.values():
            one.process.kill()


def within(seconds: float) -> None:
    """End this process as hung unless it is called again within so much of its own CPU time.

    CPU time, so that a busy machine makes nothing hang.  0 takes the limit away.
    """
    signal.signal(signal.SIGPROF, _give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def _give_up(number: int, frame: FrameType | None) -> None:
    """Leave at once: what hangs might catch an exception."""
    del number, frame
    os._exit(_HUNG)


def _child(pipe: Connection, work: Callable[[Task], Result], task: Task) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123 - what it prints or traces is nobody's
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    pipe.send(work(task))
    pipe.close()


def _result(pipe: Connection, process: ForkProcess, *, came: bool) -> Result | Lost:
    try:
        if came:
            found: Result = pipe.recv()
            return found
        process.kill()
        return Lost(how="hang")
    except EOFError:
        process.join()
        return Lost(how="hang" if process.exitcode == _HUNG else f"crash ({process.exitcode})")
    finally:
        pipe.close()
        process.join()
