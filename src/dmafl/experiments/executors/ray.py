"""Pieces done on a Ray cluster that the user names, or on a Ray of this machine that is started for them.

Each place is an actor with one processor, which has its pieces done by a process of its own.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.processes.stopping import STOPPING
from dmafl.experiments.executors.executor import Begun, Ending, OnEnd, Order, Work
from dmafl.experiments.executors.extras import need
from dmafl.experiments.executors.host import PieceHost
from dmafl.experiments.executors.local import check_workers
from dmafl.experiments.executors.piece_process import content_of
from dmafl.experiments.executors.side_by_side import side_by_side
from dmafl.experiments.executors.surroundings import Surroundings

OWN = "local"
"""The address that stands for a Ray of this machine, started for the work and ended after it."""
SAVING_S = 300.0
"""How long pieces have to save themselves [s]."""
OWN_SETTINGS = {
    "_node_ip_address": "127.0.0.1",
    "include_dashboard": False,
    "object_store_memory": 128 * 2**20,  # only orders pass through it
}
"""Of a Ray that is started here."""
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""No reports of use over the network; and no note about graphics processors, of which there are none."""
GUARDED = {"RAY_AUTH_MODE": "token"}
"""A Ray that is started here answers those alone who know its token."""


@dataclass(frozen=True)
class Ray:
    """A Ray cluster."""

    address: str = OWN
    """`local`, or HOST:PORT of a cluster."""

    def __post_init__(self) -> None:
        need("ray", "ray")
        if not self.address or self.address == "auto":
            raise bad_input(
                "ray_address",
                "must name a cluster, or be local",
                self.address,
                "Write HOST:PORT of the cluster's head; local starts a Ray on this machine.",
            )

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "ray"

    def side_by_side(
        self,
        work: Work,
        orders: Sequence[Order],
        workers: int | None,
        on_end: OnEnd,
        begun: Begun,
        folder: Path,
    ) -> None:
        """Do `work` for every order; at a time as many as the cluster has processors, or `workers`."""
        check_workers(workers)
        if orders:
            with _connected(self.address, workers) as ray:
                places = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
                side_by_side(_RayCrew(ray, work, places), orders, on_end, begun)


@contextmanager
def _connected(address: str, workers: int | None) -> Iterator[Any]:
    """The module `ray`, connected to the cluster; nothing is connected afterwards."""
    own = address == OWN
    with _environment(QUIET | GUARDED if own else QUIET):
        with _handlers_kept():
            ray = import_module("ray")
            if ray.is_initialized():
                rule = "must not be in use in this process already"
                raise bad_input("ray", rule, ShownAsIs("a connection"), "Call ray.shutdown() first.")
            _connect(ray, address, OWN_SETTINGS | {"num_cpus": workers} if own else {})
        try:
            yield ray
        finally:
            with _handlers_kept():
                ray.shutdown()


def _connect(ray: Any, address: str, settings: Mapping[str, Any]) -> None:
    try:
        ray.init(address, log_to_driver=False, logging_level="ERROR", **settings)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise bad_input(
            "ray_address",
            "must be that of a Ray cluster that can be reached",
            ShownAsIs(f"{address}: {str(error).strip().splitlines()[0]}"),
            "Check the address, the token (RAY_AUTH_TOKEN_PATH) and the firewall; local starts a Ray here.",
        ) from None


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """With these variables, which are as before afterwards."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Ray sets handlers of signals of its own: the command keeps those it had."""
    before: dict[int, Callable[[int, FrameType | None], Any] | int | None] = {
        number: signal.getsignal(number) for number in STOPPING
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)


class _RayCrew:
    """Actors of the cluster."""

    def __init__(self, ray: Any, work: Work, places: int) -> None:
        self.places = places
        self._ray, self._work = ray, work
        self._surroundings = Surroundings.here()
        # Two calls at a time: the piece, and the one that stops it.
        self._make = ray.remote(num_cpus=1, max_concurrency=2)(PieceHost)
        self._free: list[Any] = []
        self._busy: dict[Any, tuple[int, Any]] = {}
        """Reference of a piece that is done -> its number and its actor."""

    def begin(self, number: int, order: Order) -> None:
        """Begin a piece."""
        content = content_of(self._work, order)
        actor = self._free.pop() if self._free else self._make.remote(self._surroundings)
        self._busy[actor.do.remote(content)] = (number, actor)

    def ended(self, patience_s: float) -> list[tuple[int, Ending]]:
        """Pieces whose actor has answered or is gone."""
        ready, _ = self._ray.wait(list(self._busy), num_returns=1, timeout=patience_s)
        return [self._ended(reference) for reference in ready]

    def _ended(self, reference: Any) -> tuple[int, Ending]:
        number, actor = self._busy.pop(reference)
        try:
            ending: Ending = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            first = str(error).strip().splitlines()[0]
            return number, Ending(f"its Ray actor was lost: {first}", lost=True)
        self._free.append(actor)
        return number, ending

    def stop(self) -> None:
        """Let every piece save itself, and wait for it."""
        for _, actor in self._busy.values():
            actor.terminate.remote()
        if self._busy:
            self._ray.wait(list(self._busy), num_returns=len(self._busy), timeout=SAVING_S)

    def close(self, orderly: bool) -> None:
        """End all actors; their processes end with them."""
        for actor in [*self._free, *(actor for _, actor in self._busy.values())]:
            self._ray.kill(actor)
