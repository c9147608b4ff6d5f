r"""Isotonic recalibration: any rising map of a predicted probability, by likelihood.

Among all rising maps q of p, the one of largest likelihood is isotonic regression of what
happened: frequencies in blocks, pooled until they rise. Blocks at the ends may say 0 or 1, which
a single new row refutes; so every row counts a little as what was predicted for it,

$$\max_q \sum_i w_i \bigl(y_i \log q_i + (1 - y_i) \log(1 - q_i)\bigr)
  + ε \sum_i w_i \bigl(p_i \log q_i + (1 - p_i) \log(1 - q_i)\bigr),
  \qquad ε = \Bigl(\sum_i w_i\Bigr)^{-1/2},$$

which is isotonic regression of $(y + ε p)/(1 + ε)$. The second sum is largest at q = p, so that
the likelihood of the rows of the fit never falls. Between rows the map is linear. With more than
two classes each has its own map, their sum is made one, and a share of the result is mixed with
the probabilities as they were: the share of largest likelihood.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import isotonic_regression, minimize_scalar

from likely.core.checks import InputError
from likely.evaluate.scores import coded, present


class IsotonicMap(NamedTuple):
    """A rising map from probabilities to probabilities, linear between its points."""

    predicted: Float[np.ndarray, " k"]
    frequency: Float[np.ndarray, " k"]

    def __call__(self, p: Any) -> np.ndarray:
        """The corrected probability of each predicted one."""
        p = np.asarray(p, np.float64)
        return np.asarray(np.interp(p, self.predicted, self.frequency))


class Isotonic(NamedTuple):
    """Rising maps of the probabilities of classes.

    Attributes:
        maps: of class 1 where there are two classes, else of each class.
        share: of the mapped probabilities in the result; the rest are as they were.

    Examples:
        >>> probs = np.array([[0.9, 0.1], [0.7, 0.3], [0.6, 0.4], [0.2, 0.8]])
        >>> lk.evaluate.isotonic(np.array([0, 1, 0, 1]), probs)(probs)[:, 1].round(2)
        array([0.03, 0.45, 0.45, 0.93])
    """

    maps: tuple[IsotonicMap, ...]
    share: float

    def __call__(self, probs: Any) -> Float[np.ndarray, "n c"]:
        """The corrected probabilities of all classes."""
        probs = np.asarray(probs, np.float64)
        if len(self.maps) == 1:
            q = self.maps[0](probs[:, 1])
            return np.stack([1 - q, q], axis=1)
        mapped = np.stack(
            [m(p) for m, p in zip(self.maps, probs.T, strict=True)], axis=1
        )
        total = mapped.sum(1, keepdims=True)
        mapped = np.where(total > 0, mapped / np.where(total > 0, total, 1.0), probs)
        return self.share * mapped + (1 - self.share) * probs


def isotonic_map(happened: Any, p: Any, w: Any = None) -> IsotonicMap:
    """The rising map of largest likelihood of the probability of one event per row.

    Args:
        happened: (n,) 1 where the event happened.
        p: (n,) its predicted probability.
        w: how often each row counts.

    Examples:
        >>> happened, p = np.array([0, 1, 0, 1]), np.array([0.1, 0.3, 0.4, 0.8])
        >>> lk.evaluate.isotonic_map(happened, p).frequency.round(2)
        array([0.03, 0.45, 0.45, 0.93])
    """
    y, p, w = present(happened, p, w=w)
    if np.isnan(p).any() or p.min() < 0 or p.max() > 1 + 1e-9:
        raise InputError("probabilities have to be numbers from 0 to 1.")
    levels, index = np.unique(p, return_inverse=True)
    weight = np.bincount(index, w, len(levels))
    eps = 1 / np.sqrt(w.sum())
    mean = np.bincount(index, w * y, len(levels)) / weight
    found = isotonic_regression((mean + eps * levels) / (1 + eps), weights=weight)
    q = np.clip(found.x, 0.0, 1.0)
    same = np.concatenate([[False], (q[1:-1] == q[:-2]) & (q[1:-1] == q[2:]), [False]])
    keep = ~same[: len(q)]
    return IsotonicMap(levels[keep], q[keep])


def isotonic(codes: Any, probs: Any, w: Any = None) -> Isotonic:
    """Isotonic recalibration by the likelihood of held-out classes.

    Args:
        codes: (n,) the class of each row, as a number from 0.
        probs: (n, c) probabilities.
        w: how often each row counts.

    Examples:
        >>> probs = np.array([[0.9, 0.1], [0.7, 0.3], [0.6, 0.4], [0.2, 0.8]])
        >>> found = lk.evaluate.isotonic(np.array([0, 1, 0, 1]), probs)
        >>> found(probs)[:, 1].round(2)
        array([0.03, 0.45, 0.45, 0.93])
    """
    codes, probs, w = coded(codes, probs, w)
    c = probs.shape[1]
    if c == 2:
        return Isotonic((isotonic_map(codes, probs[:, 1], w),), 1.0)
    maps = tuple(isotonic_map(codes == j, probs[:, j], w) for j in range(c))
    every, before = np.arange(len(codes)), probs[np.arange(len(codes)), codes]
    after = Isotonic(maps, 1.0)(probs)[every, codes]

    def loss(share: float) -> float:
        p = share * after + (1 - share) * before
        return float(-w @ np.log(np.maximum(p, np.finfo(np.float64).tiny)))

    options = {"xatol": 1e-6}
    found: Any = minimize_scalar(loss, bounds=(0, 1), method="bounded", options=options)
    share = min((0.0, 1.0, float(found.x)), key=loss)
    return Isotonic(maps, share)
