"""How many joules does each phone need a day for 85% accuracy, if the model is trained twice a day?

From a shell: dmafl size phones.toml --accuracy 0.85 --times-per-day 2
"""

import tempfile

import dmafl

measured = dmafl.measure(dmafl.preset("demo"))  # comes with the package
scenario = dmafl.preset("demo", tasks=["mnist"], devices=20)
folder = tempfile.mkdtemp()
sizing = dmafl.size(
    scenario, accuracy=0.85, times_per_day=2, measured=measured, effort=0.5, front=0, output=folder
)

task, day_J = sizing.summary.tasks["mnist"], sorted(device.energy_J for device in sizing.per_day)
print(f"{task.aggregations} aggregations, accuracy {task.accuracy:.2f} ({task.low:.2f} to {task.high:.2f})")
print(f"a phone needs {sum(day_J) / len(day_J):.4f} J a day, the busiest {day_J[-1]:.4f} J")
