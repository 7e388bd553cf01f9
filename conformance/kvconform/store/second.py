"""A second process that has a store open: another worker of the same fleet, or one that is killed."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from kvconform.apart import context
from kvconform.ports import StoreSetting

_WORKER = "kvconform.store.worker"

OPENING, CALL, CLOSING = "open", "call", "close"
"""What the process can be asked: to open a setting, to call a method, to close."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came of it: the answer, what the buffers held then, or an exception in words.

    ``unavailable`` tells that the exception is the one of a place that fails.  ``grown_bytes`` is
    by how much the process's memory was larger at some moment of the call, where that was asked.
    """

    answer: Any = None
    found: tuple[bytes, ...] = ()
    error: str = ""
    unavailable: bool = False
    grown_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One method of the store with its keys; ``datas`` are put, ``sizes`` (bytes) are got.

    With ``die_after`` the process kills itself at that many calls of functions inside the method
    (0: as soon as it begins), or when the method is through, whichever comes first.  ``trouble``
    is one of `kvconform.store.trouble.TROUBLES`, from which the place suffers meanwhile.  With
    ``weighed`` the reply tells how much memory the call took.
    """

    method: str
    keys: tuple[bytes, ...]
    datas: tuple[bytes, ...] = ()
    sizes: tuple[int, ...] = ()
    die_after: int | None = None
    trouble: str = ""
    weighed: bool = False


class SecondProcess:
    """A process that resolves the same connector name and opens its store by itself.

    It is forked from a server that has imported what it needs and opened nothing, so that it
    shares no state with us and starts soon; ``modules`` are what it imports.
    """

    def __init__(self, connector: str, modules: Sequence[str] = ()) -> None:
        forked = context([_WORKER, *modules])
        self._ours, theirs = forked.Pipe()
        worker = importlib.import_module(_WORKER)
        self._process = forked.Process(target=worker.serve, args=(connector, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()

    def open(self, setting: StoreSetting) -> Reply:
        """Open the store there."""
        self.send(OPENING, setting)
        return self.receive()

    def call(self, asked: Asked) -> Reply:
        """Call a method there."""
        self.send(CALL, asked)
        return self.receive()

    def close(self) -> Reply:
        """Close the store there; the process waits for another one."""
        self.send(CLOSING, None)
        return self.receive()

    def send(self, what: str, argument: Any) -> None:
        """Ask, without waiting for the reply."""
        with suppress(OSError):  # it has died, which `receive` tells
            self._ours.send((what, argument))

    def receive(self) -> Reply:
        """The reply to what was asked last."""
        try:
            reply: Reply = self._ours.recv()
        except (EOFError, OSError):
            self._process.join()
            return Reply(error=f"the process ended with status {self._process.exitcode}")
        return reply

    def end(self) -> None:
        """End it, whatever it is at."""
        self._process.kill()
        self._process.join()
        self._ours.close()


def guarded(sizes: Sequence[int]) -> list[bytearray]:
    """Room for buffers of these sizes with a margin on either side that must stay as it is."""
    return [bytearray(_MARGIN + bytes([_FILL]) * size + _MARGIN) for size in sizes]


def inner(room: bytearray) -> memoryview:
    """The buffer inside its margins."""
    return memoryview(room)[len(_MARGIN) : len(room) - len(_MARGIN)]


def margins_hold(found: bytes) -> bool:
    """Whether nothing was written beside the buffer."""
    return found.startswith(_MARGIN) and found.endswith(_MARGIN)


def within(found: bytes) -> bytes:
    """The buffer's bytes, margins left out."""
    return found[len(_MARGIN) : len(found) - len(_MARGIN)]


_MARGIN = bytes(range(0x31, 0x31 + 64))
_FILL = 0xEE
