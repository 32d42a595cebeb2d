"""Ways to break a schedule, one function each, and job lists that never were one."""

from collections.abc import Callable

import numpy as np

from dmafl.schedule.jobs import Schedule
from dmafl.schedule.timeline import replay
from reference.random_worlds import Drawn

Jobs = list[dict]
Mutation = Callable[[Drawn, Jobs, np.random.Generator], tuple[Drawn, Jobs]]

HARMLESS = (1e-12, 1e-11)
"""Relative changes that the rules' tolerance of 1e-9 forgives, far from its edge and above rounding."""

HARMFUL = (1e-7, 1e-6)
"""Relative changes that it does not forgive, whose size two computations still agree on to 1e-6."""


def swap_versions(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    a, b = _two(jobs, rng)
    return drawn, _changed(_changed(jobs, a, version=jobs[b]["version"]), b, version=jobs[a]["version"])


def swap_slots(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    a, b = _two(jobs, rng)
    return drawn, _changed(_changed(jobs, a, slot=jobs[b]["slot"]), b, slot=jobs[a]["slot"])


def other_version(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    k = _one(jobs, rng)
    return drawn, _changed(jobs, k, version=jobs[k]["version"] + int(rng.choice([-3, -2, -1, 1, 2, 9])))


def receive_own_slot(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    """A device receives the version that its own last upload has just replaced: the one way to break S2 alone."""
    last = {(job["device"], job["task"], job["slot"]) for job in jobs}
    candidates = [
        k
        for k, job in enumerate(jobs)
        if (job["device"], job["task"], job["version"] - 1) in last
        and job["slot"] - job["version"] < drawn.world.max_staleness[job["task"]]
    ]
    if not candidates:
        return drawn, jobs
    k = candidates[rng.integers(len(candidates))]
    return drawn, _changed(jobs, k, version=jobs[k]["version"] - 1)


def other_slot(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    k = _one(jobs, rng)
    slots = int(drawn.world.slots[jobs[k]["task"]])
    return drawn, _changed(jobs, k, slot=int(rng.choice([-2, -1, *range(slots + 3)])))


def other_device(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    return drawn, _changed(jobs, _one(jobs, rng), device=int(rng.integers(drawn.world.device_count)))


def other_task(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    return drawn, _changed(jobs, _one(jobs, rng), task=int(rng.integers(drawn.world.task_count)))


def drop_jobs(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    gone = set(rng.integers(len(jobs), size=rng.integers(1, 4)).tolist())
    return drawn, [job for k, job in enumerate(jobs) if k not in gone]


def repeat_jobs(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    again = [jobs[k] for k in rng.integers(len(jobs), size=rng.integers(1, 4))]
    return drawn, jobs + again


def shuffle_jobs(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    """Not a breach: a schedule is a set of jobs."""
    return drawn, [jobs[k] for k in rng.permutation(len(jobs))]


def shift_one_start(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    k = _one(jobs, rng)
    shift_s = _latest_end_s(drawn, jobs) * _signed_change(rng)
    return drawn, _changed(jobs, k, start_s=jobs[k]["start_s"] + shift_s)


def shift_one_task(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    """All jobs of a task at once: only the window and other tasks can mind, unless it is to before time 0."""
    task = jobs[_one(jobs, rng)]["task"]
    shift_s = _latest_end_s(drawn, jobs) * _signed_change(rng)
    return drawn, [job | {"start_s": job["start_s"] + shift_s * (job["task"] == task)} for job in jobs]


def other_frequency(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    k = _one(jobs, rng)
    low_Hz, high_Hz = _frequencies(drawn, jobs[k]["device"])
    change = abs(_signed_change(rng))
    frequency_Hz = rng.choice(
        [
            low_Hz,
            high_Hz,
            low_Hz * (1 - min(change, 0.9)),
            high_Hz * (1 + change),
            high_Hz * 10 ** rng.uniform(0, 15),
        ]
    )
    return drawn, _changed(jobs, k, frequency_Hz=float(frequency_Hz))


def all_at_full_frequency(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    return drawn, [job | {"frequency_Hz": _frequencies(drawn, job["device"])[1]} for job in jobs]


def fractional_work(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    k = _one(jobs, rng)
    name = str(rng.choice(["steps", "batch"]))
    return drawn, _changed(jobs, k, **{name: jobs[k][name] + float(rng.choice([-0.5, 0.25, 1e-7]))})


def other_steps(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    k = _one(jobs, rng)
    task = list(drawn.world.scenario.tasks.values())[jobs[k]["task"]]
    steps = rng.choice(
        [task.steps_min - 1, task.steps_min, task.steps_max, task.steps_max + 1, 3 * task.steps_max]
    )
    return drawn, _changed(jobs, k, steps=float(steps))


def batch_at_its_limit(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    """As many samples as the device has, a few more, one, or none."""
    k = _one(jobs, rng)
    samples = int(replay(drawn.world, Schedule.from_jobs(jobs)).samples[k])
    return drawn, _changed(jobs, k, batch=float(rng.choice([samples, samples + 1, samples + 7, 1, 0])))


def batch_at_its_limit_last(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    """The same for a job after which nothing comes, whose longer computation delays nobody."""
    timeline = replay(drawn.world, Schedule.from_jobs(jobs))
    k = int(np.argmax(timeline.end_s))
    return drawn, _changed(jobs, k, batch=float(timeline.samples[k] + rng.integers(0, 2)))


def other_battery(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    """A battery of just what the device spends, a little more or less, or a part of it."""
    schedule = Schedule.from_jobs(jobs)
    timeline = replay(drawn.world, schedule)
    battery_J = drawn.world.devices.battery_J.copy()
    i = jobs[_one(jobs, rng)]["device"]
    spent_J = (timeline.uplink_J + timeline.compute_J)[schedule.device == i].sum()
    battery_J[i] = max(1e-30, spent_J) * (1 + max(_signed_change(rng), -0.9))
    return drawn.with_devices(battery_J=battery_J), jobs


def other_window(drawn: Drawn, jobs: Jobs, rng: np.random.Generator) -> tuple[Drawn, Jobs]:
    """A window that ends with one of the uploads, a little later or earlier, or halfway."""
    timeline = replay(drawn.world, Schedule.from_jobs(jobs))
    k = _one(jobs, rng)
    window_s = drawn.world.devices.window_s.copy()
    end_s = max(1e-6, float(timeline.end_s[k]))
    window_s[jobs[k]["device"], jobs[k]["task"]] = end_s * (1 + max(_signed_change(rng), -0.9))
    return drawn.with_devices(window_s=window_s), jobs


MUTATIONS: tuple[Mutation, ...] = (
    swap_versions,
    swap_slots,
    other_version,
    receive_own_slot,
    other_slot,
    other_device,
    other_task,
    drop_jobs,
    repeat_jobs,
    shuffle_jobs,
    shift_one_start,
    shift_one_task,
    other_frequency,
    all_at_full_frequency,
    fractional_work,
    other_steps,
    batch_at_its_limit,
    batch_at_its_limit_last,
    other_battery,
    other_window,
)


def junk_jobs(drawn: Drawn, rng: np.random.Generator) -> Jobs:
    """Up to a dozen jobs with every number drawn on its own; devices and tasks exist, nothing else is sure.

    Steps and batches are not negative: how much data a device gathers while it computes for -1 s is not defined.
    """
    world = drawn.world
    horizon_s = float(world.devices.window_s.max())
    jobs = []
    for _ in range(int(rng.integers(0, 13))):
        j, i = int(rng.integers(world.task_count)), int(rng.integers(world.device_count))
        slots = int(world.slots[j])
        low_Hz, high_Hz = _frequencies(drawn, i)
        jobs.append(
            {
                "task": j,
                "device": i,
                "version": int(rng.integers(-1, slots + 2)),
                "slot": int(rng.integers(-1, slots + 2)),
                "steps": float(rng.choice([rng.integers(0, 20), rng.uniform(0, 20)])),
                "batch": float(rng.choice([rng.integers(0, 200), rng.uniform(0, 200)])),
                "frequency_Hz": float(np.exp(rng.uniform(np.log(low_Hz / 2), np.log(high_Hz * 2)))),
                "start_s": float(rng.uniform(-0.1, 1.0) * horizon_s),
            }
        )
    return jobs


def _one(jobs: Jobs, rng: np.random.Generator) -> int:
    return int(rng.integers(len(jobs)))


def _two(jobs: Jobs, rng: np.random.Generator) -> tuple[int, int]:
    return _one(jobs, rng), _one(jobs, rng)


def _changed(jobs: Jobs, k: int, **values: float) -> Jobs:
    return [*jobs[:k], jobs[k] | values, *jobs[k + 1 :]]


def _signed_change(rng: np.random.Generator) -> float:
    """A relative change that is forgiven, that is small but counts, or that is large; or none."""
    size = rng.choice([0.0, rng.uniform(*HARMLESS), rng.uniform(*HARMFUL), rng.uniform(0.01, 1.0)])
    return float(rng.choice([-1.0, 1.0]) * size)


def _latest_end_s(drawn: Drawn, jobs: Jobs) -> float:
    return float(replay(drawn.world, Schedule.from_jobs(jobs)).end_s.max(initial=0.0))


def _frequencies(drawn: Drawn, i: int) -> tuple[float, float]:
    devices = drawn.world.devices
    return float(devices.frequency_min_Hz[i]), float(devices.frequency_max_Hz[i])
