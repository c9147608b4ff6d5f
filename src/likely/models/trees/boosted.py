"""Growing gradient trees from Python: the arrays that threads share, and the limits."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.models.trees.bins import Bins
from likely.models.trees.ensemble import Grown
from likely.models.trees.fixed_point import BITS
from likely.models.trees.tree_arrays import cut_tree, empty_tree


class Limits(NamedTuple):
    """The limits of one tree.

    Attributes:
        max_leaves: the largest number of leaves.
        max_depth: the largest number of splits on the way to a leaf.
        min_leaf: the smallest weight of a leaf.
        min_gain: the smallest gain of a split, in nats.
        l2: strength λ of the prior on the values of leaves.
        smooth: added to H where categories are sorted, in units of the mean row.
    """

    max_leaves: int
    max_depth: int
    min_leaf: float
    min_gain: float
    l2: float
    smooth: float = 10.0


MIN_ONE_WORD_ROWS, MAX_ONE_WORD_BITS = 8192, 20
"""Rows from which on, and bits of their number up to which, one word per row is used."""


MIN_HELPED_ROWS = 2048
"""Rows above which other threads help to grow a tree."""


class Booster:
    """Grows gradient trees on one table of codes, one after the other."""

    def __init__(  # noqa: PLR0917
        self,
        bins: Bins,
        codes: np.ndarray,
        w: Int[np.ndarray, " n"],
        unit: float,
        limits: Limits,
        n_threads: int,
    ):
        n, d = len(w), len(bins.categorical)
        self.codes = np.ascontiguousarray(codes.view(np.uint32)[..., 0])
        self.bins, self.w, self.unit, self.limits = bins, w, unit, limits
        self.bits = max(int(w.sum()).bit_length(), 1)
        max_leaves, blocks = limits.max_leaves, len(self.codes)
        self.n_threads = min(n_threads, blocks)
        self.counts = bins.counts.astype(np.int64)
        self.gh = np.empty((n, 2), np.int64)
        self.ordered = np.empty((n, 2), np.int64)
        self.spare = np.empty((2, n), np.int32)
        unweighted = unit == 1.0 and int(w.max()) == 1
        fits = n >= MIN_ONE_WORD_ROWS and self.bits <= MAX_ONE_WORD_BITS
        self.one_word = unweighted and fits
        self.hists = np.empty((max_leaves, blocks, 2048), np.int64)
        self.leaf = (
            np.zeros(max_leaves, bool),
            np.zeros((max_leaves, 2), np.int64),
            np.empty((max_leaves, 2)),
        )
        self.found = (
            np.empty((max_leaves, d)),
            np.empty((max_leaves, d), np.int32),
            np.empty((max_leaves, d), bool),
        )

    def grow(  # noqa: PLR0917
        self,
        g: Float[np.ndarray, " n"],
        h: Float[np.ndarray, " n"],
        rows: Int[np.ndarray, " r"],
        features: Bool[np.ndarray, " d"],
        signs: Int[np.ndarray, " d"],
        pool: ThreadPoolExecutor | None = None,
        *,
        location: bool = False,
    ) -> tuple[Grown, Int[np.ndarray, "l 3"]]:
        """A tree for these derivatives; `rows` end up in the order of its leaves.

        A leaf needs a second derivative of at least 1e-3 (where η is a location and has
        the units of y, 1e-3 of that of a mean row), or its step would be unreliable.

        Returns the tree and, for each leaf, its node and its first and last row.
        """
        from likely.models.trees.leafwise import CONTROL_SIZE, grow_leafwise

        limits, n = self.limits, len(self.w)
        gh, ordered, units = self._words(g, h)
        mean_h = units[2] / (float(self.w.sum()) * self.unit)
        numbers = np.array(
            [
                limits.min_leaf,
                1e-3 * (mean_h if location else 1.0),
                limits.min_gain,
                limits.l2,
                limits.smooth * mean_h,
                units[0],
                units[1],
                self.unit,
                self.bits,
            ]
        )
        control = np.zeros(CONTROL_SIZE, np.int64)
        searched, totals, bounds = self.leaf
        job = (
            self.codes,
            rows,
            gh,
            ordered,
            self.hists,
            searched,
            features,
            self.counts,
            self.bins.categorical,
            signs,
            totals,
            bounds,
            numbers,
            *self.found,
            control,
            self.spare,
        )
        helpers = self.n_threads - 1 if pool is not None and n > MIN_HELPED_ROWS else 0
        steps = [limits.max_leaves, limits.max_depth, self.bits, 1 + helpers]
        settings = np.array([*steps, len(rows) == n], np.int64)
        tree, helping = empty_tree(limits.max_leaves), np.zeros_like(settings)
        waiting = []
        if pool is not None:
            tasks = [(grow_leafwise, job, tree, helping)] * helpers
            waiting = [pool.submit(*task) for task in tasks]
        sizes: Any = grow_leafwise(job, tree, settings)
        for helper in waiting:
            helper.result()
        *found, leaves = cut_tree(tree, *sizes)
        return Grown(*found), leaves

    def _words(self, g: Float[np.ndarray, " n"], h: Float[np.ndarray, " n"]):
        """The derivatives as integers, an array for them in leaf order, and their units."""
        from likely.models.trees.derivatives import quantise, quantise_with_count

        n = len(g)
        if not self.one_word or h.min() != h.max():
            units = quantise(g, h, self.w, self.unit, self.gh, self.bits, BITS)
            return self.gh, self.ordered, units
        words, ordered = (a.reshape(-1, 1)[:n] for a in (self.gh, self.ordered))
        unit = quantise_with_count(g, self.w, words, self.bits, BITS)
        return words, ordered, (unit, h[0], h[0] * float(self.w.sum()))
