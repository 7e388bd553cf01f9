"""``store:NAME``: a store inside the reference connector, so that every matrix runs on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kvconform.ports import ConnectorFactory, ConnectorNotFoundError
from kvconform.registry import list_stores, resolve_connector, resolve_store

CARRIER = "reference"
"""The connector that keeps its chunks in the store; it has ``with_store``."""


class Stored:
    """The provider of ``store``; its argument is the name of a store."""

    def factory(self, argument: str) -> ConnectorFactory:
        """The carrier over the store called ``argument``."""
        if not argument:
            known = ", ".join(listed.name for listed in list_stores())
            raise ConnectorNotFoundError(f"store needs the name of a store; there are {known}")
        carrier: Any = resolve_connector(CARRIER).factory
        factory: ConnectorFactory = carrier.with_store(resolve_store(argument).factory)
        return factory

    def names(self) -> Sequence[str]:
        """Every registered store that can be used here."""
        return [listed.name for listed in list_stores() if not listed.problem]

    def describe(self, argument: str) -> Mapping[str, str]:
        """The store's version."""
        return {"version": resolve_store(argument).version} if argument else {}
