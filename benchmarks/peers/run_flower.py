"""Flower: its FedAvg on the simulation runtime, one Ray actor; clients train with a bare torch loop.

CPU time is that of all its processes: server, Ray's own and the actor.
"""

from __future__ import annotations

import logging
import os

os.environ.update(
    {
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
)

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from measures.workload import BATCH, CLASSES, CLIENTS, FEATURES, LEARNING_RATE, STEPS, Workload
from torch import nn

from peers.script import Options, Timer

POLL_S = 0.001
"""How often the server looks for replies; Flower's 0.1 s would make it wait for most of a round."""

_kept: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
"""The data of an actor, read once."""


def data_of(path: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Images and labels of all clients."""
    if path not in _kept:
        torch.set_num_threads(1)
        workload = Workload.load(path)
        _kept[path] = torch.from_numpy(workload.real_images()), torch.from_numpy(workload.labels).long()
    return _kept[path]


def client_app(path: str) -> ClientApp:
    """Trains on the partition that the node has."""
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        images, labels = data_of(path)
        client = int(context.node_config["partition-id"])
        module = nn.Linear(FEATURES, CLASSES)
        module.load_state_dict(message.content["arrays"].to_torch_state_dict())
        for _ in range(STEPS):
            rows = torch.randperm(images.shape[1])[:BATCH]
            module.zero_grad()
            torch.autograd.backward(
                nn.functional.cross_entropy(module(images[client, rows]), labels[client, rows])
            )
            with torch.no_grad():
                for weights in module.parameters():
                    weights -= LEARNING_RATE * weights.grad
        content = RecordDict(
            {
                "arrays": ArrayRecord(module.state_dict()),
                "metrics": MetricRecord({"num-examples": images.shape[1]}),
            }
        )
        return Message(content=content, reply_to=message)

    return app


def main() -> None:
    """Run and report."""
    options = Options()
    timer = Timer(options, family=True)
    final: dict[str, torch.Tensor] = {}
    server = ServerApp()

    @server.main()
    def serve(grid: Grid, context: Context) -> None:
        grid.pull_interval = POLL_S
        first = nn.Linear(FEATURES, CLASSES)
        nn.init.zeros_(first.weight)
        nn.init.zeros_(first.bias)
        result = FedAvg(fraction_evaluate=0.0, min_train_nodes=CLIENTS, min_available_nodes=CLIENTS).start(
            grid=grid,
            initial_arrays=ArrayRecord(first.state_dict()),
            num_rounds=options.warm + options.rounds,
            evaluate_fn=lambda number, arrays: timer.completed(number),
        )
        final.update(result.arrays.to_torch_state_dict())

    logging.getLogger("flwr").setLevel(logging.ERROR)
    run_simulation(
        server_app=server,
        client_app=client_app(str(options.data)),
        num_supernodes=CLIENTS,
        backend_config={
            "init_args": {"num_cpus": 1, "log_to_driver": False, "logging_level": logging.ERROR},
            "client_resources": {"num_cpus": 1},
        },
    )
    timer.report("flwr", final["weight"], final["bias"])


if __name__ == "__main__":
    main()
