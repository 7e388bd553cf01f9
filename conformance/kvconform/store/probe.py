"""Whether a store works at all, asked once before any case."""

from __future__ import annotations

import tempfile
from pathlib import Path

from kvconform.ports import KvconformError, StoreFactory, StoreSetting, StoreUnavailableError
from kvconform.store.damage import clear_away

_KEY = b"kvconform0probe0"
_BYTES = 1 << 16


class StoreNotReadyError(KvconformError):
    """A store whose place fails before the first case: says how."""


def probe(name: str, factory: StoreFactory) -> None:
    """Open the store ``name``, put one object and close.

    Raises what the factory refuses with, and `StoreNotReadyError` where the place fails: no room,
    no permission, no server.  What else a store does wrong is for the cases to tell.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="kvconform-probe-"))
    except OSError as error:
        raise StoreNotReadyError(f"no folder can be made for the store {name}: {error}") from error
    try:
        _put_one(factory, folder)
    except StoreUnavailableError as error:
        raise StoreNotReadyError(f"the store {name} is not ready: {error}") from error
    except KvconformError:
        raise
    except OSError as error:
        text = f"the store {name} is not ready: {type(error).__name__}: {error}"
        raise StoreNotReadyError(text) from error
    except Exception:  # noqa: BLE001 - a fault of the store's own: a verdict of every case
        return
    finally:
        clear_away(folder)


def _put_one(factory: StoreFactory, folder: Path) -> None:
    store = factory(StoreSetting(directory=folder, namespace="probe"))
    try:
        size = min(_BYTES, store.claims.max_object_bytes)
        store.put([_KEY], [memoryview(bytes(size))])
        store.delete([_KEY])
    finally:
        store.close()
