"""The manifest that a run begins with: all that is known before anything is trained."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from dmafl.base.version import __version__
from dmafl.experiments.run.manifest import Manifest, OwnParts, SchemeRunRecord, TaskData
from dmafl.experiments.run.request import Request
from dmafl.experiments.run.statuses import RunStatus
from dmafl.schedule.plan import jobs_checksum
from dmafl.training.workers import Trainers
from dmafl.world.channel import FixedGains, GainTrace, Rayleigh
from dmafl.world.mobility import Paths, Static
from dmafl.world.world import World

STORABLE: dict[str, Any] = {"channel": Rayleigh | FixedGains | GainTrace, "mobility": Static | Paths}
"""Kinds of each part of a world that a manifest can hold; others are the user's own."""


def first_manifest(request: Request, trainers: Trainers) -> Manifest:
    """The manifest of a run of which nothing is done yet."""
    from importlib.metadata import version

    worlds = {seed: request.world(seed) for seed in request.seeds}
    tasks = trainers.of(request.seeds[0]).tasks
    return Manifest(
        status=RunStatus.RUNNING,
        scenario=request.scenario.in_manifest(),
        worlds={seed: world.plain() for seed, world in worlds.items()},
        schemes=tuple(request.schemes),
        seeds=tuple(request.seeds),
        versions={"dmafl": __version__, "torch": version("torch"), "numpy": version("numpy")},
        data={
            name: TaskData(
                task_trainer.data.name,
                task_trainer.data.source,
                task_trainer.data.sha256,
                task_trainer.data.stand_in,
                len(task_trainer.test_inputs),
                task_trainer.test_inputs.commonest_share,
            )
            for name, task_trainer in zip(request.scenario.tasks, tasks, strict=True)
        },
        plan_sha256=jobs_checksum(request.plan) if request.plan is not None else None,
        measured={},
        own=_own_parts(request, worlds.values()),
        scheme_runs={name: SchemeRunRecord() for name in request.names},
        files={},
        sha256="",
    )


def _own_parts(request: Request, worlds: Collection[World]) -> OwnParts:
    return OwnParts(
        schemes=tuple(sorted(name for name in request.schemes if name in request.own_schemes)),
        models=tuple(sorted(request.components.models)),
        datasets=tuple(sorted(request.components.data)),
        streams=tuple(sorted({*request.components.streams, *request.components.partition})),
        world=tuple(
            part
            for part, kinds in STORABLE.items()
            if not all(isinstance(getattr(world, part), kinds) for world in worlds)
        ),
    )
