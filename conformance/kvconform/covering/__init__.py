"""Covering selections: few rows that hold every valid combination of any t factors."""

from kvconform.covering.errors import (
    ModelError,
    NoRowLeftError,
    PresetError,
    StrengthError,
    TooLargeError,
)
from kvconform.covering.model import MAX_TUPLES, Clause, Model, Row, Strength
from kvconform.covering.selection import Selection, select
from kvconform.covering.verify import Broken, Coverage, Pick, Proof, coverage, verify

__all__ = [
    "MAX_TUPLES",
    "Broken",
    "Clause",
    "Coverage",
    "Model",
    "ModelError",
    "NoRowLeftError",
    "Pick",
    "PresetError",
    "Proof",
    "Row",
    "Selection",
    "Strength",
    "StrengthError",
    "TooLargeError",
    "coverage",
    "select",
    "verify",
]
