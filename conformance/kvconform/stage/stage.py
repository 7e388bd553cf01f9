"""The stage of a case: all steps that templates call."""

from __future__ import annotations

from kvconform.stage.caps import CapSteps
from kvconform.stage.effort import EffortSteps
from kvconform.stage.isolation import IsolationSteps
from kvconform.stage.restart import RestartSteps
from kvconform.stage.seeded import SeededSteps
from kvconform.stage.trace import TraceSteps


class Stage(RestartSteps, SeededSteps, IsolationSteps, CapSteps, TraceSteps, EffortSteps):
    """One case on one connector.  Templates call its steps and end with `conclude`.

    Raises `NotApplicableError` where the connector does not claim what the case requires, or
    refuses the layout by name.
    """
