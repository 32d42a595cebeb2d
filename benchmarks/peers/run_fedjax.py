"""fedjax: its federated averaging, each client step compiled, on data in memory.

fedjax 0.0.17 calls `jax.tree_map`, which newer JAX has under another name only; it is put back before the import.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

if not hasattr(jax, "tree_map"):
    jax.tree_map = jax.tree_util.tree_map

import fedjax
from measures.workload import BATCH, CLASSES, CLIENTS, FEATURES, LEARNING_RATE, STEPS

from peers.script import Options, Timer


def loss(params: dict, batch: dict, rng: object) -> jax.Array:
    """Mean cross-entropy."""
    scores = jax.nn.log_softmax(batch["x"] @ params["weights"].T + params["biases"])
    return -jnp.mean(jnp.take_along_axis(scores, batch["y"][:, None], axis=1))


def main() -> None:
    """Run and report."""
    options = Options()
    timer = Timer(options)
    images, labels = options.workload.real_images(), options.workload.labels.astype(np.int32)
    clients = [
        (str(k).encode(), fedjax.ClientDataset({"x": images[k], "y": labels[k]})) for k in range(CLIENTS)
    ]
    algorithm = fedjax.algorithms.fed_avg.federated_averaging(
        jax.grad(loss),
        fedjax.optimizers.sgd(LEARNING_RATE),
        fedjax.optimizers.sgd(1.0),
        fedjax.ShuffleRepeatBatchHParams(batch_size=BATCH, num_steps=STEPS, num_epochs=None),
    )
    state = algorithm.init({"weights": jnp.zeros((CLASSES, FEATURES)), "biases": jnp.zeros(CLASSES)})
    rng = jax.random.PRNGKey(0)
    for number in range(options.warm + options.rounds):
        rng, *keys = jax.random.split(rng, CLIENTS + 1)
        state, _ = algorithm.apply(state, [(*client, key) for client, key in zip(clients, keys, strict=True)])
        jax.block_until_ready(state.params)
        timer.completed(number + 1)
    timer.report("fedjax", state.params["weights"], state.params["biases"])


if __name__ == "__main__":
    main()
