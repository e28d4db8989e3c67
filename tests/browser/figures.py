"""Measures the viewer with many memories, in Chromium: `make view-figures` prints size, first paint, search and filter.

A page is opened several times, each in a browser context of its own; the median is printed, in milliseconds, and what
the page's process computed until it was ready, in CPU milliseconds.
"""

import os
import platform
import shutil
import statistics
import sys
import tempfile
from datetime import UTC, datetime
from importlib import util
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

COUNTS = (100, 1_000, 10_000)
TIMES = 5
PAINTED = """() => new Promise((done) => new PerformanceObserver((list) => {
  for (const one of list.getEntries()) if (one.name === "first-contentful-paint") done(one.startTime);
}).observe({ type: "paint", buffered: true }))"""
TYPED = """(words) => new Promise((done) => {
  const box = document.querySelector("input[type=search]"), began = performance.now();
  box.value = words;
  box.dispatchEvent(new Event("input"));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
})"""
CHOSEN = """(value) => new Promise((done) => {
  const box = document.querySelector("select[aria-label=Subject]"), began = performance.now();
  box.value = value;
  box.dispatchEvent(new Event("change"));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
})"""


def _memories() -> Any:
    spec = util.spec_from_file_location("memories", Path(__file__).with_name("memories.py"))
    assert spec
    assert spec.loader
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measured(browser: Any, address: str) -> tuple[float, float, float, float]:
    """First paint, CPU until then, a search and a filter, in milliseconds."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(address)
    painted = page.evaluate(PAINTED)
    counted = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    searched = max(page.evaluate(TYPED, words) for words in ("s", "shelf 13", "shelf 13 marta", "nothing like it", ""))
    filtered = max(page.evaluate(CHOSEN, value) for value in ("Marta", ""))
    context.close()
    return painted, 1_000 * counted["TaskDuration"], searched, filtered


def main() -> None:
    """Print a row for each number of memories."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or "chromium"
    memories = _memories()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses to be run by root with one
        browser = playwright.chromium.launch(executable_path=program, args=sandbox)
        where = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {platform.machine()}"
        sys.stdout.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {where}, Chromium {browser.version}\n\n")
        sys.stdout.write("memories  file, MB  first paint  CPU  slowest search  slowest filter\n")
        for count in COUNTS:
            file = Path(folder) / f"{count}.html"
            file.write_text(memories.many(count), encoding="utf-8")
            taken = [measured(browser, file.as_uri()) for _ in range(TIMES)]
            painted, computed, searched, filtered = (statistics.median(one) for one in zip(*taken, strict=True))
            size = file.stat().st_size / 1e6
            row = f"{count:8,}  {size:8.1f}  {painted:11.0f}  {computed:3.0f}  {searched:14.0f}  {filtered:14.0f}\n"
            sys.stdout.write(row)
        browser.close()


if __name__ == "__main__":
    main()
