"""The clauses and the checks that cite them: one place for docs, reports and the registry gate."""

from kvconform.contract.clauses import (
    caps,
    coverage,
    integrity,
    isolation,
    lifecycle,
    neutrality,
    readiness,
    recurrent,
    speculation,
    termination,
)
from kvconform.contract.clauses.model import Check, Clause, Severity

_FAMILIES = (
    coverage,
    readiness,
    integrity,
    lifecycle,
    termination,
    isolation,
    caps,
    speculation,
    recurrent,
    neutrality,
)

CLAUSES: dict[str, Clause] = {clause.id: clause for family in _FAMILIES for clause in family.CLAUSES}
"""Every clause by its id, families in the order in which reports list them."""

CHECKS: dict[str, Check] = {check.name: check for family in _FAMILIES for check in family.CHECKS}
"""Every check by its name."""

__all__ = ["CHECKS", "CLAUSES", "Check", "Clause", "Severity"]
