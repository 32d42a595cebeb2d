"""What commands print of values made by hand: the same on every machine, and without the work."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pyarrow as pa

from dmafl.experiments.compare.compare import Comparison
from dmafl.experiments.reproduction.findings import Findings
from dmafl.experiments.run.run import Run
from dmafl.experiments.sizing.confirm import Confirmed
from dmafl.experiments.sizing.plan_summary import PlanSummary, TaskSummary
from dmafl.experiments.sizing.sizing import FrontPoint, Sizing, TriedValue, Varied
from dmafl.hosting.overview import KnownDevice, KnownRun, Overview
from dmafl.hosting.processes import Known
from dmafl.hosting.records import Record
from dmafl.installation.doctor import Finding
from dmafl.installation.licences import UNKNOWN, Licensed
from dmafl.machine.profiled import Profile, Spread, TaskProfile
from dmafl.reports.study import print_findings as print_study
from dmafl.reports.terminal.comparison_table import differences_table
from dmafl.reports.terminal.console import Terminal
from dmafl.reports.terminal.deployment_tables import print_overview
from dmafl.reports.terminal.doctor_table import print_findings
from dmafl.reports.terminal.licences_table import print_licences
from dmafl.reports.terminal.measured_table import print_measured
from dmafl.reports.terminal.profile_table import print_profile
from dmafl.reports.terminal.run_table import outcome_table
from dmafl.reports.terminal.size_table import print_sizing
from dmafl.scenario.preset import preset
from dmafl.schedule.build import round_robin
from dmafl.schedule.plan import Plan
from dmafl.schedule.predicted_accuracy import PredictedAccuracy
from dmafl.world.world import World
from support.made_up_outcomes import by_scheme, study_outcomes
from support.sizings import shipped

TASKS = ("mnist", "fashion_mnist")


def measured(out: Terminal) -> None:
    """The constants that come with the package."""
    print_measured(out, preset("demo"), shipped())


def sized(out: Terminal) -> None:
    """A sizing that answers all of its questions."""
    limits = {"deadline_s": 120.0, "device_energy_J": 2.5}
    goals = {"accuracy": {"mnist": 0.85, "fashion_mnist": 0.75}, **limits}
    scenario = preset("demo", tasks=TASKS, goals=goals)
    world = World.resolve(scenario)
    expected = PredictedAccuracy(0.512345, 0.85512, 0.84321, 0.86789)
    plan = Plan(world, round_robin(world), predicted=dict.fromkeys(TASKS, expected))
    few = PlanSummary(
        0.123456, 1.98765, 47.1234, {task: TaskSummary(12, 1.05, 0.801, 0.78, 0.82) for task in TASKS}
    )
    why = "goals.accuracy of fashion_mnist: 0.742 at most; 14 devices would do"
    seeds = tuple(
        Confirmed(
            seed,
            accuracy={"mnist": 0.861, "fashion_mnist": 0.7481},
            reached={"mnist": True, "fashion_mnist": seed > 0},
            fleet_J=12.3456,
            station_J=123.456,
            device_J=2.51234,
            end_s=98.7654,
            broken=("device_energy_J",) if seed else (),
        )
        for seed in (0, 1)
    )
    sizing = Sizing(
        Path("sizing"),
        plan,
        plan.devices,
        times_per_day=24.0,
        varied=Varied(
            "fleet.devices",
            14.0,
            True,
            (TriedValue(5.0, None, why, why), TriedValue(14.0, PlanSummary.of(plan))),
        ),
        front=(FrontPoint({"mnist": 0.8}, few), FrontPoint({}, PlanSummary.of(plan))),
        confirmed=seeds,
        off=0.2,
        off_table=seeds,
    )
    print_sizing(out, sizing)


def study(out: Terminal) -> None:
    """The outcomes of a study that was never run."""
    print_study(out, _findings())


@cache
def _findings() -> Findings:
    make = by_scheme({"dma-fl": 0.8, "dma-fl-nr": 0.78}, {"dma-fl": 0.2}, steps=10.0)
    return Findings.of(study_outcomes(make))


def profile(out: Terminal) -> None:
    """A machine whose joules somebody measured, of one task."""
    known = TaskProfile(
        "mnist", "softmax", 7850, 64, 20, 412, Spread(0.000212345, 0.0002, 0.00025), 0.97, 9876.5, 0.00187
    )
    other = TaskProfile(
        "svhn", "cnn", 268650, 64, 20, 9, Spread(0.0456789, 0.0441, 0.0523), 0.71, 1_234_567.0, None
    )
    energy = "RAPL: package-0 (/sys/class/powercap/intel-rapl:0), all that the package does while it trains"
    print_profile(
        out, Profile("jetson-nano-07", (known, other), 1.479e9, "cpufreq, scaling_cur_freq", energy)
    )


def doctor(out: Terminal) -> None:
    """One finding of every kind."""
    findings = [
        Finding("software", "dmafl", "0.1.0"),
        Finding("software", "Python", "3.12.4 (/home/ada/federated/.venv/bin/python)"),
        Finding(
            "software",
            "numpy",
            "1.24.4, not >=2.0,<3",
            "broken",
            'Install it: python -m pip install "numpy>=2.0,<3".',
        ),
        Finding(
            "optional",
            "mlflow-skinny",
            "not installed",
            "note",
            'For the extra `mlflow`, in a clone: python -m pip install ".[mlflow]".',
        ),
        Finding("machine", "free memory", "1,234.5 GB"),
        Finding("data", "street_digits", "7,500 + 1,500 samples, embedded, a stand-in"),
        Finding(
            "data", "svhn", "not found", "note", "`dmafl data fetch svhn`; the preset demo does without."
        ),
    ]
    print_findings(out, findings)


def licences(out: Terminal) -> None:
    """A short text, a long one, and none."""
    long = "MIT AND Apache Software License AND BSD-3-Clause AND LicenseRef-Something-That-Is-Long-Enough-To-Wrap"
    print_licences(
        out,
        [
            Licensed("dmafl", "0.1.0", "Apache-2.0"),
            Licensed("torch", "2.5.1+cpu", long),
            Licensed("odd", "not installed", UNKNOWN),
        ],
    )


def differences(out: Terminal) -> None:
    """What was run differently, of two runs."""
    rows = (
        ("scenario", "tasks.fashion_mnist.drift.kind", "growth", "covariate_shift"),
        ("scenario", "fleet.battery_J", "10000.0", "{ uniform = [10.0, 20.0] }"),
        ("software", "torch", "2.5.1+cpu", "2.13.0+cu124"),
        ("data", "mnist", "embedded, sha256 0123456789abcdef", "/data/mnist.npz, sha256 fedcba9876543210"),
    )
    run = Run(Path("run"))
    out.print(differences_table(Comparison(run, run, rows, (), "")))


def deployment(out: Terminal) -> None:
    """A server that has ended, with a device and a run."""
    gone = Known(2**22 + 1, 0)
    here = (Record("server", "0.0.0.0:9092", False, "2026-11-19 21:53:44", gone, ()),)
    devices = (
        KnownDevice("jetson-nano-07", "17364259018273645", "online"),
        KnownDevice("", "42", "registered"),
    )
    print_overview(out, Overview(here, devices, (KnownRun("9182736450918273645", "running", "2026-11-19"),)))


def real_run(out: Terminal) -> None:
    """What two tasks reached on devices."""
    numbers: dict[str, list[float]] = {
        "uplink_J": [0.25, 4.5],
        "compute_J": [1.5, 123.456],
        "downlink_J": [0.0] * 2,
    }
    numbers |= {
        "energy_J": [1.75, 127.956],
        "accuracy": [0.876, 0.4],
        "loss": [0.51, 1.9],
        "time_s": [3899.25, 7.5],
    }
    unknown = {key: [None, None] for key in ("predicted_accuracy", "predicted_loss")}
    names = {"task": list(TASKS), "scheme": ["fedasync"] * 2, "seed": [0, 0], "aggregation": [60, 60]}
    out.print(outcome_table(pa.table(names | numbers | unknown)))


SHOWN: dict[str, Callable[[Terminal], None]] = {
    "measure": measured,
    "size": sized,
    "compare two runs": differences,
    "reproduce": study,
    "profile": profile,
    "doctor": doctor,
    "licences": licences,
    "deploy status": deployment,
    "deploy run": real_run,
    "deploy simulate": real_run,
}
"""By command."""
