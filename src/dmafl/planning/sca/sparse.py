"""Sparse matrices from lists of entries."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from dmafl.base.arrays import FloatArray, IntArray


def sparse_of(entries: list[tuple[IntArray, IntArray, FloatArray]], shape: tuple[int, int]) -> csr_matrix:
    """A sparse matrix from lists of rows, columns and values; entries at one place add up."""
    row, column, value = (np.concatenate([np.asarray(e[k]) for e in entries]) for k in range(3))
    return coo_matrix((value, (row, column)), shape=shape).tocsr()
