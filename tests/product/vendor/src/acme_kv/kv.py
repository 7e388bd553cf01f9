"""Acme's connector: the reference's parts, with a lookup that does not wait for a store in flight."""

from __future__ import annotations

from kvconform.ports import Layout, Setting, UnsupportedLayoutError
from kvconform_reference.mutants import MUTANTS


def make_connector(layout: Layout, setting: Setting) -> object:
    """The factory; memory of the host is all that there is, and its size must be said."""
    if "num_slots" not in setting.options:
        raise UnsupportedLayoutError("acme needs num_slots")
    return MUTANTS["pending-is-missing"].factory(layout, setting)
