"""What a study says, as files: tables as CSV, JSON and Markdown, curves as Parquet, and a manifest."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

from dmafl.base.files import canonical_json, replacing, sha256_of, write_json, write_text
from dmafl.base.version import __version__
from dmafl.experiments.reproduction.ablation import Ablation
from dmafl.experiments.reproduction.design import Study
from dmafl.experiments.reproduction.outcome import CURVE, DIVERGED, TOTALS, Outcome
from dmafl.experiments.reproduction.pairs import pairs
from dmafl.experiments.reproduction.readings import Tally
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.experiments.reproduction.targets import Ratio
from dmafl.experiments.reproduction.verdicts import Claim
from dmafl.reports.tables.study_markdown import (
    ablation_markdown,
    claims_markdown,
    pairs_markdown,
    rates_markdown,
    ratios_markdown,
    readings_markdown,
)
from dmafl.reports.terminal.study_tables import Row, ablation_rows, claim_rows, effect_columns, ratio_rows

SCHEMA = 1
UNIT = ("preset", "partition", "scheme", "seed", "quality", "dissimilarity")
SWEPT = ("swept_task", "swept", "swept_value")


def write_tables(
    gathered: StudyOutcomes,
    claims: Sequence[Claim],
    tallies: Sequence[Tally],
    ratios: Sequence[Ratio],
    ablation: Sequence[Ablation],
    folder: Path,
) -> None:
    """claims, readings, ratios and ablation, each as CSV and Markdown; claims also as JSON and by pairs of schemes."""
    write_csv(folder / "claims.csv", claim_rows(claims))
    write_csv(folder / "readings.csv", [asdict(one) for one in tallies])
    write_csv(folder / "ratios.csv", ratio_rows(ratios))
    write_csv(folder / "ablation.csv", ablation_rows(ablation))
    write_json(folder / "claims.json", {"schema": SCHEMA, "claims": [_plain(claim) for claim in claims]})
    write_text(folder / "claims.md", claims_markdown(claims))
    write_text(folder / "pairs.md", pairs_markdown(pairs(claims)))
    write_text(folder / "rates.md", rates_markdown(gathered))
    write_text(folder / "readings.md", readings_markdown(tallies))
    write_text(folder / "ratios.md", ratios_markdown(ratios))
    write_text(folder / "ablation.md", ablation_markdown(ablation))


def write_outcomes(outcomes: Iterable[Outcome], folder: Path) -> None:
    """curves.parquet, a row a test; totals.csv, a row a unit and task."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    units, names = list(outcomes), (*UNIT, *SWEPT, "task")
    columns: dict[str, list[Any]] = {name: [] for name in (*names, *CURVE)}
    totals = []
    for outcome in units:
        for task, one in outcome.tasks.items():
            about = _about(outcome) | {"task": task}
            totals.append(about | {name: one.totals[name] for name in TOTALS} | {DIVERGED: one.diverged})
            rows = len(one.curve["accuracy"]) if one.curve else 0
            for name in names:
                columns[name] += [about[name]] * rows
            for name in CURVE if rows else ():
                columns[name] += one.curve[name].tolist()
    kinds = {"seed": pa.int64(), "swept_value": pa.float64(), **dict.fromkeys(CURVE, pa.float32())}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in columns])
    with replacing(folder / "curves.parquet") as part, part.open("wb") as file:
        pq.write_table(pa.table(columns, schema), file, compression="zstd")
    write_csv(folder / "totals.csv", totals)


def write_manifest(
    study: Study,
    counted: Mapping[str, tuple[int, int]],
    versions: Mapping[str, Sequence[str]],
    data: Mapping[str, Sequence[str]],
    short: Sequence[str],
    left_out: Sequence[str],
    figures: Sequence[str],
    folder: Path,
) -> None:
    """What was studied, with what, and how much of it was there: `counted` has units there and wanted, by group.

    `short` names runs that ended before their last aggregation, `left_out` those with models that were not finite.
    """
    scenarios = {
        partition: study.study_run(partition, "fedasync", study.tuning_seed).scenario().plain()
        for partition in study.partitions
    }
    content = {
        "schema": SCHEMA,
        "dmafl": __version__,
        "study": {key: _values(value) for key, value in asdict(study).items()},
        "scenario_sha256": {name: sha256_of(canonical_json(one)) for name, one in scenarios.items()},
        "units": {group: {"there": there, "wanted": wanted} for group, (there, wanted) in counted.items()},
        "versions": dict(versions),
        "data_sha256": dict(data),
        "ended_short": list(short),
        "left_out": list(left_out),
        "figures": list(figures),
    }
    write_json(folder / "manifest.json", content)


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Rows with the same keys; what is not a finite number is left empty."""
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    write_text(path, text.getvalue())


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.6g}" if isfinite(value) else ""
    return value


def _about(outcome: Outcome) -> Row:
    unit = outcome.study_run
    task, quantity, value = unit.swept if unit.swept is not None else (None, None, None)
    plain = unit.plain()
    return {name: plain[name] for name in UNIT} | {
        "swept_task": task,
        "swept": quantity,
        "swept_value": value,
    }


def _plain(claim: Claim) -> Row:
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
        "comparisons": [
            {
                "partition": one.partition,
                "task": one.task,
                "first": one.first,
                "second": one.second,
                "measure": one.measure,
                **{key: _finite(value) for key, value in effect_columns(one).items()},
                "claimed": [_finite(end) for end in one.claimed],
                "state": one.state,
                "judged": one.judged,
                "first_censored": one.first_censored,
                "second_censored": one.second_censored,
            }
            for one in claim.comparisons
        ],
    }


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _values(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
