"""One thread per process: results are repeatable, and fastest with one process per core.

Two threads inside one operation may add numbers in another order, and on busy cores they wait for each other.
"""

from __future__ import annotations

import torch


def compute_with_one_thread() -> None:
    """Make torch compute with one thread in this process; call it first in a worker."""
    torch.set_num_threads(1)
