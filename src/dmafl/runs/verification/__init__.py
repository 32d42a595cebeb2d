"""The rules that a run must keep, one file a group; `dmafl.runs.verify` applies them all."""
