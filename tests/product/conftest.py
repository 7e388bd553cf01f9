"""Fixtures of the product's tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from product_vendor import Vendor


@pytest.fixture
def vendor(tmp_path: Path) -> Vendor:
    """A copy of the vendor's repository, its package installed as far as Python can tell."""
    return Vendor.copy(tmp_path)
