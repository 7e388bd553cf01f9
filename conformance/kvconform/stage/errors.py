"""How a case ends when it does not simply pass."""

from __future__ import annotations

from kvconform.ports import KvconformError


class NotApplicableError(KvconformError):
    """The case does not apply to this connector; the text says which claim is missing."""


class CaseFailedError(AssertionError):
    """At least one check failed or measured nothing; the text is the whole picture."""


class PinError(KvconformError):
    """A value pinned in a matrix disagrees with the oracle: one of the two is wrong."""


class UnfinishedScenarioError(KvconformError):
    """A scenario ended without a judgement that it declares: a step is missing from its template."""
