import base64
import hashlib
import json
import re
from html import unescape
from pathlib import Path

import pytest

import dmafl.reports.html
from dmafl.reports.html.html import Html, element
from dmafl.reports.html.rounding import short, shorts
from dmafl.reports.html.shell import Content, Section, script_json

CONTENT = Content(
    "A & B", Html("<p>lead</p>"), (Section("one", "One <1>", Html("<p>x</p>")),), {"x": [1, None]}
)
SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def test_json_cannot_end_its_element():
    text = script_json({"</script><!--": "\u2028&"})
    assert not re.search(r"[<>&\u2028]", text)
    assert json.loads(text) == {"</script><!--": "\u2028&"}


def test_json_refuses_what_a_browser_cannot_read():
    with pytest.raises(ValueError, match="JSON"):
        script_json(float("nan"))


def test_a_page_needs_nothing_else():
    page = CONTENT.page()
    outside = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)=\"(?!#|data:,)", outside)
    assert "url(" not in outside
    assert "<title>A &amp; B</title>" in page
    assert '<a href="#one">One &lt;1&gt;</a>' in page


def test_the_name_of_a_file_that_is_no_text_is_shown():
    page = Content("q\udcff", element("p", "\udcfe"), (), {"name": "\udcfd"}).page()
    page.encode()
    assert "<h1>q\\udcff</h1>" in page
    assert '"name":"\\udcfd"' in page


def test_the_policy_allows_the_scripts_of_the_page_and_no_others():
    page = CONTENT.page(("timeline.js",))
    policy = unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1])
    hashes = [
        base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in SCRIPT.findall(page)
    ]
    assert len(hashes) == 4
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "connect-src 'self'" in unescape(CONTENT.page(live=True))


def test_the_data_come_back():
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', CONTENT.page(), re.DOTALL)[
        1
    ]
    assert json.loads(text)["x"] == [1, None]


def test_files_of_the_pages_are_where_the_package_is():
    folder = Path(dmafl.reports.html.__file__).parent / "assets"
    assert {"shell.html", "shell.css", "shell.js", "timeline.js", "run_report.js"} <= {
        path.name for path in folder.iterdir()
    }


def test_numbers_are_short():
    assert short(1234.56789, 4) == 1235
    assert isinstance(short(2.0), int)
    assert short(float("inf")) is None
    assert shorts([0.1 + 0.2, float("nan"), 1e20], 3) == [0.3, None, 1e20]
