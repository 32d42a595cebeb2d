import os
import re
import subprocess
import sys

import pytest

from support.doc_pages import DOCS, PAGES, ROOT
from support.patience import carried_out

MAX_IMAGE_BYTES = 300_000
"""Pictures are downloaded with every clone and page."""

LOADED = re.compile(
    r"<(?:script|img|iframe|source)[^>]+src=\"(https?:)?//[^\"]*\"|<link[^>]+href=\"(https?:)?//(?!$)[^\"]*\""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = carried_out(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "WARNING" not in done.stdout, done.stdout
    return folder


def test_every_page_is_built(site):
    for page in DOCS.glob("*.md"):
        built = site / ("index.html" if page.stem == "index" else f"{page.stem}/index.html")
        assert built.is_file(), page.name


def test_pages_load_nothing_from_other_hosts(site):
    for page in files_of(site, "html"):
        assert not LOADED.search(page.read_text(encoding="utf-8")), page
    for sheet in files_of(site, "css"):
        assert not re.search(r"url\([\"']?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def files_of(site, kind):
    """The files of a kind; there must be some, or nothing would be looked at."""
    files = sorted(site.rglob(f"*.{kind}"))
    assert files, kind
    return files


def test_no_marks_of_the_source_are_left_over(site):
    for page in files_of(site, "html"):
        text = page.read_text(encoding="utf-8")
        assert "```" not in text, page
        assert "--8&lt;--" not in text, page


def test_pictures_exist_and_are_small():
    shown = set()
    for page in PAGES:
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            picture = page.parent / target
            assert picture.is_file(), f"{page.name}: {target}"
            assert picture.stat().st_size < MAX_IMAGE_BYTES, target
            shown.add(picture.resolve())
    assert shown == set(DOCS.glob("images/*"))


def test_links_of_the_top_pages_lead_somewhere():
    for page in PAGES:
        if page.parent == ROOT:
            for target in re.findall(r"(?<!!)\[[^\]]+\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
                assert target.startswith("http") or (ROOT / target.partition("#")[0]).exists(), (
                    f"{page.name}: {target}"
                )
