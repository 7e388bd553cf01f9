"""Axes to blame: the fewest axis values that every failing and no passing row has."""

from kvconform.suspects.cases import table_of
from kvconform.suspects.explain import Candidate, Explanation, NoFailureError, explain
from kvconform.suspects.outcomes import Outcomes
from kvconform.suspects.probes import (
    MOST_PROBES,
    SUPPORT,
    Settlement,
    next_check,
    next_probe,
    settle,
)
from kvconform.suspects.search import Alternatives, Limits
from kvconform.suspects.table import (
    Condition,
    Conjunction,
    DuplicateRowError,
    Row,
    Rows,
    Table,
    UnknownRowError,
)
from kvconform.suspects.words import describe, predicate

__all__ = [
    "MOST_PROBES",
    "SUPPORT",
    "Alternatives",
    "Candidate",
    "Condition",
    "Conjunction",
    "DuplicateRowError",
    "Explanation",
    "Limits",
    "NoFailureError",
    "Outcomes",
    "Row",
    "Rows",
    "Settlement",
    "Table",
    "UnknownRowError",
    "describe",
    "explain",
    "next_check",
    "next_probe",
    "predicate",
    "settle",
    "table_of",
]
