"""What is known of a table's rows, seen by one group of failures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kvconform.suspects.table import Row, Rows, Table, members


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """Rows that fail in the way in question, rows that do not, and rows of which nothing is known.

    ``void`` are rows that cannot be measured; they are never proposed as probes.
    """

    table: Table
    failed: Rows
    passed: Rows
    void: Rows = 0

    @classmethod
    def of(
        cls,
        table: Table,
        *,
        failed: Iterable[str],
        passed: Iterable[str],
        void: Iterable[str] = (),
    ) -> Outcomes:
        """Outcomes by row ids; raises `kvconform.suspects.UnknownRowError`."""
        return cls(
            table=table,
            failed=table.named(failed),
            passed=table.named(passed),
            void=table.named(void),
        )

    @property
    def known(self) -> Rows:
        """Rows that were run and told something."""
        return self.failed | self.passed

    @property
    def open(self) -> Rows:
        """Rows that a probe can still run."""
        return self.table.all & ~self.known & ~self.void

    def told(self, row: Row, *, failed: bool | None) -> Outcomes:
        """The same with one more row; None if it was run and could not be measured."""
        bit = 1 << self.table.numbers[row.id]
        if failed is None:
            return replace(self, void=self.void | bit)
        if failed:
            return replace(self, failed=self.failed | bit)
        return replace(self, passed=self.passed | bit)

    def measured(self) -> Outcomes:
        """The same without the rows of which nothing is known."""
        table = self.table.only(self.known)
        failed = table.named(self.table.rows[at].id for at in members(self.failed))
        return Outcomes(table=table, failed=failed, passed=table.all & ~failed)
