"""Trees as flat arrays, for predictions and for files."""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float, Int, Shaped

from likely.core.threads import row_blocks, thread_count, thread_map
from likely.models.trees.bins import Bins


class Grown(NamedTuple):
    """One tree, as the kernels that grow it return it."""

    nodes: np.ndarray
    set_at: np.ndarray
    sets: np.ndarray
    value: np.ndarray
    """(nodes, m) the values of each node."""
    weight: np.ndarray
    gain: np.ndarray


MIN_PARALLEL_WORK = 20_000
"""Rows times trees from which on threads share a prediction."""
LEAF = np.uint64(0xFF)
"""The word of a leaf: every row goes left; the left child (the leaf itself) is added."""


def loop_leaves(nodes: np.ndarray) -> np.ndarray:
    """The nodes of one tree, with leaves (0) replaced by nodes that lead to themselves."""
    own = np.arange(len(nodes), dtype=np.uint64) << np.uint64(32)
    return np.where(nodes == 0, own | LEAF, nodes)


class Trees(eqx.Module):
    """Several trees in one set of arrays; η of a row is `start` plus the sum of its leaves.

    A node is one word, see `kernels`: [left | feature | low | width].
    """

    bins: Bins
    nodes: Shaped[np.ndarray, " N"]
    set_at: Int[np.ndarray, " N"]
    """The index of the set of a categorical split, or -1."""
    sets: Shaped[np.ndarray, "s 4"]
    """The categories that go left, as bits."""
    value: Float[np.ndarray, "N m"]
    weight: Float[np.ndarray, " N"]
    """The weight of the training rows in each node."""
    gain: Float[np.ndarray, " N"]
    """The gain of the split of each node, in nats or units of its criterion."""
    roots: Int[np.ndarray, " T"]
    """(trees + 1,) the first node of each tree."""
    groups: Int[np.ndarray, " t"]
    """The first entry of η that each tree adds to."""
    start: Float[np.ndarray, " k"]

    @classmethod
    def of(
        cls,
        bins: Bins,
        grown: Sequence[Grown],
        start: Float[np.ndarray, " k"],
        groups: Int[np.ndarray, " t"] | None = None,
    ) -> "Trees":
        """Several grown trees in one set of arrays."""
        roots = np.cumsum([0, *(len(tree.nodes) for tree in grown)])
        before = np.cumsum([0, *(len(tree.sets) for tree in grown)])
        set_at = [
            np.where(tree.set_at >= 0, tree.set_at + at, -1)
            for tree, at in zip(grown, before, strict=False)
        ]
        if groups is None:
            groups = np.zeros(len(grown), np.int32)
        return cls(
            bins,
            np.concatenate([loop_leaves(tree.nodes) for tree in grown]),
            np.concatenate(set_at).astype(np.int32),
            np.concatenate([tree.sets for tree in grown]),
            np.concatenate([tree.value for tree in grown]),
            np.concatenate([tree.weight for tree in grown]),
            np.concatenate([tree.gain for tree in grown]),
            roots,
            np.asarray(groups, np.int32),
            np.asarray(start, np.float64),
        )

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def left(self) -> np.ndarray:
        """The left child of each node, among all nodes; -1 at a leaf."""
        root = np.repeat(self.roots[:-1], np.diff(self.roots))
        left = (self.nodes >> np.uint64(32)).astype(np.int64) + root
        return np.where(left != np.arange(len(left)), left, -1)

    @property
    def feature(self) -> np.ndarray:
        """The feature that each node splits; -1 at a leaf."""
        inside = ((self.nodes >> np.uint64(16)) & np.uint64(0xFFFF)).astype(np.int64)
        return np.where(self.left >= 0, inside, -1)

    @property
    def low(self) -> np.ndarray:
        """The kind of split: 0, missing values go left; 1, they go right; 2, a set."""
        return ((self.nodes >> np.uint64(8)) & np.uint64(0xFF)).astype(np.int64)

    @property
    def cut(self) -> np.ndarray:
        """The last code that goes left."""
        return (self.nodes & np.uint64(0xFF)).astype(np.int64) + self.low

    @property
    def depths(self) -> np.ndarray:
        """The depth of each node."""
        depth, left = np.zeros(len(self.nodes), np.int64), self.left
        for node in np.flatnonzero(left >= 0):  # children come after their parent
            depth[left[node] : left[node] + 2] = depth[node] + 1
        return depth

    def tree(self, t: int) -> Grown:
        """One of the trees; its leaves are 0."""
        at = slice(int(self.roots[t]), int(self.roots[t + 1]))
        nodes = np.where(self.left[at] < 0, np.uint64(0), self.nodes[at])
        arrays = (self.value[at], self.weight[at], self.gain[at])
        return Grown(nodes, self.set_at[at], self.sets, *arrays)

    def eta(
        self, X: Float[np.ndarray, "n d"], n_jobs: int | None = None
    ) -> Float[np.ndarray, "n k"]:
        """`start` plus the sum of the leaves of each row."""
        return sum_leaves(self, X, n_jobs)

    def eta_of(self, t: int, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
        """The value that one tree adds to η of each row."""
        from likely.models.trees.kernels import add_leaves

        out = np.zeros((len(X), len(self.start)))
        tail = (self.roots[t : t + 2], self.groups[t : t + 1], self.value, out)
        _run(self, add_leaves, X, tail, 1)
        return out

    def leaves(
        self, X: Float[np.ndarray, "n d"], n_jobs: int | None = None
    ) -> Int[np.ndarray, "n t"]:
        """The leaf of each row in each tree, as an index into all nodes."""
        from likely.models.trees.kernels import find_leaves

        out = np.empty((len(X), len(self)), np.int64)
        _run(self, find_leaves, X, (self.roots, out), n_jobs)
        return out


def sum_leaves(
    trees: Trees, X: Float[np.ndarray, "n d"], n_jobs: int | None = None
) -> Float[np.ndarray, "n k"]:
    """`Trees.eta` as a function: calling a method of a module is slow for single rows."""
    from likely.models.trees.kernels import add_leaves

    start = trees.start
    out = np.empty((len(X), len(start)))
    out[:] = start
    _run(trees, add_leaves, X, (trees.roots, trees.groups, trees.value, out), n_jobs)
    return out


def _run(trees: Trees, kernel, X: np.ndarray, tail: tuple, n_jobs) -> None:
    """Run a kernel over all rows, in threads where there is enough work."""
    bins, n = trees.bins, len(X)
    arguments = (
        np.ascontiguousarray(X),
        bins.cuts,
        bins.categorical,
        trees.nodes,
        trees.set_at,
        trees.sets,
        *tail,
    )
    if n * len(tail[0]) < MIN_PARALLEL_WORK:
        kernel(*arguments, 0, n)
        return
    workers = thread_count(n_jobs)
    blocks = row_blocks(n, workers)
    thread_map(lambda block: kernel(*arguments, *block), blocks, workers)
