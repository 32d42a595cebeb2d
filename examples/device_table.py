"""Twenty phones from a CSV file, two tasks, tight batteries: what does the plan ask of every phone?

From a shell: dmafl plan phones.toml --devices
"""

import csv
import tempfile
from pathlib import Path

import dmafl

folder = Path(tempfile.mkdtemp())
with (folder / "phones.csv").open("w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["id", "distance_m", "uplink_power_W", "battery_J"])
    for number in range(10):
        table.writerow([f"old-{number}", 4 + 2 * number, 0.25, 0.003])
        table.writerow([f"new-{number}", 4 + 2 * number, 0.20, 0.008])

task = {"slots": 12, "samples": 60}
tasks = {"mnist": task, "fashion_mnist": task}
fleet = {"table": "phones.csv"}  # its columns take the place of the preset's draws
scenario = dmafl.preset("demo", tasks=tasks, devices=20, fleet=fleet).in_folder(folder)

plan = dmafl.plan(scenario, effort=0.5)  # measures first
print(plan.table())
print(plan.device_table())  # plan.devices has the numbers
