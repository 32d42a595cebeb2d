"""The rules S0 to S8 once more, in plain Python loops: slow, short-sighted and easy to read.

It shares no code with `dmafl.schedule` or `dmafl.world.physics`, so that an error would have to be made twice
to go unseen. A world is a dict, a job is a dict, and every rule is a loop over jobs, pairs of jobs or slots:

world: `devices` (a list of dicts with `uplink_power_W`, `downlink_power_W`, `uplink_bandwidth_Hz`,
    `downlink_bandwidth_Hz`, `capacitance_Js2`, `frequency_min_Hz`, `frequency_max_Hz`, `battery_J`), `tasks` (a list of
    dicts with `payload_bit`, `slots`, `max_staleness`, `steps_min`, `steps_max`, `samples_at_start`, `samples`,
    `idle_rate`, `active_rate`, `per_aggregation`), `window_s[i][j]`, `cycles_per_sample[i][j]`, `noise_dBm_Hz` and
    `radio` ("own" or "shared").
job: `task`, `device`, `version`, `slot`, `steps`, `batch`, `frequency_Hz`, `start_s`.
gain(direction, i, j, index): power gain |h|² of a transfer.
mean_rate(direction, i, j): where given, the rate of every transfer instead (what a `mean_rate` planner sees) [bit/s].
"""

import math

TOLERANCE = 1e-9
"""Slack of times (relative to the latest end), frequencies (to f^max) and energies (to E^B), as the rules define it."""

SAMPLE_ROUNDING = 1e-9
"""A number of samples this close below a whole one is that one: 0.3 * 10 samples are 3."""

NAMES = (
    "S0_staleness",
    "S1_cover",
    "S2_overlap",
    "S3_causality",
    "S4_window",
    "S5_cpu",
    "S6_energy",
    "S7_ranges",
    "S8_radio",
)


def check(world, gain, jobs, mean_rate=None):
    """Worst violation of each rule, 0.0 where it holds."""
    timed = replay(world, gain, jobs, mean_rate)
    latest_end_s = 0.0
    for job in timed:
        latest_end_s = max(latest_end_s, job["end_s"])
    slack_s = TOLERANCE * latest_end_s
    worst = (
        staleness(world, timed),
        cover(world, timed),
        overlap(timed),
        causality(world, timed, slack_s),
        window(world, timed, slack_s),
        cpu(world, timed, slack_s),
        energy(world, timed),
        ranges(world, timed),
        radio(world, timed, slack_s),
    )
    return dict(zip(NAMES, worst, strict=True))


def replay(world, gain, jobs, mean_rate=None):
    """Copies of the jobs with their times, energies, idle time and number of samples."""
    timed = []
    for order, job in enumerate(jobs):
        i, j = job["device"], job["task"]
        device, payload_bit = world["devices"][i], world["tasks"][j]["payload_bit"]
        download_s = payload_bit / _rate(world, gain, mean_rate, "downlink", i, j, job["version"])
        upload_s = payload_bit / _rate(world, gain, mean_rate, "uplink", i, j, job["slot"])
        cycles = world["cycles_per_sample"][i][j] * job["steps"] * job["batch"]
        compute_s = cycles / job["frequency_Hz"]
        timed.append(
            {
                **job,
                "order": order,
                "download_s": download_s,
                "compute_s": compute_s,
                "upload_s": upload_s,
                "compute_start_s": job["start_s"] + download_s,
                "upload_start_s": job["start_s"] + download_s + compute_s,
                "end_s": job["start_s"] + download_s + compute_s + upload_s,
                "uplink_J": device["uplink_power_W"] * upload_s,
                "compute_J": device["capacitance_Js2"] * cycles * job["frequency_Hz"] ** 2,
                "downlink_J": device["downlink_power_W"] * download_s,
            }
        )
    for job in timed:
        before = _earlier_jobs(timed, job)
        job["previous"] = before[-1] if before else None
        job["idle_s"] = job["start_s"] - (before[-1]["end_s"] if before else 0.0)
        job["samples"] = _samples(world, job, sum(other["compute_s"] for other in before))
    return timed


def completion_s(world, timed):
    """When each slot completes, by (task, slot): with the earliest of its jobs; a slot without a job is not there."""
    tau_s = {}
    for job in timed:
        if 0 <= job["slot"] < world["tasks"][job["task"]]["slots"]:
            key = (job["task"], job["slot"])
            tau_s[key] = min(job["end_s"], tau_s.get(key, math.inf))
    return tau_s


def staleness(world, timed):
    """S0: 0 <= g - v <= K, v >= 0."""
    worst = 0
    for job in timed:
        stale = job["slot"] - job["version"]
        worst = max(worst, stale - world["tasks"][job["task"]]["max_staleness"], -stale, -job["version"])
    return float(worst)


def cover(world, timed):
    """S1: every slot has exactly one job, and no job has another slot."""
    worst = 0
    for j, task in enumerate(world["tasks"]):
        for g in range(task["slots"]):
            count = 0
            for job in timed:
                if job["task"] == j and job["slot"] == g:
                    count += 1
            worst = max(worst, abs(count - 1))
    for job in timed:
        if not 0 <= job["slot"] < world["tasks"][job["task"]]["slots"]:
            worst = max(worst, 1)
    return float(worst)


def overlap(timed):
    """S2: the next job of a (device, task) receives a version after the slot that its last one completed."""
    worst = 0
    for job in timed:
        if job["previous"] is not None:
            worst = max(worst, job["previous"]["slot"] + 1 - job["version"])
    return float(worst)


