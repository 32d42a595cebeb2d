"""What the tests of pages share: made-up runs, the command, and a real browser where there is one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dmafl
from support.made_up_runs import SEVEN, write_run
from support.patience import BROWSER_S, wait_until

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS = 120_000
"""Before a page is given up; it needs about a second, but the machine may be busy."""
PHONE = {"width": 390, "height": 844}
SERIOUS = ("serious", "critical")
HOSTILE = '<img src=x onerror="window.hacked=1"></script><script>window.hacked=1</script>\'&amp;{{x}}'
"""A name that is code wherever it is not escaped."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A limit for every test that drives a browser, which says in which line it waited."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(BROWSER_S))


@pytest.fixture(scope="session")
def one_seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two schemes, one seed, with a plan."""
    return write_run(tmp_path_factory.mktemp("one") / "run", plan=True)


@pytest.fixture(scope="session")
def seven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven schemes, five seeds, three tasks, a plan, 1,200 jobs per scheme run."""
    tasks = ("mnist", "fashion_mnist", "third")
    return write_run(
        tmp_path_factory.mktemp("seven") / "run", SEVEN, range(5), tasks=tasks, jobs=1200, plan=True
    )


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    driver = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    program = os.environ.get("DMAFL_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("needs Chromium, e.g. apt-get install chromium; or name it in DMAFL_CHROMIUM")
    with driver.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield opened
        opened.close()


class Visit:
    """A page in a browser, with everything it complained about and asked for."""

    def __init__(self, browser: Any, address: str, **settings: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
        self.context.set_default_timeout(PATIENCE_MS)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)
        self.wait("window.dmaflTimeline !== undefined || !document.getElementById('timeline')")

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def draw_all(self) -> None:
        """Draw plots that are out of view too, and give Plotly the time."""
        self.page.evaluate("page.drawAll()")
        self.wait(
            "[...document.querySelectorAll('.plot')].every(one => !one.offsetWidth || one.querySelector('svg'))"
        )

    def unfold(self) -> None:
        """Open all that is folded, and draw it."""
        self.draw_all()
        for details in self.page.locator("summary").all():
            details.click()
        self.draw_all()

    def barriers(self) -> list[str]:
        """What keeps some people from reading the page, with everything unfolded."""
        axe = pytest.importorskip(
            "axe_playwright_python.sync_playwright", reason="needs axe-playwright-python"
        )
        self.unfold()
        found = axe.Axe().run(self.page)
        assert found.response["passes"], "the scan has run"
        return [
            f"{one['id']}: {node['target']}"
            for one in found.response["violations"]
            if one["impact"] in SERIOUS
            for node in one["nodes"][:3]
        ]

    def width(self) -> int:
        """Of the page with what sticks out [px]."""
        return int(self.page.evaluate("document.documentElement.scrollWidth"))

    def wait(self, expression: str) -> None:
        """Until `expression` is true in the page. Playwright's own way needs `eval`, which the page forbids."""
        wait_until(lambda: self.page.evaluate(expression), f"{expression} in the page", PATIENCE_MS / 1000)


def written(run: Path, folder: Path) -> str:
    """The report of `run` as an address."""
    return dmafl.report([run], folder / "report.html").resolve().as_uri()


def asked_elsewhere(visit: Visit) -> list[str]:
    """What the page wanted from outside of its file."""
    return [url for url in visit.requests if not url.startswith(("file:", "data:", "blob:"))]
