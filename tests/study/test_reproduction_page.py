"""docs/reproduction.md says what the study chooses."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("page_tool", ROOT / "tools" / "make_reproduction_page.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_choices_on_the_page_are_those_of_the_study(tool):
    page = tool.PAGE.read_text(encoding="utf-8")
    assert tool.replaced(page, "choices", tool.choices()) == page, (
        "run tools/make_reproduction_page.py --text"
    )


def test_what_is_between_marks_is_replaced_and_nothing_else(tool):
    page = "a\n<!-- made: claims -->\nold\n<!-- end -->\nb\n<!-- made: ratios -->\nkept\n<!-- end -->\n"
    made = tool.replaced(page, "claims", r"new \1")
    assert made == page.replace("old\n", "\nnew \\1\n")
    with pytest.raises(SystemExit, match="ablation"):
        tool.replaced(page, "ablation", "")


def test_without_outcomes_it_says_so(tool):
    assert tool.by_preset({}) == tool.NOT_RUN
    assert tool.by_preset({"phone": "table\n"}) == "### Preset `phone`\n\ntable\n"
