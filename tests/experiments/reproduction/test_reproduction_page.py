"""docs/reproduction*.md and the committed tables say what the study chooses, and what the outcomes in results/ say."""

import importlib.util
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dmafl.experiments.reproduction.findings import Findings
from dmafl.experiments.reproduction.kept_outcomes import kept_outcomes
from dmafl.experiments.reproduction.presets import OPEN_CHOICES, study_of
from dmafl.experiments.reproduction.results import Results
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.reports.tables.study_files import write_outcomes, write_tables

AGAIN = "run tools/make_reproduction_page.py"
ROOT = Path(__file__).resolve().parents[3]
MOST_WORDS = 1500
"""Of the page that says what came out: a newcomer reads it in a few minutes."""


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("page_tool", ROOT / "tools" / "make_reproduction_page.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def derived():
    """What the committed outcomes say, what they are, and how many are missing; by preset."""
    results = Results(ROOT / "results")
    whole = {}
    for preset in OPEN_CHOICES:
        study = study_of(preset)
        found, missing = kept_outcomes(study, results)
        whole[preset] = Findings.of(StudyOutcomes(study, found)), found, missing
    return whole


def text_of(tool, part):
    return tool.page_of(part).read_text(encoding="utf-8")


def test_choices_on_the_page_are_those_of_the_study(tool):
    page = text_of(tool, "choices")
    assert tool.replaced(page, "choices", tool.choices()) == page, f"{AGAIN} --text"


@pytest.mark.parametrize("preset", OPEN_CHOICES)
def test_pages_and_committed_tables_are_what_the_outcomes_say(tool, derived, preset, tmp_path):
    findings, found, missing = derived[preset]
    write_tables(findings, tmp_path)
    write_outcomes(found, tmp_path)
    committed = ROOT / "results" / preset
    for file in tool.COMMITTED:
        if file.endswith(".csv"):
            assert (committed / file).read_text(encoding="utf-8") == (tmp_path / file).read_text(
                encoding="utf-8"
            ), AGAIN
    assert pq.read_table(committed / "curves.parquet").equals(pq.read_table(tmp_path / "curves.parquet"))
    study_runs = json.loads((committed / "manifest.json").read_text(encoding="utf-8"))["units"].values()
    assert sum(one["there"] for one in study_runs) == len(found)
    assert sum(one["wanted"] for one in study_runs) == len(found) + missing
    for name in tool.tables_of(preset):
        table = tool.file_of(tmp_path, name).read_text(encoding="utf-8")
        made = table if name in tool.ONLY else f"### Preset `{preset}`\n\n{table}"
        assert made in text_of(tool, name), f"{name}: {AGAIN}"


def test_the_first_page_has_how_every_claim_came_out(tool, derived):
    page = text_of(tool, "outcomes")
    claims = {preset: findings.claims for preset, (findings, found, _) in derived.items() if found}
    assert tool.replaced(page, "outcomes", tool.outcomes(claims)) == page, AGAIN


def test_the_first_page_is_short(tool):
    page = re.sub(r"<!--.*?-->", "", text_of(tool, "outcomes"), flags=re.DOTALL)
    words = [word for word in page.split() if re.search(r"\w", word)]
    assert 300 < len(words) <= MOST_WORDS


def test_every_part_has_one_page_and_every_page_is_reached_from_the_first(tool):
    parts = [part for of_page in tool.PAGES.values() for part in of_page]
    assert sorted(parts) == sorted({*tool.TABLES, "outcomes", "chart", "figures", "choices"})
    first = text_of(tool, "outcomes")
    behind = sorted(path.name for path in (ROOT / "docs").glob("reproduction-*.md"))
    assert set(tool.PAGES) <= {"reproduction.md", *behind}
    assert all(f"]({name}" in first for name in behind)


def test_pictures_on_the_pages_are_there(tool):
    shown = re.findall(r"\(images/(study-[^)]+)\)", text_of(tool, "chart") + text_of(tool, "figures"))
    drawn = {path.name for path in tool.IMAGES.glob("study-*.png")}
    assert set(shown) == drawn and len(shown) == len(set(shown)), AGAIN


def test_what_is_between_marks_is_replaced_and_nothing_else(tool):
    page = "a\n<!-- made: claims -->\nold\n<!-- end -->\nb\n<!-- made: ratios -->\nkept\n<!-- end -->\n"
    made = tool.replaced(page, "claims", r"new \1")
    assert made == page.replace("old\n", "\nnew \\1\n")
    with pytest.raises(SystemExit, match="ablation"):
        tool.replaced(page, "ablation", "")


def test_without_outcomes_it_says_so(tool):
    assert tool.by_preset({}) == tool.outcomes({}) == tool.NOT_RUN
    assert tool.by_preset({"phone": "table\n"}) == "### Preset `phone`\n\ntable\n"
