"""The clauses and the checks that cite them: one place for docs, reports and the registry gate."""

from kvconform.contract.clauses import (
    capacity,
    caps,
    coverage,
    effort,
    faults,
    integrity,
    isolation,
    life,
    lifecycle,
    neutrality,
    readiness,
    recurrent,
    resets,
    speculation,
    stores,
    telling,
    termination,
)
from kvconform.contract.clauses.model import Check, Clause, Severity

_FAMILIES = (
    coverage,
    readiness,
    integrity,
    lifecycle,
    life,
    termination,
    isolation,
    caps,
    faults,
    resets,
    speculation,
    capacity,
    telling,
    effort,
    recurrent,
    neutrality,
    stores,
)

CLAUSES: dict[str, Clause] = {clause.id: clause for family in _FAMILIES for clause in family.CLAUSES}
"""Every clause by its id, families in the order in which reports list them."""

CHECKS: dict[str, Check] = {check.name: check for family in _FAMILIES for check in family.CHECKS}
"""Every check by its name."""

__all__ = ["CHECKS", "CLAUSES", "Check", "Clause", "Severity"]
