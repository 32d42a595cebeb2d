"""Data streams: which samples a device has at which point of its stream, and what has become of them."""
