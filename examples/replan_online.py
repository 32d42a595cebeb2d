"""Plan, carry a part of it out, and plan the rest anew from there."""

import numpy as np

import dmafl
from dmafl.planning.replan import replan, state_of
from dmafl.planning.task_estimates import estimates_from
from dmafl.scenario.toml import from_plain

measured = dmafl.measure(dmafl.preset("demo"))
scenario = from_plain({"preset": "demo", "tasks": {"mnist": {"slots": 10}}})
plan = dmafl.plan(scenario, measured=measured, effort=1)

half_s = float(np.sort(plan.timeline.end_s)[4])  # when the fifth upload has ended
state = state_of(plan.schedule, plan.world, half_s)  # what is done or under way by then stays
estimates = estimates_from(scenario, measured)  # or what was learnt on the way
revised = replan(plan, state, estimates, effort=1)

kept = len(state.jobs)
same = np.array_equal(revised.schedule.device[:kept], plan.schedule.device[:kept])
print(f"{len(plan.schedule)} jobs, of which at least 5 stay: {kept >= 5}, as they were: {same}")
print(f"executable: {revised.executable}, not worse: {revised.objective <= plan.objective * (1 + 1e-9)}")
