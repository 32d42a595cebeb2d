"""What a unit does: measure its scenario, plan, train, and say what was predicted and reached."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import dmafl
from dmafl.base.randomness import generator
from dmafl.calibration.carried_over import constants_for
from dmafl.calibration.dissimilarity import label_mix
from dmafl.calibration.measure import measure
from dmafl.calibration.measured import Measured, for_prediction
from dmafl.calibration.probes import carry_out
from dmafl.calibration.random_jobs import probe_plan, random_jobs
from dmafl.planning.infeasible import Infeasible
from dmafl.scenario.keys import with_values
from dmafl.scenario.model import Scenario
from dmafl.scenario.preset import preset
from dmafl.scenario.toml import from_plain
from dmafl.theory.course import predict_accuracy
from dmafl.training.components import Components
from dmafl.training.trainer import Trainer
from sizing_parts.units import Row, Unit

FIRST_NUMBER = 1000
"""Held-out schedules are numbered from here: probes have smaller numbers."""
EVERYTHING = 10_000_000
"""More test samples than any data set has."""
PRESETS = {"street_digits": "demo"}
"""Presets that tasks come from; all others: `phone`."""


@dataclass(frozen=True)
class Scale:
    """How large everything is."""

    slots: int = 200
    probes: int | None = None
    aggregations: tuple[int, ...] = (20, 40, 70, 110, 155, 200)
    weights: tuple[float, ...] = (0.001, 0.005, 0.02, 0.1, 1.0)
    """Of `quality_weight_calibrated`: from nearly the cheapest plan to the most accurate, on seeds 100 and 101."""
    grid_effort: float = 5.0
    goal_effort: float = 10.0
    goals: dict[str, tuple[float, ...]] = field(
        default_factory=lambda: {"mnist": (0.80, 0.85, 0.88), "fashion_mnist": (0.70, 0.75, 0.78)}
    )
    lengths: tuple[int, int] = (20, 200)
    """Fewest and most aggregations of held-out random schedules."""
    random: int = 40
    fleets: tuple[int, ...] = (5, 10, 20, 50)
    regular: int = 20
    """Held-out schedules of every fleet."""
    cnn_aggregations: tuple[int, ...] = (20, 40, 60, 80, 100)
    changes: dict[str, Any] = field(default_factory=dict)
    """Settings of a quick run; `*` stands for the task."""


FULL = Scale()
QUICK = Scale(
    slots=16,
    probes=12,
    aggregations=(6, 16),
    weights=(0.01, 1.0),
    grid_effort=0.5,
    goal_effort=1.0,
    goals={"mnist": (0.3, 0.99), "fashion_mnist": (0.3,)},
    lengths=(4, 16),
    random=4,
    fleets=(5,),
    regular=2,
    cnn_aggregations=(4,),
    changes={"tasks.*.dataset": "mnist", "tasks.*.model": "softmax", "tasks.*.samples": 60},
)


@dataclass(frozen=True)
class Trainings:
    """Carries units out; kept measurements lie in a folder of the benchmark's own."""

    scale: Scale
    folder: Path
    data_dir: Path | None

    def __call__(self, unit: Unit) -> Row:
        """What became of the unit."""
        return getattr(self, f"_{unit.part}")(unit)

    # -- scenarios ------------------------------------------------------------------------------------

    def scenario(self, unit: Unit, **changes: Any) -> Scenario:
        """One task of its preset, alone; `devices` and `slots` in place of the usual ones."""
        plain = preset(PRESETS.get(unit.task, "phone")).plain()
        task = plain["tasks"][unit.task] | {"partition": unit.partition, "slots": self.scale.slots}
        scenario = from_plain(plain | {"tasks": {unit.task: task}, "seed": unit.seed})
        scenario = with_values(scenario, self.scale.changes)
        return with_values(scenario, changes) if changes else scenario

    def measured(self, unit: Unit) -> Measured:
        """Constants and prediction of the unit's scenario, with its own seed."""
        return _measured(self.scenario(unit), self.scale.probes, self.folder / "measured", self.data_dir)

    def planned(self, unit: Unit, scenario: Scenario, effort: float) -> Row:
        """Plan and train; what was predicted, reached and spent."""
        plan = dmafl.plan(scenario, measured=self.measured(unit), effort=effort, data_dir=self.data_dir)
        with tempfile.TemporaryDirectory() as folder:
            run = dmafl.run(
                scenario,
                plan,
                schemes=["dma-fl"],
                output=Path(folder) / "run",
                data_dir=self.data_dir,
                measure="never",
            )
            end, periods = run.metrics.to_pylist()[-1], run.periods.to_pydict()
        device_J = np.bincount(
            periods["device"],
            np.asarray(periods["uplink_J"]) + np.asarray(periods["compute_J"]),
            minlength=scenario.fleet.devices,
        )
        return {
            "slots": plan.world.scenario.tasks[unit.task].slots,
            "accuracy": end["accuracy"],
            "loss": end["loss"],
            "time_s": end["time_s"],
            "device_J": device_J.tolist(),
            "station_J": end["downlink_J"],
            "energy_J": end["energy_J"],
            "predicted": asdict(plan.predicted[unit.task]),
            "steps": float(np.mean(periods["steps"])),
            "staleness": float(np.mean(periods["staleness"])),
        }

    # -- parts ----------------------------------------------------------------------------------------

    def _grid(self, unit: Unit) -> Row:
        """A plan with a set number of aggregations and weight."""
        slots, weight = unit.setting.split("x")
        changes = {
            "tasks.*.slots": int(slots),
            "objective.quality_weight_calibrated": float(weight),
        }
        return self.planned(unit, self.scenario(unit, **changes), self.scale.grid_effort)

    def _goals(self, unit: Unit) -> Row:
        """A plan for an accuracy, or why there is none."""
        return self._for_goals(unit, {"goals.accuracy": float(unit.setting)})

    def _limits(self, unit: Unit) -> Row:
        """The most accurate plan within a limit of every device."""
        goals = {"goals.make_best": "accuracy", "goals.device_energy_J": unit.value}
        return {"limit_J": unit.value} | self._for_goals(unit, goals)

    def _for_goals(self, unit: Unit, goals: dict[str, Any]) -> Row:
        try:
            return self.planned(unit, self.scenario(unit, **goals), self.scale.goal_effort)
        except Infeasible as none:
            return {"infeasible": str(none)}

    def _random(self, unit: Unit) -> Row:
        """Held-out random schedules of any length, arbitrary and regular ones in turn."""
        return {
            "runs": self._held_out(
                unit, unit.seed, range(FIRST_NUMBER, FIRST_NUMBER + self.scale.random), None
            )
        }

    def _fleets(self, unit: Unit) -> Row:
        """Held-out regular schedules of another fleet, with the prediction measured at ten devices."""
        numbers = range(FIRST_NUMBER + 1, FIRST_NUMBER + 1 + 2 * self.scale.regular, 2)
        return {"runs": self._held_out(unit, unit.seed, numbers, int(unit.setting))}

    def _cnn(self, unit: Unit) -> Row:
        """A plan of the CNN with a set number of aggregations."""
        changes = {"tasks.*.slots": int(unit.setting)}
        return self.planned(unit, self.scenario(unit, **changes), self.scale.grid_effort)

    def _held_out(self, unit: Unit, seed: int, numbers: Sequence[int], devices: int | None) -> list[Row]:
        changes: dict[str, Any] = {"evaluation.samples": EVERYTHING}
        if devices is not None:
            changes["fleet.devices"] = devices
        scenario = self.scenario(unit, **changes)
        trainer = Trainer(scenario, Components(data_dir=self.data_dir))
        measured = self.measured(unit).of(unit.task)
        assert measured.calibration is not None
        labels = label_mix(trainer, 0)
        constants = for_prediction(constants_for(measured.constants, labels), labels)
        task = scenario.tasks[unit.task]
        rows = []
        for number in numbers:
            low, high = self.scale.lengths
            slots = int(generator(seed, "length of a held-out run", number).integers(low, high + 1))
            jobs = random_jobs(
                task,
                scenario.fleet.devices,
                slots,
                seed=seed,
                number=number,
                largest_steps=probe_plan(task).largest_steps,
            )
            run = carry_out(trainer, 0, jobs, number, [slots])
            predicted = predict_accuracy(jobs, constants, labels, measured.calibration)
            assert predicted is not None
            rows.append(
                {
                    "number": number,
                    "slots": slots,
                    "accuracy": float(run.accuracies[-1]),
                    "loss": float(run.losses[-1]),
                    "predicted": asdict(predicted),
                }
            )
        return rows


@lru_cache(maxsize=4)
def _measured(scenario: Scenario, probes: int | None, cache: Path, data_dir: Path | None) -> Measured:
    return measure(scenario, probes=probes, cache=cache, data_dir=data_dir)
