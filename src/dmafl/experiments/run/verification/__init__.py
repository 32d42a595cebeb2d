"""The rules that a run must keep, one file per group; `dmafl.experiments.run.verify` applies them all."""
