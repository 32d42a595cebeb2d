"""What a reader is told instead of the names in a scenario."""

from __future__ import annotations

TASK_NAMES = {"svhn": "SVHN", "mnist": "MNIST", "fashion_mnist": "Fashion-MNIST"}
PARTITION_NAMES = {
    "dirichlet": "Dirichlet 0.5",
    "k_labels": "two labels a device",
    "varied": "varied labels",
}
