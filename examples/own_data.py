"""Bring your own data: columns of a plain table, or of a Hugging Face data set if that library is installed.

Here a picture of 8x8 pixels has one bright row, and its number is the class.
"""

import tempfile

import numpy as np
from torch import nn

import dmafl
from dmafl.data import Dataset
from dmafl.data.dataset import content_sha256

rng = np.random.default_rng(0)
labels, images = rng.integers(0, 3, 600, np.uint8), rng.integers(0, 100, (600, 8, 8), np.uint8)
images[np.arange(600), labels] += 100
table = {"image": images, "label": labels}
try:
    from datasets import Dataset as HuggingFace

    table = HuggingFace.from_dict({name: column.tolist() for name, column in table.items()})
except ImportError:
    pass  # a plain table is read in the same way

x, y = (np.asarray(table[name], dtype=np.uint8) for name in ("image", "label"))
arrays = {"x_train": x[:500], "y_train": y[:500], "x_test": x[500:], "y_test": y[500:]}
rows = Dataset("rows", **arrays, source="made here", sha256=content_sha256(arrays))


def linear():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 3))


task = {"model": "custom", "parameters": 195, "flops_per_sample": 1170, "learning_rate": 0.5, "samples": 100}
scenario = dmafl.preset("demo", devices=3, tasks={"rows": task | {"slots": 10}})
brought = {"datasets": {"rows": rows}, "models": {"rows": linear}}
with tempfile.TemporaryDirectory() as folder:
    run = dmafl.run(scenario, schemes=["fedasync"], output=folder, **brought)
    last = run.metrics.to_pylist()[-1]
print(f"{rows.classes} classes, {len(rows.y_train)} samples, checksum {rows.sha256[:8]}")
print(f"accuracy {last['accuracy']:.2f} after {last['aggregation']} aggregations")
