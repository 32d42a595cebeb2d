"""Rules of what must be there: slots and rounds, tests that are due, devices that were lost."""

from __future__ import annotations

import numpy as np

from dmafl.experiments.run.verification.findings import REPLAY_TOLERANCE, Array, Finding, named
from dmafl.experiments.run.verification.made import Made, made_s
from dmafl.experiments.run.verification.presence import cut_off
from dmafl.experiments.run.verification.scheme_run_rows import SchemeRunRows
from dmafl.simulation.records import JOB_FAILURES

REASONS = ("battery", "window", "refused")
FAILED = "failed: "


def complete(rows: SchemeRunRows) -> Finding:
    """As many slots and models left out as the manifest says; a finished scheme run has all slots, or a reason."""
    if not rows.ended:
        return Finding()
    wrong = []
    for j, name in enumerate(rows.world.task_names):
        outcome, taken = rows.outcome(j), rows.taken_of_task(j)
        count, place = outcome.aggregations, f"{rows.name}, task {name}"
        slots = len(np.unique(rows.periods["slot"][taken & (rows.periods["slot"] < count)]))
        diverged = int((taken & rows.periods.diverged).sum())
        if slots != count or diverged != outcome.diverged:
            wrong.append(
                f"{place}: {slots} slots and {diverged} models left out, "
                f"promised {count} and {outcome.diverged}"
            )
        if outcome.slots != rows.world.slots[j] or count > outcome.slots:
            wrong.append(f"{place}: {count} of {outcome.slots} slots, the scenario has {rows.world.slots[j]}")
        fewer = bool(rows.absences) or any(loss.task == name for loss in rows.losses)
        if rows.finished and count < outcome.slots and not fewer:
            wrong.append(f"{place}: {count} of {outcome.slots} slots, and no device was lost")
        wrong += _rounds(rows, j, count)
    if rows.known_scheme is not None and rows.record.one_by_one is rows.rounds:
        wrong.append(f"{rows.name}: rounds is {not rows.record.one_by_one} in the manifest")
    return named(wrong)


def _rounds(rows: SchemeRunRows, j: int, count: int) -> list[str]:
    """Rounds of schemes of ours that are not of as many local models as they must be."""
    rule, name = rows.round_rule, rows.world.task_names[j]
    if rule is None:
        return []
    in_rounds = rows.taken_of_task(j) & (rows.periods["slot"] < count)
    arrivals = np.bincount(rows.periods["slot"][in_rounds], minlength=count)
    fewer = bool(rows.absences) or any(loss.task == name for loss in rows.losses)
    fewer = fewer and rule.of_those_left
    broken = np.flatnonzero((arrivals > rule.size) | (arrivals < (1 if fewer else rule.size)))
    return [
        f"{rows.name}, task {name}: {arrivals[k]} local models in round {k}, not {rule.size}" for k in broken
    ]


def tests(rows: SchemeRunRows) -> Finding:
    """Every test that is due is there once, in order, on as many samples as the scenario says."""
    wrong: list[str] = []
    for j, name in enumerate(rows.world.task_names):
        of_task = np.flatnonzero(rows.metrics_task == j)
        tested, tested_s = rows.metrics["aggregation"][of_task], rows.metrics["time_s"][of_task]
        version, time_s, everything, required = _due(rows, j, made_s(rows, j))
        place = f"{rows.name}, task {name}"
        if not required <= len(of_task) <= len(version):
            wrong.append(f"{place}: {len(of_task)} tests where {required} are due")
        both = min(len(of_task), len(version))
        same = (tested[:both] == version[:both]) & (tested_s[:both] == time_s[:both])
        for k in np.flatnonzero(~same)[:1]:
            wrong.append(
                f"{rows.test(of_task[k])}: aggregation {tested[k]} at {tested_s[k]:.12g} s, "
                f"due is {version[k]} at {time_s[k]:.12g} s"
            )
        if name not in rows.own.streams:  # which may show fewer of the test data
            wrong += _samples(rows, of_task[:both], everything[:both], place)
    first = rows.metrics_task[: rows.world.task_count]
    if not np.array_equal(first, np.arange(len(first))):
        wrong.append(f"{rows.name}: the tests of the first models are not in the order of the tasks")
    order = np.diff(rows.metrics["time_s"])
    wrong += [f"{rows.test(k + 1)}: before the test above it" for k in np.flatnonzero(~(order >= 0))]
    return named(wrong)


