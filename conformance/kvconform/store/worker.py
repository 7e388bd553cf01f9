"""The second process: opens a store by the name of its connector and does what it is asked."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import nullcontext
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

from kvconform.engine.calls import describe
from kvconform.ports import Store, StoreFactory, StoreSetting, StoreUnavailableError
from kvconform.registry import resolve_connector
from kvconform.store.second import CALL, CLOSING, OPENING, Asked, Reply, guarded, inner
from kvconform.store.trouble import TROUBLES, obey_permissions
from kvconform.store.weight import weighed


def serve(connector: str, pipe: Connection) -> None:
    """Do what the process at the other end of the pipe asks, until it closes it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run ends us
    obey_permissions()
    factory: StoreFactory | None = None
    store: Store | None = None
    setting: StoreSetting | None = None
    while True:
        try:
            what, argument = pipe.recv()
        except EOFError:
            return
        try:
            factory = factory or store_factory(connector)
            if what == OPENING:
                setting, store = argument, factory(argument)
                reply = Reply()
            elif what == CALL and store is not None and setting is not None:
                with TROUBLES.get(argument.trouble, _untroubled)(setting.directory):
                    reply = perform(store, argument)
            elif what == CLOSING and store is not None:
                store.close()
                store, reply = None, Reply()
            else:
                reply = Reply(error=f"cannot {what} now")
        except Exception as error:  # noqa: BLE001 - whatever a store raises is told
            reply = Reply(
                error=describe(error), unavailable=isinstance(error, StoreUnavailableError)
            )
        pipe.send(reply)


def _untroubled(folder: Path) -> nullcontext[None]:
    del folder
    return nullcontext()


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
    grown = None
    try:
        if asked.weighed:
            answer, grown = weighed(lambda: method(*arguments))
        else:
            answer = method(*arguments)
    finally:
        if asked.die_after is not None:
            _die()
    found = tuple(bytes(room) for room in rooms)
    return Reply(answer=answer, found=found, grown_bytes=grown)


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
