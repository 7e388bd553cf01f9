"""Mooncake Store: a master, a process that holds the memory, and a client in each engine."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Its log goes to stderr, lines for every client; to see them, set the variable to INFO.
os.environ.setdefault("MC_LOG_LEVEL", "ERROR")

import mooncake.store
import numpy as np

from kvconform.ports import (
    BatchAnswer,
    KvconformError,
    Overwrite,
    Store,
    StoreCapability,
    StoreClaims,
    StoreFactory,
    StoreSetting,
)
from kvconform_stores.servers import LOOPBACK, free_ports, listens, running

_MASTER = "KVCONFORM_MOONCAKE_MASTER"
"""Where the master of this session listens: a second process finds it there."""

_SEGMENT_BYTES = 4 << 30
"""Memory of the store, touched only as objects come; ten times what a run of the stores puts."""

_LOCAL_BUFFER_BYTES = 16 << 20
_FOUND = 1


class MooncakeStoreError(KvconformError):
    """The store does not open: says why."""


def make(argument: str) -> StoreFactory:
    """The factory; ``argument`` is HOST:PORT of a master that runs already, else one is started."""
    if argument:
        _address(argument)
    return MooncakeFactory(argument)


class MooncakeFactory:
    """Opens clients of one master."""

    def __init__(self, master: str = "") -> None:
        self._master = master

    def __call__(self, setting: StoreSetting) -> MooncakeStore:
        """One client."""
        master = self._master or os.environ.get(_MASTER, "")
        if not master:
            raise MooncakeStoreError(
                "mooncake: no master runs; session() of its factory starts one"
            )
        return MooncakeStore(_client(master), setting)

    @contextmanager
    def session(self) -> Iterator[None]:
        """A master and a process that holds the objects, unless a master was named."""
        if self._master:
            _try(self._master)
            yield
            return
        programs = Path(mooncake.store.__file__).parent
        rpc, metrics, holder = free_ports(3)
        master = f"{LOOPBACK}:{rpc}"
        with (
            running(
                "mooncake_master",
                [
                    str(programs / "mooncake_master"),
                    f"--rpc_address={LOOPBACK}",
                    f"--rpc_port={rpc}",
                    f"--metrics_host={LOOPBACK}",
                    f"--metrics_port={metrics}",
                ],
                rpc,
            ),
            running(
                "mooncake_client",
                [
                    str(programs / "mooncake_client"),
                    f"--host={LOOPBACK}",
                    f"--port={holder}",
                    f"--master_server_address={master}",
                    "--metadata_server=P2PHANDSHAKE",
                    "--protocol=tcp",
                    f"--global_segment_size={_SEGMENT_BYTES}",
                ],
                holder,
            ),
        ):
            _try(master)
            os.environ[_MASTER] = master
            try:
                yield
            finally:
                del os.environ[_MASTER]


class MooncakeStore(Store):
    """One client, which holds no objects itself: they outlive it in the process that does.

    Keys are text there, so ours go in as hex digits, behind the folder and the namespace; what
    it may keep is a matter of the whole master, not of a namespace.  Objects are immutable by its
    design document, so that a put under a key that is there is one that keeps.  A get or an
    exists leases the object (10 s), and a removal in that time is refused.
    """

    claims = StoreClaims(
        capabilities=frozenset(
            {
                StoreCapability.PERSISTENT,
                StoreCapability.SHARED,
                StoreCapability.ANY_KEY,
                StoreCapability.ZERO_COPY,
                StoreCapability.REAL_TIME,
            }
        ),
        exists_answer=BatchAnswer.PER_KEY,
        get_answer=BatchAnswer.PER_KEY,
        overwrite=Overwrite.KEEP,
    )

    def __init__(self, client: Any, setting: StoreSetting) -> None:
        folder = hashlib.blake2b(str(setting.directory).encode(), digest_size=8).hexdigest()
        self._prefix = f"{folder}@{setting.namespace}@"
        self._client = client

    def exists(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Whether each key is there."""
        return [answer == _FOUND for answer in self._client.batch_is_exist(self._names(keys))]

    def put(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """Put the batch from where it lies."""
        with self._registered(buffers) as places:
            answers = self._client.batch_put_from(self._names(keys), places, _sizes(buffers))
        return [answer == 0 for answer in answers]

    def get(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """Get the batch into its buffers; the client answers each object's size."""
        sizes = _sizes(buffers)
        with self._registered(buffers) as places:
            answers = self._client.batch_get_into(self._names(keys), places, sizes)
        return [answer == size for answer, size in zip(answers, sizes, strict=True)]

    def delete(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Remove each key that has no lease."""
        return [answer == 0 for answer in self._client.batch_remove(self._names(keys))]

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    def _names(self, keys: Sequence[bytes]) -> list[str]:
        return [self._prefix + key.hex() for key in keys]

    @contextmanager
    def _registered(self, buffers: Sequence[memoryview]) -> Iterator[list[int]]:
        """Addresses of buffers, which it may move bytes from and to by itself meanwhile."""
        places = [np.frombuffer(buffer, np.uint8).ctypes.data for buffer in buffers]
        for place, size in zip(places, _sizes(buffers), strict=True):
            self._client.register_buffer(place, size)
        try:
            yield places
        finally:
            for place in places:
                self._client.unregister_buffer(place)


def _sizes(buffers: Sequence[memoryview]) -> list[int]:
    return [len(buffer) for buffer in buffers]


def _client(master: str) -> Any:
    client = mooncake.store.MooncakeDistributedStore()
    status = client.setup(LOOPBACK, "P2PHANDSHAKE", 0, _LOCAL_BUFFER_BYTES, "tcp", "", master)
    if status != 0:
        raise MooncakeStoreError(
            f"mooncake: no client at the master {master} (setup answers {status})"
        )
    return client


def _try(master: str) -> None:
    """Connect once, so that what is wrong with the master is told before any case."""
    host, port = _address(master)
    if not listens(host, port):
        raise MooncakeStoreError(f"mooncake: nobody listens at the master's address {master}")
    _client(master).close()


def _address(master: str) -> tuple[str, int]:
    host, _, port = master.rpartition(":")
    if not host or not port.isdigit():
        raise MooncakeStoreError(f"mooncake takes HOST:PORT of a running master, not {master!r}")
    return host, int(port)
