"""Plan, carry a part of it out, and plan the rest anew from there."""

import numpy as np

import dmafl

measured = dmafl.measure(dmafl.preset("demo"))
scenario = dmafl.preset("demo", tasks={"mnist": {"slots": 10}})
plan = dmafl.plan(scenario, measured=measured, effort=0.5)

half_s = float(np.sort(plan.timeline.end_s)[4])  # when the fifth upload has ended
revised = dmafl.replan(plan, half_s, measured=measured, effort=0.5)  # what has begun by then stays

kept = int((plan.schedule.start_s <= half_s).sum())
same = np.array_equal(revised.schedule.device[:kept], plan.schedule.device[:kept])
print(f"{len(plan.schedule)} jobs, of which at least 5 stay: {kept >= 5}, as they were: {same}")
print(f"executable: {revised.executable}, not worse: {revised.objective <= plan.objective * (1 + 1e-9)}")
