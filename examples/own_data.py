"""Bring your own data: columns of a plain table, or of a Hugging Face data set if that library is installed.

Here a picture of 8x8 pixels has one bright row, and its number is the class.
"""

import tempfile

import numpy as np
from torch import nn

import dmafl

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
rows = dmafl.Dataset.of(x[:500], y[:500], x[500:], y[500:], name="rows")


def linear():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 3))


task = {"learning_rate": 0.5, "samples": 100}
scenario = dmafl.preset("demo", devices=3, tasks={"rows": task | {"slots": 10}})
mine = dmafl.Components(data={"rows": rows}, models={"rows": linear})
with tempfile.TemporaryDirectory() as folder:
    run = dmafl.run(scenario, schemes=["fedasync"], output=folder, components=mine)
    last = run.metrics.to_pylist()[-1]
print(f"{rows.classes} classes, {len(rows.y_train)} samples, checksum {rows.sha256[:8]}")
print(f"accuracy {last['accuracy']:.2f} after {last['aggregation']} aggregations")
