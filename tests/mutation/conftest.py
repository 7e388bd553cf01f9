"""Fixtures of the tests about changed code."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def same_modules():
    """What a test imports anew is gone after it."""
    before, path = dict(sys.modules), list(sys.meta_path)
    yield
    for name in [n for n in sys.modules if n.startswith(("kvconform_reference", "tiny"))]:
        del sys.modules[name]
    sys.modules.update({n: m for n, m in before.items() if n.startswith("kvconform_reference")})
    sys.meta_path[:] = path
