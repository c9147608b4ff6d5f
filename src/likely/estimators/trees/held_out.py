"""Rows judged by trees that have not seen them, and the variances that they suggest."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float, Int

from likely.base.held_out import (
    MAX_ROWS_FOR_PARTS,
    fit_parts,
    least_variance,
    variance_of,
    variance_of_few,
)
from likely.base.rows import Rows
from likely.families import AbstractFamily, Predictive
from likely.models.trees import Trees

PRIOR_WEIGHTS = (1.0, 4.0, 16.0, 64.0, 1e6)
"""The values of κ that are tried."""
SCALE_SHARES = (0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5)
"""The values of τ² that are tried, as shares of the squared error held out."""
SHIFTS = np.linspace(-3, 3, 13)
"""What is added to the dispersion of all rows, in turn."""
SMALL_LEAVES = (10.0, 40.0, np.inf)
"""The weights up to which leaves share a dispersion that are tried."""
SPREADS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The values of s that are tried."""


class HeldOutLeaves(NamedTuple):
    """The leaves of rows in trees that have not seen them.

    Attributes:
        value: (m, k) what the leaf of each row holds.
        weight: (m,) the weight of the leaf.
        rows: (m,) which rows they are.
        w: (m,) the weight of each that was held out.
    """

    value: Float[np.ndarray, "m k"]
    weight: Float[np.ndarray, " m"]
    rows: Int[np.ndarray, " m"]
    w: Float[np.ndarray, " m"]


class LeafVariance(NamedTuple):
    """The variance of a leaf: its own, leaning on τ² with the weight κ."""

    prior_weight: float
    square: float

    def of(self, variance: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """(W v + κ τ²) / (W + κ)."""
        k = self.prior_weight
        return (weight * variance + k * self.square) / (weight + k)


def held_out_leaves(
    rows: Rows,
    grow_on: Callable[[np.ndarray], Trees],
    max_rows: int = MAX_ROWS_FOR_PARTS,
) -> HeldOutLeaves:
    """Each row in the leaf of a tree that was grown without it.

    Args:
        rows: rows that all have weight.
        grow_on: from weights to a single tree.
        max_rows: rows up to which every part is held out in turn; of more rows one.
    """
    found = []
    for share in fit_parts(rows.X, rows.y, rows.w, max_rows):
        tree, out = grow_on(rows.w * (1 - share)), np.flatnonzero(share)
        leaf = tree.leaves(rows.X[out])[:, 0]
        parts = (tree.value[leaf], tree.weight[leaf], out, (rows.w * share)[out])
        found.append(parts)
    if not found:
        k = grow_on(rows.w).value.shape[1]
        nothing = np.zeros(0)
        return HeldOutLeaves(np.zeros((0, k)), nothing, nothing.astype(int), nothing)
    return HeldOutLeaves(*map(np.concatenate, zip(*found, strict=True)))


def leaf_variance(rows: Rows, leaves: HeldOutLeaves) -> LeafVariance:
    """κ and τ² of largest likelihood on rows held out; the variance of y if none is.

    Args:
        rows: all rows.
        leaves: those held out; values are mean and variance.
    """
    least = least_variance(rows.y, rows.w)
    if not leaves.w.any():
        return LeafVariance(1.0, max(variance_of(rows.y, rows.w), least))
    (mean, variance), W, w = leaves.value.T, leaves.weight, leaves.w
    square = (rows.y[leaves.rows] - mean) ** 2
    error = max(float(np.average(square, weights=w)), least)
    best: tuple[float, LeafVariance] = (np.inf, LeafVariance(1.0, error))
    for k in PRIOR_WEIGHTS:
        unit = error / float(np.average(k / (W + k), weights=w))
        for share in SCALE_SHARES:
            found = LeafVariance(k, share * unit)
            v = found.of(variance, W)
            loss = float(np.average(square / v + np.log(v), weights=w))
            if loss < best[0]:
                best = loss, found
    k, found = best[1]
    few = variance_of_few(w, rows.y, rows.w)
    few = few / float(np.average(k / (W + k), weights=w))
    return LeafVariance(k, max(found + few, least))


def with_shared_dispersion(
    tree: Trees, family: AbstractFamily, rows: Rows, leaves: HeldOutLeaves
) -> Trees:
    """The tree with one dispersion for all leaves that are too small to know their own.

    The dispersion is the second entry of η, such as a log-scale. It is that of all rows,
    moved by the number, for the leaves up to the weight, that make the rows held out most
    likely.

    Args:
        tree: a tree whose values are η.
        family: with two entries of η.
        rows: all rows.
        leaves: the rows held out.
    """
    root, y = float(tree.value[0, 1]), rows.y[leaves.rows]
    best: tuple[float, float, float] = (np.inf, root, SMALL_LEAVES[-1])
    for shift in SHIFTS if leaves.w.any() else ():
        for weight in SMALL_LEAVES:
            eta = _shared(leaves.value, leaves.weight, root + shift, weight)
            log_prob = np.asarray(Predictive(family, eta).log_prob(y))
            loss = -float(np.average(log_prob, weights=leaves.w))
            best = min(best, (loss, root + shift, weight))
    value = _shared(tree.value, tree.weight, *best[1:])
    return eqx.tree_at(lambda t: t.value, tree, value)


def _shared(
    eta: np.ndarray, weight: np.ndarray, dispersion: float, most: float
) -> np.ndarray:
    """η of leaves, with this dispersion in those up to a weight."""
    return np.stack(
        [eta[:, 0], np.where(weight <= most, dispersion, eta[:, 1])], axis=1
    )


def spread_and_scale(  # noqa: PLR0917
    rows: Rows,
    y: Float[np.ndarray, " n"],
    w: Float[np.ndarray, " n"],
    unseen: Bool[np.ndarray, "n m"],
    mean: Float[np.ndarray, "n m"],
    variance: Float[np.ndarray, "n m"] | float = 0.0,
    weight: Float[np.ndarray, "n m"] | float = 0.0,
) -> tuple[float, float]:
    r"""s and τ of largest likelihood, each row judged by the members that are new to it.

    Member m of the mixture is $N(\bar μ + s(μ_m - \bar μ), (Wv + τ^2)/(W + 1))$. Where no row
    is new to any member, s is 1 and τ the standard deviation of y.

    Args:
        rows: all rows.
        y: the targets of the rows that are judged.
        w: their weights.
        unseen: which members are new to a row; each row has one.
        mean: μ, what the members predict for it.
        variance: v, the variance of the leaf that says so.
        weight: W, the weight of that leaf.
    """
    least = least_variance(rows.y, rows.w)
    if not w.any():
        return 1.0, float(np.sqrt(max(variance_of(rows.y, rows.w), least)))
    centre = np.average(mean, axis=1, weights=unseen)[:, None]
    error = max(float(np.average((y - centre[:, 0]) ** 2, weights=w)), least)
    shrunk = float(np.mean(1 / (weight + 1.0)))
    best = (np.inf, 1.0, error / shrunk)
    for s in SPREADS:
        square = (y[:, None] - centre - s * (mean - centre)) ** 2
        for share in SCALE_SHARES:
            v = (variance * weight + share * error / shrunk) / (weight + 1)
            logs = np.where(unseen, -0.5 * (square / v + np.log(v)), -np.inf)
            top = logs.max(axis=1)
            nats = -top - np.log(np.exp(logs - top[:, None]).sum(axis=1))
            loss = float(np.average(nats, weights=w))
            best = min(best, (loss, s, share * error / shrunk))
    few = variance_of_few(w, rows.y, rows.w) / shrunk
    return best[1], float(np.sqrt(max(best[2] + few, least)))
