"""`dmafl.compare`: what differs between two runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from math import isnan
from pathlib import Path
from typing import Any

from dmafl.base.errors import ShownAsIs, bad_input, must_be_one_of
from dmafl.base.showing import Rows, counted, html_of, line
from dmafl.experiments.compare.chance import chance_of, without_ratio_at_chance
from dmafl.experiments.compare.curves import Curves, curves_of
from dmafl.experiments.compare.differences import Difference, differences
from dmafl.experiments.compare.effects import Effect, effect
from dmafl.experiments.run.run import Run

INTERVALS = ("mean_accuracy", "final_accuracy", "log_energy_ratio")


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two runs side by side, or two schemes of one run. Effects are the second's against the first's."""

    first: Run
    second: Run
    differences: tuple[Difference, ...]
    """What was run differently."""
    effects: tuple[Effect, ...]
    """What came out differently."""
    note: str = ""
    """Why there are no effects, if there are none."""

    @property
    def differences_table(self) -> Any:
        """`differences` as a pyarrow table: kind, key, first, second."""
        import pyarrow as pa

        kinds = pa.schema([(name, pa.string()) for name in ("kind", "key", "first", "second")])
        return pa.Table.from_pylist([difference._asdict() for difference in self.differences], kinds)

    @property
    def effects_table(self) -> Any:
        """`effects` as a pyarrow table; an interval is three columns: NAME, NAME_half and NAME_n."""
        import pyarrow as pa

        return pa.Table.from_pylist([_row(effect) for effect in self.effects])

    def summary(self) -> Rows:
        """One row per task and pair of schemes: what the second has more, with 95% intervals over seeds."""
        some_at_chance = any(each.at_chance for each in self.effects)
        return Rows.of(
            "Second less first, mean ± half of the 95% interval; energy as a factor, with its interval",
            [
                {
                    "task": each.task,
                    "first": each.first,
                    "second": each.second,
                    "pairs": each.pairs,
                    "accuracy": each.final_accuracy,
                    "mean_accuracy": each.mean_accuracy,
                    "energy_factor": each.energy_ratio[0],
                    "between": _ends(*each.energy_ratio[1:]),
                    "at_accuracy": each.target,
                    **({"at_chance": ", ".join(each.at_chance)} if some_at_chance else {}),
                }
                for each in self.effects
            ],
        )

    def to_pandas(self) -> Any:
        """`summary` as a pandas table."""
        return self.summary().to_pandas()

    def plot(self, path: str | Path | None = None) -> Any:
        """What the second has more, with intervals, as a matplotlib figure; saved in `path` if one is given."""
        figure = import_module("dmafl.reports.figures.comparison").comparison_figure(self)
        return import_module("dmafl.reports.figures.saving").kept(figure, path)

    def _in_short(self) -> str:
        paths = " and ".join(dict.fromkeys((str(self.first.path), str(self.second.path))))
        found = counted(len(self.effects), "effect"), counted(len(self.differences), "difference")
        return ", ".join(part for part in (paths, f"{', '.join(found)} in what was run", self.note) if part)

    def __repr__(self) -> str:
        return line("Comparison", self._in_short())

    def _repr_html_(self) -> str:
        return html_of(f"Comparison: {self._in_short()}", self.summary())


def compare(
    first: Run | str | Path,
    second: Run | str | Path | None = None,
    *,
    schemes: Sequence[str] | None = None,
) -> Comparison:
    """Compare two runs, given as such or as folders: settings, software and data, then accuracy and energy.

    Schemes and tasks that both have are compared, paired by seed where seeds are common. Runs of one scheme each are
    compared whatever the schemes' names are. `schemes` names two schemes that are compared instead, the second with
    the first; then one run is enough.
    """
    if second is None and schemes is None:
        raise bad_input(
            "second", "must be a run, where no schemes are named", ShownAsIs("nothing"), "Add schemes=(A, B)."
        )
    a = first if isinstance(first, Run) else Run(first)
    b = a if second is None else second if isinstance(second, Run) else Run(second)
    different = tuple(differences(a, b))
    curves = curves_of(a), curves_of(b)
    pairs = _pairs_of_schemes(*curves) if schemes is None else [_two(schemes, *curves)]
    effects = effects_of((a, b), curves, pairs)
    return Comparison(a, b, different, effects, "" if effects else _why_none(*curves))


def effects_of(
    runs: tuple[Run, Run], curves: tuple[Curves, Curves], pairs: Sequence[tuple[str, str]]
) -> tuple[Effect, ...]:
    """Of each pair of schemes on each task that both have."""
    chances = {task: chance_of(runs, task) for task in runs[0].scenario.tasks}
    found = []
    for first, second in pairs:
        for task, chance in chances.items():
            if (first, task) in curves[0] and (second, task) in curves[1]:
                before, after = curves[0][first, task], curves[1][second, task]
                one = effect(task, first, second, before, after)
                found.append(without_ratio_at_chance(one, before, after, chance))
    return tuple(found)


def _two(schemes: Sequence[str], a: Curves, b: Curves) -> tuple[str, str]:
    """Two schemes that are named: the first of the first run, the second of the second one."""
    if isinstance(schemes, str) or len(schemes) != 2:
        raise bad_input("schemes", "must be two", schemes, 'Write e.g. ("fedasync", "dma-fl").')
    for name, curves in zip(schemes, (a, b), strict=True):
        must_be_one_of("schemes", name, _schemes(curves))
    return schemes[0], schemes[1]


def _ends(low: float, high: float) -> str:
    return "-" if isnan(low) else f"{low:.3g} to {high:.3g}"


def _pairs_of_schemes(a: Curves, b: Curves) -> list[tuple[str, str]]:
    first, second = _schemes(a), _schemes(b)
    common = [(name, name) for name in first if name in second]
    return common or ([(first[0], second[0])] if len(first) == len(second) == 1 else [])


def _why_none(a: Curves, b: Curves) -> str:
    if not a or not b:
        return "One of the runs has no tests yet: there is nothing to compare."
    if not _pairs_of_schemes(a, b):
        return (
            f"No scheme is in both ({', '.join(_schemes(a))}; {', '.join(_schemes(b))}): there is nothing to compare. "
            "Runs of one scheme each are compared whatever their names are."
        )
    return "No task is in both: there is nothing to compare."


def _schemes(curves: Curves) -> list[str]:
    return list(dict.fromkeys(scheme for scheme, _ in curves))


def _row(effect: Effect) -> dict[str, Any]:
    row: dict[str, Any] = {
        "task": effect.task,
        "first": effect.first,
        "second": effect.second,
        "pairs": effect.pairs,
        "target": effect.target,
        "not_reached": effect.not_reached,
        "at_chance": ", ".join(effect.at_chance),
    }
    for name in INTERVALS:
        value = getattr(effect, name)
        row |= {name: value.mean, f"{name}_half": value.half, f"{name}_n": value.n}
    return row
