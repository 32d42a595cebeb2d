"""`verify` finds what was changed in the files of a run, and names the rule that it breaks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dmafl
from dmafl.schemes.registry import scheme_named
from dmafl.schemes.scheme import SchemeContext
from dmafl.server.policy import Policy
from dmafl.world.world import World
from support.brought import run_with
from support.small_runs import dataset, scenario, softmax
from support.stopped_runs import stop_early
from support.tampering import Rows, changed, failed, update

ANY = "any"
"""For changes that some check must find, whichever."""


def find(rows: Rows, **wanted: Any) -> dict[str, Any]:
    return next(row for row in rows if all(row[name] == value for name, value in wanted.items()))


def as_own(scheme: str) -> Callable[[World], list[Policy]]:
    """A scheme of the registry as a user would bring it."""
    return lambda world: scheme_named(scheme).policies(SchemeContext(world))


def aggregated(rows: Rows, scheme: str = "fedasync") -> Rows:
    return [
        row for row in rows if row["scheme"] == scheme and row["outcome"] == "aggregated" and row["seed"] == 0
    ]


def swap(rows: Rows, a: int, b: int) -> None:
    rows[a], rows[b] = rows[b], rows[a]


def test_what_we_write_holds(finished: dmafl.Run) -> None:
    assert failed(finished.path) == set()


def test_the_command_says_so(finished: dmafl.Run, command, tmp_path: Path) -> None:
    good = command("verify", finished.path)
    assert good.code == 0
    assert "All checks hold." in good.out
    bad = changed(finished, tmp_path / "run", "periods", lambda rows: update(rows[3], staleness=9))
    outcome = command("verify", bad)
    assert outcome.code == 1
    assert "staleness" in outcome.out


TAMPERING: dict[str, tuple[str, str, Callable[[Rows], Any]]] = {
    "one uplink energy": (
        "energy",
        "periods",
        lambda rows: update(aggregated(rows)[2], uplink_J=aggregated(rows)[2]["uplink_J"] * 1.001),
    ),
    "one compute energy": (
        "energy",
        "periods",
        lambda rows: update(aggregated(rows)[2], compute_J=aggregated(rows)[2]["compute_J"] * 0.999),
    ),
    "one downlink energy": (
        "energy",
        "periods",
        lambda rows: update(aggregated(rows)[2], downlink_J=aggregated(rows)[2]["downlink_J"] * 1.001),
    ),
    "a negative energy": ("energy", "periods", lambda rows: update(_unfinished(rows), uplink_J=-1e-6)),
    "one total of metrics": (
        "energy",
        "metrics",
        lambda rows: update(
            find(rows, aggregation=3), energy_J=find(rows, aggregation=3)["energy_J"] * 1.001
        ),
    ),
    "all of one row of metrics": ("energy", "metrics", lambda rows: _scale(find(rows, aggregation=3), 1.01)),
    "the last row of metrics": ("energy", "metrics", lambda rows: _scale(find(rows, aggregation=8), 0.99)),
    "one staleness": (
        "staleness",
        "periods",
        lambda rows: update(aggregated(rows)[4], staleness=aggregated(rows)[4]["staleness"] + 1),
    ),
    "a version from the future": (
        "versions",
        "periods",
        lambda rows: update(aggregated(rows)[0], version=5, staleness=-5),
    ),
    "two rows of periods swapped": ("clock", "periods", lambda rows: swap(rows, 2, 3)),
    "two slots swapped": ("versions", "periods", lambda rows: _swap_slots(rows)),
    "two rows of metrics swapped": ("tests", "metrics", lambda rows: swap(rows, 1, 3)),
    "a row twice": ("versions", "periods", lambda rows: [*rows[:3], rows[2], *rows[3:]]),
    "a row gone": (
        "versions",
        "periods",
        lambda rows: [row for row in rows if row is not aggregated(rows)[3]],
    ),
    "one frequency above the CPU": (
        "cpu",
        "periods",
        lambda rows: update(aggregated(rows)[2], frequency_Hz=aggregated(rows)[2]["frequency_Hz"] * 10),
    ),
    "one frequency below the least": (
        "cpu",
        "periods",
        lambda rows: update(aggregated(rows)[2], frequency_Hz=1e6),
    ),
    "one start": (
        "clock",
        "periods",
        lambda rows: update(aggregated(rows)[2], start_s=aggregated(rows)[2]["start_s"] - 1e-4),
    ),
    "an end beyond the window": ("window", "periods", lambda rows: update(aggregated(rows)[-1], end_s=1e5)),
    "a battery's worth of uplink": (
        "battery",
        "periods",
        lambda rows: update(_unfinished(rows), uplink_J=1e10),
    ),
    "an accuracy": ("metrics", "metrics", lambda rows: update(rows[4], accuracy=1.01)),
    "a loss": ("metrics", "metrics", lambda rows: update(rows[4], loss=float("nan"))),
    "a weight": (
        ANY,
        "periods",
        lambda rows: update(aggregated(rows)[4], mix_weight=aggregated(rows)[4]["mix_weight"] * 1.01),
    ),
    "a computation that is too quick": (ANY, "periods", lambda rows: _hurry(aggregated(rows)[2])),
    "a device that idles less": (ANY, "periods", lambda rows: update(aggregated(rows)[8], idle_s=0.0)),
}


def _unfinished(rows: Rows) -> dict[str, Any]:
    return next(row for row in rows if row["outcome"] == "unfinished")


def _scale(row: dict[str, Any], factor: float) -> None:
    for name in ("energy_J", "uplink_J", "compute_J", "downlink_J"):
        row[name] *= factor


def _swap_slots(rows: Rows) -> None:
    a, b = aggregated(rows)[2], aggregated(rows)[3]
    a["slot"], b["slot"] = b["slot"], a["slot"]


def _hurry(row: dict[str, Any]) -> None:
    """Times add up and energies are right, but the CPU is not that fast."""
    row["wait_s"] += 0.5 * row["compute_s"]
    row["compute_s"] *= 0.5


@pytest.mark.parametrize("case", TAMPERING)
def test_tampering_is_found(finished: dmafl.Run, tmp_path: Path, case: str) -> None:
    name, table, change = TAMPERING[case]
    found = failed(changed(finished, tmp_path / "run", table, change))
    assert found if name == ANY else name in found


@pytest.mark.parametrize("table", ["metrics", "periods"])
def test_a_finished_run_without_its_rows_is_found(finished: dmafl.Run, tmp_path: Path, table: str) -> None:
    """The manifest says how many aggregations there were."""
    assert failed(changed(finished, tmp_path / "none", table, lambda rows: [])) != set()
    cut = changed(
        finished, tmp_path / "cut", table, lambda rows: [row for row in rows if row["scheme"] != "fedbuff"]
    )
    assert failed(cut) != set()


def run(output: Path, **more: Any) -> dmafl.Run:
    small = more.pop("scenario", None) or scenario()
    stuff = {
        "models": dict.fromkeys(small.tasks, softmax),
        "datasets": {name: dataset() for name in small.tasks},
    }
    return run_with(small, output=output, **{**stuff, **more})


def test_runs_that_hit_their_limits_hold(tmp_path: Path) -> None:
    """Losses, failed periods and unfinished tasks are no violation."""
    poor = scenario({"one": {"slots": 30}}, fleet={"battery_J": 2e-3})
    hurried = scenario({"one": {"slots": 100, "window_s": 0.2}})
    for name, small in (("poor", poor), ("hurried", hurried)):
        done = run(tmp_path / name, scenario=small)
        assert any(
            scheme_run.outcome and scheme_run.outcome.lost
            for scheme_run in done.manifest.scheme_runs.values()
        )
        assert failed(done.path) == set()


def test_an_own_scheme_with_rounds_holds(tmp_path: Path) -> None:
    """Whether slots are rounds is no matter of the scheme's name."""
    done = run(tmp_path / "run", own_schemes={"mine": as_own("fedavg-full")})
    assert failed(done.path) == set()


def test_an_own_asynchronous_scheme_with_a_name_like_fedavg_is_checked(tmp_path: Path) -> None:
    done = run(tmp_path / "run", own_schemes={"fedavg-mine": as_own("fedasync")})
    assert failed(done.path) == set()


def test_an_interrupted_run_can_be_verified(tmp_path: Path) -> None:
    stop_early(tmp_path / "run")
    assert failed(tmp_path / "run") == set()


def test_a_shared_radio_and_a_plan_hold(tmp_path: Path) -> None:
    small = scenario({"a": {}, "b": {"cycles_per_sample": 1e6}}, channel={"radio": "shared"}, devices=3)
    world = dmafl.World.resolve(small)
    plan = dmafl.Plan(world, dmafl.round_robin(world, in_flight=2))
    done = run(
        tmp_path / "run", scenario=small, plan=plan, schemes=["scheduled", "fedasync", "fedavg-partial"]
    )
    assert failed(done.path) == set()
