"""The name ``vllm``: any connector class of an installed vLLM, on vLLM's own engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kvconform.ports import (
    Connector,
    ConnectorFactory,
    Layout,
    Setting,
    UnsupportedLayoutError,
)
from kvconform_vllm.claims import CLAIMS_OPTION, overridden
from kvconform_vllm.environment import load_vllm
from kvconform_vllm.releases import Release, installed_release

if TYPE_CHECKING:
    from kvconform_vllm.bench import VllmBench
    from kvconform_vllm.connectors import ConnectorClass

NAMES = ("OffloadingConnector", "SimpleCPUOffloadConnector", "ExampleConnector")
"""Classes that the suite knows; any other is taken by name too."""


class VllmFactory:
    """Makes vLLM benches for one connector class; ``engine_name`` says which vLLM it is."""

    def __init__(self, kind: ConnectorClass, release: Release) -> None:
        self.engine_name = release.title
        self._kind = kind
        self._release = release

    def __call__(self, layout: Layout, setting: Setting) -> Connector:
        """Not possible: the built-in engine cannot drive a vLLM class."""
        del layout, setting
        raise UnsupportedLayoutError("a vLLM connector class runs on vLLM's engine only")

    def check_options(self, options: Mapping[str, object]) -> None:
        """Read the file of claims before any case runs; raises `ClaimsFileError`."""
        overridden(frozenset(), options.get(CLAIMS_OPTION))

    def make_bench(
        self, layout: Layout, factory: ConnectorFactory, device: str, options: dict[str, object]
    ) -> VllmBench:
        """One engine with one connector, for one case."""
        from kvconform_vllm.bench import VllmBench  # noqa: PLC0415 - needs vLLM

        del factory
        return VllmBench(layout, self._kind, self._release, device, options)


class Vllm:
    """``vllm``: OffloadingConnector; ``vllm:NAME``: that class; ``vllm:package.module:Class``."""

    def factory(self, argument: str) -> ConnectorFactory:
        """A factory for the class; vLLM is imported here, once in a process.

        Raises `VllmMissingError`, `UnsupportedReleaseError` or `ConnectorNotFoundError`.
        """
        release = load_vllm()
        from kvconform_vllm.connectors import connector_class  # noqa: PLC0415 - needs vLLM

        return VllmFactory(connector_class(argument or NAMES[0]), release)

    def names(self) -> Sequence[str]:
        """The classes that the suite knows."""
        return NAMES

    def describe(self, argument: str) -> Mapping[str, str]:
        """The release, told without importing it."""
        del argument
        return {"version": installed_release().version}
