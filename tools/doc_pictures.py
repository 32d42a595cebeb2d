"""The pictures of the documentation that are drawn; numbers in them come from the library and its presets."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Patch

from dmafl.calibration.measure import measure
from dmafl.data import find, partition
from dmafl.experiments.run.run import run
from dmafl.reports.figures.timeline import COLOURS
from dmafl.scenario.preset import preset
from dmafl.scenario.toml import from_plain
from dmafl.world.physics.path_loss import linear, noise_W_per_Hz, path_loss_dB
from dmafl.world.physics.transmission import mean_rayleigh_rate_bit_s, rate_bit_s, transfer_s
from dmafl.world.world import World

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLUE, ORANGE, GREEN, GREY = COLOURS["download"], COLOURS["compute"], COLOURS["upload"], COLOURS["idle"]
VERMILION, PURPLE, INK = "#d55e00", "#cc79a7", "#222222"
BETWEEN = "#7d7d7d"  # at least 4:1 on white and on the darkest page
"""Okabe-Ito, as in the timeline picture: told apart with every kind of colour vision."""


def figure(width: float, height: float) -> Figure:
    """An empty figure on white, so that it reads on a dark page as well."""
    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def flow() -> Figure:
    """Scenario -> Plan -> Run -> Report, each with its commands, and the way back from a run to a plan.

    Nothing behind the boxes: all words are on light boxes, and arrows are of a grey that shows on white and on black.
    """
    fig = figure(9.2, 2.85)
    fig.set_facecolor("none")
    ax = fig.subplots()
    ax.set(xlim=(0, 9.2), ylim=(0, 2.85))
    ax.axis("off")
    boxes = (
        ("Scenario", "devices, channel,\ntasks, data, goals", "init, check", "#e8e8e8"),
        (
            "Plan",
            "who trains what when,\nwith how much work",
            "measure, plan, size,\nreplan, verify",
            "#d3ebf9",
        ),
        ("Run", "real training\non a virtual clock,\nbeside baselines", "run, deploy, verify", "#fbe3b5"),
        ("Report", "tables, figures,\na page for a browser", "report, compare,\nsweep, reproduce", "#c4e9dd"),
    )
    for k, (title, body, commands, colour) in enumerate(boxes):
        left, middle = 0.15 + 2.3 * k, 0.15 + 2.3 * k + 0.925
        ax.add_patch(
            FancyBboxPatch(
                (left, 0.15),
                1.85,
                1.95,
                boxstyle="round,pad=0.06",
                facecolor=colour,
                edgecolor=BETWEEN,
                linewidth=1.2,
            )
        )
        ax.text(middle, 1.9, title, ha="center", va="center", fontsize=13, weight="bold", color=INK)
        ax.text(middle, 1.27, body, ha="center", va="center", color=INK)
        ax.text(middle, 0.42, commands, ha="center", va="center", fontsize=9, family="monospace", color=INK)
        if k < len(boxes) - 1:
            _arrow(ax, (left + 1.92, 1.12), (left + 2.24, 1.12), BETWEEN)
    back = FancyArrowPatch(
        (5.67, 2.18),
        (3.38, 2.18),
        arrowstyle="-|>",
        connectionstyle="arc3,rad=0.3",
        mutation_scale=11,
        color=BETWEEN,
        linewidth=1.4,
    )
    ax.add_patch(back)
    paper = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": BETWEEN, "linewidth": 0.8}
    ax.text(
        4.525,
        2.53,
        "plan the rest again on the way",
        ha="center",
        va="center",
        fontsize=9,
        color=INK,
        bbox=paper,
        zorder=4,
    )
    return fig


def walk() -> Figure:
    """The rooms that a job walks through: the table of docs/architecture.md as boxes, row after row."""
    text = (DOCS / "architecture.md").read_text(encoding="utf-8").partition("| Step |")[2]
    lines = [line.split("|")[1:-1] for line in text.partition("\n\n")[0].splitlines()[2:]]
    steps = [[cell.strip().strip("`") for cell in line] for line in lines]
    across = 3
    down = -(-len(steps) // across)
    fig = figure(9.2, 1.35 * down)
    ax = fig.subplots()
    ax.set(xlim=(0, 9.2), ylim=(0, 1.35 * down))
    ax.axis("off")
    places = []
    for k, (number, room, _, happens) in enumerate(steps):
        row, column = divmod(k, across)
        column = column if row % 2 == 0 else across - 1 - column  # as an ox ploughs: no arrow crosses another
        left, bottom = 0.15 + 3.05 * column, 1.35 * (down - 1 - row) + 0.2
        places.append((left, bottom))
        box = FancyBboxPatch(
            (left, bottom),
            2.65,
            0.9,
            boxstyle="round,pad=0.05",
            facecolor="#eaf5fc",
            edgecolor=INK,
            linewidth=1.4,
        )
        ax.add_patch(box)
        ax.text(
            left + 1.325,
            bottom + 0.7,
            f"{number}  {room}",
            ha="center",
            va="center",
            weight="bold",
            color=INK,
        )
        words = "\n".join(wrap(happens, 38))
        ax.text(left + 1.325, bottom + 0.28, words, ha="center", va="center", fontsize=8.5, color=INK)
    for (left, bottom), (next_left, next_bottom) in pairwise(places):
        if next_bottom < bottom:
            _arrow(ax, (left + 1.325, bottom - 0.06), (left + 1.325, next_bottom + 0.97))
        elif next_left > left:
            _arrow(ax, (left + 2.71, bottom + 0.45), (next_left - 0.06, bottom + 0.45))
        else:
            _arrow(ax, (left - 0.06, bottom + 0.45), (next_left + 2.71, bottom + 0.45))
    return fig


def local_period() -> Figure:
    """One local period with its four parts, and the next."""
    fig = figure(9, 2.5)
    ax = fig.subplots()
    phases = (
        ("idle", r"$T^{ID}$", 2.0, "waits"),
        ("download", r"$T^{D}$", 1.6, "receives version v"),
        ("compute", r"$T^{C}$", 2.3, "e steps of batch B\nat frequency f"),
        ("upload", r"$T^{U}$", 0.9, "completes\nslot g"),
    )
    at = 0.0
    for phase, symbol, length, what in phases:
        ax.barh(0, length, left=at, height=0.5, color=COLOURS[phase], edgecolor="white")
        ax.text(at + length / 2, 0.0, symbol, ha="center", va="center", fontsize=12)
        ax.text(at + length / 2, 0.36, phase, ha="center", va="bottom", weight="bold")
        ax.text(at + length / 2, -0.34, what, ha="center", va="top", fontsize=9)
        at += length
    for k, (phase, _, length, _) in enumerate(phases[:2]):
        ax.barh(
            0,
            length * 0.6,
            left=at + 1.2 * k,
            height=0.5,
            color=COLOURS[phase],
            alpha=0.45,
            edgecolor="white",
        )
    for x, text in ((0, "last upload\nended"), (at, "this upload\nends")):
        ax.plot([x, x], [-0.78, 0.78], color=INK, linewidth=1)
        ax.text(x, 0.82, text, ha="center", va="bottom", fontsize=9)
    ax.annotate("", (0, -0.86), (at, -0.86), arrowprops={"arrowstyle": "<->", "color": INK})
    ax.text(at / 2, -0.92, "one local period of a device and a task", ha="center", va="top")
    ax.text(at + 2.4, 0, "next period ...", va="center", fontsize=9)
    ax.set(xlim=(-0.6, 10.2), ylim=(-1.2, 1.35))
    ax.axis("off")
    return fig


def server() -> Figure:
    """Who speaks to whom while a run goes."""
    fig = figure(9.2, 2.9)
    ax = fig.subplots()
    ax.set(xlim=(0, 9.2), ylim=(0, 2.9))
    ax.axis("off")
    boxes = (  # title, what it does, left, bottom, there
        ("Policy", "who trains next", 0.15, 1.75, True),
        ("Aggregator", "what an arrival does", 0.15, 0.3, True),
        ("Server", "versions, staleness", 3.05, 1.02, True),
        ("Virtual clock", "time, CPU, radio, energy", 5.95, 1.75, True),
        ("Real machines", "planned", 5.95, 0.3, False),
    )
    for title, body, left, bottom, there in boxes:
        style = {"linestyle": "-" if there else (0, (4, 3)), "edgecolor": INK, "linewidth": 1.6}
        fill = "#eaf5fc" if there else "white"
        ax.add_patch(
            FancyBboxPatch((left, bottom), 1.75, 0.75, boxstyle="round,pad=0.06", facecolor=fill, **style)
        )
        ax.text(left + 0.875, bottom + 0.52, title, ha="center", va="center", fontsize=12, weight="bold")
        ax.text(left + 0.875, bottom + 0.18, body, ha="center", va="center", fontsize=9)
    ax.text(8.05, 2.12, "workers train\nwhat it orders", ha="left", va="center", fontsize=9)
    for start, end, text, x, y in (
        ((1.98, 2.1), (2.97, 1.6), "orders", 2.62, 2.0),
        ((2.97, 1.3), (1.98, 0.72), "arrivals", 2.62, 0.82),
        ((4.88, 1.6), (5.87, 2.1), "wake, dispatch", 5.0, 2.05),
        ((5.87, 1.85), (4.88, 1.35), "events", 5.62, 1.5),
    ):
        _arrow(ax, start, end)
        ax.text(x, y, text, ha="center", va="center", fontsize=9)
    return fig


EXAMPLE_JOBS = (  # device, version, slot, start, download, compute, upload: an example drawn by hand
    (0, 0, 0, 0.0, 1.0, 1.2, 0.5),
    (1, 0, 1, 0.2, 1.2, 2.0, 0.6),
    (2, 0, 3, 0.4, 1.8, 4.2, 0.8),
    (0, 1, 2, 3.2, 0.9, 1.2, 0.5),
    (1, 3, 4, 6.3, 0.9, 1.2, 0.5),
)


def staleness() -> Figure:
    """Versions and slots of one task: each upload makes the next version at once."""
    fig = figure(9, 3.6)
    ax = fig.subplots()
    server = -1.15
    ends = sorted(sum(job[3:]) for job in EXAMPLE_JOBS)
    edges = [0.0, *ends, 9.7]
    for v, (left, right) in enumerate(pairwise(edges)):
        ax.barh(server, right - left, left=left, height=0.42, color=("#f0f0f0", "#dcdcdc")[v % 2])
        ax.text((left + right) / 2, server, f"version {v}", ha="center", va="center", fontsize=9)
    for device, version, slot, start, *lengths in EXAMPLE_JOBS:
        at = start
        for phase, length in zip(("download", "compute", "upload"), lengths, strict=True):
            ax.barh(device, length, left=at, height=0.46, color=COLOURS[phase])
            at += length
        stale = slot - version
        ax.text(
            (start + at) / 2,
            device + 0.3,
            f"staleness {slot} - {version} = {stale}",
            ha="center",
            va="bottom",
            fontsize=9,
            weight="bold" if stale > 1 else "normal",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
            zorder=4,
        )
        _arrow(ax, (start, server + 0.22), (start, device - 0.24), color=BLUE)
        _arrow(ax, (at, device - 0.24), (at, server + 0.22), color=GREEN)
        ax.text(at + 0.04, server + 0.27, f"slot {slot}", ha="left", va="bottom", fontsize=9, color="#00563f")
    ax.set_yticks([server, 0, 1, 2], ["server", "device 0", "device 1", "device 2"])
    ax.set(xlim=(0, 9.7), ylim=(-1.5, 2.75), xlabel="time")
    ax.set_xticks([])
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return fig


def shared_cpu() -> Figure:
    """Jobs of three tasks on the CPU of one device: what counts is the sum at every instant."""
    jobs = (  # task, colour, begin, end, frequency
        ("A", BLUE, 0.5, 5.5, 0.8),
        ("B", ORANGE, 2.0, 4.0, 0.7),
        ("C", GREEN, 3.2, 7.5, 0.5),
        ("B", ORANGE, 6.0, 8.6, 1.2),
    )
    edges = sorted({0.0, 9.5, *(edge for job in jobs for edge in job[2:4])})
    fig = figure(9, 2.9)
    ax = fig.subplots()
    for left, right in pairwise(edges):
        below = 0.0
        for _, colour, begin, end, f in jobs:
            if begin <= left < end:
                ax.bar(left, f, right - left, below, align="edge", color=colour, linewidth=0)
                below += f
    for name, x, y in (("A", 1.5, 0.4), ("B", 2.7, 1.15), ("C", 4.9, 1.05), ("B", 8.0, 0.6)):
        ax.text(x, y, f"task {name}", ha="center", va="center", fontsize=9)
    ax.axhline(2.0, color=VERMILION, linewidth=1.6)
    ax.text(
        9.45,
        2.05,
        "frequency_max_Hz: all jobs of the device share it",
        ha="right",
        va="bottom",
        color=VERMILION,
    )
    ax.axhline(0.1, color=INK, linewidth=1, linestyle=":")
    ax.text(9.45, 0.13, "frequency_min_Hz", ha="right", va="bottom", fontsize=9)
    ax.set(xlim=(0, 9.5), ylim=(0, 2.45), xlabel="time", ylabel="frequency [GHz]")
    ax.set_xticks([])
    return fig


def channel() -> Figure:
    """Path gain, rate and upload time against the distance, with the spread that fading makes."""
    world = World.resolve(preset("phone"))
    section, devices = world.scenario.channel, world.devices
    distance_m = np.linspace(1, 25, 200)
    path_gain = linear(path_loss_dB(distance_m, section.path_loss_at_1m_dB, section.path_loss_exponent))
    link = (devices.uplink_power_W[0], devices.uplink_bandwidth_Hz[0], noise_W_per_Hz(section.noise_dBm_Hz))
    faded = {q: -np.log1p(-q) for q in (0.05, 0.5, 0.95)}  # quantiles of |u|^2 ~ Exp(1)
    rates = {q: rate_bit_s(path_gain * u2, *link) for q, u2 in faded.items()}
    payload_bit = world.payload_bit[world.task_names.index("svhn")]
    fig = figure(9.6, 3.0)
    gain, rate, delay = fig.subplots(1, 3)
    gain.fill_between(
        distance_m,
        *(10 * np.log10(path_gain * faded[q]) for q in (0.05, 0.95)),
        color=BLUE,
        alpha=0.45,
        linewidth=0,
        label="5% to 95% of draws",
    )
    gain.plot(distance_m, 10 * np.log10(path_gain), color=INK, label="path gain")
    gain.set(title="gain |h|² [dB]", xlabel="distance [m]")
    gain.legend(frameon=False, fontsize=8)
    rate.fill_between(distance_m, rates[0.05] / 1e6, rates[0.95] / 1e6, color=BLUE, alpha=0.45, linewidth=0)
    rate.plot(distance_m, mean_rayleigh_rate_bit_s(path_gain, *link) / 1e6, color=INK, label="mean rate")
    rate.set(title="uplink rate [Mbit/s]", xlabel="distance [m]")
    rate.legend(frameon=False, fontsize=8)
    delay.fill_between(
        distance_m,
        *(transfer_s(payload_bit, rates[q]) for q in (0.95, 0.05)),
        color=BLUE,
        alpha=0.45,
        linewidth=0,
    )
    delay.plot(distance_m, transfer_s(payload_bit, rates[0.5]), color=INK, label="median")
    delay.set(title="upload of the CNN [s]", xlabel="distance [m]")
    delay.legend(frameon=False, fontsize=8, loc="upper left")
    return fig


def drift() -> Figure:
    """Samples of a device over time, with jobs of 60 s, for streams that stop, go on or speed up while it computes."""
    base = preset("phone").tasks["mnist"]
    window_s = base.window_s.low
    time_s = np.linspace(0, window_s, 601)
    jobs = [(begin, begin + 60.0) for begin in (90.0, 240.0, 390.0, 500.0)]
    computed_s = sum(np.clip(time_s - begin, 0, end - begin) for begin, end in jobs)
    fig = figure(9, 3.4)
    top, low = fig.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    for active_rate, colour, dash, label in (
        (1.0, INK, "-", "active_rate = 1: as scheduled"),
        (0.0, VERMILION, "--", "active_rate = 0: nothing arrives while computing"),
        (2.0, "#0072b2", "-.", "active_rate = 2: twice as fast while computing"),
    ):
        streamed_s = base.drift.idle_rate * (time_s - computed_s) + active_rate * computed_s
        share = np.clip(streamed_s / window_s, 0, 1)
        samples = base.samples_at_start + (base.samples - base.samples_at_start) * share
        top.plot(time_s, samples, color=colour, linestyle=dash, label=label)
    top.set(ylabel="samples D", ylim=(0, 1080))
    top.legend(frameon=False, fontsize=9, loc="lower right")
    for begin, end in jobs:
        top.axvspan(begin, end, color=ORANGE, alpha=0.25, linewidth=0)
        low.broken_barh([(begin, end - begin)], (0.55, 0.4), color=ORANGE)
    idle = [0.0, *(edge for job in jobs for edge in job), window_s]
    low.broken_barh([(a, b - a) for a, b in zip(idle[::2], idle[1::2], strict=True)], (0.05, 0.4), color=GREY)
    low.set_yticks([0.25, 0.75], ["idle drift", "active drift"])
    low.set(xlim=(0, window_s), ylim=(0, 1), xlabel="time [s], up to the end of the window")
    low.spines["left"].set_visible(False)
    low.tick_params(axis="y", length=0)
    return fig


def partitions() -> Figure:
    """Labels of each device under the four partitions, for 10 devices with 500 samples of the embedded MNIST."""
    labels = find("mnist").y_train
    fig = figure(9.6, 2.9)
    panels = fig.subplots(1, 4, sharey=True)
    for panel, scheme in zip(panels, ("k_labels", "dirichlet", "varied", "iid"), strict=True):
        dealt = partition(labels, 10, 500, scheme, seed=0)
        counts = np.stack([np.bincount(labels[row], minlength=10) for row in dealt.indices])
        shown = panel.imshow(counts, cmap="cividis", vmin=0, vmax=500)
        panel.set(title=scheme, xlabel="label", xticks=range(0, 10, 3), yticks=range(0, 10, 3))
    panels[0].set_ylabel("device")
    fig.colorbar(shown, ax=panels, label="samples", shrink=0.85)
    return fig


def street_digits() -> Figure:
    """Twenty pictures of the stand-in for SVHN."""
    data = find("street_digits")
    fig = figure(8, 1.7)
    panels = fig.subplots(2, 10)
    for k, panel in enumerate(panels.flat):
        panel.imshow(data.x_train[k])
        panel.set_title(str(data.y_train[k]), fontsize=8, pad=2)
        panel.axis("off")
    return fig


def _arrow(ax: Any, start: tuple[float, float], end: tuple[float, float], color: str = INK) -> None:
    ax.add_patch(
        FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=11, color=color, linewidth=1.4, zorder=3)
    )


SIDE_BY_SIDE = {
    "preset": "demo",
    "seed": 3,
    "fleet": {"devices": 5, "frequency_max_Hz": 4e8, "uplink_bandwidth_Hz": 1e5},
    "tasks": {
        "mnist": {
            "slots": 8,
            "max_staleness": 2,
            "samples": 100,
            "idle_max_s": 0.3,
            "cycles_per_sample": 3e5,
            "steps_min": 20,
            "steps_max": 40,
            "batch_min": 16,
            "batch_max": 32,
        }
    },
}
SCHEMES = (
    ("fedasync", "a free place goes to a drawn device"),
    ("fedbuff", "the same, five arrivals make one aggregation"),
    ("fedavg-full", "all five devices make a round"),
    ("fedavg-partial", "the first two arrivals make a round"),
    ("dma-fl", "order, work and times are planned"),
    ("dma-fl-online", "planned, and again on the way"),
    ("dma-fl-nr", "order and times planned, work drawn"),
    ("dma-fl-ns", "the order of fedasync, work planned"),
)


def schemes() -> Figure:
    """Every scheme in one small world: who downloads, computes and uploads when, and when models are aggregated."""
    scenario = from_plain(SIDE_BY_SIDE)
    names = [name for name, _ in SCHEMES]
    with TemporaryDirectory() as folder:
        done = run(scenario, schemes=names, measured=measure(scenario), output=Path(folder) / "run", effort=1)
        periods = done.periods.to_pylist()
    fig = figure(9.2, 8.2)
    panels = fig.subplots(4, 2, sharex=True, sharey=True).flat
    for panel, (name, says) in zip(panels, SCHEMES, strict=True):
        rows = [row for row in periods if row["scheme"] == name]
        for row in rows:
            left = row["start_s"]
            for phase in ("download", "compute", "upload"):
                panel.barh(row["device"], row[f"{phase}_s"], left=left, height=0.62, color=COLOURS[phase])
                left += row[f"{phase}_s"]
        slots = {row["slot"]: max(r["end_s"] for r in rows if r["slot"] == row["slot"]) for row in rows}
        for slot, end_s in slots.items():
            if slot >= 0:
                panel.axvline(end_s, color=INK, linewidth=0.9, linestyle=(0, (2, 2)))
        panel.set(xlim=(0, 5), ylim=(4.6, -0.6), yticks=range(5))
        panel.set_title(f"{name}: {says}", loc="left", fontsize=9)
    for panel in fig.axes[-2:]:
        panel.set_xlabel("time [s]")
    for panel in fig.axes[::2]:
        panel.set_ylabel("device")
    handles = [Patch(color=COLOURS[phase], label=phase) for phase in ("download", "compute", "upload")]
    handles.append(Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (2, 2)), label="aggregation"))
    fig.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False)
    return fig
