"""Expected failures: what a connector is known not to do, kept in files beside it."""

from kvconform.expectations.cases import CaseSpace
from kvconform.expectations.entry import Entry, Status
from kvconform.expectations.judge import Expectations
from kvconform.expectations.load import ExpectationsError, load_expectations
from kvconform.expectations.pattern import Pattern, PatternError

__all__ = [
    "CaseSpace",
    "Entry",
    "Expectations",
    "ExpectationsError",
    "Pattern",
    "PatternError",
    "Status",
    "load_expectations",
]
