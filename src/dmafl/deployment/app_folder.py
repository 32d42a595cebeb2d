"""The folder of an app that `flwr run` takes: a project file, and modules that call this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import tomlkit

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files import write_bytes
from dmafl.base.version import __version__

Setting = str | int | float | bool
NAME, PACKAGE, PUBLISHER = "dmafl-app", "dmafl_app", "dmafl"
SETTINGS: Mapping[str, Setting] = {
    "scenario": "",
    "output": "",
    "scheme": "",
    "plan": "",
    "resume": False,
    "start-with": 0,
    "wait-s": 0.0,
    "deadline-s": 0.0,
    "poll-s": 0.0,
    "look-s": 0.0,
    "effort": 0.0,
    "data-dir": "",
}
"""What `dmafl.deployment.real_run` reads; empty texts and zeros stand for what is usual."""
_CLIENT = '''"""The app of a device."""

from dmafl.deployment.client_app import client_app

app = client_app({tasks!r})
'''
_SERVER = '''"""The app of the server."""

from dmafl.deployment.server_app import server_app

app = server_app()
'''


def write_app(folder: str | Path, tasks: Sequence[str], config: Mapping[str, Setting]) -> Path:
    """Write the app for these tasks into `folder`, with its settings; `flwr run FOLDER` takes it."""
    unknown = sorted(set(config) - set(SETTINGS))
    if unknown:
        rule = "must be one of " + ", ".join(SETTINGS)
        raise bad_input("settings of an app", rule, ShownAsIs(unknown[0]), "Leave it out.")
    folder = Path(folder)
    files = {
        "pyproject.toml": _project({**SETTINGS, **config}),
        "LICENSE": "Apache-2.0, as the package dmafl: https://www.apache.org/licenses/LICENSE-2.0\n",
        f"{PACKAGE}/__init__.py": '"""Calls the installed package dmafl."""\n',
        f"{PACKAGE}/client_app.py": _CLIENT.format(tasks=tuple(tasks)),
        f"{PACKAGE}/server_app.py": _SERVER,
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_bytes(folder / name, content.encode())
    return folder


def _project(config: Mapping[str, Setting]) -> str:
    return tomlkit.dumps(
        {
            "build-system": {"requires": ["hatchling"], "build-backend": "hatchling.build"},
            "project": {
                "name": NAME,
                "version": __version__,
                "description": "Asynchronous federated learning of several models.",
                "license": {"file": "LICENSE"},
                "dependencies": [],
            },
            "tool": {
                "hatch": {"build": {"targets": {"wheel": {"packages": [PACKAGE]}}}},
                "flwr": {
                    "app": {
                        "publisher": PUBLISHER,
                        "components": {
                            "serverapp": f"{PACKAGE}.server_app:app",
                            "clientapp": f"{PACKAGE}.client_app:app",
                        },
                        "config": dict(config),
                    }
                },
            },
        }
    )
