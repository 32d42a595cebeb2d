"""Experiments: runs, comparisons, sweeps and the reproduction of the paper's study."""
