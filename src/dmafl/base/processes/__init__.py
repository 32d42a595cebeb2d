"""Processes: stopping at a good moment, shielding from signals, a pool of workers."""
