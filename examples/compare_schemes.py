"""dma-fl against fedasync on three seeds: a table with 95% intervals, and the differences seed by seed.

From a shell: dmafl run phones.toml --scheme dma-fl --scheme fedasync --seeds 0-2 --output run
And then:     dmafl compare run --schemes fedasync,dma-fl
"""

import tempfile

import dmafl

measured = dmafl.measure(dmafl.preset("demo"))  # comes with the package
scenario = dmafl.preset("demo", tasks={"mnist": {"slots": 20}})
schemes = ["fedasync", "dma-fl"]
folder = tempfile.mkdtemp()
run = dmafl.run(scenario, schemes=schemes, seeds=range(3), measured=measured, effort=0.5, output=folder)
print(run.summary())

comparison = dmafl.compare(run, schemes=schemes)
print(comparison.summary())
comparison.plot("comparison.png")
