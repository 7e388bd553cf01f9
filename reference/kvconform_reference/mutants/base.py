"""What a mutant says about itself."""

from __future__ import annotations

from dataclasses import dataclass

from kvconform.ports import ConnectorFactory


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A faulty connector.

    ``fault`` is one sentence; of ``clauses`` at least one must be among those that fail.
    """

    name: str
    fault: str
    clauses: tuple[str, ...]
    factory: ConnectorFactory
