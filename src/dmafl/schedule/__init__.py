"""Schedules: the list of jobs, its timeline, its rules S0-S8, and the paper's tensors as views of it."""
