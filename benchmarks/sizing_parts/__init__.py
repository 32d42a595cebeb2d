"""What `benchmarks/sizing.py` plans and trains, and the tables it makes of that."""
