"""Fixtures for tests in a headless browser.

They need Chromium, and playwright and axe-playwright-python from envs/peers.txt. tests/conftest.py
offers them to all tests, because Playwright allows only one browser per process.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests import debian

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
IMPACTS = ("minor", "moderate", "serious", "critical")
Violations = Callable[..., list[Any]]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = _installed()
    if path is None:
        debian.install(("chromium",), BROWSERS[:1])
        path = _installed()
    # Chromium's sandbox does not work for root, which is usual in containers.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with api.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=options)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """Yield a page that opens files; `told` collects its console messages and remote requests."""
    opened = browser.new_page(viewport={"width": 1400, "height": 900})
    opened.told = []
    opened.on("console", lambda message: opened.told.append(message.text))
    opened.on("pageerror", lambda error: opened.told.append(str(error)))
    opened.on("request", lambda request: opened.told.append(request.url) if _far(request) else None)
    yield opened
    opened.close()


def _installed() -> str | None:
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def _far(request: Any) -> bool:
    return request.url.startswith("http")


@pytest.fixture
def violations() -> Violations:
    """Return a function that lists the accessibility problems that axe finds on a page.

    Its second argument names the impacts that count; by default all do.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is missing")

    def found(page: Any, impacts: Sequence[str] = IMPACTS) -> list[Any]:
        return [
            (one["id"], [node["html"][:80] for node in one["nodes"]][:3])
            for one in axe.Axe().run(page).response["violations"]
            if one["impact"] in impacts
        ]

    return found
