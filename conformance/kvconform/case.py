"""One case: a row of a matrix with every axis replaced by its value."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from kvconform.ports import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Everything a scenario needs to know; the same id means the same case tomorrow.

    ``given`` are the scenario's own parameters, valid by the scenario's schema.  ``pinned`` are
    expected values written in the matrix; they must agree with the oracle.  ``source`` is
    ``file:line`` of the matrix.
    """

    id: str
    """``matrix-name[axis.value-axis.value]``."""
    matrix: str
    source: str
    scenario: str
    clauses: tuple[str, ...]
    requires: tuple[str, ...]
    layout: Layout
    given: Mapping[str, object]
    axes: Mapping[str, object] = field(default_factory=dict)
    pinned: Mapping[str, object] = field(default_factory=dict)
    event_lines: tuple[int, ...] = ()
    """Lines of the matrix at which the events of a trace stand, if they do."""

    @property
    def fingerprint(self) -> str:
        """Changes with everything that the case asks, but not with its id or place in a file."""
        said = (
            self.scenario,
            self.requires,
            self.layout,
            dict(self.layout.options),
            self.given,
            self.pinned,
        )
        return hashlib.blake2b(repr(said).encode(), digest_size=8).hexdigest()
