"""The simulator: a virtual clock that carries out any scheme with real training."""
