# ruff: noqa: ARG002 - stand-ins answer whatever they are asked
"""Stores that lie in a server process of their own, or whose place fails: stand-ins for tests.

As a program, ``served.py PORT PIDS``, it is the server: it adds its process id to the file PIDS
and listens on the loopback port PORT.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from contextlib import contextmanager
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path

from kvconform.ports import (
    Store,
    StoreCapability,
    StoreClaims,
    StoreUnavailableError,
)
from kvconform_stores.servers import LOOPBACK, free_ports, running

_PORT = "SERVED_PORT"
PIDS = "SERVED_PIDS"
"""The file into which servers write their process ids."""
PUTS = "SERVED_PUTS"
"""So many objects are taken; with the next one the server is gone. Empty: no end."""


class ServedStore(Store):
    """A client of the server."""

    claims = StoreClaims(
        capabilities=frozenset(
            {
                StoreCapability.SHARED,
                StoreCapability.ANY_KEY,
                StoreCapability.DELETES,
                StoreCapability.REAL_TIME,
            }
        )
    )

    def __init__(self, port, setting):
        self._prefix = f"{setting.directory}@{setting.namespace}@".encode()
        try:
            self._server = Client((LOOPBACK, port))
        except OSError as error:
            raise StoreUnavailableError(f"served: nobody listens on port {port}") from error

    def _ask(self, what, keys, datas=()):
        try:
            self._server.send((what, [self._prefix + key for key in keys], datas))
            return self._server.recv()
        except (OSError, EOFError) as error:
            raise StoreUnavailableError("served: the server is gone") from error

    def exists(self, keys):
        """Ask the server."""
        return [data is not None for data in self._ask("get", keys)]

    def put(self, keys, buffers):
        """Send the bytes."""
        return self._ask("put", keys, [bytes(buffer) for buffer in buffers])

    def get(self, keys, buffers):
        """Take the bytes."""
        found = self._ask("get", keys)
        answers = [
            data is not None and len(data) == len(room)
            for data, room in zip(found, buffers, strict=True)
        ]
        for data, room, answer in zip(found, buffers, answers, strict=True):
            if answer:
                room[:] = data
        return answers

    def delete(self, keys):
        """Tell the server."""
        return self._ask("delete", keys)

    def close(self):
        """Leave."""
        self._server.close()


class Served:
    """Opens clients; its session runs the server, unless ``program`` is another one."""

    def __init__(self, *program):
        self._program = program

    def __call__(self, setting):
        """One client."""
        return ServedStore(int(os.environ[_PORT]), setting)

    @contextmanager
    def session(self):
        """The server runs meanwhile."""
        (port,) = free_ports(1)
        own = (sys.executable, __file__, str(port), os.environ[PIDS])
        with running("the server", self._program or own, port):
            os.environ[_PORT] = str(port)
            yield


open_store = Served()
no_server = Served(sys.executable, "-c", "raise SystemExit('no licence')")


def wrong_address(setting):
    """A server that somebody else should have started."""
    (port,) = free_ports(1)
    return ServedStore(port, setting)


class _Refusing(Store):
    """Its place takes nothing."""

    claims = StoreClaims()
    number = errno.ENOSPC

    def __init__(self, setting):
        del setting

    def exists(self, keys):
        """Nothing is there."""
        return [False] * len(keys)

    def put(self, keys, buffers):
        """The operating system says no."""
        raise OSError(self.number, os.strerror(self.number), "/data/objects")

    def get(self, keys, buffers):
        """Nothing is there."""
        return [False] * len(keys)

    def delete(self, keys):
        """Nothing is there."""
        return [False] * len(keys)


class Full(_Refusing):
    """No room on the disk."""


class Denied(_Refusing):
    """No permission, when it is opened."""

    number = errno.EACCES

    def __init__(self, setting):
        super().__init__(setting)
        self.put([], [])


def _serve(port: int) -> None:
    objects: dict[bytes, bytes] = {}
    left = int(os.environ.get(PUTS) or sys.maxsize)
    listener = Listener((LOOPBACK, port))

    def talk(client: Connection) -> None:
        nonlocal left
        while True:
            try:
                what, keys, datas = client.recv()
            except (EOFError, OSError):
                return
            if what == "put":
                left -= len(keys)
                if left < 0:
                    os._exit(1)
                objects.update(zip(keys, datas, strict=True))
                client.send([True] * len(keys))
            elif what == "get":
                client.send([objects.get(key) for key in keys])
            else:
                client.send([objects.pop(key, None) is not None for key in keys])

    while True:
        threading.Thread(target=talk, args=(listener.accept(),), daemon=True).start()


if __name__ == "__main__":
    with Path(sys.argv[2]).open("a", encoding="ascii") as pids:
        pids.write(f"{os.getpid()}\n")
    _serve(int(sys.argv[1]))
