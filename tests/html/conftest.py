"""Fixtures of the tests of the HTML report."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from html_browser import Page, chromium

REQUIRED = "KVCONFORM_BROWSER"
"""Set to *required* where a missing browser is a failure."""

SCREENSHOTS = "KVCONFORM_SCREENSHOTS"
"""A folder in which the pictures of the documentation are kept."""


@pytest.fixture
def keep_picture(tmp_path: Path) -> Callable[[Page, str], bytes]:
    """Takes a picture of a page and keeps it where `SCREENSHOTS` says, else for this test alone."""
    folder = Path(os.environ.get(SCREENSHOTS, tmp_path))

    def keep(page: Page, name: str) -> bytes:
        picture: bytes = page.driver.get_screenshot_as_png()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(picture)
        return picture

    return keep


def _lacking() -> str:
    """What a test in a browser lacks here; empty if nothing."""
    if find_spec("selenium") is None:
        return "selenium is not installed (the extra 'html')"
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"no {' and no '.join(missing)} (Debian: chromium, chromium-driver)" if missing else ""


@pytest.fixture(scope="session")
def _browser() -> Iterator[object]:
    lacking = _lacking()
    if lacking and os.environ.get(REQUIRED) == "required":
        pytest.fail(f"tests in a browser are required: {lacking}")
    if lacking:
        pytest.skip(f"needs a browser: {lacking}")
    driver = chromium()
    yield driver
    driver.quit()


@pytest.fixture
def page(_browser: object, tmp_path: Path) -> Iterator[Page]:
    """A browser window of usual size; a test that leaves an error in the console fails."""
    shown = Page(_browser, tmp_path)
    shown.resize(1280, 900)
    yield shown
    errors = shown.console()
    shown.blank()
    assert errors == []
