"""The page of a study: curves with toggles, responses, energy ratios, ablation, and the table of claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp
from pathlib import Path

from dmafl.base.files import write_text
from dmafl.experiments.reproduction.ablation import Ablation
from dmafl.experiments.reproduction.design import TASKS
from dmafl.experiments.reproduction.pairs import pairs
from dmafl.experiments.reproduction.readings import Tally
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.experiments.reproduction.targets import Ratio
from dmafl.experiments.reproduction.verdicts import Claim, Comparison
from dmafl.reports.figures.study_style import PARTITION_NAMES, SCHEMES, TASK_NAMES
from dmafl.reports.html.html import Cell, Html, choice, element, figure, folded, plot, table, together
from dmafl.reports.html.shell import Content, Section
from dmafl.reports.html.study_data import study_data
from dmafl.reports.terminal.study_tables import counts, strongest, weakest

SCRIPTS = ("study.js",)
STYLES = ("study.css",)
UnitsThere = Mapping[str, tuple[int, int]]


def write_page(
    gathered: StudyOutcomes,
    claims: Sequence[Claim],
    readings: Sequence[Tally],
    ratios: Sequence[Ratio],
    ablation: Sequence[Ablation],
    counted: UnitsThere,
    path: Path,
) -> None:
    """Write the page; it needs no other file and no network."""
    write_text(path, content(gathered, claims, readings, ratios, ablation, counted).page(SCRIPTS, STYLES))


def content(
    gathered: StudyOutcomes,
    claims: Sequence[Claim],
    readings: Sequence[Tally],
    ratios: Sequence[Ratio],
    ablation: Sequence[Ablation],
    counted: UnitsThere,
) -> Content:
    """What the page says."""
    study = gathered.study
    there = [scheme for scheme in SCHEMES if any(scheme in gathered.schemes(one) for one in study.partitions)]
    sections = (
        Section("claims", "Claims", _claims(claims, readings)),
        Section("curves", "Accuracy of all schemes", _curve_plots(gathered)),
        Section("ratios", "Energy to target accuracies, relative to dma-fl", _ratios(ratios)),
        Section("importance", "Importance", _importance_plots()),
        Section("drift", "Drift", _drift_plots()),
        Section("ablation", "What plans are made with", _ablation_part(ablation)),
        Section("units", "Units", _units(counted)),
    )
    title = f"The paper's study, preset {study.preset}"
    return Content(title, _lead(gathered, counted, there), sections, study_data(gathered))


def _lead(gathered: StudyOutcomes, counted: UnitsThere, there: Sequence[str]) -> Html:
    done, wanted = (sum(one[side] for one in counted.values()) for side in (0, 1))
    seeds = ", ".join(str(seed) for seed in gathered.study.seeds)
    return together(
        element(
            "p",
            f"{done} of {wanted} units; seeds {seeds}. Bands are 95% intervals over seeds.",
            class_="lead",
        ),
        element(
            "div",
            _chips("schemes", "Schemes", SCHEMES, there),
            _chips("tasks", "Tasks", [TASK_NAMES[task] for task in TASKS], None),
            class_="filters",
        ),
    )


def _chips(kind: str, legend: str, names: Sequence[str], there: Sequence[str] | None) -> Html:
    """A box for each name that has outcomes; it shows or hides it everywhere."""
    return element(
        "fieldset",
        element("legend", legend),
        (
            element(
                "label",
                element("input", type="checkbox", checked=True, data_shown=kind, value=place),
                element(
                    "span",
                    element("i", class_="swatch", data_series=place if there is not None else None),
                    name,
                ),
            )
            for place, name in enumerate(names)
            if there is None or name in there
        ),
        class_="chips",
    )


def _claims(claims: Sequence[Claim], readings: Sequence[Tally]) -> Html:
    rows = [
        [
            claim.id,
            f"{claim.text} (Fig. {claim.figure})",
            claim.verdict,
            counts(claim),
            *(_effect(one) for one in (weakest(claim), strongest(claim))),
            claim.seeds,
        ]
        for claim in claims
    ]
    head = (
        "",
        "Claim",
        "Verdict",
        "Holds / fails / undecided",
        "Weakest effect",
        "Strongest effect",
        "Seeds",
    )
    return together(
        element("div", table("The paper's claims", head, rows), class_="claims"),
        element("h3", "Why, where a claim does not hold throughout"),
        element("dl", ([element("dt", one.id), element("dd", one.why)] for one in claims if one.why)),
        element("h3", "Recompute"),
        element("pre", "\n".join(claim.command for claim in claims)),
        (
            folded(
                f"{claim.id}: {len(claim.comparisons)} comparisons",
                table(
                    f"Comparisons of {claim.id}",
                    COMPARISON_HEAD,
                    [_comparison(one) for one in claim.comparisons],
                ),
            )
            for claim in claims
        ),
        folded(
            "Who against whom, task by task",
            table(
                "Comparisons that hold, fail and are undecided, by pairs of schemes",
                ("Claim", "Claimed to be better", "Than", "In", *TASKS, "All"),
                [
                    [one.claim, one.better, one.other, one.quantity]
                    + [one.counts(task) for task in (*TASKS, None)]
                    for one in pairs(claims)
                ],
            ),
        ),
        folded(
            "C2 to C4, by how energy is read",
            table(
                "How comparisons come out, by how energy up to a target is read",
                ("Claim", "Energy up to a target", "Holds", "Fails", "Undecided"),
                [[one.claim, one.energy, one.holds, one.fails, one.undecided] for one in readings],
            ),
        ),
    )


def _effect(one: Comparison | None) -> Html | None:
    """An effect with its interval, and of what."""
    if one is None:
        return None
    return together(
        element("span", one.shown, class_="effect"), " ", element("span", one.label, class_="small")
    )


COMPARISON_HEAD = (
    "Partition",
    "Task",
    "First",
    "Second",
    "Measure",
    "Effect",
    "From",
    "To",
    "Seeds",
    "Missed by first",
    "By second",
    "State",
)


def _comparison(one: Comparison) -> list[Cell]:
    return [
        one.partition,
        one.task,
        one.first,
        one.second,
        one.measure if one.judged else f"{one.measure} (not judged)",
        one.effect.mean,
        *one.ends,
        one.effect.n,
        one.first_censored,
        one.second_censored,
        one.state,
    ]


def _curve_plots(gathered: StudyOutcomes) -> Html:
    partitions = [(str(k), PARTITION_NAMES[name]) for k, name in enumerate(gathered.study.partitions)]
    return together(
        element(
            "div",
            choice("partition", "Partition", partitions),
            choice("axis", "Against", [("aggregation", "aggregations"), ("energy", "energy")]),
            class_="controls",
        ),
        _plots(
            "curves",
            "Test accuracy; energy is that of devices and base station. Dotted: targets of the energy ratios.",
            "Accuracy of {}",
        ),
    )


def _importance_plots() -> Html:
    options = [("accuracy", "accuracy"), ("energy_J", "energy"), ("share", "shares of SGD steps")]
    caption = (
        "Accuracy and energy of a task by its own importance, or the share of all SGD steps that each task gets; "
        "the other tasks have importance 1."
    )
    return together(
        choice("importance", "Show", options), _plots("importance", caption, "By the importance of {}")
    )


def _drift_plots() -> Html:
    options = [("active drift", "computation time, active drift"), ("idle drift", "idle time, idle drift")]
    caption = "Time of each task relative to that without drift, by the drift of one task."
    return together(choice("drift", "Show", options), _plots("drift", caption, "Times by the drift of {}"))


def _plots(name: str, caption: str, label: str) -> Html:
    """A plot a task."""
    return figure(
        element(
            "div",
            (
                element(
                    "div",
                    element("h3", TASK_NAMES[task]),
                    plot(f"{name}-{place}", label.format(TASK_NAMES[task])),
                    data_task=place,
                )
                for place, task in enumerate(TASKS)
            ),
            class_="grid",
        ),
        caption,
    )


def _ratios(ratios: Sequence[Ratio]) -> Html:
    head = (
        "Partition",
        "Task",
        "Target",
        "Scheme",
        "Ratio",
        "From",
        "To",
        "Lowest frequency",
        "From",
        "To",
        "Time",
        "From",
        "To",
        "Seeds",
        "Missed by it",
        "By dma-fl",
    )
    rows: list[list[Cell]] = [
        [
            one.partition,
            one.task,
            f"{one.share:.0%}: {one.target:.3f}" + (" (guessing reaches it)" if one.guessed else ""),
            one.scheme,
            *(exp(end) for side in (one.raw, one.floor, one.time) for end in (side.effect.mean, *side.ends)),
            one.raw.effect.n,
            one.raw.first_censored,
            one.raw.second_censored,
        ]
        for one in ratios
    ]
    return table(
        "Energy to a target over that of dma-fl, the same with every CPU at its lowest frequency, and time",
        head,
        rows,
    )


def _ablation_part(ablation: Sequence[Ablation]) -> Html:
    head = (
        "Task",
        "Plans",
        "At equal energy",
        "Difference",
        "From",
        "To",
        "Final",
        "Difference",
        "Energy [J]",
        "Devices",
        "Steps a job",
        "Samples a job",
        "Seeds",
    )
    rows: list[list[Cell]] = [
        [
            one.task,
            f"{one.quality} + {one.dissimilarity}",
            one.accuracy_at_equal_energy.mean,
            one.equal_energy_difference.mean,
            one.equal_energy_difference.low,
            one.equal_energy_difference.high,
            one.final_accuracy.mean,
            one.final_difference.mean,
            one.energy_J.mean,
            one.devices.mean,
            one.steps.mean,
            one.samples.mean,
            one.final_accuracy.n,
        ]
        for one in ablation
    ]
    caption = "Accuracy for energy of dma-fl, by what its plans are made with."
    return together(_plots("ablation", caption, "Accuracy for energy of {}"), table("Ablation", head, rows))


def _units(counted: UnitsThere) -> Html:
    rows: list[list[Cell]] = [[group, there, wanted] for group, (there, wanted) in counted.items()]
    return table("Runs and plans that are there", ("Group", "There", "Wanted"), rows)
