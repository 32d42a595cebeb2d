"""Flower's programs on this machine: keys and certificates, commands, processes that are kept going and ended."""
