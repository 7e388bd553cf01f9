"""The name ``vllm``: any connector class of an installed vLLM, on vLLM's own engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kvconform.ports import (
    Connector,
    ConnectorFactory,
    KvconformError,
    Layout,
    Setting,
    StoreFactory,
    UnsupportedLayoutError,
)
from kvconform.versions import version_of
from kvconform_vllm.claims import CLAIMS_OPTION, read_claims
from kvconform_vllm.environment import load_vllm
from kvconform_vllm.releases import Release, UnsupportedReleaseError, installed_release

if TYPE_CHECKING:
    from kvconform_vllm.bench import VllmBench
    from kvconform_vllm.connectors import ConnectorClass

NAMES = ("OffloadingConnector", "SimpleCPUOffloadConnector", "ExampleConnector")
"""Classes that the suite knows; any other is taken by name too."""

_BASE = "KVConnectorBase_V1"
_OWN_PACKAGE = "vllm"

_TIERS_FROM = 33
"""The release whose tiers the adapter of stores was written for; before it they took other arguments."""


class VllmFactory:
    """Makes vLLM benches for one connector class; ``engine_name`` says which vLLM it is."""

    def __init__(self, name: str, kind: ConnectorClass, release: Release) -> None:
        self.engine_name = release.title
        self._name = name
        self._kind = kind
        self._release = release
        self._last: VllmBench | None = None

    def __call__(self, layout: Layout, setting: Setting) -> Connector:
        """Not possible: the built-in engine cannot drive a vLLM class."""
        del layout, setting
        raise UnsupportedLayoutError("a vLLM connector class runs on vLLM's engine only")

    def check_options(self, options: Mapping[str, object]) -> None:
        """Read the file of claims and try the class, before any case runs.

        Raises `ClaimsFileError` or `UnusableClassError`.
        """
        from kvconform_vllm.trial import try_class  # noqa: PLC0415 - needs vLLM

        if CLAIMS_OPTION in options:
            read_claims(str(options[CLAIMS_OPTION]))
        try_class(self._name, self._kind, self._release, options)

    def make_bench(
        self, layout: Layout, factory: ConnectorFactory, device: str, options: dict[str, object]
    ) -> VllmBench:
        """One engine with one connector, for one case; the one before is shut down, if nobody has."""
        from kvconform_vllm.bench import VllmBench  # noqa: PLC0415 - needs vLLM

        del factory
        if self._last is not None:
            self._last.close()
        self._last = VllmBench(layout, self._kind, self._release, device, options)
        return self._last


class Vllm:
    """``vllm``: OffloadingConnector; ``vllm:NAME``: that class; ``vllm:package.module:Class``."""

    def factory(self, argument: str) -> ConnectorFactory:
        """A factory for the class; vLLM is imported here, once in a process.

        Raises `VllmMissingError`, `UnsupportedReleaseError`, `NoAssertionsError` or
        `ConnectorNotFoundError`.
        """
        release = load_vllm()
        from kvconform_vllm.connectors import connector_class  # noqa: PLC0415 - needs vLLM

        name = self.canonical(argument)
        return VllmFactory(name, connector_class(name), release)

    def canonical(self, argument: str) -> str:
        """The name of the class, also where none is given."""
        return argument or NAMES[0]

    def recognizes(self, found: object) -> bool:
        """Whether it is a class of vLLM's connector interface, told without importing vLLM."""
        bases = found.__mro__ if isinstance(found, type) else ()
        return any(base.__name__ == _BASE for base in bases)

    def names(self) -> Sequence[str]:
        """The classes that the suite knows."""
        return NAMES

    def describe(self, argument: str) -> Mapping[str, str]:
        """The version of the package that the class comes from, for vLLM's own the release."""
        module_path, _, _ = argument.rpartition(":")
        if module_path.partition(".")[0] in {"", _OWN_PACKAGE}:
            return {"version": installed_release().version}
        return {"version": version_of(module_path)}


class VllmTier:
    """``vllm-tier``: the secondary tier ``fs``; ``vllm-tier:TYPE``; ``vllm-tier:package.module:Class``."""

    def factory(self, argument: str) -> StoreFactory:
        """Opens the tier.

        Raises `VllmMissingError`, `UnsupportedReleaseError` or `TierError`.
        """
        release = load_vllm()
        if release.minor < _TIERS_FROM:
            raise UnsupportedReleaseError(
                f"vllm-tier knows the tiers of vLLM 0.{_TIERS_FROM} on, not those of {release.version}"
            )
        from kvconform_vllm.tiers import make  # noqa: PLC0415 - needs vLLM

        return make(argument)

    def names(self) -> Sequence[str]:
        """The tier that needs no server."""
        return ("fs",)

    def describe(self, argument: str) -> Mapping[str, str]:
        """The version of vLLM, or why it cannot be used."""
        del argument
        try:
            return {"version": installed_release().version}
        except KvconformError as error:
            return {"version": "", "problem": str(error)}
