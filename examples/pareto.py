"""What does accuracy cost? Numbers of aggregations varied, each planned and trained, as a picture.

From a shell: dmafl sweep phones.toml --set tasks.mnist.slots=10,20,40 --output sweep
"""

import tempfile

import dmafl

measured = dmafl.measure(dmafl.preset("demo"))  # comes with the package
scenario = dmafl.preset("demo", tasks=["mnist"])
slots = {"tasks.mnist.slots": [10, 20, 40]}
sweep = dmafl.sweep(scenario, slots, measured=measured, effort=0.5, output=tempfile.mkdtemp())
print(sweep.summary())
sweep.plot("pareto.png")
