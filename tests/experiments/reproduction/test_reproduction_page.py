"""docs/reproduction.md and the committed tables say what the study chooses, and what the outcomes in results/ say."""

import importlib.util
import json
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


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("page_tool", ROOT / "tools" / "make_reproduction_page.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_choices_on_the_page_are_those_of_the_study(tool):
    page = tool.PAGE.read_text(encoding="utf-8")
    assert tool.replaced(page, "choices", tool.choices()) == page, f"{AGAIN} --text"


@pytest.mark.parametrize("preset", OPEN_CHOICES)
def test_page_and_committed_tables_are_what_the_outcomes_say(tool, preset, tmp_path):
    study = study_of(preset)
    found, missing = kept_outcomes(study, Results(ROOT / "results"))
    write_tables(Findings.of(StudyOutcomes(study, found)), tmp_path)
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
    page = tool.PAGE.read_text(encoding="utf-8")
    for name in tool.TABLES:
        assert f"### Preset `{preset}`\n\n{(tmp_path / f'{name}.md').read_text(encoding='utf-8')}" in page, (
            AGAIN
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
