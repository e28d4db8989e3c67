"""Makes the picture of the viewer that README shows, of the demo's page: `make view-picture`."""

import os
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright


def main(page: Path, picture: Path) -> None:
    """Open the contradictions of the page, and beside them the place of the claim that holds."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or "chromium"
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses to be run by root with one
        browser = playwright.chromium.launch(executable_path=program, args=sandbox)
        view = browser.new_page(viewport={"width": 1240, "height": 600}, locale="en-GB")
        view.goto(page.absolute().as_uri())
        view.locator("#tab-contradictions").click()
        view.locator(".side.holds").first.get_by_role("button").click()
        view.evaluate("document.activeElement.blur(); document.getElementById('panel').scrollTop = 0")
        view.screenshot(path=picture)
        browser.close()
    Image.open(picture).quantize(64).save(picture, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
