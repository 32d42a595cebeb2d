"""Damaged files of every kind, each given to the command that reads it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from faults import moments
from faults.bench import Bench, catalogue
from faults.commands import Command, Prepare
from faults.damages import copied, damage
from faults.seen import Seen
from faults.study import tiny_study
from faults.tiny import FEWEST_PROBES, effort
from faults.warm_workers import warm_workers
from faults.works import without_times

Arguments = Callable[[Bench, Path], list[str]]


@dataclass(frozen=True)
class FileKind:
    """Files of one kind: where good ones are, and the command that reads them.

    What follows from a damaged file must be a refusal or a failed check; or else `result` must be as without damage.
    Without a `result`, files that are `checked` must still say the same; of others any content is the user's own word.
    """

    name: str
    template: str
    """Folder of good files, below the bench's `templates`."""
    pattern: str
    command: Arguments
    result: str = ""
    checked: bool = True
    prepare: Prepare | None = None
    environment: bool = False
    """Whether the copy is the cache of the command."""


def _verify_run(bench: Bench, folder: Path) -> list[str]:
    return ["verify", str(folder / "run")]


def _check(bench: Bench, folder: Path) -> list[str]:
    return ["check", str(folder / "scenario.toml"), "--no-data"]


def _resume(bench: Bench, folder: Path) -> list[str]:
    return [*catalogue()["run, 1 worker, fedasync"].start(bench.files, folder), "--resume"]


def _plan(bench: Bench, folder: Path) -> list[str]:
    given = [
        "--measured",
        str(folder / "measured.json"),
        "--data-dir",
        str(bench.files.data),
        *effort("plan"),
    ]
    return ["plan", str(bench.files.scenario), *given, "-o", str(folder / "logs" / "plan.json")]


def _measure(bench: Bench, folder: Path) -> list[str]:
    where = ["-o", str(folder / "measured.json"), "--workers", "1", "--data-dir", str(bench.files.data)]
    return ["measure", str(bench.files.scenario), "--probes", FEWEST_PROBES, *where]


def _sweep(bench: Bench, folder: Path) -> list[str]:
    return catalogue()["sweep, 1"].start(bench.files, folder)


def _reproduce(bench: Bench, folder: Path) -> list[str]:
    return [*catalogue()["reproduce, 1"].start(bench.files, folder), "--cached"]


def _data(bench: Bench, folder: Path) -> list[str]:
    return ["check", str(bench.files.scenario), "--data-dir", str(folder)]


KINDS = (
    FileKind("scenario.toml", "world", "scenario.toml", _check, checked=False),
    FileKind("device table, CSV", "world", "devices.csv", _check, checked=False),
    FileKind("device table, Parquet", "world2", "devices.parquet", _check, checked=False),
    FileKind("channel trace", "world", "gains.csv", _check, checked=False),
    FileKind("mobility trace", "world", "walk.csv", _check, checked=False),
    FileKind("data set", "data", "tiny.npz", _data, checked=False),
    FileKind("plan.json", "plan", "plan.json", lambda bench, folder: ["verify", str(folder / "plan.json")]),
    FileKind(
        "plan.parquet", "plan", "plan.parquet", lambda bench, folder: ["verify", str(folder / "plan.parquet")]
    ),
    FileKind("measured.json", "measured", "measured.json", _plan, checked=False),
    FileKind("manifest.json", "run", "run/manifest.json", _verify_run),
    FileKind("metrics.parquet", "run", "run/metrics.parquet", _verify_run),
    FileKind("periods.parquet", "run", "run/periods.parquet", _verify_run),
    FileKind("running.json", "run", "run/running.json", _verify_run),
    FileKind("models", "run", "run/models/*.safetensors", _verify_run),
    FileKind("plans of a run", "run", "run/plans/*.json", _verify_run),
    FileKind("measured of a run", "run", "run/measured/*.json", _verify_run),
    FileKind("checkpoint state", "halted", "run/checkpoint/*/state.json", _resume, result="run/*.parquet"),
    FileKind("checkpoint arrays", "halted", "run/checkpoint/*/*.npz", _resume, result="run/*.parquet"),
    FileKind("parts", "halted", "run/parts/*/*.parquet", _resume, result="run/*.parquet"),
    FileKind("running part", "halted", "run/parts/*/running.json", _resume, result="run/running.json"),
    FileKind("cache, whole", "cache", "measured/whole/*.json", _measure, "measured.json", environment=True),
    FileKind("cache, parts", "cache parts", "measured/**/*.*", _measure, "measured.json", environment=True),
    FileKind("sweep", "sweep", "sweep/**/*.*", _sweep, result="sweep/sweep.parquet", prepare=warm_workers),
    FileKind(
        "study outcomes", "study", "results/units/*.json", _reproduce, checked=False, prepare=tiny_study
    ),
)


