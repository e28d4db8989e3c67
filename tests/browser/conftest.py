"""What the tests in a browser share: headless Chromium, a page that is watched, and memories to look at.

Chromium comes from Debian (`apt-get install chromium fonts-noto-cjk`); elsewhere CHROMIUM names its program. Playwright
and axe are in the extra `dev`. What is missing is a reason to skip on somebody's machine, and a failure where CI is
set.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SHOTS = Path(__file__).parents[2] / "build" / "browser"
PATIENCE = 60_000
"""Milliseconds that a test waits for what is to come: a busy machine is late, not wrong."""
WATCH = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.__violations.push(event.violatedDirective));
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")


def _missing(what: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        _missing("Chromium is not there: apt-get install chromium fonts-noto-cjk, or set CHROMIUM to its program")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("Playwright is not there: pip install -c constraints.txt '.[dev]'")
        raise
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses to be run by root with one
        found = playwright.chromium.launch(executable_path=program, args=sandbox, timeout=PATIENCE)
        yield found
        found.close()


@pytest.fixture(scope="session")
def axe() -> Any:
    """What looks for whatever keeps people from using a page."""
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        _missing("axe is not there: pip install -c constraints.txt '.[dev]'")
        raise
    return Axe()


class Watched:
    """A page of the browser with all that it did: requests, errors, dialogs, and violations of its policy."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.requests: list[str] = []
        self.faults: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.add_init_script(WATCH)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)
        page.on("dialog", self._dialog)

    def _dialog(self, dialog: Any) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    @property
    def violations(self) -> list[str]:
        """What the policy of the page has kept from happening."""
        return self.page.evaluate("window.__violations")

    def shot(self, name: str) -> None:
        """Keep a picture of what is seen, to be looked at."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png")


Opened = Callable[..., Watched]


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Opened]:
    """Open a page from disk: `opened(html)`; whatever happens on it, it asks for nothing and violates nothing."""
    contexts: list[Any] = []
    seen: list[tuple[Watched, str]] = []

    def open_page(html: str, **options: Any) -> Watched:
        file = tmp_path / f"{len(seen)}.html"
        file.write_text(html, encoding="utf-8")
        options.setdefault("viewport", {"width": 1280, "height": 800})
        options.setdefault("locale", "en-GB")
        contexts.append(browser.new_context(**options))
        watched = Watched(contexts[-1].new_page())
        seen.append((watched, file.as_uri()))
        watched.page.goto(file.as_uri())
        return watched

    yield open_page
    for watched, address in seen:
        assert watched.requests == [address]
        assert watched.faults == []
        assert watched.violations == []
    for context in contexts:
        context.close()


@pytest.fixture
def visited(browser: Any) -> Iterator[Callable[[str], Watched]]:
    """Open a live page by its address; it asks nobody but who serves it, and violates nothing."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
    seen: list[tuple[Watched, str]] = []

    def visit(address: str) -> Watched:
        watched = Watched(context.new_page())
        seen.append((watched, address.partition("?")[0]))
        watched.page.goto(address)
        return watched

    yield visit
    for watched, origin in seen:
        assert [url for url in watched.requests if not url.startswith(origin)] == []
        assert (watched.faults, watched.violations) == ([], [])
    context.close()