def causality(world, timed, slack_s):
    """S3: tau_{v-1} <= t0 <= tau_v, slots complete in order, idle times are not negative, nothing is before time 0."""
    tau_s = completion_s(world, timed)
    excess = []
    for job in timed:
        j, v = job["task"], job["version"]
        excess += [-job["start_s"], -job["idle_s"]]
        if (j, v - 1) in tau_s:
            excess.append(tau_s[j, v - 1] - job["start_s"])
        if (j, v) in tau_s:
            excess.append(job["start_s"] - tau_s[j, v])
    for (j, g), time_s in tau_s.items():
        if (j, g - 1) in tau_s:
            excess.append(tau_s[j, g - 1] - time_s)
    return _worst(excess, slack_s)


def window(world, timed, slack_s):
    """S4: uploads end within the window."""
    return _worst([job["end_s"] - world["window_s"][job["device"]][job["task"]] for job in timed], slack_s)


def cpu(world, timed, slack_s):
    """S5: frequencies on a device add up to at most f^max at every instant, and each is at least f^min.

    The sum can only reach a new peak where a job begins to compute, so it is taken there. Computations are half-open
    intervals shortened by the slack, at most by half of their length, so that touching ones do not meet.
    """
    worst = 0.0
    for job in timed:
        device = world["devices"][job["device"]]
        now_s = job["compute_start_s"]
        total_Hz = job["frequency_Hz"]
        if job["compute_s"] > 0:
            for other in timed:
                same_device = other is not job and other["device"] == job["device"]
                until_s = other["upload_start_s"] - min(slack_s, other["compute_s"] / 2)
                if same_device and other["compute_start_s"] <= now_s < until_s:
                    total_Hz += other["frequency_Hz"]
        for excess in (
            total_Hz - device["frequency_max_Hz"],
            device["frequency_min_Hz"] - job["frequency_Hz"],
        ):
            if excess > TOLERANCE * device["frequency_max_Hz"]:
                worst = max(worst, excess)
    return worst


def energy(world, timed):
    """S6: what a device spends on uplink and computation stays within its battery."""
    worst = 0.0
    for i, device in enumerate(world["devices"]):
        spent_J = 0.0
        for job in timed:
            if job["device"] == i:
                spent_J += job["uplink_J"] + job["compute_J"]
        excess = spent_J - device["battery_J"]
        if excess > TOLERANCE * device["battery_J"]:
            worst = max(worst, excess)
    return worst


def ranges(world, timed):
    """S7: e_min <= e <= e_max, 1 <= B <= D, whole numbers."""
    worst = 0.0
    for job in timed:
        task, e, B = world["tasks"][job["task"]], job["steps"], job["batch"]
        worst = max(worst, task["steps_min"] - e, e - task["steps_max"], 1 - B, B - job["samples"])
        worst = max(worst, abs(e - round(e)), abs(B - round(B)))
    return float(worst)


def radio(world, timed, slack_s):
    """S8: on a shared radio, no transfer of a device begins while an earlier one of it goes on."""
    if world["radio"] == "own":
        return 0.0
    excess = []
    for i in range(len(world["devices"])):
        transfers = []
        for job in timed:
            if job["device"] == i:
                transfers.append((job["start_s"], job["compute_start_s"]))
                transfers.append((job["upload_start_s"], job["end_s"]))
        transfers.sort()
        for later in range(len(transfers)):
            for earlier in range(later):
                excess.append(transfers[earlier][1] - transfers[later][0])
    return _worst(excess, slack_s)


def _worst(excess, slack):
    return max([0.0] + [size for size in excess if size > slack])


def _rate(world, gain, mean_rate, direction, i, j, index):
    """r = BW log2(1 + |h|² p / (N0 BW)) [bit/s]."""
    if mean_rate is not None:
        return mean_rate(direction, i, j)
    device = world["devices"][i]
    return rate_bit_s(
        gain(direction, i, j, index),
        device[direction + "_power_W"],
        device[direction + "_bandwidth_Hz"],
        world["noise_dBm_Hz"],
    )


def rate_bit_s(gain, power_W, bandwidth_Hz, noise_dBm_Hz):
    """Shannon's rate of one transfer [bit/s]."""
    noise_W_Hz = 10.0 ** (noise_dBm_Hz / 10.0) / 1000.0
    return bandwidth_Hz * math.log1p(gain * power_W / (noise_W_Hz * bandwidth_Hz)) / math.log(2.0)


def _earlier_jobs(timed, job):
    """Jobs of the same (device, task) before this one: by slot, then by version, then by their place in the list."""
    before = []
    for other in timed:
        same_stream = other["device"] == job["device"] and other["task"] == job["task"]
        if same_stream and _place(other) < _place(job):
            before.append(other)
    before.sort(key=_place)
    return before


def _place(job):
    return (job["slot"], job["version"], job["order"])


def _samples(world, job, computed_s):
    """D: linear growth from start to end of the window, at separate speeds while computing and not."""
    task = world["tasks"][job["task"]]
    if task["per_aggregation"]:
        share = job["version"] / max(1, task["slots"] - 1)
    else:
        other_s = job["compute_start_s"] - computed_s
        streamed_s = task["idle_rate"] * other_s + task["active_rate"] * computed_s
        share = streamed_s / world["window_s"][job["device"]][job["task"]]
    share = min(1.0, max(0.0, share))
    grown = (task["samples"] - task["samples_at_start"]) * share
    return math.floor(task["samples_at_start"] + grown + SAMPLE_ROUNDING)
