"""A page in Chromium with the network off: any error in its console, and any request, fails the test."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
Opened = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: tools/install_browser.sh")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, "--disable-sync"])
        yield found
        found.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    """Opens a file; whatever went wrong in it is said at the end."""
    wrong: list[str] = []
    contexts: list[Any] = []

    def open_(file: Path, *, query: str = "", width: int = 1100, **how: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 800}, offline=True, **how)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda m: wrong.append(m.text) if m.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "request", lambda r: wrong.append(r.url) if not r.url.startswith(("file:", "data:")) else None
        )
        page.goto(file.as_uri() + query)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert wrong == []
