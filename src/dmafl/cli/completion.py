"""What a shell offers for options that take a name. Names are repeated here, so that no heavy module is loaded."""

from __future__ import annotations

from collections.abc import Callable

PRESETS = ("paper", "phone", "demo")
SOLVERS = ("auto", "sca", "exhaustive")
QUALITIES = ("calibrated", "sharp", "printed")
DISSIMILARITIES = ("gram", "diagonal")
TRACKERS = ("tensorboard", "mlflow", "wandb")
EXECUTORS = ("local", "ray", "slurm")
DATA = ("mnist", "fashion_mnist", "svhn")


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
