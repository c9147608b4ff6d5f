r"""The most probable values of what is missing: $\arg\max_z p(x, z)$.

For circuits with sums that is NP-hard in general. Here the best child of each sum and the mode of
each leaf begin; then one missing value after another moves to where p is largest. Where only
categories are missing, branch and bound goes on until it is certain: with every leaf at its
own mode, sums still sums, the circuit is an upper bound of what any values can reach.
"""

import heapq
from typing import NamedTuple

import numpy as np

from likely.generative.circuits.answers import column_leaves, is_category
from likely.generative.circuits.circuit import Circuit
from likely.generative.circuits.leaves import mode

MAX_SWEEPS = 20
MAX_BRANCHES = 2000
"""Partial assignments of a row that are looked at, at most."""
SLACK = 1e-12


class Explanation(NamedTuple):
    """The most probable values that were found."""

    V: np.ndarray
    """(n, q) rows without missing values."""
    log_probs: np.ndarray
    """(n,) log p of them, in the units of the codes."""
    exact: np.ndarray
    """(n,) whether nothing can be more probable."""


def explain(circuit: Circuit, V: np.ndarray) -> Explanation:
    """The most probable values of what is missing of each row."""
    gone = np.isnan(V)
    found = V.copy()
    chosen = circuit.chosen_leaves(V)
    modes = np.array([mode(leaf) for leaf in circuit.leaves])
    found[gone] = modes[chosen[gone]]
    logs = circuit.log_probs(found)
    found, logs = _ascend(circuit, found, logs, gone)
    exact = np.asarray(~gone.any(1))
    discrete = np.array([is_category(circuit, j) for j in range(V.shape[1])])
    for row in np.flatnonzero(gone.any(1) & ~(gone & ~discrete).any(1)):
        found[row], logs[row], exact[row] = _branch(
            circuit, V[row], found[row], logs[row]
        )
    return Explanation(found, logs, exact)


def _candidates(circuit: Circuit, column: int) -> np.ndarray:
    """Values of a column at which p may be largest: all levels, or all modes of leaves."""
    own = column_leaves(circuit, column)
    if is_category(circuit, column):
        return np.arange(float(len(circuit.leaves[own[0]].table)))
    return np.unique([mode(circuit.leaves[i]) for i in own])


def _ascend(
    circuit: Circuit, V: np.ndarray, logs: np.ndarray, gone: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Move one missing value after another to the best candidate, until none moves."""
    V, logs = V.copy(), logs.copy()
    for _ in range(MAX_SWEEPS):
        before = logs.copy()
        for j in range(V.shape[1]):
            rows = np.flatnonzero(gone[:, j])
            if not len(rows):
                continue
            for value in _candidates(circuit, j):
                other = V[rows]
                other[:, j] = value
                new = circuit.log_probs(other)
                better = new > logs[rows] + SLACK
                V[rows[better], j] = value
                logs[rows[better]] = new[better]
        if not (logs > before).any():
            break
    return V, logs


def _branch(
    circuit: Circuit, row: np.ndarray, best: np.ndarray, value: float
) -> tuple[np.ndarray, float, bool]:
    """The most probable levels of one row, best bounds first."""
    best, count, looked = best.copy(), 0, 0
    bound = float(circuit.upper_bounds(row[None])[0])
    heap = [(-bound, count, row)]
    while heap:
        bound, _, part = heapq.heappop(heap)
        if -bound <= value + SLACK:
            return best, value, True
        open_columns = np.flatnonzero(np.isnan(part))
        column = int(open_columns[0])
        levels = _candidates(circuit, column)
        children = np.repeat(part[None], len(levels), axis=0)
        children[:, column] = levels
        bounds = circuit.upper_bounds(children)
        looked += len(levels)
        if looked > MAX_BRANCHES:
            return best, value, False
        for child, high in zip(children, bounds.tolist(), strict=True):
            if len(open_columns) == 1 and high > value + SLACK:
                best, value = child.copy(), high
            elif len(open_columns) > 1 and high > value + SLACK:
                count += 1
                heapq.heappush(heap, (-high, count, child))
    return best, value, True
