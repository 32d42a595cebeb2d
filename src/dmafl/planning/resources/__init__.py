"""The best steps, batches, frequencies and times of a fixed schedule."""
