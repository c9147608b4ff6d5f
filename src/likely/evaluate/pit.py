r"""The probability integral transform: F(y) is uniform where the distribution is right.

Counts, classes and points with a probability have a jump in F. There a number is drawn
between both ends of the jump, $F(y^-) + V (F(y) - F(y^-))$ with V uniform on [0, 1], which
is uniform again exactly where the distribution is right.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.evaluate.assignment import generator_of
from likely.evaluate.scores import present


def pit(y: Any, dist: Any, *, random_state: Any = 0) -> Float[np.ndarray, "n ..."]:
    """F(y) of each row (and output), randomised within the jumps of F.

    Args:
        y: (n,) what was observed.
        dist: its predicted distribution, such as `predict_dist` returns.
        random_state: seed or NumPy generator of the numbers drawn within jumps; None takes
            the middle of each jump.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Normal(1.0), np.zeros((2, 1)))
        >>> lk.evaluate.pit(np.array([0.0, 1.0]), dist).round(2)
        array([0.5 , 0.84])
    """
    reached = np.asarray(dist.cdf(y), np.float64)
    before = np.asarray(dist.below(y), np.float64)
    if random_state is None:
        return 0.5 * (before + reached)
    V = generator_of(random_state).random(reached.shape)
    return before + V * (reached - before)


class Uniformity(NamedTuple):
    """The probability integral transform in bins, and its distance from uniform."""

    share: Float[np.ndarray, " b"]
    """The share of rows in each of b bins of equal width; 1/b where the model is right."""
    distance: float
    """The largest gap between the distribution function of F(y) and the diagonal."""
    noise: float
    """The 95 % quantile of the distance if the distribution were right."""


def uniformity(pit: Any, w: Any = None, *, bins: int = 20) -> Uniformity:
    """Whether F(y) is uniform; full outer bins mean that intervals are too narrow.

    Examples:
        >>> found = lk.evaluate.uniformity(np.linspace(0.01, 0.99, 40), bins=4)
        >>> found.share.round(2)
        array([0.25, 0.25, 0.25, 0.25])
    """
    pit, w = present(pit, w=w)
    total = w.sum()
    bin_ = np.minimum((pit * bins).astype(int), bins - 1)
    share = np.bincount(bin_, w, bins) / total
    order = np.argsort(pit, kind="stable")
    upper = np.cumsum(w[order]) / total
    lower = upper - w[order] / total
    gaps = np.maximum(np.abs(upper - pit[order]), np.abs(pit[order] - lower))
    return Uniformity(share, float(gaps.max()), float(1.358 / np.sqrt(total)))
