"""What is to be run: a scenario, schemes and seeds, a plan that is given, and what a user brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from dmafl.base.errors import ShownAsIs, bad_input, must_be_one_of
from dmafl.calibration.measured import Measured
from dmafl.experiments.run.file_names import check_file_names
from dmafl.planning.effort import EFFORT
from dmafl.scenario.keys import different_keys
from dmafl.scenario.model import Scenario
from dmafl.schedule.plan import Plan
from dmafl.schemes.own_scheme import Maker, OwnScheme
from dmafl.schemes.registry import NAMES, check_name, expanded, names_of, scheme_named
from dmafl.schemes.scheme import Scheme
from dmafl.simulation.run_name import RunName
from dmafl.training.components import NOTHING, Components
from dmafl.world.world import World

Measuring = Literal["if needed", "first", "never"]
"""When constants are measured for a run: where a scheme needs some and none are kept; for every seed; not at all."""


@dataclass(frozen=True)
class Request:
    """What is to be run."""

    scenario: Scenario
    schemes: tuple[str, ...]
    seeds: tuple[int, ...]
    plan: Plan | None = None
    """A plan for one of the seeds: its world is that of the plan, and the schemes that can carry it out."""
    components: Components = NOTHING
    measured: Mapping[int, Measured] | None = None
    """Measured constants by seed; None: those that are kept or shipped, or measured as `measure` says."""
    measure: Measuring = "if needed"
    effort: float = EFFORT
    """Effort for the plan of a scheme that makes one, for each seed: about so many seconds."""
    quality: str = "calibrated"
    dissimilarity: str = "gram"
    """What such plans are made with."""
    gradient_norms: bool = True
    """Whether every test also estimates the squared gradient norm of the global loss, `grad_norm2`."""

    def __post_init__(self) -> None:
        for name in self.schemes:
            check_name(name, self.own_schemes)
        must_be_one_of("measure", self.measure, get_args(Measuring))
        if self.measure == "first" and self.measured is not None:
            raise bad_input(
                "measure", "must not go with `measured`", ShownAsIs("both"), "Leave one of them out."
            )
        _check_plan(self)
        check_file_names(RunName.of_all(self.schemes, self.seeds), list(self.scenario.tasks))
        if not self.schemes or not self.seeds:
            raise bad_input(
                "schemes", "must be at least one, with at least one seed", ShownAsIs("none"), "Name a scheme."
            )

    @property
    def own_schemes(self) -> Mapping[str, Maker]:
        """Schemes of the user's own."""
        return self.components.schemes

    @property
    def names(self) -> list[str]:
        """Names of the schemes' runs, in the order of the files."""
        return [str(name) for name in RunName.of_all(self.schemes, self.seeds)]

    def scheme(self, name: str) -> Scheme:
        """The scheme called `name`; the user's own come first."""
        if name in self.own_schemes:
            return OwnScheme(name, self.own_schemes[name])
        return scheme_named(name)

    @property
    def needs_measured(self) -> bool:
        """Whether one of its schemes needs measured constants: of seeds for which no plan is given that it takes."""
        return any(
            self.scheme(name).needs_measured
            and any(
                (plan := self.plan_for(seed)) is None or not self.scheme(name).carries_out(plan)
                for seed in self.seeds
            )
            for name in self.schemes
        )

    def plan_for(self, seed: int) -> Plan | None:
        """The plan that is given for a seed."""
        return self.plan if self.plan is not None and self.plan.world.scenario.seed == seed else None

    def scenario_of(self, seed: int) -> Scenario:
        """The scenario with a seed."""
        return self.scenario.model_copy(update={"seed": seed}).in_folder(self.scenario.folder)

    def world(self, seed: int) -> World:
        """The world of a seed: the plan's, or drawn from the scenario."""
        plan = self.plan_for(seed)
        if plan is not None:
            # A run meets the true gains, whatever the plan was made with.
            return replace(plan.world, csi="perfect")
        return self.components.world(self.scenario_of(seed))


def _check_plan(request: Request) -> None:
    """Refuse a plan that is missing where a scheme needs one, or is for another world than those of the run."""
    plan = request.plan
    given = [name for name in request.schemes if request.scheme(name).group == "given"]
    if plan is None:
        if given:
            raise bad_input(
                "plan", f"must be given for scheme {given[0]!r}", ShownAsIs("none"), "Use --plan plan.json."
            )
        return
    seed = plan.world.scenario.seed
    if seed not in request.seeds or (given and request.seeds != (seed,)):
        raise bad_input(
            "seeds",
            f"must be {seed}, the seed of the plan" if given else f"must have {seed}, the seed of the plan",
            list(request.seeds),
            "A plan is for one world: leave out --seeds.",
        )
    asked = request.scenario.model_copy(update={"seed": seed})
    if plan.world.scenario != asked:
        raise bad_input(
            "plan",
            "must be made for this scenario",
            ShownAsIs(f"a plan for another one: {different_keys(plan.world.scenario, asked)}"),
            "Give the scenario the plan was made for, or plan again.",
        )


def chosen_schemes(
    named: Sequence[str] | None, own_schemes: Mapping[str, Maker], plan: Plan | None
) -> tuple[str, ...]:
    """The schemes of a run: those named, with sets of schemes written out.

    Where none is named: the user's own; else the scheme that carries out the plan by itself; else all baselines.
    """
    if named is not None:
        return expanded(named)
    if own_schemes:
        return tuple(own_schemes)
    if plan is None:
        return names_of("baseline")
    for name in NAMES:
        scheme = scheme_named(name)
        if scheme.group == "planned" and scheme.carries_out(plan):
            return (name,)
    by_name = ", ".join(names_of("given"))
    raise bad_input(
        "schemes",
        "must be named for a list of jobs that no planner made",
        ShownAsIs(f"a plan by {plan.solver!r}"),
        f"Use the scheme {by_name}.",
    )
