"""Measuring a task: the constants of the bounds, and short probe runs that calibrate the prediction."""
