"""Troubles of the place where a store keeps its files, brought about for a while in a process."""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

_ROOM_BYTES = 1000
"""What still finds room in a file: less than any object of the cases, so that one is cut."""

_CAPABILITIES_VERSION = 0x20080522
_OVERRIDES = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH


@contextmanager
def _full(folder: Path) -> Iterator[None]:
    """No file grows beyond a few bytes: writes end short and then fail, as on a full disk."""
    del folder
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_ROOM_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def _denied(folder: Path) -> Iterator[None]:
    """Nothing in the folder can be opened."""
    before = folder.stat().st_mode
    folder.chmod(0)
    try:
        yield
    finally:
        folder.chmod(before)


TROUBLES: dict[str, Callable[[Path], AbstractContextManager[None]]] = {
    "full": _full,
    "denied": _denied,
}
"""Every trouble by its name; each is given the store's folder."""


def obey_permissions() -> None:
    """From here on permissions of files hold for this process too, whoever runs it.

    Root passes over them by two capabilities.  They are given up for the calling thread and those
    that it starts.
    """
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = struct.pack("Ii", _CAPABILITIES_VERSION, 0)
    data = ctypes.create_string_buffer(24)
    if libc.capget(header, data):
        raise OSError(ctypes.get_errno(), "capget")
    words = list(struct.unpack("6I", data.raw[:24]))
    words[0] &= ~_OVERRIDES  # effective
    words[1] &= ~_OVERRIDES  # permitted
    if libc.capset(header, struct.pack("6I", *words)):
        raise OSError(ctypes.get_errno(), "capset")
