"""Make the pictures of a report in docs/images again, as Chromium shows it: its head, its timeline, and a phone.

    python tools/report_pictures.py RUN

RUN is the folder of a run. That of the pictures was made so, from the embedded data:

    scenario = dmafl.preset("demo", tasks=["mnist", "fashion_mnist"], devices=10)
    scenario = scenario.with_({"name": "two tasks, ten phones", "tasks.*.slots": 40})
    dmafl.run(scenario, schemes=["all"], seeds=range(5), measure="first", effort=6, output=RUN)

Chromium is the one that DMAFL_CHROMIUM names, or the first on the path.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

import dmafl
from dmafl.base.files import replacing

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
ARGUMENTS = ("--no-sandbox", "--disable-gpu")
DESK, PHONE = {"width": 1180, "height": 1100}, {"width": 390, "height": 844}
GAP = 20
"""Between phones [px]."""
PATIENCE_MS = 300_000
DRAWN = "[...document.querySelectorAll('.plot')].every((one) => !one.offsetWidth || one.querySelector('svg'))"


class Pages:
    """A page in a browser, seen in several ways."""

    def __init__(self, browser: Any, address: str) -> None:
        self._browser, self._address = browser, address

    def opened(self, size: dict[str, int], colours: str) -> Any:
        """The page, with all of it drawn."""
        page = self._browser.new_context(viewport=size, color_scheme=colours).new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(self._address)
        page.evaluate("page.drawAll()")
        while not page.evaluate(DRAWN):
            page.wait_for_timeout(100)
        page.wait_for_timeout(500)
        return page

    def head(self) -> Image.Image:
        """What is seen first."""
        return _picture(self.opened(DESK, "light").screenshot())

    def timeline(self) -> Image.Image:
        """The section with the timeline, in dark colours."""
        return _picture(self.opened(DESK, "dark").locator("#timeline").screenshot())

    def phone(self) -> Image.Image:
        """Three places of the page, side by side."""
        page = self.opened(PHONE, "light")
        shots = [_picture(page.screenshot())]
        for section in ("curves", "timeline"):
            page.evaluate(f"document.getElementById('{section}').scrollIntoView({{ behavior: 'instant' }})")
            page.wait_for_timeout(500)
            shots.append(_picture(page.screenshot()))
        whole = Image.new("RGB", ((PHONE["width"] + GAP) * len(shots) - GAP, PHONE["height"]), "white")
        for place, shot in enumerate(shots):
            whole.paste(shot, ((PHONE["width"] + GAP) * place, 0))
        return whole


def _picture(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png)).convert("RGB")


def make(run: Path, folder: Path = IMAGES) -> Iterator[Path]:
    """Write the three pictures of the report of `run` into `folder`."""
    program = os.environ.get("DMAFL_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with TemporaryDirectory() as made, sync_playwright() as driver:
        address = dmafl.report(run, Path(made) / "report.html").resolve().as_uri()
        pages = Pages(driver.chromium.launch(executable_path=program, args=list(ARGUMENTS)), address)
        shots = {"light": pages.head, "timeline": pages.timeline, "phone": pages.phone}
        for name, shot in shots.items():
            path = folder / f"report-{name}.png"
            with replacing(path) as part:
                shot().save(part, format="PNG", optimize=True)
            yield path


def main() -> None:
    """Make the pictures of the run that is named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    for path in make(parser.parse_args().run):
        sys.stdout.write(f"{path}: {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
