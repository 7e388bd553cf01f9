"""What the rows of a run hold: pairs and triples of axis values, of those that are valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvconform.covering import TooLargeError, coverage, verify
from kvconform.matrix.model import Matrix

_STRENGTHS = (2, 3)
_MOST_ROWS = 20_000
"""Counting takes a moment for each row; more of them hold everything anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Combinations of values of ``strength`` axes: ``held`` by rows, of ``valid`` ones."""

    strength: int
    held: int
    valid: int


def count_tuples(matrices: Sequence[Matrix]) -> list[Held]:
    """Pairs and triples of all matrices that have as many axes, coupled ones counted as one.

    Matrices that are too large to count are left out.
    """
    counted = []
    for strength in _STRENGTHS:
        held = valid = 0
        for matrix in matrices:
            choice = matrix.choice
            if len(choice.model.sizes) < strength or len(choice.points) > _MOST_ROWS:
                continue
            try:
                whole = coverage(choice.model, strength, choice.points)[0]
            except TooLargeError:
                continue
            held, valid = held + whole.covered, valid + whole.valid
        if valid:
            counted.append(Held(strength=strength, held=held, valid=valid))
    return counted


def prove(matrix: Matrix) -> list[str]:
    """What a covering selection lacks, by a verifier that shares nothing with the selector."""
    choice = matrix.choice
    if choice.strength is None:
        return []
    proof = verify(choice.model, choice.strength, choice.points)
    problems = [f"row {broken.row} breaks a constraint" for broken in proof.broken]
    if proof.missing:
        problems.append(
            f"{len(proof.missing):,} combinations of axis values are in no row, the first is "
            f"{proof.missing[0]} (factor, value)"
        )
    return problems
