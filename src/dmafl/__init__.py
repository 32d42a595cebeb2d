"""DMA-FL: plan, simulate, compare and deploy asynchronous multi-model federated learning over wireless networks.

Scenario -> Plan -> Run -> Report. Names below are loaded when first used, so that `import dmafl` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dmafl.version import __version__

if TYPE_CHECKING:
    from dmafl.comparing.compare import Comparison, compare
    from dmafl.errors import BadInput
    from dmafl.measuring.measure import measure
    from dmafl.measuring.measured import Measured, read_measured, write_measured
    from dmafl.pages.report import report
    from dmafl.planning.make import plan
    from dmafl.plans.files import read_plan, write_plan
    from dmafl.plans.plan import Plan
    from dmafl.plans.verify import verify_plan
    from dmafl.reports.timeline_picture import draw_timeline
    from dmafl.runs.run import Run, run
    from dmafl.runs.verify import verify_run
    from dmafl.scenario.model import Scenario
    from dmafl.scenario.presets import preset
    from dmafl.scenario.toml import load, save
    from dmafl.schedule.build import round_robin
    from dmafl.schedule.jobs import Schedule
    from dmafl.sweeps.sweep import Sweep, sweep
    from dmafl.world.world import World

_HOMES = {
    "BadInput": "dmafl.errors",
    "Comparison": "dmafl.comparing.compare",
    "Measured": "dmafl.measuring.measured",
    "Run": "dmafl.runs.run",
    "Plan": "dmafl.plans.plan",
    "Scenario": "dmafl.scenario.model",
    "Schedule": "dmafl.schedule.jobs",
    "Sweep": "dmafl.sweeps.sweep",
    "World": "dmafl.world.world",
    "compare": "dmafl.comparing.compare",
    "draw_timeline": "dmafl.reports.timeline_picture",
    "load": "dmafl.scenario.toml",
    "measure": "dmafl.measuring.measure",
    "plan": "dmafl.planning.make",
    "preset": "dmafl.scenario.presets",
    "read_measured": "dmafl.measuring.measured",
    "read_plan": "dmafl.plans.files",
    "report": "dmafl.pages.report",
    "round_robin": "dmafl.schedule.build",
    "run": "dmafl.runs.run",
    "save": "dmafl.scenario.toml",
    "sweep": "dmafl.sweeps.sweep",
    "verify_plan": "dmafl.plans.verify",
    "verify_run": "dmafl.runs.verify",
    "write_measured": "dmafl.measuring.measured",
    "write_plan": "dmafl.plans.files",
}

__all__ = [
    "BadInput",
    "Comparison",
    "Measured",
    "Plan",
    "Run",
    "Scenario",
    "Schedule",
    "Sweep",
    "World",
    "__version__",
    "compare",
    "draw_timeline",
    "load",
    "measure",
    "plan",
    "preset",
    "read_measured",
    "read_plan",
    "report",
    "round_robin",
    "run",
    "save",
    "sweep",
    "verify_plan",
    "verify_run",
    "write_measured",
    "write_plan",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dmafl' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
