"""DMA-FL: plan, simulate, compare and deploy asynchronous multi-model federated learning over wireless networks.

Scenario -> Plan -> Run -> Report. Names below are loaded when first used, so that `import dmafl` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dmafl.base.version import __version__

if TYPE_CHECKING:
    from dmafl.base.errors import BadInput
    from dmafl.calibration.measure import measure
    from dmafl.calibration.measured import Measured, read_measured, write_measured
    from dmafl.data.dataset import Dataset
    from dmafl.experiments.compare.compare import Comparison, compare
    from dmafl.experiments.executors.ray import Ray
    from dmafl.experiments.executors.slurm import Slurm
    from dmafl.experiments.run.run import Run, run
    from dmafl.experiments.run.verify import verify_run
    from dmafl.experiments.sizing.size import size
    from dmafl.experiments.sizing.sizing import Sizing
    from dmafl.experiments.sweep.sweep import sweep
    from dmafl.experiments.sweep.sweep_folder import Sweep
    from dmafl.machine.profile import profile
    from dmafl.machine.profiled import Profile
    from dmafl.planning.plan import plan
    from dmafl.planning.replan import State, replan
    from dmafl.reports.html.report import report
    from dmafl.scenario.model import Scenario
    from dmafl.scenario.preset import preset
    from dmafl.scenario.toml import load, save
    from dmafl.schedule.build import round_robin
    from dmafl.schedule.jobs import Schedule
    from dmafl.schedule.plan import Plan
    from dmafl.schedule.plan_files import read_plan, write_plan
    from dmafl.schedule.plan_verification import verify_plan
    from dmafl.training.components import Components
    from dmafl.world.world import World

_HOMES = {
    "BadInput": "dmafl.base.errors",
    "Comparison": "dmafl.experiments.compare.compare",
    "Components": "dmafl.training.components",
    "Dataset": "dmafl.data.dataset",
    "Measured": "dmafl.calibration.measured",
    "Ray": "dmafl.experiments.executors.ray",
    "Run": "dmafl.experiments.run.run",
    "Plan": "dmafl.schedule.plan",
    "Profile": "dmafl.machine.profiled",
    "Scenario": "dmafl.scenario.model",
    "Schedule": "dmafl.schedule.jobs",
    "Slurm": "dmafl.experiments.executors.slurm",
    "State": "dmafl.planning.replan",
    "Sizing": "dmafl.experiments.sizing.sizing",
    "Sweep": "dmafl.experiments.sweep.sweep_folder",
    "World": "dmafl.world.world",
    "compare": "dmafl.experiments.compare.compare",
    "load": "dmafl.scenario.toml",
    "measure": "dmafl.calibration.measure",
    "plan": "dmafl.planning.plan",
    "preset": "dmafl.scenario.preset",
    "profile": "dmafl.machine.profile",
    "read_measured": "dmafl.calibration.measured",
    "read_plan": "dmafl.schedule.plan_files",
    "replan": "dmafl.planning.replan",
    "report": "dmafl.reports.html.report",
    "round_robin": "dmafl.schedule.build",
    "run": "dmafl.experiments.run.run",
    "save": "dmafl.scenario.toml",
    "size": "dmafl.experiments.sizing.size",
    "sweep": "dmafl.experiments.sweep.sweep",
    "verify_plan": "dmafl.schedule.plan_verification",
    "verify_run": "dmafl.experiments.run.verify",
    "write_measured": "dmafl.calibration.measured",
    "write_plan": "dmafl.schedule.plan_files",
}

__all__ = [
    "BadInput",
    "Comparison",
    "Components",
    "Dataset",
    "Measured",
    "Plan",
    "Profile",
    "Ray",
    "Run",
    "Scenario",
    "Schedule",
    "Sizing",
    "Slurm",
    "State",
    "Sweep",
    "World",
    "__version__",
    "compare",
    "load",
    "measure",
    "plan",
    "preset",
    "profile",
    "read_measured",
    "read_plan",
    "replan",
    "report",
    "round_robin",
    "run",
    "save",
    "size",
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
