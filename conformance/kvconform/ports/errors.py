"""Errors that both sides of the ports raise."""

from __future__ import annotations


class KvconformError(Exception):
    """Base of every error that the suite raises on purpose; its text is meant for the user."""


class LayoutError(KvconformError, ValueError):
    """A KV layout that no engine could have: names the group, the value and what was expected."""


class UnsupportedLayoutError(KvconformError):
    """Raised by a connector's factory for a layout that it refuses by name (not a failure)."""


class ConnectorNotFoundError(KvconformError, LookupError):
    """A connector name that nothing provides: names what was asked and what there is."""
