"""`dmafl deploy keys`, `server`, `device`, `status` and `stop`: thin wrappers of Flower's programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.cli import deploy_run_command
from dmafl.cli.completion import DEPLOYMENT, keys_here, running_here
from dmafl.cli.shared import AsCsv, AsJson, printer
from dmafl.hosting.extra import need

if TYPE_CHECKING:
    from dmafl.hosting.device import Setting
    from dmafl.hosting.layout import Layout

app = typer.Typer(
    help="Real devices, by way of Flower: keys, a server, devices, runs. Needs the extra deploy.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Folder = Annotated[
    Path, typer.Option("--folder", help="Where keys, certificates, logs and Flower's settings lie.")
]
OnlyPrint = Annotated[
    bool, typer.Option("--print", help="Print the commands that this stands for, and do nothing.")
]
Insecure = Annotated[
    bool, typer.Option("--insecure", help="Plain text, no proof of identity; on this machine alone.")
]
FOLDER = Path(DEPLOYMENT)
SERVER = "127.0.0.1:9092"


@app.command()
def keys(
    host: Annotated[
        list[str] | None,
        typer.Option("--host", help="Name or IP address by which devices reach the server. Repeat for more."),
    ] = None,
    device: Annotated[
        list[str] | None, typer.Option("--device", help="Name of a device. Repeat for more.")
    ] = None,
    folder: Folder = FOLDER,
    force: Annotated[
        bool, typer.Option("--force", help="Make new keys in place of those there; the authority stays.")
    ] = False,
    only_print: OnlyPrint = False,
) -> None:
    """Make the server's certificate and its authority (--host), and keys of devices (--device)."""
    from dmafl.hosting.keys import make_device_keys, make_server_certificate
    from dmafl.hosting.layout import Layout, check_device
    from dmafl.hosting.openssl import commands

    if not host and not device:
        raise bad_input(
            "--host, --device",
            "must name a server or a device",
            ShownAsIs("neither"),
            "Write --host with the address of the server, --device with the name of a device, or both.",
        )
    layout = Layout(folder)
    for name in device or ():
        check_device(name)
    if only_print:
        typer.echo(commands(layout, host or [], device or []))
        return
    need()
    written = make_server_certificate(layout, host, force) if host else []
    written += make_device_keys(layout, device, force) if device else []
    out = printer(False, False)
    for path in written:
        out.note(f"Wrote {path}")
    if device:
        out.note("Private keys (without .pub) stay on their devices; the server needs the .pub files.")


@app.command()
def server(
    address: Annotated[str, typer.Option("--address", help="Where to listen, HOST:PORT.")] = SERVER,
    folder: Folder = FOLDER,
    insecure: Insecure = False,
    only_print: OnlyPrint = False,
) -> None:
    """Run the server: a SuperLink that goes on after it was killed, and what starts runs on it."""
    from dmafl.hosting.addresses import parse
    from dmafl.hosting.flower import shown
    from dmafl.hosting.layout import Layout
    from dmafl.hosting.server import Server, serve, setting_up

    asked = Server(Layout(folder), parse("--address", address), insecure)
    if only_print:
        typer.echo(f"{setting_up(asked)}\n{shown(asked.commands)}")
        return
    need()
    out = printer(False, False)
    if insecure:
        out.note("Plain text, and any device is let in: on this machine alone, to try things out.")
    elif not asked.address.loopback:
        out.note(
            "Note: whoever reaches this address and has ca.crt can start runs. Let devices reach the paths "
            "/v1/fleet/ alone: docs/deploy.md has the lines for a reverse proxy."
        )
    serve(asked, out.note)
    out.note("The server has ended.")


