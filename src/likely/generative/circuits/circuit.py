"""A circuit as arrays: what is saved, and what the compiled passes read."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from likely.core.threads import row_blocks, thread_map
from likely.generative.circuits.kernels import choices, passes
from likely.generative.circuits.kernels.kinds import (
    CATEGORY,
    HISTOGRAM,
    NEGATIVE,
    NORMAL,
    POISSON,
    PRODUCT,
    ROUNDED,
    STUDENT,
    SUM,
)
from likely.generative.circuits.leaves import HALF_LOG_2PI, Leaf, log_prob, mode

MIN_THREAD_CELLS = 200_000
"""Rows times nodes from which on several threads share them."""


@dataclass(frozen=True)
class SumNode:
    """A mixture of circuits over the same columns."""

    children: tuple[Any, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class ProductNode:
    """Independent circuits over different columns."""

    children: tuple[Any, ...]


Node = Leaf | SumNode | ProductNode
Arrays = tuple[
    np.ndarray, np.ndarray, np.ndarray,
    np.ndarray, np.ndarray, np.ndarray, np.ndarray,
]  # fmt: skip
"""What compiled passes read of a circuit: three arrays of leaves, four of inner nodes."""


@dataclass(frozen=True)
class Circuit:
    """A circuit: leaves, then sums and products, children before parents, the root last."""

    leaves: tuple[Leaf, ...]
    kinds: np.ndarray
    """(inner nodes,) `SUM` or `PRODUCT`."""
    starts: np.ndarray
    """(inner nodes + 1,) where the edges of each begin."""
    children: np.ndarray
    """(edges,) the numbers of nodes."""
    logs: np.ndarray
    """(edges,) log weights; 0 at products."""
    spec: np.ndarray
    numbers: np.ndarray
    tables: np.ndarray
    n_columns: int

    @classmethod
    def of(cls, root: Node, n_columns: int) -> "Circuit":
        """The arrays of a tree of nodes."""
        leaves: list[Leaf] = []
        order: list[SumNode | ProductNode] = []
        stack: list[Node] = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, Leaf):
                leaves.append(node)
            else:
                order.append(node)
                stack.extend(node.children)
        order.reverse()
        if not order:  # one leaf alone
            order = [ProductNode((root,))]
        number = {id(node): i for i, node in enumerate([*leaves, *order])}
        edges, logs, starts = [], [], [0]
        for node in order:
            edges += [number[id(child)] for child in node.children]
            own = (
                node.weights
                if isinstance(node, SumNode)
                else [1.0] * len(node.children)
            )
            logs += np.log(own).tolist()
            starts.append(len(edges))
        kinds = [SUM if isinstance(node, SumNode) else PRODUCT for node in order]
        parts = (
            np.array(kinds, np.int64),
            np.array(starts, np.int64),
            np.array(edges, np.int64),
            np.array(logs),
        )
        return cls(tuple(leaves), *parts, *_packed(leaves), n_columns)

    def with_leaves(self, leaves: Any, logs: np.ndarray | None = None) -> "Circuit":
        """The same structure with other leaves and weights."""
        logs = self.logs if logs is None else logs
        parts = self.kinds, self.starts, self.children, logs
        return Circuit(tuple(leaves), *parts, *_packed(leaves), self.n_columns)

    @property
    def n_nodes(self) -> int:
        """Leaves, sums and products."""
        return len(self.leaves) + len(self.kinds)

    @property
    def n_numbers(self) -> int:
        """Free numbers: of leaves and of sums."""
        from likely.generative.circuits.leaf_fitting import n_numbers

        sums = self.kinds == SUM
        edges = np.diff(self.starts)[sums].sum() - sums.sum()
        return int(edges) + sum(n_numbers(leaf) for leaf in self.leaves)

    def arrays(self) -> "Arrays":
        """What the compiled passes take, in their order."""
        return (
            self.spec, self.numbers, self.tables,
            self.kinds, self.starts, self.children, self.logs,
        )  # fmt: skip

    # Passes ----------------------------------------------------------------------------

    def log_probs(self, V: np.ndarray) -> np.ndarray:
        """(n,) log p of what is observed of each row; NaN is summed out."""
        out = np.empty(len(V))
        self._in_blocks(
            V, lambda part, a, b: passes.log_probs(part, *self.arrays(), out[a:b])
        )
        return out

    def upper_bounds(self, V: np.ndarray) -> np.ndarray:
        """(n,) a number that log p does not exceed, whatever the missing values are.

        Every leaf of a missing value is at its own mode, all at once.
        """
        numbers = self.numbers.copy()
        numbers[:, 5] = numbers[:, 4]
        arrays: Arrays = (self.spec, numbers, *self.arrays()[2:])
        out = np.empty(len(V))
        passes.log_probs(np.ascontiguousarray(V, np.float64), *arrays, out)
        return out

    def leaf_flows(self, V: np.ndarray) -> np.ndarray:
        """(n, leaves) the posterior probability that a row uses each leaf."""
        out = np.empty((len(V), len(self.leaves)))
        self._in_blocks(
            V, lambda part, a, b: passes.leaf_flows(part, *self.arrays(), out[a:b])
        )
        return out

    def chosen_leaves(
        self, V: np.ndarray, rng: np.random.Generator | None = None
    ) -> np.ndarray:
        """(n, q) the leaf of each column: drawn from the posterior, or the best ones.

        Args:
            V: (n, q) rows.
            rng: of the draws; None takes the best child of each sum.
        """
        V = np.ascontiguousarray(V, np.float64)
        k = 0 if rng is None else len(self.kinds)
        U = np.empty((len(V), 0)) if rng is None else rng.random((len(V), k))
        out = np.zeros((len(V), self.n_columns), np.int32)
        choices.choose(V, U, *self.arrays(), out)
        return out

    def _in_blocks(self, V: np.ndarray, job: Any) -> None:
        V = np.ascontiguousarray(V, np.float64)
        many = len(V) * self.n_nodes > MIN_THREAD_CELLS
        parts = row_blocks(len(V), max(1, len(V) // 4096) if many else 1)
        thread_map(lambda p: job(V[p[0] : p[1]], *p), parts)


def _packed(leaves: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The leaves as three arrays: see `leaf_log_prob`."""
    spec = np.zeros((len(leaves), 5), np.int64)
    numbers = np.zeros((len(leaves), 6))
    tables: list[np.ndarray] = [np.zeros(1)]
    size = 1
    for i, leaf in enumerate(leaves):
        spec[i, 0], spec[i, 1] = leaf.kind, leaf.column
        if leaf.kind in (CATEGORY, HISTOGRAM):
            spec[i, 2], spec[i, 3] = size, len(leaf.table)
            tables.append(leaf.table)
            size += len(leaf.table)
        if leaf.kind == HISTOGRAM:
            spec[i, 4] = size
            tables.append(leaf.edges)
            size += len(leaf.edges)
        numbers[i, :4] = _constants(leaf)
        numbers[i, 4] = log_prob(leaf, np.array([mode(leaf)]))[0]
    return spec, numbers, np.concatenate(tables)


def _constants(leaf: Leaf) -> tuple[float, float, float, float]:
    """The numbers of a leaf in the form of the compiled pass."""
    a, b, c = leaf.a, leaf.b, leaf.c
    if leaf.kind == NORMAL:
        return a, 1 / b, 0.0, -np.log(b) - HALF_LOG_2PI
    if leaf.kind == STUDENT:
        spread = gammaln(0.5 * (c + 1)) - gammaln(0.5 * c) - 0.5 * np.log(c * np.pi)
        return a, 1 / b, c, float(spread - np.log(b))
    if leaf.kind == ROUNDED:
        return a, 1 / b, c, 0.0
    if leaf.kind == POISSON:
        return a, float(np.log(a)), 0.0, 0.0
    if leaf.kind == NEGATIVE:
        p = b / (a + b)
        return a, float(np.log(p)), 0.0, float(a * np.log1p(-p) - gammaln(a))
    return 0.0, 0.0, 0.0, 0.0
