"""Read a run with pandas: who did what, and what it cost. Give the folder of a run, or one is made."""

import sys
import tempfile

import dmafl

if len(sys.argv) > 1:
    run = dmafl.Run(sys.argv[1])
else:
    scenario = dmafl.preset("demo", tasks={"mnist": {"slots": 20}})
    run = dmafl.run(scenario, schemes=["fedasync", "fedbuff"], output=tempfile.mkdtemp())

metrics, periods = run.to_pandas(), run.to_pandas("periods")

last = metrics.groupby(["scheme", "task"]).last()
for (scheme, task), row in last.iterrows():
    print(f"{scheme} {task}: accuracy {row.accuracy:.2f}, {row.energy_J:.4f} J in {row.time_s:.4f} s")

taken = periods[periods.outcome == "aggregated"]
for scheme, uploads in taken.groupby("scheme"):
    busiest = uploads.device.value_counts().max()
    mean = uploads.staleness.mean()
    print(f"{scheme}: {len(uploads)} uploads, staleness {mean:.3f}, busiest device {busiest}")
