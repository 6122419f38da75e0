"""Take the picture of the README: the page of the demonstration in Chromium, light and dark side by side.

python -m tools.take_picture
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import muster

TARGET = Path(__file__).parents[1] / "docs" / "report.png"
WIDTH, HEIGHT = 860, 760


def main() -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = muster.federation.simulate().report(Path(folder) / "run")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        shots = []
        for scheme, place in (("light", ""), ("dark", "#was-the-drift-seen")):
            tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)
            tab.goto(page.as_uri() + place)
            tab.wait_for_selector("html[data-ready]")
            tab.wait_for_timeout(1500)
            shots.append(Image.open(io.BytesIO(tab.screenshot())))
        browser.close()
    whole = Image.new("RGB", (2 * WIDTH, HEIGHT))
    for i, shot in enumerate(shots):
        whole.paste(shot, (i * WIDTH, 0))
    whole.quantize(256).save(TARGET, optimize=True)
    print(f"written: {TARGET.relative_to(TARGET.parents[1])}, {TARGET.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
