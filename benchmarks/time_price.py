"""What time costs: plans of the preset `demo` at rising prices of a second, and their time, energy and predicted loss.

The constants are those that come with the package; nothing is trained. Prints two Markdown tables, one row per price:
with the weight of loss as it is, where a plan also saves time by less work, and with the weight raised until the
predicted losses add up to what they were without a price. Under each it says what a plan so many times faster costs.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import dmafl
from dmafl.calibration.measured import Measured
from dmafl.calibration.shipped import shipped_file
from dmafl.scenario.keys import with_values

PRICES_W = (0.0, 0.001, 0.002, 0.004, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
SAME_LOSS_W = (0.01, 0.03, 0.1, 0.3)
SAME = 1.005
"""Losses that add up to at most this much of what they did count as the same: so much do plans vary by chance."""
MOST_DOUBLINGS, HALVINGS = 9, 3
"""Of the weight of loss until losses are the same, and steps of the bisection from there."""
WEIGHT = "objective.quality_weight_calibrated"
EFFORT = 10.0
FASTER = 5.0


@dataclass(frozen=True)
class PricedPlan:
    """A plan made at a price of time."""

    price_W: float
    time_s: dict[str, float]
    """When the last upload of each task ends."""
    device_J: float
    station_J: float
    loss: dict[str, float]
    """Predicted, by task."""
    weight: float = 1.0
    """c_1: joules per unit of loss."""

    @property
    def whole_s(self) -> float:
        """When the last upload of all tasks ends."""
        return max(self.time_s.values())

    @property
    def energy_J(self) -> float:
        """Of devices and station."""
        return self.device_J + self.station_J


def plan_at(
    scenario: dmafl.Scenario, measured: Measured, price_W: float, effort: float, weight: float = 1.0
) -> PricedPlan:
    """The plan of `scenario` at this price."""
    priced = with_values(scenario, {"objective.time_price_W": price_W, WEIGHT: weight})
    plan = dmafl.plan(priced, measured=measured, effort=effort)
    times, tasks = plan.timeline, enumerate(plan.world.task_names)
    return PricedPlan(
        price_W,
        {name: float(times.end_s[plan.schedule.task == j].max()) for j, name in tasks},
        float(times.uplink_J.sum() + times.compute_J.sum()),
        float(times.downlink_J.sum()),
        {name: plan.terms[name]["quality"] for name in plan.world.task_names},
        weight,
    )


def at_the_same_loss(
    scenario: dmafl.Scenario, measured: Measured, price_W: float, effort: float, loss: float
) -> PricedPlan | None:
    """The plan at this price with the lowest weight of loss found that brings losses of this sum; None if none does."""
    low, high, best = 1.0, 1.0, None
    for _ in range(MOST_DOUBLINGS):
        low, high = high, 2.0 * high
        best = plan_at(scenario, measured, price_W, effort, high)
        if sum(best.loss.values()) <= SAME * loss:
            break
    else:
        return None
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        plan = plan_at(scenario, measured, price_W, effort, middle)
        if sum(plan.loss.values()) <= SAME * loss:
            high, best = middle, plan
        else:
            low = middle
    return best


def table(plans: list[PricedPlan]) -> str:
    """One row per price, as Markdown."""
    tasks = list(plans[0].time_s)
    names = [
        "Price [W]",
        "Weight of loss [J]",
        "Time [s]",
        *(f"`{name}` [s]" for name in tasks),
        "Devices [J]",
        "Station [J]",
    ]
    names += [f"loss of `{name}`" for name in tasks]
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for plan in plans:
        numbers = [f"{plan.price_W:g}", f"{plan.weight:.3g}", f"{plan.whole_s:,.0f}"]
        numbers += [f"{seconds:,.1f}" for seconds in plan.time_s.values()]
        numbers += [
            f"{plan.device_J:.1f}",
            f"{plan.station_J:.1f}",
            *(f"{x:.3f}" for x in plan.loss.values()),
        ]
        lines.append("| " + " | ".join(numbers) + " |")
    return "\n".join(lines)


def answer(plans: list[PricedPlan], faster: float) -> str:
    """What the first plan of `plans` that is `faster` times as fast as the first of all costs more."""
    first = plans[0]
    for plan in plans[1:]:
        times = first.whole_s / plan.whole_s
        if times >= faster:
            loss = sum(plan.loss.values()) / sum(first.loss.values())
            return (
                f"{times:.1f} times faster at {plan.price_W:g} W: devices need {plan.device_J / first.device_J:.2f}, "
                f"devices and station {plan.energy_J / first.energy_J:.2f}, "
                f"the predicted losses are {loss:.3f} times those without a price of time."
            )
    return f"No price makes the plan {faster:g} times faster."


def main() -> None:
    """Plan at every price, print the table and the answer."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--prices", type=float, nargs="+", default=PRICES_W, metavar="W", help="rising prices"
    )
    parser.add_argument("--same-loss", type=float, nargs="*", default=SAME_LOSS_W, metavar="W")
    parser.add_argument("--effort", type=float, default=EFFORT)
    parser.add_argument("--faster", type=float, default=FASTER, help="the factor that is asked about")
    parser.add_argument("--quick", action="store_true", help="ten slots a task: does it work?")
    parser.add_argument("--json", type=Path, help="where to write the figures too")
    given = parser.parse_args()
    measured = Measured.from_plain(json.loads(shipped_file().read_bytes()))
    scenario = dmafl.preset("demo")
    if given.quick:
        scenario = with_values(scenario, {"tasks.*.slots": 10})
    plans = [plan_at(scenario, measured, price_W, given.effort) for price_W in given.prices]
    print(table(plans), answer(plans, given.faster), sep="\n\n", end="\n\n")
    loss = sum(plans[0].loss.values())
    same = [at_the_same_loss(scenario, measured, price_W, given.effort, loss) for price_W in given.same_loss]
    as_good = [plans[0], *(plan for plan in same if plan is not None)]
    print(table(as_good), answer(as_good, given.faster), sep="\n\n")
    if given.json:
        figures = {"plans": plans, "same_loss": as_good}
        plain = {name: [asdict(plan) for plan in of_name] for name, of_name in figures.items()}
        given.json.write_text(json.dumps(plain, indent=1))


if __name__ == "__main__":
    main()
