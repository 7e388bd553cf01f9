"""The names under which stores of other projects are found."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Mapping, Sequence
from typing import Any

from kvconform.ports import KvconformError, StoreFactory
from kvconform.store.environments import environment_of


class StoreImportError(KvconformError, ImportError):
    """What a store needs is not installed or does not import: says what, and how to get it."""


class _Adapter:
    """One store; ``module`` has its ``make(argument)``, ``distribution`` is what must be installed."""

    name: str
    module: str
    distribution: str
    besides = ""
    """What no Python package brings."""

    def factory(self, argument: str) -> StoreFactory:
        """Opens the store; raises `StoreImportError` where its packages are missing."""
        try:
            loaded: Any = importlib.import_module(self.module)
        except ImportError as error:
            raise StoreImportError(
                f"store {self.name!r} needs {self.distribution}{self.besides}, which does not import here "
                f"({type(error).__name__}: {error}); tox -e {environment_of(self.name)} has all it needs"
            ) from error
        factory: StoreFactory = loaded.make(argument)
        return factory

    def names(self) -> Sequence[str]:
        """Its only name, unless it takes arguments."""
        return ("",)

    def describe(self, argument: str) -> Mapping[str, str]:
        """The version of the distribution, or why it cannot be used."""
        del argument
        try:
            return {"version": importlib.metadata.version(self.distribution)}
        except importlib.metadata.PackageNotFoundError:
            return {"version": "", "problem": f"{self.distribution} is not installed (tox -e {environment_of(self.name)})"}


class Aibrix(_Adapter):
    """``aibrix``: the RocksDB tier of AIBrix kvcache."""

    name = "aibrix"
    module = "kvconform_stores.aibrix"
    distribution = "aibrix-kvcache"


class LmcacheL2(_Adapter):
    """``lmcache-l2``: the L2 adapter of LMCache that keeps objects as files."""

    name = "lmcache-l2"
    module = "kvconform_stores.lmcache_l2"
    distribution = "lmcache"


class LmcacheDisk(_Adapter):
    """``lmcache-disk``: the local disk backend of LMCache."""

    name = "lmcache-disk"
    module = "kvconform_stores.lmcache_disk"
    distribution = "lmcache"


class Mooncake(_Adapter):
    """``mooncake``: Mooncake Store over TCP; ``mooncake:HOST:PORT`` is a master that runs already."""

    name = "mooncake"
    module = "kvconform_stores.mooncake"
    distribution = "mooncake-transfer-engine-non-cuda"
    besides = " and the Debian packages libibverbs1, libnl-3-200 and libnl-route-3-200"
