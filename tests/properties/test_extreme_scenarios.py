"""Any combination within the declared limits gives a verified plan and run, or a refusal with a name.

`DMAFL_FUZZ_CASES=500 pytest tests/properties/test_extreme_scenarios.py` tries many, other ones every time.
"""

from __future__ import annotations

import math
import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dmafl.base.errors import BadInput
from dmafl.scenario.fields import limits_of, reason
from dmafl.scenario.model import constant
from dmafl.scenario.toml import from_plain
from support.extremes import ends, extreme_scenarios, fields, is_number, outcome, put, usual

MANY = int(os.environ.get("DMAFL_FUZZ_CASES", "0"))
CASES = MANY or 12


def test_extreme_scenarios_are_planned_run_and_verified_or_refused_by_name():
    outcomes = Counter()

    @given(extreme_scenarios(), st.integers(0, 1000))
    @settings(
        max_examples=CASES,
        derandomize=not MANY,
        database=None,
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    def no_surprise(plain, case):
        outcomes[outcome(plain, case)] += 1

    no_surprise()
    ran = sum(count for name, count in outcomes.items() if name.endswith("; run"))
    planned = sum(count for name, count in outcomes.items() if name.startswith("planned"))
    assert ran >= CASES / 4, outcomes
    assert planned >= CASES / 6, outcomes


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("fleet.uplink_power_W", 1e-9),
        ("fleet.capacitance_Js2", 1e-32),
        ("tasks.NAME.cycles_per_sample", 1e-6),
    ],
)
def test_a_run_of_attojoules_is_verified(key, value):
    """The ledger rounds every phase to one."""
    plain = usual()
    put(plain, key, value)
    assert outcome(plain) == "planned; run"


def numbers():
    return [(key, info) for key, info in fields() if not math.isinf(limits_of(info).high)]


def test_every_number_of_a_scenario_has_two_limits_and_their_reason():
    for key, info in fields():
        if is_number(info) and key != "evaluation.at_s":
            limits = limits_of(info)
            assert math.isfinite(limits.low) and math.isfinite(limits.high), key
            assert reason(info), key


@pytest.mark.parametrize(("key", "info"), numbers(), ids=[key for key, _ in numbers()])
def test_a_number_beyond_its_limits_is_refused_with_the_limit(key, info):
    limits = limits_of(info)
    whole = isinstance(ends(key, info)[0], int)
    beyond = [limits.high * 10 + 10, limits.low - 1 if whole or limits.low <= 0 else limits.low / 10]
    beyond += [limits.least / 10] if limits.least else []
    for value in beyond:
        plain = usual()
        put(plain, key, int(value) if whole else value)
        with pytest.raises(BadInput) as refused:
            from_plain(plain)
        assert key.replace("NAME", "task_0") in str(refused.value)
        assert "must be" in str(refused.value)


def test_values_of_the_paper_and_the_benchmarks_are_legal():
    for key in ("tasks.NAME.importance", "tasks.NAME.energy_weight"):
        for value in (1e-9, 1e9, 0.0):
            plain = usual()
            put(plain, key, value)
            task = from_plain(plain).tasks["task_0"]
            assert getattr(task, key.rpartition(".")[2]) == value
    plain = usual()
    put(plain, "channel.uplink_gain", 1e-25)
    assert from_plain(plain).channel.uplink_gain == constant(1e-25)
