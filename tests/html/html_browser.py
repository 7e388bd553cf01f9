"""A real browser, as a person at a keyboard or with a mouse uses it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kvconform.results.html import write_html
from kvconform.results.journal import Journal

Runs = Sequence[tuple[str, Journal]]


def chromium() -> Any:
    """Debian's headless Chromium, driven by its own driver; nothing is fetched."""
    from selenium import webdriver  # noqa: PLC0415 - an extra
    from selenium.webdriver.chrome.service import Service  # noqa: PLC0415

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(60)
    return driver


class Page:
    """A report in a browser."""

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver = driver
        self.folder = folder

    def show(self, runs: Runs, hash_: str = "") -> None:
        """Write the report of ``runs`` and open it."""
        path = self.folder / "report.html"
        write_html(runs, path)
        self.open(path, hash_)

    def open(self, path: Path, hash_: str = "") -> None:
        """Open a file; returns when the page can be used."""
        self.driver.get(f"{path.as_uri()}{hash_}")
        self.wait("document.documentElement.dataset.ready === 'yes'")

    def blank(self) -> None:
        """Nothing of this test is left for the next one."""
        self.driver.get("about:blank")
        self.console()

    def resize(self, width: int, height: int) -> None:
        """The page's own width and height in CSS pixels."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

    def hide_scrollbars(self) -> None:
        """For pictures."""
        self.driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})

    def scheme(self, name: str) -> None:
        """What the reader prefers: ``dark`` or ``light``."""
        feature = {"name": "prefers-color-scheme", "value": name}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def js(self, expression: str, *values: object) -> Any:
        """The value of an expression; ``arguments`` are the values."""
        return self.driver.execute_script(f"return {expression}", *values)

    def wait(self, expression: str, seconds: float = 30) -> None:
        """Until an expression is true."""
        from selenium.webdriver.support.ui import WebDriverWait  # noqa: PLC0415 - an extra

        WebDriverWait(self.driver, seconds, poll_frequency=0.02).until(
            lambda driver: driver.execute_script(f"return {expression}"), expression
        )

    def find(self, css: str) -> Any:
        """The first element."""
        return self.driver.find_element("css selector", css)

    def texts(self, css: str) -> list[str]:
        """What elements say, shown or not."""
        return self.js(
            "[...document.querySelectorAll(arguments[0])].map((one) => one.textContent)", css
        )

    def click(self, css: str) -> None:
        """With a mouse: what covers an element gets the click, and the test fails."""
        element = self.find(css)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def press(self, *keys: str, times: int = 1) -> None:
        """Keys as a keyboard sends them, to whatever has the focus."""
        from selenium.webdriver.common.action_chains import ActionChains  # noqa: PLC0415 - an extra
        from selenium.webdriver.common.keys import Keys  # noqa: PLC0415

        for _ in range(times):
            for key in keys:
                ActionChains(self.driver).send_keys(getattr(Keys, key, key)).perform()

    def tab_until(self, expression: str, most: int = 80) -> None:
        """Press Tab until ``expression`` holds of ``it``, the element with the focus."""
        for _ in range(most):
            self.press("TAB")
            if self.js(f"((it) => {expression})(document.activeElement)"):
                return
        raise AssertionError(f"no element with {expression} within {most} presses of Tab")

    def console(self) -> list[str]:
        """What the console said since it was asked last."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Addresses that were asked for since it was asked last."""
        import json  # noqa: PLC0415

        messages = [
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        ]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]
