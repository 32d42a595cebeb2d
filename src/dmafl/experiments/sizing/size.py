"""`dmafl.size`: the cheapest plan, fleet, battery or band that meets goals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmafl.base.errors import BadInput, Problem, ShownAsIs, bad_input
from dmafl.base.files import locked, write_json
from dmafl.base.watching import Watcher
from dmafl.calibration.measured import Measured
from dmafl.calibration.rehearsal import rehearsals_for
from dmafl.experiments.campaign.campaign import carry_out, missing
from dmafl.experiments.executors.executor import Executor
from dmafl.experiments.executors.local import processes_here
from dmafl.experiments.executors.registry import executor_named
from dmafl.experiments.sizing.confirm import Confirmed, ConfirmPiece
from dmafl.experiments.sizing.front import aiming_at, aims, label, most_accurate
from dmafl.experiments.sizing.plan_piece import PlannedPiece, PlanWork
from dmafl.experiments.sizing.plan_summary import PlanSummary
from dmafl.experiments.sizing.sizing import FrontPoint, Sizing, TriedValue, Varied
from dmafl.experiments.sizing.vary import Range, bisected
from dmafl.planning.effort import EFFORT
from dmafl.planning.infeasible import Infeasible
from dmafl.planning.measuring import measured_for
from dmafl.scenario.asking import asked_for
from dmafl.scenario.goals import LIMITS, WANTED
from dmafl.scenario.model import Scenario
from dmafl.schedule.plan import Plan
from dmafl.schedule.plan_files import write_plan
from dmafl.training.components import NOTHING, Components

FRONT = 7
"""Plans of the front."""
QUICK = 6.0
"""By how much plans of the front and of values that are tried have less effort than the one that is chosen."""
LEAST_EFFORT = 1.0
MOST_OFF = 10.0
MOST_TIMES = 1e6


def size(
    scenario: Scenario,
    *,
    accuracy: float | Mapping[str, float] | None = None,
    loss: float | Mapping[str, float] | None = None,
    device_energy_J: float | None = None,
    fleet_energy_J: float | None = None,
    station_energy_J: float | None = None,
    deadline_s: float | None = None,
    make_best: str | None = None,
    confidence: float | None = None,
    vary: Mapping[str, Sequence[float]] | None = None,
    times_per_day: float | None = None,
    front: int = FRONT,
    confirm: int | None = None,
    off: float | None = None,
    output: str | Path = "sizing",
    workers: int | None = None,
    on: str | Executor = "local",
    measured: Measured | None = None,
    rehearse: bool | None = None,
    effort: float = EFFORT,
    time_limit_s: float | None = None,
    quality: str = "calibrated",
    dissimilarity: str = "gram",
    components: Components = NOTHING,
    data_dir: str | Path | None = None,
    watcher: Watcher | None = None,
) -> Sizing:
    """The cheapest plan that meets goals, what it asks of every device, and what other accuracies would cost.

    Goals are those of the scenario, or those given here in their place. `vary` names one key and a range, such as
    `{"fleet.devices": (5, 50)}`: the smallest value with which the goals can be met is found by bisection, so what
    can be met is taken to change once between the ends (the largest value, where low ones do and high ones do not).
    One measurement serves all of them. `front` is the number of plans for lower and higher accuracies. `confirm`
    trains so many seeds, and `off` trains the same plans with devices that are up to this share slower and hungrier.
    Everything is kept in the folder `output` under its content: the same call goes on where it was stopped.
    `rehearse` is that of `dmafl.plan`; `on` and `workers` are those of `dmafl.sweep`.
    """
    components = components.looking_in(data_dir)
    scenario = components.filled(scenario)
    goals = {
        "accuracy": dict(accuracy) if isinstance(accuracy, Mapping) else accuracy,
        "loss": dict(loss) if isinstance(loss, Mapping) else loss,
        "device_energy_J": device_energy_J,
        "fleet_energy_J": fleet_energy_J,
        "station_energy_J": station_energy_J,
        "deadline_s": deadline_s,
        "make_best": make_best,
        "confidence": confidence,
    }
    asked = asked_for(scenario, goals).as_asked
    _check(asked, front, times_per_day, confirm, off)
    varied = None if vary is None else Range.of(asked, vary)
    folder = Path(output)
    on = executor_named(on)
    watcher = watcher if watcher is not None else Watcher()
    with locked(folder):
        for name, kind in (("manifest.json", "a run"), ("sweep.json", "a sweep")):
            if (folder / name).exists():
                rule = "must be a folder for a sizing"
                raise bad_input(str(folder), rule, ShownAsIs(kind), "Name another one.")
        if measured is None:
            with watcher.part("measuring") as part:
                measured = measured_for(
                    asked,
                    quality,
                    workers=processes_here(on, workers),
                    components=components,
                    watcher=part,
                )
        rehearse = (
            rehearse is not False
            and rehearsals_for(asked, measured, components, same_data=rehearse) is not None
        )
        work = PlanWork(
            asked, measured, folder, effort, time_limit_s, quality, dissimilarity, components, rehearse
        )
        making = _Making(work, on, workers, watcher)
        found = None if varied is None else making.varied(varied)
        if varied is not None and found is not None:
            asked = varied.applied(asked, found.value)
        chosen = making.chosen(asked, quick=found is not None)
        points = making.front(asked, chosen, front)
        seeds = confirm if confirm is not None else int(off is not None)
        sizing = Sizing(
            folder,
            chosen,
            chosen.devices,
            times_per_day,
            found,
            points,
            making.confirmed(chosen, seeds, None),
            off,
            () if off is None else making.confirmed(chosen, seeds, off),
        )
        write_plan(chosen, folder / "plan.json")
        write_json(folder / "sizing.json", sizing.plain())
    return sizing


@dataclass(frozen=True)
class _Making:
    """The making of one sizing: pieces that are missing are done, the others are read."""

    work: PlanWork
    on: Executor
    workers: int | None
    watcher: Watcher

    @property
    def _quick(self) -> float:
        return min(self.work.effort, max(self.work.effort / QUICK, LEAST_EFFORT))

    def chosen(self, scenario: Scenario, quick: bool) -> Plan:
        """The plan for the goals, with the whole effort; raises `Infeasible` where there is none.

        `quick`: whether there is a quick plan that met the goals, which is taken where the long search finds none.
        """
        piece = PlannedPiece("the plan", scenario, self.work, self.work.effort)
        self._do("plan", [piece])
        outcome = piece.outcome()
        if quick:
            other = PlannedPiece("the quick plan", scenario, self.work, self._quick).outcome()
            if isinstance(other, Plan) and isinstance(outcome, Infeasible):  # searches near a limit may miss
                return other
        if isinstance(outcome, Infeasible):
            raise outcome
        return outcome

    def varied(self, varied: Range) -> Varied:
        """The smallest value with which goals can be met, or the largest; `Infeasible` where neither end does."""
        tried: dict[float, PlannedPiece] = {}

        def piece(value: float) -> PlannedPiece:
            scenario = varied.applied(self.work.scenario, value)
            tried[value] = PlannedPiece(f"{varied.key}={value:g}", scenario, self.work, self._quick)
            return tried[value]

        def works(value: float) -> bool:
            if value not in tried:
                there = len(tried)
                self._do("values", [piece(value)], before=there)
            return isinstance(tried[value].outcome(), Plan)

        self._do("values", [piece(value) for value in dict.fromkeys((varied.low, varied.high))])
        found = bisected(varied, works, works(varied.low), works(varied.high))
        if found is None:
            rule = f"must have a value in {varied.low:g}..{varied.high:g} with which the goals can be met"
            why = f"At {varied.high:g}: {tried[varied.high].outcome()}"
            raise Infeasible(Problem(varied.key, rule, "none", why))
        rows = tuple(_tried(value, tried[value].outcome()) for value in sorted(tried))
        return Varied(varied.key, found[0], found[1], rows)

    def front(self, scenario: Scenario, chosen: Plan, count: int) -> tuple[FrontPoint, ...]:
        """Plans for lower and higher accuracies within the same limits, and the one made for accuracy alone."""
        if count == 0 or not chosen.predicted:
            return ()
        half = max(self.work.effort / 2.0, self._quick)
        best = PlannedPiece("the most accurate", most_accurate(scenario), self.work, half)
        self._do("front", [best])
        top = best.outcome()
        aimed = aims(chosen, top if isinstance(top, Plan) else chosen, count - 1)
        pieces = [
            PlannedPiece(label(each), aiming_at(scenario, each), self.work, self._quick) for each in aimed
        ]
        self._do("front", pieces, before=1)
        points = [FrontPoint(each, *_seen(piece)) for each, piece in zip(aimed, pieces, strict=True)]
        return (*points, FrontPoint({}, *_seen(best)))

    def confirmed(self, plan: Plan, seeds: int, off: float | None) -> tuple[Confirmed, ...]:
        """What seeds reach, one after another from the plan's own."""
        if seeds == 0:
            return ()
        own = plan.world.scenario.seed
        measured = self.work.measured_for(plan.world.scenario.as_asked)
        pieces = [ConfirmPiece(seed, plan, self.work, measured, off) for seed in range(own, own + seeds)]
        problems = self._do("seeds" if off is None else "seeds with devices off their table", pieces)
        return tuple(
            Confirmed(piece.seed, problems[piece.key]) if piece.key in problems else piece.outcome()
            for piece in pieces
        )

    def _do(self, kind: str, pieces: Sequence[Any], before: int = 0) -> dict[str, str]:
        """Do what is missing; why some could not be done, by key. `before`: pieces of this kind that were looked at."""
        without = missing(pieces)
        there = before + len(pieces) - len(without)
        problems = carry_out(
            kind, without, self.on, self.workers, self.work.folder, self.watcher, there=there
        )
        if problems and any(isinstance(piece, PlannedPiece) for piece in without):
            raise BadInput(Problem("planning", "must be possible", "trouble", next(iter(problems.values()))))
        return problems


