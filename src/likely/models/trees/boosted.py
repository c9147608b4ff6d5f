"""One gradient tree from Python: the arrays that its threads share, and its limits."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.models.trees.bins import Bins
from likely.models.trees.ensemble import Grown
from likely.models.trees.fixed_point import BITS


class Limits(NamedTuple):
    """When to stop splitting.

    Attributes:
        max_leaves: the most leaves.
        max_depth: the most questions on the way to a leaf.
        min_leaf: the least weight of a leaf.
        min_gain: the least gain of a split, in nats.
        l2: strength λ of the prior on the values of leaves.
        smooth: added to H where categories are sorted, in mean rows.
    """

    max_leaves: int
    max_depth: int
    min_leaf: float
    min_gain: float
    l2: float
    smooth: float = 10.0


MANY, EVEN_BITS = 8192, 20
"""From so many rows on, and up to so many bits of their number, one word is enough."""


class Booster:
    """Grows trees on one table of codes, one after the other."""

    def __init__(
        self,
        bins: Bins,
        codes: np.ndarray,
        w: Int[np.ndarray, " n"],
        unit: float,
        limits: Limits,
        *,
        signs: Int[np.ndarray, " d"],
        n_threads: int,
    ):
        n, d = len(w), len(bins.categorical)
        self.codes = np.ascontiguousarray(codes.view(np.uint32)[..., 0])
        self.bins, self.w, self.unit, self.limits = bins, w, unit, limits
        self.bits = max(int(w.sum()).bit_length(), 1)
        most, blocks = limits.max_leaves, len(self.codes)
        self.n_threads = min(n_threads, blocks)
        self.counts = bins.counts.astype(np.int64)
        self.signs = signs.astype(np.int8)
        self.gh = np.empty((n, 2), np.int64)
        self.ordered = np.empty((n, 2), np.int64)
        self.spare = np.empty((2, n), np.int32)
        alike = unit == 1.0 and int(w.max()) == 1
        self.even = alike and n >= MANY and self.bits <= EVEN_BITS
        self.hists = np.empty((most, blocks, 2048), np.int64)
        self.leaf = (
            np.zeros(most, bool),
            np.zeros((most, 2), np.int64),
            np.empty((most, 2)),
        )
        self.found = (
            np.empty((most, d)),
            np.empty((most, d), np.int32),
            np.empty((most, d), bool),
        )

    def grow(  # noqa: PLR0917
        self,
        g: Float[np.ndarray, " n"],
        h: Float[np.ndarray, " n"],
        rows: Int[np.ndarray, " r"],
        features: Bool[np.ndarray, " d"],
        pool: ThreadPoolExecutor | None = None,
        *,
        location: bool = False,
    ) -> tuple[Grown, Int[np.ndarray, "l 3"]]:
        """A tree for these derivatives; `rows` are left in the order of its leaves.

        A leaf needs a curvature of at least 1e-3 (where η is a location and has the units
        of y, 1e-3 of a mean row), or its step would be a guess.

        Returns the tree and, for each leaf, its node and its first and last row.
        """
        from likely.models.trees.leafwise import CONTROL, grow_leafwise, help_grow

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
        control = np.zeros(CONTROL, np.int64)
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
            self.signs,
            totals,
            bounds,
            numbers,
            *self.found,
            control,
            self.spare,
        )
        helpers = self.n_threads - 1 if pool is not None and n > 2048 else 0
        steps = [limits.max_leaves, limits.max_depth, self.bits, 1 + helpers]
        settings = np.array([*steps, len(rows) == n], np.int64)
        waiting = [pool.submit(help_grow, job) for _ in range(helpers)] if pool else []
        found: Any = grow_leafwise(job, settings)
        for helper in waiting:
            helper.result()
        return Grown(*found[:-1]), found[-1]

    def _words(self, g: Float[np.ndarray, " n"], h: Float[np.ndarray, " n"]):
        """Derivatives as whole numbers, a place to put them in order, and their units."""
        from likely.models.trees.derivatives import quantise, quantise_even

        n = len(g)
        if not self.even or h.min() != h.max():
            units = quantise(g, h, self.w, self.unit, self.gh, self.bits, BITS)
            return self.gh, self.ordered, units
        words, ordered = (a.reshape(-1, 1)[:n] for a in (self.gh, self.ordered))
        unit = quantise_even(g, self.w, words, self.bits, BITS)
        return words, ordered, (unit, h[0], h[0] * float(self.w.sum()))
