"""Reading what is there of a study."""

from __future__ import annotations

from collections.abc import Iterable

from dmafl.experiments.reproduction.design import Study
from dmafl.experiments.reproduction.outcome import Outcome
from dmafl.experiments.reproduction.results import Results
from dmafl.experiments.reproduction.study_run import StudyRun


def key_of(results: Results, study_run: StudyRun) -> str:
    """The key of a run of the study; constants that it plans with must be measured."""
    if not study_run.planned:
        return study_run.key("")
    return study_run.key(results.measured_key(study_run.preset, study_run.partition))


def kept_outcomes(
    study: Study, results: Results, groups: Iterable[str] | None = None
) -> tuple[list[Outcome], int]:
    """The outcomes that are there, and how many are missing."""
    there, missing = [], 0
    for group in study.groups if groups is None else groups:
        for study_run in study.study_runs(group):
            outcome = _find(results, study_run)
            if outcome is not None:
                there.append(outcome)
            else:
                missing += 1
    return there, missing


def _find(results: Results, study_run: StudyRun) -> Outcome | None:
    if study_run.planned and not results.measured_file(study_run.preset, study_run.partition).exists():
        return None
    return results.find(key_of(results, study_run), study_run)