@app.command()
def device(
    name: Annotated[
        str,
        typer.Argument(help="Its name, as in `dmafl deploy keys --device`.", autocompletion=keys_here),
    ],
    data: Annotated[
        str, typer.Option("--data", help="Its data: a folder with TASK.npz, or module:function.")
    ],
    server: Annotated[str, typer.Option("--server", help="Where the server is reached, HOST:PORT.")] = SERVER,
    models: Annotated[
        str | None, typer.Option("--models", help="module:function for models of your own.")
    ] = None,
    tasks: Annotated[
        str | None, typer.Option("--tasks", help="Take part in these tasks alone, with commas between.")
    ] = None,
    max_steps: Annotated[
        int | None, typer.Option("--max-steps", help="Most gradient steps of a job.", min=1)
    ] = None,
    max_batch: Annotated[
        int | None, typer.Option("--max-batch", help="Most samples of a step.", min=1)
    ] = None,
    max_parameters: Annotated[
        int | None, typer.Option("--max-parameters", help="Largest model, in parameters.", min=1)
    ] = None,
    share_labels: Annotated[
        bool,
        typer.Option("--share-labels", help="Tell the server how many samples of which label there are."),
    ] = False,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="KEY=VALUE for the device's app. Repeat for more.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", help="Its private key. [default: keys/NAME in the folder]")
    ] = None,
    ca: Annotated[
        Path | None,
        typer.Option(
            "--ca", help="The authority's certificate. [default: certificates/ca.crt in the folder]"
        ),
    ] = None,
    folder: Folder = FOLDER,
    tries: Annotated[
        int, typer.Option("--tries", help="Give up after so many starts in vain; 0: never.", min=0)
    ] = 0,
    insecure: Insecure = False,
    only_print: OnlyPrint = False,
) -> None:
    """Connect this machine as a device, and again whenever it is refused or dies."""
    from dmafl.hosting.addresses import parse
    from dmafl.hosting.device import Device, attend
    from dmafl.hosting.flower import shown
    from dmafl.hosting.layout import Layout

    limits = {"max-steps": max_steps, "max-batch": max_batch, "max-parameters": max_parameters}
    given: dict[str, Setting | None] = {"data": _data(data), "models": models, "tasks": tasks, **limits}
    settings = {name: value for name, value in given.items() if value is not None}
    if share_labels:
        settings["share-labels"] = True
    settings |= dict(map(_setting, setting or ()))
    asked = Device(
        Layout(folder), name, parse("--server", server), settings, key=key, ca=ca, insecure=insecure
    )
    if only_print:
        typer.echo(shown([asked.command]))
        return
    need()
    out = printer(False, False)
    attend(asked, out.note, tries)
    out.note(f"Device {name} has ended.")


@app.command()
def status(folder: Folder = FOLDER, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """Say what runs on this machine, and, on the server's, which devices it knows and which runs it has."""
    need()
    from dmafl.hosting.overview import overview
    from dmafl.reports.terminal.deployment_tables import print_overview

    out = printer(as_json, as_csv)
    print_overview(out, overview(_there(folder)))
    out.finish()


@app.command()
def stop(
    name: Annotated[
        list[str] | None,
        typer.Argument(
            help="`server`, or names of devices; all if none is named.", autocompletion=running_here
        ),
    ] = None,
    folder: Folder = FOLDER,
) -> None:
    """End the server or devices that run on this machine out of this folder."""
    from dmafl.hosting import records

    layout = _there(folder)
    found = records.records(layout)
    names = {record.name for record in found}
    for wanted in name or ():
        if wanted not in names:
            known = ", ".join(sorted(names)) or "none"
            raise bad_input("NAME", "must be one that runs here", wanted, f"There are: {known}.")
    out = printer(False, False)
    ended = [record.name for record in found if (not name or record.name in name) and records.stop(record)]
    records.forget(layout)
    out.note("\n".join(f"Ended: {each}" for each in ended) or "Nothing runs here.")


app.command()(deploy_run_command.run)
app.command()(deploy_run_command.simulate)


def _there(folder: Path) -> Layout:
    from dmafl.hosting.layout import Layout

    if not folder.is_dir():
        raise bad_input(
            "--folder", "must be the folder of a deployment", str(folder), "`dmafl deploy keys` makes one."
        )
    return Layout(folder)


def _data(text: str) -> str:
    """A folder, with its whole path, or module:function as it stands."""
    if Path(text).is_dir():
        return str(Path(text).resolve())
    module, colon, function = text.partition(":")
    if colon and function.isidentifier() and all(part.isidentifier() for part in module.split(".")):
        return text
    raise bad_input(
        "--data",
        "must be a folder that is there, or module:function",
        text,
        "Write e.g. --data data/ or my_data:load.",
    )


def _setting(text: str) -> tuple[str, Setting]:
    """`slower=10.0` as a name and a value."""
    name, equals, value = text.partition("=")
    if not equals or not name.replace("-", "_").isidentifier() or not value:
        raise bad_input("--set", "must be KEY=VALUE", text, "Write e.g. --set slower=10.0.")
    if value in ("true", "false"):
        return name, value == "true"
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value
