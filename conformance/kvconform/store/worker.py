"""The second process: opens a store by the name of its connector and does what it is asked."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

from kvconform.engine.calls import describe
from kvconform.ports import Store, StoreFactory
from kvconform.registry import resolve_connector
from kvconform.store.second import CALL, CLOSING, OPENING, Asked, Reply, guarded, inner, read, write

_PERIOD_SECONDS = 0.5


def main() -> None:
    """Serve the process that has our pipes until it closes them."""
    connector, parent = sys.argv[1], int(sys.argv[2])
    replies, asked = os.fdopen(os.dup(1), "wb"), sys.stdin.buffer
    os.dup2(2, 1)  # what a store prints is no reply
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run ends us
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    factory = store_factory(connector)
    store: Store | None = None
    while (message := read(asked)) is not None:
        what, argument = message
        try:
            if what == OPENING:
                store = factory(argument)
                reply = Reply()
            elif what == CALL and store is not None:
                reply = perform(store, argument)
            elif what == CLOSING and store is not None:
                store.close()
                store, reply = None, Reply()
            else:
                reply = Reply(error=f"cannot {what} now")
        except Exception as error:  # noqa: BLE001 - whatever a store raises is told
            reply = Reply(error=describe(error))
        write(replies, reply)


def store_factory(connector: str) -> StoreFactory:
    """The store factory of a connector that is known to have one."""
    factory: StoreFactory = resolve_connector(connector).factory.store  # type: ignore[attr-defined]
    return factory


def perform(store: Store, asked: Asked) -> Reply:
    """Call one method of a store, with buffers of our own."""
    rooms = guarded(asked.sizes)
    arguments: list[Any] = [list(asked.keys)]
    if asked.datas:
        arguments.append([memoryview(data) for data in asked.datas])
    elif rooms:
        arguments.append([inner(room) for room in rooms])
    method = getattr(store, asked.method)
    if asked.die_after is not None:
        _die_after(asked.die_after)
    try:
        answer = method(*arguments)
    finally:
        if asked.die_after is not None:
            _die()
    return Reply(answer=answer, found=tuple(bytes(room) for room in rooms))


def _die_after(calls: int) -> None:
    """From here on so many calls of functions are left to live: the same moment each time."""
    left = calls

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal left
        del frame, argument
        if event in {"call", "c_call"}:
            if left <= 0:
                _die()
            left -= 1

    threading.setprofile(count)
    sys.setprofile(count)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _leave_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PERIOD_SECONDS)
    os._exit(70)


if __name__ == "__main__":
    main()
