r"""The structure of a circuit, learned from rows.

Columns that are independent by test are split apart: a product. Columns that are not have their
rows split in two groups, as long as a mixture of two is worth its numbers by BIC: a sum, whose
weights are the shares of the groups. What cannot be split is a product of leaves.
"""

from dataclasses import dataclass

import numpy as np

from likely.generative.circuits.circuit import Node, ProductNode, SumNode
from likely.generative.circuits.dependence import components, dependent_pairs
from likely.generative.circuits.leaf_fitting import fit_leaf, prior_of, root_prior
from likely.generative.circuits.row_split import split_rows
from likely.preprocess.codec.column_code import ColumnCode


@dataclass(frozen=True)
class Growth:
    """How a circuit is grown."""

    codes: tuple[ColumnCode, ...]
    alpha: float
    """The level of tests of independence."""
    min_rows: float
    """The smallest weight of rows of a group."""
    penalty: float
    """How many times BIC's price a group has to gain."""
    max_depth: int = 30

    def grow(self, V: np.ndarray, w: np.ndarray) -> Node:
        """The circuit of rows."""
        columns = np.arange(V.shape[1])
        priors = [root_prior(c, x, w) for c, x in zip(self.codes, V.T, strict=True)]
        return self._node(V, w, columns, priors, 0)

    def _node(
        self,
        V: np.ndarray,
        w: np.ndarray,
        columns: np.ndarray,
        priors: list,
        depth: int,
    ) -> Node:
        """The circuit of some columns of some rows.

        Args:
            V: (n, k) the values of these columns.
            w: (n,) weights.
            columns: (k,) their numbers.
            priors: of each: what leaves are drawn to.
            depth: how many sums are above.
        """
        if len(columns) == 1:
            return self._leaf(V[:, 0], w, int(columns[0]), priors[0])
        codes = tuple(self.codes[j] for j in columns)
        groups = components(dependent_pairs(V, w, codes, self.alpha))
        if len(groups) > 1:
            parts = [
                self._node(V[:, g], w, columns[g], [priors[j] for j in g], depth)
                for g in groups
            ]
            return joined(parts)
        if w.sum() < 2 * self.min_rows or depth >= self.max_depth:
            return self._leaves(V, w, columns, priors)
        return self._sum(V, w, columns, priors, depth)

    def _sum(
        self,
        V: np.ndarray,
        w: np.ndarray,
        columns: np.ndarray,
        priors: list,
        depth: int,
    ) -> Node:
        codes = tuple(self.codes[j] for j in columns)
        split = split_rows(V, w, codes)
        weights = np.array([w[~split.second].sum(), w[split.second].sum()])
        price = 0.5 * np.log(w.sum()) * split.n_numbers * self.penalty
        if weights.min() < self.min_rows or split.gain < price:
            return self._leaves(V, w, columns, priors)
        own = [prior_of(c, x, w, p) for c, x, p in zip(codes, V.T, priors, strict=True)]
        parts = [
            self._node(V[side], w[side], columns, own, depth + 1)
            for side in (~split.second, split.second)
        ]
        return merged(parts, weights / weights.sum())

    def _leaves(
        self, V: np.ndarray, w: np.ndarray, columns: np.ndarray, priors: list
    ) -> ProductNode:
        triples = zip(V.T, columns.tolist(), priors, strict=True)
        return ProductNode(tuple(self._leaf(x, w, j, prior) for x, j, prior in triples))

    def _leaf(
        self, x: np.ndarray, w: np.ndarray, column: int, prior: np.ndarray
    ) -> Node:
        return fit_leaf(self.codes[column], column, x, w, prior)


def joined(parts: list[Node]) -> ProductNode:
    """A product in which products below are taken apart."""
    children: list[Node] = []
    for part in parts:
        children += part.children if isinstance(part, ProductNode) else [part]
    return ProductNode(tuple(children))


def merged(parts: list[Node], weights: np.ndarray) -> SumNode:
    """A sum in which sums below are taken apart, weights multiplied."""
    children: list[Node] = []
    shares: list[float] = []
    for part, weight in zip(parts, weights.tolist(), strict=True):
        if isinstance(part, SumNode):
            children += part.children
            shares += [weight * v for v in part.weights]
        else:
            children.append(part)
            shares.append(weight)
    return SumNode(tuple(children), tuple(shares))
