"""The name under which kvconform finds the connector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acme_kv.kv import make_connector
from kvconform.ports import ConnectorFactory


class Provider:
    """``acme:host``."""

    def factory(self, argument: str) -> ConnectorFactory:
        """The factory for a tier; raises KeyError for one that there is not."""
        return {"host": make_connector}[argument]

    def names(self) -> Sequence[str]:
        """All tiers."""
        return ("host",)

    def describe(self, argument: str) -> Mapping[str, str]:
        """The version of the package."""
        del argument
        return {"version": "2.1"}
