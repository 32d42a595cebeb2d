"""Parts of benchmarks/deploying.py."""
