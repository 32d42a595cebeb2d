"""Goals: what a plan is to reach and within which limits, in place of weights; the planner finds those."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dmafl.scenario import limits
from dmafl.scenario.by_task import ByTask
from dmafl.scenario.fields import Section, contradiction, field

LIMITS = ("device_energy_J", "fleet_energy_J", "station_energy_J", "deadline_s")
"""What a plan may use."""
WANTED = ("accuracy", "loss")
"""What a plan is to reach."""

Slots = Annotated[int, Field(ge=limits.SLOTS.low, le=limits.SLOTS.high)]


class Decided(Section):
    """What a planner found for goals; a scenario that has it is planned with it, and nothing is looked for again."""

    slots: dict[str, Slots] = field(..., "Aggregations that were allowed, by task.")
    loss_price_J: ByTask = field(..., "Joules per unit of loss, by task.", limits.PRICE_OF_LOSS)
    fleet_price: float = field(
        0.0, "What a joule of the devices costs beside its weight.", limits.PRICE_OF_LIMIT
    )
    station_price: float = field(
        0.0, "What a joule of the station costs beside its weight.", limits.PRICE_OF_LIMIT
    )
    end_s: float | None = field(
        None, "When all tasks must have ended, where time is made best.", limits.DEADLINE
    )


class Goals(Section):
    """What a plan is to reach and may use. With any of them the planner chooses weights and numbers of aggregations."""

    accuracy: ByTask | None = field(
        None, "Least accuracy: a number for all tasks, or a table by task.", limits.ACCURACY
    )
    loss: ByTask | None = field(
        None, "Largest loss: a number for all tasks, or a table by task.", limits.LARGEST_LOSS
    )
    device_energy_J: float | None = field(
        None, "The most that any device may spend; like a battery that is smaller.", limits.ENERGY_LIMIT
    )
    fleet_energy_J: float | None = field(
        None, "The most that all devices together may spend.", limits.ENERGY_LIMIT
    )
    station_energy_J: float | None = field(
        None, "The most that the base station may spend.", limits.ENERGY_LIMIT
    )
    deadline_s: float | None = field(None, "When all tasks must have ended.", limits.DEADLINE)
    make_best: Literal["energy", "accuracy", "time"] = field("energy", "What to make best of the rest.")
    confidence: float = field(
        0.8, "Share of runs that are to reach the accuracy, by the prediction.", limits.CONFIDENCE
    )
    decided: Decided | None = field(None, "Written by the planner into its plans: what it found.")

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        names = [name for name in (*WANTED, *LIMITS) if getattr(self, name) is not None]
        if self.make_best != "energy" and not names:
            rule = "must come with a goal"
            raise contradiction("make_best", rule, self.make_best, "Set accuracy, or a limit, beside it.")
        if self.make_best == "accuracy" and not self.limited:
            rule = f"must come with a limit ({', '.join(LIMITS)})"
            raise contradiction("make_best", rule, '"accuracy" alone', "Set one of them.")
        if self.given and self.make_best != "accuracy" and not self.wanted:
            rule = f'must come with make_best = "accuracy" where there is no {" or ".join(WANTED)}'
            remedy = 'Set accuracy or loss beside it, or make_best = "accuracy".'
            raise contradiction(names[0], rule, f'make_best = "{self.make_best}"', remedy)
        return self

    @property
    def given(self) -> bool:
        """Whether there is any goal."""
        return self.wanted or self.limited

    @property
    def wanted(self) -> bool:
        """Whether an accuracy or a loss is asked for."""
        return any(getattr(self, name) is not None for name in WANTED)

    @property
    def limited(self) -> bool:
        """Whether energy or time is limited."""
        return any(getattr(self, name) is not None for name in LIMITS)

    def check_tasks(self, tasks: list[str]) -> None:
        """Refuse names that are not tasks, and tasks with two goals."""
        tables = {f"goals.{name}": getattr(self, name) for name in WANTED}
        if self.decided is not None:
            tables["goals.decided.loss_price_J"] = self.decided.loss_price_J
        for name, table in tables.items():
            for task in [] if table is None else [task for task, _ in table.named]:
                if task not in tasks:
                    remedy = f"Name one of {', '.join(tasks)}, or leave it out."
                    raise contradiction(name, "must name tasks of the scenario", repr(task), remedy)
        for task in tasks:
            both = [
                name for name in WANTED if (t := getattr(self, name)) is not None and t.of(task) is not None
            ]
            if len(both) > 1:
                rule = "must not go with an accuracy of the same task"
                raise contradiction("goals.loss", rule, f"both for {task}", "Leave one of them out.")
        if self.decided is not None and set(self.decided.slots) != set(tasks):
            rule, remedy = "must name every task", "Leave `decided` out: the planner finds it."
            raise contradiction("goals.decided.slots", rule, ", ".join(self.decided.slots), remedy)
