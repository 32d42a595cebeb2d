"""Data streams: which samples a device has at which point of its stream, and how they have changed."""
