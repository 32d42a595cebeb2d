"""`dmafl deploy run` and `simulate`: a run on the devices of a server, or in Flower's simulation engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dmafl.base.errors import visible
from dmafl.cli.completion import offer
from dmafl.cli.report_command import HOST, Host, Port, Serve, must_be_served, served, write_served
from dmafl.cli.shared import (
    AsCsv,
    AsJson,
    DataDir,
    Effort,
    ScenarioArgument,
    one_thread,
    printer,
    run_folder,
    say_data,
)
from dmafl.cli.stopping import Stopped
from dmafl.schemes.registry import NAMES

ENDED_EARLY = 1
Scheme = Annotated[
    str | None,
    typer.Option(
        help=f"One of {', '.join(NAMES)}. Without: the one that carries out the plan, or fedasync.",
        autocompletion=offer(*NAMES),
    ),
]
PlanFile = Annotated[
    Path | None, typer.Option("--plan", help="A plan for dma-fl, or a list of jobs for scheduled.")
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Folder of the run. [default: runs/NAME]")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")]


def run(
    scenario: ScenarioArgument,
    scheme: Scheme = None,
    plan: PlanFile = None,
    output: Output = None,
    resume: Resume = False,
    start_with: Annotated[
        int, typer.Option(help="Begin when so many devices are there; 0: all of the scenario.", min=0)
    ] = 0,
    wait_s: Annotated[
        float, typer.Option(help="Wait so long for them [s], then begin with those that are there.", min=0.0)
    ] = 300.0,
    deadline_s: Annotated[
        float, typer.Option(help="A job is void after so long [s], wherever it is then.", min=1.0)
    ] = 600.0,
    poll_s: Annotated[
        float, typer.Option(help="How often the server looks for replies [s].", min=0.05)
    ] = 0.5,
    effort: Effort = 30.0,
    data_dir: DataDir = None,
    folder: Annotated[
        Path, typer.Option("--folder", help="The folder of the server, as for `dmafl deploy server`.")
    ] = Path("deployment"),
    only_print: Annotated[
        bool, typer.Option("--print", help="Write the app, print the command that runs it, and do no more.")
    ] = False,
    serve: Serve = False,
    port: Port = None,
    host: Host = HOST,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Run a scheme on the devices of a server of this machine; a run that is killed goes on with --resume."""
    one_thread()
    from dmafl.deployment.app_folder import Setting, write_app
    from dmafl.deployment.launch import Failed, Launch, app_path, start_command
    from dmafl.deployment.real_run import check, real_run_of
    from dmafl.deployment.run_log import log_of
    from dmafl.hosting.extra import need
    from dmafl.hosting.flower import shown
    from dmafl.hosting.layout import Layout
    from dmafl.reports.terminal.run_table import outcome_table

    must_be_served(serve, port, host)
    out = printer(as_json, as_csv)
    config: dict[str, Setting] = {
        **_config(scenario, scheme, plan, data_dir, effort),
        "start-with": start_with,
        "wait-s": wait_s,
        "deadline-s": deadline_s,
        "poll-s": poll_s,
    }
    asked = real_run_of({**config, "output": str(output or "")})
    check(asked)
    where = run_folder(output, asked.scenario.name)
    config["output"] = str(where.resolve())
    layout, tasks = Layout(folder), list(asked.scenario.tasks)
    if only_print:
        write_app(app_path(layout), tasks, {**config, "resume": resume})
        typer.echo(shown([start_command(layout)]))
        return
    need()
    say_data(out, asked.scenario, data_dir)
    try:
        with served(serve, where, host, port, out, asked.scenario) as page:
            done = Launch(layout, where.resolve(), tasks, config, out.note).carry_out(resume)
            write_served(page, where, out)
    except Failed as why:
        out.note(f"The run has ended early: {why}. Its log: {log_of(where)}; --resume goes on.")
        raise typer.Exit(ENDED_EARLY) from None
    except (KeyboardInterrupt, Stopped):
        raise Stopped(f"go on with --resume and -o {visible(str(where))}") from None
    out.print(outcome_table(done.metrics))
    out.note(f"Metrics, periods and models: {where}; log: {log_of(where)}")
    out.finish()


def simulate(
    scenario: ScenarioArgument,
    scheme: Scheme = None,
    plan: PlanFile = None,
    output: Output = None,
    resume: Resume = False,
    cpus: Annotated[
        float, typer.Option(help="Processors of a device: so many of them train at once.", min=0.1)
    ] = 1.0,
    effort: Effort = 30.0,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """The same app in Flower's simulation engine: one virtual device for each of the scenario, in real time."""
    one_thread()
    from dmafl.deployment.flower_simulation import need_engine, simulate_on_flower
    from dmafl.deployment.real_run import check, real_run_of
    from dmafl.reports.terminal.run_table import outcome_table

    out = printer(as_json, as_csv)
    config = _config(scenario, scheme, plan, data_dir, effort)
    asked = real_run_of({**config, "output": str(output or ""), "resume": resume})
    check(asked)
    where = run_folder(output, asked.scenario.name)
    need_engine()
    say_data(out, asked.scenario, data_dir)
    try:
        done = simulate_on_flower(replace(asked, output=where), scenario, cpus)
    except (KeyboardInterrupt, Stopped):
        raise Stopped(f"go on with --resume and -o {visible(str(where))}") from None
    out.print(outcome_table(done.metrics))
    out.note(f"Metrics, periods and models: {where}")
    out.finish()


def _config(
    scenario: Path, scheme: str | None, plan: Path | None, data_dir: str | Path | None, effort: float
) -> dict[str, str | int | float | bool]:
    """What both commands tell the app, with whole paths: the app is started elsewhere."""
    return {
        "scenario": str(scenario.resolve()),
        "scheme": scheme or "",
        "plan": str(plan.resolve()) if plan is not None else "",
        "effort": effort,
        "data-dir": str(Path(data_dir).resolve()) if data_dir is not None else "",
    }
