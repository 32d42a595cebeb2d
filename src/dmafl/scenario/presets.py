"""The three ready-made scenarios. docs/presets.md gives the reason for every value the paper leaves open."""

from __future__ import annotations

import difflib
from functools import cache
from typing import Any

from dmafl.base.errors import bad_input
from dmafl.scenario.model import Fleet, Objective, Scenario, Task, Theory, constant, uniform

NAMES = ("paper", "phone", "demo")


@cache
def ready_made(name: str) -> Scenario:
    """The preset `name` as a complete scenario."""
    makers = {"paper": _paper, "phone": _phone, "demo": _demo}
    if name not in makers:
        near = difflib.get_close_matches(str(name), NAMES, n=1)
        raise bad_input(
            "preset",
            "must be one of 'paper', 'phone' or 'demo'",
            name,
            f"Did you mean {near[0]!r}?" if near else "Choose one of these.",
        )
    return makers[name]()


def _paper() -> Scenario:
    """Table II of the paper; clocks of 1-30 MHz, since its capacitances make a GHz cost hundreds of joules."""
    settings: dict[str, Any] = {
        "bits_per_parameter": 4096.0,
        "cycles_per_sample": uniform(500.0, 5000.0),
        "max_staleness": 5,
        "proximal": 1.0,
    }
    return Scenario(
        name="paper",
        preset="paper",
        fleet=Fleet(
            capacitance_Js2=uniform(2e-22, 2e-19),
            frequency_min_Hz=constant(1e6),
            frequency_max_Hz=constant(3e7),
            battery_J=constant(1.5e5),
        ),
        objective=Objective(quality_weight_sharp=200.0, quality_weight_calibrated=200.0),
        theory=Theory(gradient_bound=2.0, regularised_gradient_bound=5.0, weak_convexity=1.0),
        tasks=_tasks(
            svhn={"window_s": constant(2e5), "idle_max_s": 200.0, **settings},
            small_images={"window_s": constant(8e3), "idle_max_s": 4.0, **settings},
        ),
    )


def _phone() -> Scenario:
    """Phones of today: 32-bit parameters, clocks of 0.1-2 GHz, cycles from each model's FLOPs."""
    return Scenario(
        name="phone",
        preset="phone",
        fleet=Fleet(battery_J=constant(1e4)),
        tasks=_tasks(
            svhn={"window_s": constant(2e4), "idle_max_s": 10.0, "mix_decay": 20.0},
            small_images={"window_s": constant(600.0), "idle_max_s": 0.5, "mix_decay": 20.0},
        ),
    )


def _tasks(svhn: dict[str, Any], small_images: dict[str, Any]) -> dict[str, Task]:
    """The paper's three tasks: a CNN on SVHN, softmax regression on MNIST and Fashion-MNIST, set alike."""
    return {
        "svhn": Task(dataset="svhn", model="cnn", slots=100, samples=2000, **svhn),
        "mnist": Task(slots=200, **small_images),
        "fashion_mnist": Task(dataset="fashion_mnist", slots=200, **small_images),
    }


def _demo() -> Scenario:
    """`phone`, shorter, on the data that comes with the package."""
    phone = _phone()
    sizes = {"slots": 60, "samples": 500}
    svhn, mnist, fashion = phone.tasks.values()
    return phone.model_copy(
        update={
            "name": "demo",
            "preset": "demo",
            "tasks": {
                "street_digits": svhn.model_copy(
                    update={
                        **sizes,
                        "slots": 30,
                        "learning_rate": 0.1,
                        "dataset": "street_digits",
                        "window_s": constant(8e3),
                    }
                ),
                "mnist": mnist.model_copy(update={**sizes, "window_s": constant(200.0)}),
                "fashion_mnist": fashion.model_copy(update={**sizes, "window_s": constant(200.0)}),
            },
        }
    )