def _due(rows: SchemeRunRows, j: int, made: Made) -> tuple[Array, Array, Array, int]:
    """Version, time and whether all samples count, of the tests of a task; and how many there must be by now."""
    slots, evaluation = int(rows.world.slots[j]), rows.world.scenario.evaluation
    of_task = rows.metrics_task == j
    versions = np.arange(made.count + 1)
    by_count = versions[(versions % evaluation.every == 0) | (versions == slots)]
    at_s = np.asarray(sorted(evaluation.at_s), dtype=np.float64)
    times_s = made.times_s
    if not made.exact:
        times_s = _as_tested(
            times_s, rows.metrics["aggregation"][of_task], rows.metrics["time_s"][of_task], at_s
        )
    by_time = np.searchsorted(times_s, at_s, side="right") - 1
    at_s, by_time = at_s[by_time < slots], by_time[by_time < slots]
    version = np.concatenate([by_count, by_time])
    time_s = np.concatenate([times_s[by_count], at_s])
    later = np.repeat([0, 1], [len(by_count), len(by_time)])  # at one time a test by time comes last
    order = np.lexsort((later, version, time_s))
    version, time_s = version[order], time_s[order]
    everything = (version == slots) & (later[order] == 0)
    if rows.finished and made.count not in version:
        end_s = max(float(rows.periods["end_s"].max(initial=0.0)), float(max(evaluation.at_s, default=0.0)))
        end_s = max(end_s, rows.world.availability.last_change_s())
        if rows.real:  # it ended when nothing more could come, which no row says
            end_s = max(end_s, float(rows.metrics["time_s"][of_task].max(initial=0.0)))
        version, time_s = np.append(version, made.count), np.append(time_s, end_s)
        everything = np.append(everything, True)
    if rows.finished:
        required = len(version)
    elif rows.ended or not len(rows.metrics_task) + len(rows.task):  # or it has not begun
        required = 0  # the test of a model that diverged is left out, and all after it
    else:  # a time of the scenario may have come after the last period
        last_s = float(rows.periods["end_s"].max(initial=0.0))
        required = int((~((later[order] == 1) & (time_s >= last_s))).sum())
    return version, time_s, everything, required


def _as_tested(times_s: Array, aggregation: Array, time_s: Array, at_s: Array) -> Array:
    """Times at which versions were made at the earliest, or when they were tested, if that is later."""
    out = times_s.copy()
    for version, tested_s in zip(aggregation.tolist(), time_s.tolist(), strict=True):
        if 0 <= version < len(out) and tested_s >= times_s[version] and tested_s not in at_s:
            out[version] = tested_s
    return np.maximum.accumulate(out)


def _samples(rows: SchemeRunRows, of_task: Array, everything: Array, place: str) -> list[str]:
    whole = rows.test_samples[rows.metrics_task[of_task[0]]] if len(of_task) else 0
    expected = np.where(everything, whole, min(rows.world.scenario.evaluation.samples, whole))
    broken = np.flatnonzero(rows.metrics["test_samples"][of_task] != expected)
    return [
        f"{rows.test(of_task[k])}: tested on {rows.metrics['test_samples'][of_task[k]]} samples, not {expected[k]}"
        for k in broken
    ]


def losses(rows: SchemeRunRows) -> Finding:
    """Devices that were lost are reported once, for each period that failed, and get no more orders of the task."""
    if not rows.ended:
        return Finding()
    periods, wrong = rows.periods, []
    reasons = (*REASONS, *JOB_FAILURES) if rows.real else REASONS
    reported: dict[tuple[str, int], tuple[str, float]] = {}
    for loss in rows.losses:
        key = (loss.task, loss.device)
        place = f"{rows.name}, device {loss.device}, task {loss.task}"
        if key in reported and loss.reason not in ("refused", *JOB_FAILURES):
            wrong.append(f"{place}: lost twice")
        if loss.device >= rows.world.device_count or loss.reason not in reasons:
            wrong.append(f"{place}: lost to {loss.reason!r}")
        reported[key] = loss.reason, float(loss.time_s)
    outcome = periods["outcome"].astype(str)
    alone = np.isin(outcome, [f"{FAILED}{reason}" for reason in JOB_FAILURES])  # their devices went on
    failed = np.flatnonzero(np.char.startswith(outcome, FAILED) & ~cut_off(rows) & ~alone)
    for k in failed:
        key, reason = (
            (str(periods["task"][k]), int(periods["device"][k])),
            str(periods["outcome"][k])[len(FAILED) :],
        )
        if reported.get(key) != (reason, float(periods["end_s"][k])):
            wrong.append(f"{rows.period(k)}: failed, but the manifest does not tell of it")
    for (task, device), (reason, lost_s) in reported.items():
        if (rows.real or reason == "refused") and rows.absences:  # it may be asked again when it returns
            continue
        of_device = np.flatnonzero((periods["device"] == device) & (periods["task"] == task))
        late = of_device[~(periods["start_s"][of_device] <= lost_s * (1 + REPLAY_TOLERANCE))]
        wrong += [f"{rows.period(k)}: begins after its device was lost" for k in late]
    return named(wrong)