def damaged(bench: Bench, number: int) -> Seen:
    """Damage a file, and give it to the command that reads it."""
    kind = KINDS[number % len(KINDS)]
    dice = bench.dice("corruptions", number)
    seen = Seen(f"corruptions: {kind.name}", f"corruptions {number}: {kind.name}", injected=True)
    template = bench.root / "templates" / kind.template
    with bench.folder("damaged") as folder:
        copied(template, folder)
        chosen = dice.choice(sorted(path for path in folder.glob(kind.pattern) if path.is_file()))
        name = chosen.relative_to(folder)
        what = f"{name}: {damage(chosen, dice)}"
        seen.case += f": {what}"
        environment = {"DMAFL_CACHE_DIR": str(folder)} if kind.environment else {}
        command = Command(kind.command(bench, folder), folder / "logs" / "log", kind.prepare, environment)
        ended = seen.add(command.end(), (0, 1, 2), what)
        if ended.code == 0 and kind.result:
            good = bench.root / "templates" / f"{kind.template}, result"
            seen.wrong += [
                f"{what}: {path.name} differs"
                for path in sorted(good.glob(kind.result))
                if _plain(folder / path.relative_to(good)) != _plain(path)
            ]
        elif ended.code == 0 and kind.checked and not says_the_same(template / name, folder / name):
            seen.wrong.append(f"{what}: accepted")
    return seen


def says_the_same(good: Path, other: Path) -> bool:
    """Whether two files have the same content, whatever their bytes; asked in a process of its own."""
    if other.is_file() and good.read_bytes() == other.read_bytes():
        return True
    pid = os.fork()
    if pid == 0:
        same = False
        try:
            same = _content(good) == _content(other)
        finally:
            os._exit(0 if same else 1)
    return os.waitpid(pid, 0)[1] == 0


def _content(path: Path) -> object:
    if path.suffix == ".json":
        return json.loads(path.read_bytes())
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        return table.to_pydict(), table.schema.metadata
    return path.read_bytes()


def _plain(path: Path) -> bytes | None:
    return without_times(path) if path.is_file() else None


def make_templates(bench: Bench) -> None:
    """Good files of every kind, made by the commands themselves."""
    templates = bench.root / "templates"
    if templates.exists():
        return
    templates.mkdir()
    files = bench.files
    _worlds(templates)
    copied(files.data, templates / "data")
    (templates / "measured").mkdir()
    (templates / "measured" / "measured.json").write_bytes(files.measured.read_bytes())
    (templates / "plan").mkdir()
    for name in ("plan.json", "plan.parquet"):
        given = ["--measured", files.measured, "--data-dir", files.data, *effort("plan")]
        bench.made("plan", files.scenario, *given, "-o", templates / "plan" / name)
    _finished(bench, "run, 1 worker, dma-fl", templates / "run")
    _finished(bench, "run, 1 worker, fedasync", templates / "halted, result")
    _halted(bench, templates / "halted")
    _finished(bench, "sweep, 1", templates / "sweep")
    copied(templates / "sweep", templates / "sweep, result")
    _finished(bench, "reproduce, 1", templates / "study")
    _finished(bench, "measure, 1", templates / "cache, result")
    for name in ("cache", "cache parts"):
        copied(templates / "cache, result" / "cache", templates / name)
    for whole in (templates / "cache parts" / "measured" / "whole").glob("*"):
        whole.unlink()
    copied(templates / "cache, result", templates / "cache parts, result")


def _finished(bench: Bench, name: str, template: Path) -> None:
    work = catalogue()[name]
    template.mkdir()
    ended = bench.command(work, template, logs=bench.root / "logs").end()
    if ended.code != 0:
        raise RuntimeError(f"{name} does not work undisturbed: {ended.code}\n{ended.text}")


def _halted(bench: Bench, template: Path) -> None:
    """A run killed in its middle, with a checkpoint and parts."""
    work = catalogue()["run, 1 worker, fedasync"]
    operations = bench.refer(work).operations
    template.mkdir()
    kill = moments.at_operation(template, operations // 2, moments.signal_to_itself(signal.SIGKILL, False))
    bench.command(work, template, prepare=kill, logs=bench.root / "logs").end()
    if not list(template.glob("run/checkpoint/*/*.npz")):
        raise RuntimeError("a run killed in its middle has left no checkpoint")


def _worlds(templates: Path) -> None:
    """Scenarios with a device table and traces of channel and mobility."""
    import pyarrow.csv
    import pyarrow.parquet

    world, other = templates / "world", templates / "world2"
    for folder in (world, other):
        folder.mkdir()
    rows = [f"{1e9 + i * 1e8:g},{2e9 + i * 1e8:g},{0.1 + i / 100:g}" for i in range(3)]
    (world / "devices.csv").write_text(
        "\n".join(["frequency_min_Hz,frequency_max_Hz,uplink_power_W", *rows, ""])
    )
    gains = [
        f"{way},{device},{i},{1e-7 * (1 + i):g}"
        for way in ("uplink", "downlink")
        for device in range(3)
        for i in range(6)
    ]
    (world / "gains.csv").write_text("\n".join(["direction,device,index,gain", *gains, ""]))
    walk = [f"{device},{i * 50},{20 + 5 * i + device}" for device in range(3) for i in range(5)]
    (world / "walk.csv").write_text("\n".join(["device,time_s,distance_m", *walk, ""]))
    text = SCENARIO_WITH_FILES
    (world / "scenario.toml").write_text(text)
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(world / "devices.csv"), other / "devices.parquet")
    for name in ("gains.csv", "walk.csv"):
        (other / name).write_bytes((world / name).read_bytes())
    (other / "scenario.toml").write_text(text.replace("devices.csv", "devices.parquet"))


SCENARIO_WITH_FILES = """
name = "files"
[fleet]
devices = 3
table = "devices.csv"
[channel]
kind = "trace"
file = "gains.csv"
[mobility]
kind = "trace"
file = "walk.csv"
[tasks.mnist]
slots = 4
"""
