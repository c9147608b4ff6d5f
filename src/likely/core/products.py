"""Products of matrices with many rows: the same bits at any number of threads.

A library of linear algebra splits a product by the number of its threads, and another split
rounds differently. Here the blocks of rows are fixed, each is multiplied on one thread, and
sums over blocks are taken in their order.
"""

from typing import Any

import numpy as np

from likely.core.threads import one_thread, thread_map

BLOCK_NUMBERS = 2**18
"""Numbers in a block of rows: enough that starting a job costs nothing beside its work."""
MAX_BLOCKS = 16
"""Blocks of rows whose products are kept until they are added, at most."""


def row_product(A: Any, B: np.ndarray) -> np.ndarray:
    """A B for a matrix A of many rows, dense or sparse."""
    if not isinstance(A, np.ndarray):
        return np.asarray(A @ B)
    found = np.empty((len(A), B.shape[1]), np.result_type(A, B))

    def multiply(rows: slice) -> None:
        np.matmul(A[rows], B, out=found[rows])

    with one_thread():
        thread_map(multiply, _blocks(len(A), BLOCK_NUMBERS // max(A.shape[1], 1)))
    return found


def column_product(A: Any, B: np.ndarray) -> np.ndarray:
    """AᵀB for matrices of many rows, A dense or sparse."""
    if not isinstance(A, np.ndarray):
        return np.asarray(A.T @ B)
    (n, d), k = A.shape, B.shape[1]
    # a block has so many rows that adding its product costs little beside making it
    size = max(BLOCK_NUMBERS // (d + k), 2 * max(d, k), -(-n // MAX_BLOCKS))
    with one_thread():
        parts = thread_map(lambda rows: A[rows].T @ B[rows], _blocks(n, size))
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


def _blocks(n: int, size: int) -> list[slice]:
    """n rows in blocks of this size; one empty block where there are none."""
    size = max(size, 1)
    return [slice(start, start + size) for start in range(0, max(n, 1), size)]
