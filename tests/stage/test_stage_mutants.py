"""Every mutant is caught by the clause that it declares, and every check by some mutant."""

from __future__ import annotations

import pytest
from stage_cases import case_named, mutant, play

from kvconform.contract.clauses import CHECKS, CLAUSES
from kvconform.registry import resolve_connector
from kvconform.results.record import Outcome
from kvconform_reference.mutants import KILLERS, MUTANTS

ONLY = {
    "synchronous-load": {"load-is-async"},
    "load-never-reported": {"every-request-ends"},
    "reports-on-one-rank": {"every-request-ends"},
    "stray-write": {"reads-own-bytes"},
    "loads-too-much": {"load-is-exact"},
    "stores-everything": {"store-is-exact"},
    "pending-is-missing": {"hit-is-best"},
    "loading-loaded-again": {"hit-is-best"},
    "stores-reported-unasked": {"reported-as-asked"},
    "stale-cursor": {"stored-however-cut"},
    "convoy": {"sharers-go-on"},
}
"""Mutants whose fault shows in one check and nowhere else."""


def test_every_mutant_is_in_the_table():
    """A new mutant needs a case that catches it."""
    assert set(KILLERS) == set(MUTANTS)


@pytest.mark.parametrize("name", KILLERS)
def test_the_declared_clause_fails(name):
    """The reference passes the case, the mutant fails a check of a clause that it declares."""
    case = case_named(KILLERS[name])
    assert play(case, resolve_connector(MUTANTS[name].against).factory).outcome is Outcome.PASS
    caught = play(case, mutant(name))
    assert caught.outcome is Outcome.FAIL
    assert caught.clauses & set(MUTANTS[name].clauses)


@pytest.mark.parametrize("name", ONLY)
def test_a_single_fault_fails_a_single_check(name):
    """No other check is dragged along: what fails names the fault."""
    assert play(case_named(KILLERS[name]), mutant(name)).failed == ONLY[name]


def test_every_check_has_a_mutant_that_fails_it():
    """A check that nobody ever saw fail is worthless."""
    failed: set[str] = set()
    for name, case in KILLERS.items():
        failed |= play(case_named(case), mutant(name)).failed
    assert failed == set(CHECKS)


def test_mutants_say_what_is_wrong_in_one_sentence():
    """Faults end with a full stop and hold no other; clauses exist."""
    for name, told in MUTANTS.items():
        assert told.name == name
        assert told.fault.endswith(".")
        assert ". " not in told.fault
        assert told.clauses
        assert set(told.clauses) <= set(CLAUSES)


def test_a_stray_write_is_no_fault_of_a_load():
    """INT-1 alone: the load was right when it was reported, the damage came later."""
    caught = play(case_named(KILLERS["stray-write"]), mutant("stray-write"))
    assert caught.clauses == {"INT-1"}
