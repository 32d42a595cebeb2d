"""What a shell offers for options that take a name. Names are repeated here, so that no heavy module is loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

PRESETS = ("paper", "phone", "demo")
SOLVERS = ("auto", "sca", "exhaustive")
QUALITIES = ("calibrated", "sharp", "printed")
DISSIMILARITIES = ("gram", "diagonal")
TRACKERS = ("tensorboard", "mlflow", "wandb")
EXECUTORS = ("local", "ray", "slurm")
DATA = ("mnist", "fashion_mnist", "svhn")


DEPLOYMENT = "deployment"
"""The folder of `dmafl deploy` where none is named."""


def offer(*names: str) -> Callable[[str], list[str]]:
    """A completion that offers those of `names` that begin as typed."""

    def begin_with(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return begin_with


def offer_several(*names: str) -> Callable[[str], list[str]]:
    """The same for names with commas between: the last one is completed, with those before it."""

    def begin_with(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        there = before.split(",")
        return [f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in there]

    return begin_with


def keys_here(ctx: Any, incomplete: str) -> list[str]:
    """The devices whose private keys lie in the folder of a deployment."""
    keys = (Path(ctx.params.get("folder") or DEPLOYMENT) / "keys").glob("*")
    return sorted(path.name for path in keys if path.suffix != ".pub" and path.name.startswith(incomplete))


def running_here(ctx: Any, incomplete: str) -> list[str]:
    """The server and the devices that run out of the folder of a deployment."""
    running = (Path(ctx.params.get("folder") or DEPLOYMENT) / "running").glob("*/process.json")
    names = {path.parent.name.removeprefix("device-") for path in running}
    return sorted(name for name in names if name.startswith(incomplete))
