"""Colours of schemes: told apart with every kind of colour vision, seen on the page, one table for all."""

from __future__ import annotations

import json
import re
from itertools import combinations

import numpy as np
import pytest

import dmafl
from dmafl.reports.figures import study_style
from dmafl.reports.figures.palette import COLOURS, DARK, LOOKS, TINTS, places_of
from dmafl.reports.figures.run_panels import RunPanels
from dmafl.reports.figures.timeline import COLOURS as PHASES
from dmafl.reports.html.shell import asset
from dmafl.schemes.registry import NAMES
from support.colour_vision import VISIONS, contrast, difference
from support.made_up_runs import SEVEN, write_run

APART = 15.0
"""Difference (CIEDE2000) that two colours have at least with every kind of colour vision; 2 can just be seen."""
PHASES_APART = 12.0
"""Of the phases of a job, colours of Okabe and Ito (2008): they lie side by side in one order, with their names."""
STANDS_OUT = 3.0
"""Contrast that WCAG 2.2 asks of what must be seen in a picture (1.4.11)."""
THEMES = {"light": COLOURS, "dark": tuple(DARK.values())}
PALETTES = {"schemes": THEMES, "others": TINTS}


def card(theme: str) -> str:
    """The ground that plots of a page stand on."""
    found = re.findall(r"--card: (#[0-9a-f]{6})", asset("shell.css"))
    assert len(found) == 2
    return found[theme == "dark"]


def test_the_difference_is_that_of_its_definition():
    """Two pairs of the data of Sharma, Wu and Dalal (2005), and what follows from the definition."""
    from support.colour_vision import difference_of_lab

    pairs = (
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    )
    for a, b, expected in pairs:
        assert difference_of_lab(np.array(a), np.array(b)) == pytest.approx(expected, abs=1e-4)
    assert difference("#000000", "#ffffff", "normal") == pytest.approx(100.0, abs=0.01)
    assert difference("#ff0000", "#807000", "deuteranopia") < difference("#ff0000", "#807000", "normal") / 2


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("palette", PALETTES)
def test_colours_are_told_apart(palette, theme, vision):
    colours = PALETTES[palette][theme]
    assert len(set(colours)) == (len(LOOKS) if palette == "schemes" else 8)
    for a, b in combinations(colours, 2):
        assert difference(a, b, vision) >= APART, (a, b)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("palette", PALETTES)
def test_colours_stand_out_from_the_page(palette, theme):
    for colour in PALETTES[palette][theme]:
        assert contrast(colour, card(theme)) >= STANDS_OUT, colour


@pytest.mark.parametrize("vision", VISIONS)
def test_phases_are_told_apart(vision):
    for a, b in combinations(PHASES.values(), 2):
        assert difference(a, b, vision) >= PHASES_APART, (a, b)


def test_every_scheme_has_a_look_of_its_own():
    assert set(LOOKS) == set(NAMES)
    assert len({look.mark for look in LOOKS.values()}) == len(LOOKS)


def test_a_scheme_looks_the_same_wherever_it_is(tmp_path):
    some, others = ("fedbuff", "dma-fl"), SEVEN
    for number, schemes in enumerate((some, others)):
        run = write_run(tmp_path / f"run{number}", schemes)
        page = dmafl.report([run], tmp_path / "report.html").read_text(encoding="utf-8")
        data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
        assert [data["palette"][place] for place in data["looks"]] == [LOOKS[name].light for name in schemes]
        panels = RunPanels(dmafl.Run(run).metrics, 1, 3, 1)
        assert {name: COLOURS[place] for name, place in panels.places.items()} == {
            name: LOOKS[name].light for name in schemes
        }
    for name, style in study_style.STYLES.items():
        assert (style["color"], style["marker"]) == (LOOKS[name].light, LOOKS[name].mark)


def test_schemes_without_a_look_take_what_is_free():
    known = list(LOOKS)
    places = places_of(["dma-fl", "my-own", "dma-fl", "fedbuff"])
    assert [places[0], places[3]] == [known.index("dma-fl"), known.index("fedbuff")]
    assert len(set(places)) == 4
    many = places_of([f"own-{k}" for k in range(20)])
    assert len(set(many)) == 20
