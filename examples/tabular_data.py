"""Rows of a table from end to end: measure, plan, run, report, with scikit-learn's data on breast cancer.

Needs `pip install scikit-learn`; nothing else in this repository does.
"""

import tempfile

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn

import dmafl

features, labels = load_breast_cancer(return_X_y=True)
x, x_test, y, y_test = train_test_split(features, labels, test_size=0.25, random_state=0, stratify=labels)
scaler = StandardScaler().fit(x)
cells = dmafl.Dataset.of(scaler.transform(x), y, scaler.transform(x_test), y_test, name="cells")


def logistic_regression():
    return nn.Linear(30, 2)


mine = dmafl.Components(data={"cells": cells}, models={"cells": logistic_regression})
task = {"samples": 80, "slots": 20, "learning_rate": 0.1}
scenario = dmafl.preset("demo", devices=5, tasks={"cells": task})

measured = dmafl.measure(scenario, components=mine)
plan = dmafl.plan(scenario, measured=measured, components=mine, effort=0.5)
run = dmafl.run(
    plan, schemes=["dma-fl", "fedasync"], measured=measured, components=mine, output=tempfile.mkdtemp()
)
dmafl.report(run, "report.html")
print(cells, plan.table(), run.summary(), sep="\n")
