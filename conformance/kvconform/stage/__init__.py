"""The stage: what a rendered scenario calls, and what it judges."""

from kvconform.stage.errors import CaseFailedError, NotApplicableError, PinError
from kvconform.stage.stage import Stage

__all__ = ["CaseFailedError", "NotApplicableError", "PinError", "Stage"]
