r"""Expectation-maximisation of a whole circuit: weights of sums and numbers of leaves.

A circuit is a mixture with very many components, of which all are counted in two passes: the
flow along an edge is the expected number of rows that use it. New weights are shares of flows, new
leaves the best ones for the rows that flow to them, with one imaginary row of what they
were grown in. The likelihood plus the log of that prior never falls.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from likely.core.threads import row_blocks, thread_map
from likely.generative.circuits.circuit import Circuit
from likely.generative.circuits.kernels import passes
from likely.generative.circuits.kernels.kinds import (
    CATEGORY,
    HISTOGRAM,
    NORMAL,
    POISSON,
    STUDENT,
    SUM,
)
from likely.generative.circuits.leaf_fitting import (
    LEAST_RATE,
    category_table,
    densities,
    least_scale,
    normal_scale,
)
from likely.generative.circuits.leaves import Leaf
from likely.preprocess.codec.column_code import ColumnCode

N_BLOCKS = 16
"""Blocks of rows whose statistics are added in order, so that threads change no bit."""
MIN_FLOW = 1e-6


class Polished(NamedTuple):
    """A circuit after EM."""

    circuit: Circuit
    path: np.ndarray
    """The mean log-likelihood plus log prior, before each step and at the end."""


def polish(
    circuit: Circuit,
    V: np.ndarray,
    w: np.ndarray,
    codes: tuple[ColumnCode, ...],
    *,
    max_iter: int,
    tol: float | int,
    after_step: Callable[[dict], bool] | None = None,
) -> Polished:
    """Steps of EM until they gain little.

    Args:
        circuit: to begin with.
        V: (n, q) rows, NaN where missing.
        w: (n,) weights.
        codes: of the columns.
        max_iter: steps, at most.
        tol: nats per unit of weight by which a step has to get better.
        after_step: called with the numbers of each step; EM ends where it returns True.
    """
    V, total, path = np.ascontiguousarray(V), float(w.sum()), []
    for step in range(max_iter + 1):
        likelihood, edges, moments, counts = _expected(circuit, V, w)
        path.append((likelihood + sum(map(log_prior, circuit.leaves))) / total)
        stop = after_step is not None and after_step({"round": step, "loss": -path[-1]})
        if stop or step == max_iter or (step and path[-1] - path[-2] < tol):
            break
        leaves = [
            _renewed(leaf, moments[i], counts[_own(circuit, i)], codes[leaf.column])
            for i, leaf in enumerate(circuit.leaves)
        ]
        circuit = circuit.with_leaves(leaves, _weights(circuit, edges))
    return Polished(circuit, np.array(path))


def log_prior(leaf: Leaf) -> float:
    """The log density of the imaginary row of a leaf, up to a constant."""
    if leaf.kind == CATEGORY:
        return float(leaf.prior @ leaf.table)
    if leaf.kind == HISTOGRAM:
        width = np.diff(leaf.edges)
        return float(width / width.sum() @ leaf.table)
    if leaf.kind == POISSON:
        return float(leaf.prior[0] * np.log(leaf.a) - leaf.a)
    if leaf.kind in (NORMAL, STUDENT):
        return float(-np.log(leaf.b) - 0.5 * leaf.prior[0] / leaf.b**2)
    return 0.0


def _expected(
    circuit: Circuit, V: np.ndarray, w: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """The log-likelihood and the statistics of all rows, added block by block."""

    def part(rows: tuple[int, int]) -> tuple:
        a, b = rows
        edges, moments = np.zeros(len(circuit.logs)), np.zeros((len(circuit.leaves), 4))
        counts = np.zeros(len(circuit.tables))
        own = np.ascontiguousarray(w[a:b])
        value = passes.statistics(
            V[a:b], own, *circuit.arrays(), edges, moments, counts
        )
        return value, edges, moments, counts

    blocks = row_blocks(len(V), min(N_BLOCKS, max(1, len(V) // 512)))
    parts = thread_map(part, blocks)
    edges, moments, counts = (np.sum([p[k] for p in parts], axis=0) for k in (1, 2, 3))
    return float(sum(p[0] for p in parts)), edges, moments, counts


def _own(circuit: Circuit, i: int) -> slice:
    start, length = circuit.spec[i, 2], circuit.spec[i, 3]
    return slice(start, start + length)


def _weights(circuit: Circuit, edges: np.ndarray) -> np.ndarray:
    """New log weights of sums: shares of flows, with one imaginary row."""
    logs = circuit.logs.copy()
    for k in np.flatnonzero(circuit.kinds == SUM):
        own = slice(circuit.starts[k], circuit.starts[k + 1])
        flow = edges[own] + np.exp(
            logs[own]
        )  # the imaginary row follows the old weights
        logs[own] = np.log(flow / flow.sum())
    return logs


def _renewed(
    leaf: Leaf, moments: np.ndarray, counts: np.ndarray, code: ColumnCode
) -> Leaf:
    """The leaf that is best for the rows that flow to it."""
    if leaf.kind == CATEGORY:
        return dataclasses.replace(leaf, table=category_table(counts, leaf.prior))
    if leaf.kind == HISTOGRAM:
        return dataclasses.replace(leaf, table=densities(counts, leaf.edges))
    flow, scaled, first, second = moments
    if flow < MIN_FLOW:
        return leaf
    if leaf.kind == POISSON:
        rate = (first + leaf.prior[0]) / (flow + 1.0)
        return dataclasses.replace(leaf, a=max(float(rate), LEAST_RATE))
    if leaf.kind not in (NORMAL, STUDENT):
        return leaf
    mean = first / scaled
    spread = max(second - scaled * mean**2, 0.0)
    scale = normal_scale(spread, flow, float(leaf.prior[0]), least_scale(code))
    return dataclasses.replace(leaf, a=float(mean), b=scale)
