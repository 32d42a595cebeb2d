"""What `benchmarks/simulator.py` measures, one file for each part."""
