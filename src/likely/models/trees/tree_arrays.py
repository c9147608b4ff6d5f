"""The arrays that a tree is grown into (`leafwise`): how they are made, and cut to size."""

import numpy as np


def empty_tree(max_leaves: int) -> tuple:
    """Arrays for a tree of so many leaves.

    They are made here because numba takes seconds to compile what makes them.
    """
    most = 2 * max_leaves - 1
    return (
        np.zeros(most, np.uint64),
        np.full(most, -1, np.int32),
        np.zeros((max_leaves, 4), np.uint64),
        np.zeros((most, 1)),
        np.zeros(most),
        np.zeros(most),
        np.zeros((max_leaves, 4), np.int64),
        np.full(max_leaves, -np.inf),
        np.zeros((2, max_leaves), np.int64),
    )


def cut_tree(tree: tuple, n_nodes: int, n_sets: int, n_leaves: int) -> list:
    """The parts that are in use: nodes, set indices, sets, values, weights, gains, leaves.

    Of each leaf its node and its first and last row.
    """
    sizes = (n_nodes, n_nodes, n_sets, n_nodes, n_nodes, n_nodes)
    parts = [a[:size].copy() for a, size in zip(tree, sizes, strict=False)]
    return [*parts, tree[6][:n_leaves, :3].copy()]
