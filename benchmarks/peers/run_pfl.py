"""pfl: FederatedAveraging on a SimulatedBackend, user data kept as tensors.

pfl's `Dataset` cuts a user's data into batches once and goes through them in order, so a user always trains on the
first five: less work than drawing batches anew, and what pfl's own benchmarks do.
"""

from __future__ import annotations

import torch
from measures.workload import BATCH, CLASSES, CLIENTS, FEATURES, LEARNING_RATE, STEPS
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam.base import NNTrainHyperParams
from pfl.metrics import Metrics
from pfl.model.pytorch import PyTorchModel
from torch import nn

from peers.script import Options, Timer


class Softmax(nn.Linear):
    """Softmax regression with the two methods that pfl asks for."""

    def __init__(self) -> None:
        super().__init__(FEATURES, CLASSES)
        with torch.no_grad():
            self.weight.zero_()
            self.bias.zero_()

    def loss(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy."""
        return nn.functional.cross_entropy(self(images), labels)

    def metrics(self, images: torch.Tensor, labels: torch.Tensor) -> dict[str, float]:
        """None: nothing is evaluated on the way."""
        return {}


class Rounds(TrainingProcessCallback):
    """Tells the timer of each round."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer

    def after_central_iteration(self, aggregate_metrics, model, *, central_iteration):
        """A round is done; go on."""
        self._timer.completed(central_iteration + 1)
        return False, Metrics()


def main() -> None:
    """Run and report."""
    options = Options()
    timer = Timer(options)
    torch.set_num_threads(1)
    images = torch.from_numpy(options.workload.real_images())
    labels = torch.from_numpy(options.workload.labels).long()
    users = {k: Dataset(raw_data=[images[k], labels[k]], user_id=str(k)) for k in range(CLIENTS)}
    data = FederatedDataset(users.__getitem__, get_user_sampler("minimize_reuse", list(users)))
    module = Softmax()
    model = PyTorchModel(module, torch.optim.SGD, torch.optim.SGD(module.parameters(), lr=1.0))
    total = options.warm + options.rounds
    FederatedAveraging().run(
        NNAlgorithmParams(
            central_num_iterations=total,
            evaluation_frequency=total + 1,
            train_cohort_size=CLIENTS,
            val_cohort_size=0,
        ),
        SimulatedBackend(training_data=data, val_data=data),
        model,
        NNTrainHyperParams(
            local_batch_size=BATCH,
            local_num_epochs=None,
            local_num_steps=STEPS,
            local_learning_rate=LEARNING_RATE,
        ),
        callbacks=[Rounds(timer)],
        send_metrics_to_platform=False,
    )
    timer.report("pfl", module.weight.detach(), module.bias.detach())


if __name__ == "__main__":
    main()
