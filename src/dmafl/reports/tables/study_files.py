"""What a study says, as files: tables as CSV, JSON and Markdown, curves as Parquet, and a manifest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

from dmafl.base.files import canonical_json, replacing, sha256_of, write_json, write_text
from dmafl.base.version import __version__
from dmafl.experiments.reproduction.design import Study
from dmafl.experiments.reproduction.findings import Findings
from dmafl.experiments.reproduction.outcome import CURVE, DIVERGED, TOTALS, Outcome
from dmafl.experiments.reproduction.pairs import Pair
from dmafl.experiments.reproduction.provenance import Provenance
from dmafl.experiments.reproduction.readings import Tally
from dmafl.experiments.reproduction.verdicts import Claim, Comparison
from dmafl.reports.tables.csv_file import write_csv, write_rows
from dmafl.reports.tables.markdown import markdown, markdown_list
from dmafl.reports.tables.study_ablation import ablation_file_table, ablation_table
from dmafl.reports.tables.study_claims import (
    COUNTS,
    claims_table,
    comparisons_table,
    pairs_table,
    readings_table,
    reasons,
)
from dmafl.reports.tables.study_energy import ratios_table, targets_table
from dmafl.reports.tables.study_runs import RunsThere, rates_table
from dmafl.reports.tables.study_summary import savings_table, why_notes
from dmafl.reports.tables.table import Table

SCHEMA = 1
STUDY_RUN = ("preset", "partition", "scheme", "seed", "quality", "dissimilarity")
SWEPT = ("swept_task", "swept", "swept_value")


def write_tables(findings: Findings, folder: Path) -> None:
    """Claims, readings, ratios and ablation as CSV and Markdown; claims also as JSON and by pairs of schemes."""
    claims = findings.claims
    write_csv(folder / "claims.csv", comparisons_table("Comparisons", claims))
    write_csv(folder / "readings.csv", readings_table(findings.tallies))
    write_csv(folder / "ratios.csv", ratios_table(findings.ratios))
    write_csv(folder / "ablation.csv", ablation_file_table(findings.variants))
    write_json(folder / "claims.json", {"schema": SCHEMA, "claims": [_plain(claim) for claim in claims]})
    write_text(folder / "claims.md", claims_markdown(claims))
    write_text(folder / "why.md", markdown_list(why_notes(claims)) or "Every claim holds.\n")
    write_text(folder / "pairs.md", pairs_markdown(findings.pairs))
    for name, table in (
        ("savings", savings_table(findings.savings)),
        ("rates", rates_table(findings.outcomes)),
        ("readings", _short_readings(findings.tallies)),
        ("ratios", targets_table(findings.ratios)),
        ("ablation", ablation_table(findings.variants)),
    ):
        write_text(folder / f"{name}.md", markdown(table))


def claims_markdown(claims: Sequence[Claim]) -> str:
    """The table of claims, and below it why some do not hold."""
    table = claims_table(claims).joined("Claim", ("id", "figure", "claim"), "{} (Fig. {}) {}")
    why = markdown_list(reasons(claims))
    return markdown(table.without("claim", "figure", "why")) + (f"\n{why}" if why else "")


def pairs_markdown(pairs: Sequence[Pair]) -> str:
    """The table of pairs, with both schemes in one column."""
    table = pairs_table(pairs).joined("Claimed to be better", ("better", "other"), "{} against {}")
    return markdown(table.without("other"))


def _short_readings(tallies: Iterable[Tally]) -> Table:
    """Readings of which there are comparisons, with all three counts in one column."""
    states = ("holds", "fails", "undecided")
    table = readings_table(tally for tally in tallies if tally.comparisons)
    return table.joined(COUNTS, states, "{}/{}/{}").without(*states[1:])


def write_outcomes(outcomes: Iterable[Outcome], folder: Path) -> None:
    """curves.parquet, one row per test; totals.csv, one row per run of the study and task."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = (*STUDY_RUN, *SWEPT, "task")
    columns: dict[str, list[Any]] = {name: [] for name in (*names, *CURVE)}
    totals = []
    for outcome in outcomes:
        for name_of_task, task in outcome.tasks.items():
            about = _about(outcome) | {"task": name_of_task}
            totals.append([*about.values(), *(task.totals[name] for name in TOTALS), task.diverged])
            rows = len(task.curve["accuracy"]) if task.curve else 0
            for name in names:
                columns[name] += [about[name]] * rows
            for name in CURVE if rows else ():
                columns[name] += task.curve[name].tolist()
    kinds = {"seed": pa.int64(), "swept_value": pa.float64(), **dict.fromkeys(CURVE, pa.float32())}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in columns])
    with replacing(folder / "curves.parquet") as part, part.open("wb") as file:
        pq.write_table(pa.table(columns, schema), file, compression="zstd")
    write_rows(folder / "totals.csv", (*names, *TOTALS, DIVERGED), totals)


def write_manifest(
    study: Study, runs_there: RunsThere, provenance: Provenance, figures: Sequence[str], folder: Path
) -> None:
    """What was studied, with what, and how much of it was there."""
    scenarios = {
        partition: study.study_run(partition, "fedasync", study.tuning_seed).scenario().recorded()
        for partition in study.partitions
    }
    content = {
        "schema": SCHEMA,
        "dmafl": __version__,
        "study": {key: _values(value) for key, value in asdict(study).items()},
        "scenario_sha256": {name: sha256_of(canonical_json(plain)) for name, plain in scenarios.items()},
        "units": {group: {"there": there, "wanted": wanted} for group, (there, wanted) in runs_there.items()},
        "versions": dict(provenance.versions),
        "data_sha256": dict(provenance.data),
        "ended_short": list(provenance.ended_short),
        "left_out": list(provenance.diverged_updates),
        "figures": list(figures),
    }
    write_json(folder / "manifest.json", content)


def _about(outcome: Outcome) -> dict[str, Any]:
    """What was run, one value for each of `STUDY_RUN` and `SWEPT`."""
    study_run = outcome.study_run
    swept = study_run.swept if study_run.swept is not None else (None, None, None)
    plain = study_run.plain()
    return {name: plain[name] for name in STUDY_RUN} | dict(zip(SWEPT, swept, strict=True))


def _plain(claim: Claim) -> dict[str, Any]:
    """A claim with its comparisons, for JSON."""
    return {
        "id": claim.id,
        "text": claim.text,
        "figure": claim.figure,
        "verdict": claim.verdict,
        "why": claim.why,
        "command": claim.command,
        "comparisons_wanted": claim.wanted,
        "comparisons_run": len(claim.counted),
        "comparisons": [_plain_comparison(comparison) for comparison in claim.comparisons],
    }


def _plain_comparison(comparison: Comparison) -> dict[str, Any]:
    low, high = comparison.ends
    return {
        "partition": comparison.partition,
        "task": comparison.task,
        "first": comparison.first,
        "second": comparison.second,
        "measure": comparison.measure,
        "effect": _finite(comparison.effect.mean),
        "effect_low": _finite(low),
        "effect_high": _finite(high),
        "seeds": comparison.effect.n,
        "claimed": [_finite(end) for end in comparison.claimed],
        "state": comparison.state,
        "judged": comparison.judged,
        "first_censored": comparison.first_censored,
        "second_censored": comparison.second_censored,
    }


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _values(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
