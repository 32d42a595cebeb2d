"""docs/reproduction.md and the committed tables say what the study chooses, and what the outcomes in results/ say."""

import csv
import importlib.util
import re
from pathlib import Path

import pytest

from dmafl.reports.study_files import claim_rows
from dmafl.reports.study_tables import counts
from dmafl.study.claims import judge
from dmafl.study.gathered import Gathered
from dmafl.study.presets import OPEN_CHOICES, study_of
from dmafl.study.reproduce import outcomes
from dmafl.study.results import Results

AGAIN = "run tools/make_reproduction_page.py"
ROOT = Path(__file__).resolve().parents[2]


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
def test_committed_claims_are_what_the_outcomes_say(preset):
    study = study_of(preset)
    claims = judge(Gathered(study, outcomes(study, Results(ROOT / "results"))[0]))
    with (ROOT / "results" / preset / "claims.csv").open(encoding="utf-8", newline="") as file:
        committed = list(csv.DictReader(file))
    made = claim_rows(claims)
    assert len(committed) == len(made) > 100
    for row, again in zip(committed, made, strict=True):
        for name, value in again.items():
            if isinstance(value, float):
                assert (
                    float(row[name] or "nan") == pytest.approx(value, rel=1e-4, nan_ok=True) or not row[name]
                )
            else:
                assert row[name] == ("" if value is None else str(value)), (AGAIN, name)
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    part = re.search(r"<!-- made: claims -->(.*?)<!-- end -->", page, re.DOTALL)[1]
    own = part.partition(f"### Preset `{preset}`")[2].partition("### Preset")[0]
    for claim in claims:
        row = next(line for line in own.splitlines() if line.startswith(f"| **{claim.id}**"))
        assert f"| **{claim.verdict}** | {counts(claim)} |" in row, AGAIN


def test_what_is_between_marks_is_replaced_and_nothing_else(tool):
    page = "a\n<!-- made: claims -->\nold\n<!-- end -->\nb\n<!-- made: ratios -->\nkept\n<!-- end -->\n"
    made = tool.replaced(page, "claims", r"new \1")
    assert made == page.replace("old\n", "\nnew \\1\n")
    with pytest.raises(SystemExit, match="ablation"):
        tool.replaced(page, "ablation", "")


def test_without_outcomes_it_says_so(tool):
    assert tool.by_preset({}) == tool.NOT_RUN
    assert tool.by_preset({"phone": "table\n"}) == "### Preset `phone`\n\ntable\n"