def _seen(piece: PlannedPiece) -> tuple[PlanSummary | None, str]:
    """What came of a piece: its plan in a few numbers, or why there is none."""
    outcome = piece.outcome()
    return (PlanSummary.of(outcome), "") if isinstance(outcome, Plan) else (None, str(outcome))


def _tried(value: float, outcome: Plan | Infeasible) -> TriedValue:
    """What came of a value."""
    if isinstance(outcome, Plan):
        return TriedValue(value, PlanSummary.of(outcome))
    why = "; ".join(f"{problem.name.removeprefix('goals.')}: {problem.value}" for problem in outcome.problems)
    return TriedValue(value, None, str(outcome), why)


def _check(
    asked: Scenario, front: int, times_per_day: float | None, confirm: int | None, off: float | None
) -> None:
    """Refuse what cannot be meant."""
    if not asked.goals.given:
        rule = f"must have a goal: {', '.join((*WANTED, *LIMITS))}"
        raise bad_input(
            "goals", rule, ShownAsIs("none"), "Use e.g. --accuracy 0.85, or [goals] in the scenario."
        )
    if front < 0 or front == 1:
        raise bad_input("front", "must be 0, or at least 2", front, "0 draws none.")
    if times_per_day is not None and not 0 < times_per_day <= MOST_TIMES:
        rule = f"must be > 0 and at most {MOST_TIMES:g}"
        raise bad_input("times_per_day", rule, times_per_day, "Say how often a day is trained.")
    if confirm is not None and confirm < 1:
        raise bad_input("confirm", "must be at least 1 seed", confirm, "Leave it out to train nothing.")
    if off is not None and not 0 < off <= MOST_OFF:
        rule = f"must be > 0 and at most {MOST_OFF:g}"
        raise bad_input("off", rule, off, "Write 0.2 for up to 20% slower and hungrier.")
