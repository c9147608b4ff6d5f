"""What a circuit says about rows with missing values: means, draws, expectations."""

from collections.abc import Callable, Mapping

import numpy as np
from scipy.special import logsumexp

from likely.generative.circuits.circuit import Circuit
from likely.generative.circuits.kernels.kinds import CATEGORY, PRODUCT
from likely.generative.circuits.leaves import draw, log_prob, mean, support
from likely.preprocess.codec.column_code import ColumnCode

MAX_CELLS = 4_000_000
"""Rows times leaves that are done at once."""


def expected_values(
    circuit: Circuit, V: np.ndarray, codes: tuple[ColumnCode, ...]
) -> np.ndarray:
    """(n, q) rows with missing values at their mean, or at their most probable level."""
    V = V.copy()
    incomplete = np.flatnonzero(np.isnan(V).any(1))
    means = np.array([mean(leaf) for leaf in circuit.leaves])
    size = max(1, MAX_CELLS // len(circuit.leaves))
    for start in range(0, len(incomplete), size):
        rows = incomplete[start : start + size]
        flows, part = circuit.leaf_flows(V[rows]), V[rows]
        for j, code in enumerate(codes):
            gone = np.isnan(part[:, j])
            if not gone.any():
                continue
            own = column_leaves(circuit, j)
            if code.kind == "category":
                shares = flows[gone][:, own] @ level_shares(circuit, own)
                part[gone, j] = shares.argmax(1)
            else:
                part[gone, j] = flows[gone][:, own] @ means[own]
        V[rows] = part
    return V


def level_probabilities(circuit: Circuit, V: np.ndarray, column: int) -> np.ndarray:
    """(n, levels) the probabilities of a missing category, given the rest of each row."""
    own = column_leaves(circuit, column)
    shares = level_shares(circuit, own)
    size = max(1, MAX_CELLS // len(circuit.leaves))
    parts = [
        circuit.leaf_flows(V[start : start + size])[:, own] @ shares
        for start in range(0, len(V), size)
    ]
    found = np.concatenate(parts)
    return found / found.sum(1, keepdims=True)


def column_leaves(circuit: Circuit, column: int) -> np.ndarray:
    """The numbers of the leaves of a column."""
    return np.flatnonzero(circuit.spec[:, 1] == column)


def level_shares(circuit: Circuit, leaves: np.ndarray) -> np.ndarray:
    """(leaves, levels) probabilities."""
    return np.exp([circuit.leaves[i].table for i in leaves])


def draw_missing(
    circuit: Circuit, V: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """(n, q) rows with every missing value drawn, given what is observed of the row."""
    V = V.copy()
    chosen = circuit.chosen_leaves(V, rng)
    gone = np.isnan(V)
    for i, leaf in enumerate(circuit.leaves):
        rows = np.flatnonzero(gone[:, leaf.column] & (chosen[:, leaf.column] == i))
        if len(rows):
            V[rows, leaf.column] = draw(leaf, len(rows), rng)
    return V


Functions = Mapping[int, Callable[[np.ndarray], np.ndarray]]


def expectation(circuit: Circuit, V: np.ndarray, functions: Functions) -> np.ndarray:
    r"""(n,) $E[\prod_j g_j(v_j) \mid \text{what is observed}]$, in one pass.

    A node carries log p of what is observed below it and the expectation of the product
    of the functions below it: products multiply both, sums average the second by the shares
    $w_k p_k / p$.

    Args:
        circuit: any.
        V: (n, q) rows, NaN where missing.
        functions: g by the number of a column, of arrays of v.
    """
    n = len(V)
    L, M = np.zeros((circuit.n_nodes, n)), np.ones((circuit.n_nodes, n))
    for i, leaf in enumerate(circuit.leaves):
        x = V[:, leaf.column]
        L[i] = log_prob(leaf, x)
        g = functions.get(leaf.column)
        if g is None:
            continue
        points, weights = support(leaf)
        inside = float(weights @ np.asarray(g(points), np.float64))
        seen = ~np.isnan(x)
        M[i] = inside
        if seen.any():
            M[i, seen] = g(x[seen])
    for k, kind in enumerate(circuit.kinds):
        node = len(circuit.leaves) + k
        edges = slice(circuit.starts[k], circuit.starts[k + 1])
        own = circuit.children[edges]
        if kind == PRODUCT:
            L[node], M[node] = L[own].sum(0), M[own].prod(0)
            continue
        logs = L[own] + circuit.logs[edges][:, None]
        L[node] = logsumexp(logs, axis=0)
        M[node] = (np.exp(logs - L[node]) * M[own]).sum(0)
    return M[-1]


def is_category(circuit: Circuit, column: int) -> bool:
    """Whether the leaves of a column are tables of levels."""
    return circuit.leaves[column_leaves(circuit, column)[0]].kind == CATEGORY
