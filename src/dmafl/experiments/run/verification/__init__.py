"""The rules that a run must keep, one file a group; `dmafl.experiments.run.verify` applies them all."""
