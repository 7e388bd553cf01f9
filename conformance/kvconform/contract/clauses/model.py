"""What a clause and a check are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kvconform.ports import Capability


class Severity(StrEnum):
    """What a breach does to the users of the engine."""

    CORRUPTION = "silent corruption"
    DEATH = "engine death"
    BENEFIT = "lost benefit"
    COST = "cost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One sentence that a connector keeps.

    ``safe`` clauses bind every connector; the others bind those that claim the policies which
    their checks name.
    """

    id: str
    text: str
    severity: Severity
    safe: bool
    reason: str
    source: str
    unseen: str = ""
    """A breach that no check can see, and why; empty where none is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One judgement inside a case.

    ``needs`` are the capabilities without which it does not apply.  ``witness`` says what must
    have happened for the check to have measured anything.
    """

    name: str
    clause: str
    needs: tuple[Capability, ...] = ()
    witness: str = ""


SEED = "vllm-project/vllm#56709"
"""The report with which the project began."""
