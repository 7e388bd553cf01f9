"""Copies of the reference with one seeded fault each; every one must be caught.

The modules group them by what they break.  A mutant names its fault in one sentence and the
clauses of which at least one must fail.
"""

from kvconform_reference.mutants.base import Mutant
from kvconform_reference.mutants.capacity import CAPACITY
from kvconform_reference.mutants.caps import CAPS
from kvconform_reference.mutants.cost import COST
from kvconform_reference.mutants.coverage import COVERAGE
from kvconform_reference.mutants.effort import EFFORT
from kvconform_reference.mutants.faults import FAULTS
from kvconform_reference.mutants.impostors import IMPOSTORS
from kvconform_reference.mutants.integrity import INTEGRITY
from kvconform_reference.mutants.isolation import ISOLATION
from kvconform_reference.mutants.killers import KILLERS
from kvconform_reference.mutants.life import LIFE
from kvconform_reference.mutants.lifecycle import LIFECYCLE
from kvconform_reference.mutants.neutrality import NEUTRALITY
from kvconform_reference.mutants.pages import PAGES
from kvconform_reference.mutants.recurrent import RECURRENT
from kvconform_reference.mutants.resets import RESETS
from kvconform_reference.mutants.speculation import SPECULATION
from kvconform_reference.mutants.store_claims import STORE_CLAIMS
from kvconform_reference.mutants.stores import STORES
from kvconform_reference.mutants.timing import TIMING

MUTANTS: dict[str, Mutant] = {
    mutant.name: mutant
    for family in (
        COVERAGE,
        TIMING,
        LIFECYCLE,
        LIFE,
        COST,
        CAPS,
        INTEGRITY,
        ISOLATION,
        FAULTS,
        RESETS,
        CAPACITY,
        EFFORT,
        SPECULATION,
        RECURRENT,
        PAGES,
        NEUTRALITY,
        STORES,
        STORE_CLAIMS,
        IMPOSTORS,
    )
    for mutant in family
}

__all__ = ["KILLERS", "MUTANTS", "Mutant"]
