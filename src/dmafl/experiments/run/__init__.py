"""Runs: carried out, saved while they go, continued, read back and checked from their files."""
