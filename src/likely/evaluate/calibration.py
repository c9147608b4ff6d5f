r"""Reliability: do events predicted with probability p happen with frequency p?

Rows are binned by confidence; the expected calibration error is
$\sum_b \frac{n_b}{n} |\text{frequency}_b - \text{confidence}_b|$. `calibration_error` has its
kinds by name, each with an interval and without the part that is noise.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from likely.core.checks import InputError
from likely.evaluate.scores import coded, present


class Reliability(NamedTuple):
    """Confidence against frequency, in the bins of confidence that are not empty."""

    confidence: Float[np.ndarray, " b"]
    frequency: Float[np.ndarray, " b"]
    weight: Float[np.ndarray, " b"]
    error: Float[np.ndarray, " b"]
    """The standard error of each frequency if the confidences were right."""

    @property
    def expected_error(self) -> float:
        """The expected calibration error."""
        gap = np.abs(self.frequency - self.confidence)
        return float(self.weight @ gap / self.weight.sum())

    @property
    def noise(self) -> float:
        """About the expected calibration error if the confidences were right."""
        share = self.weight / self.weight.sum()
        return float(np.sqrt(2 / np.pi) * (share @ self.error))


def reliability(
    codes: Any, probs: Any, w: Any = None, *, bins: int = 15, equal: str = "width"
) -> Reliability:
    """The accuracy of the most probable class in bins of its predicted probability.

    Args:
        codes: the class of each row, as a number.
        probs: (n, c) probabilities.
        w: how often each row counts.
        bins: how many bins of confidence.
        equal: "width", bins of equal width, or "weight", bins of equal weight.

    Examples:
        >>> probs = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.6, 0.4]])
        >>> found = lk.evaluate.reliability(np.array([0, 1, 1, 0]), probs, bins=2)
        >>> print(found.confidence, found.frequency)
        [0.75] [0.75]
    """
    codes, probs, w = coded(codes, probs, w)
    right = (probs.argmax(1) == codes).astype(float)
    return reliability_of_events(right, probs.max(1), w, bins=bins, equal=equal)


def reliability_of_events(
    happened: Any, p: Any, w: Any = None, *, bins: int = 15, equal: str = "width"
) -> Reliability:
    """The reliability of predicted probabilities of one event per row.

    Args:
        happened: (n,) 1 where the event happened.
        p: (n,) its predicted probability.
        w: how often each row counts.
        bins: how many bins of probability.
        equal: "width", bins of equal width, or "weight", bins of equal weight.

    Examples:
        >>> p, happened = np.array([0.1, 0.2, 0.7, 0.9]), np.array([0, 0, 1, 1])
        >>> found = lk.evaluate.reliability_of_events(happened, p, bins=2)
        >>> print(found.confidence.round(2), found.frequency)
        [0.15 0.8 ] [0. 1.]
    """
    happened, p, w = present(happened, p, w=w)
    bin_ = bin_numbers(p, w, bins, equal)
    weight = np.bincount(bin_, w, bins)
    filled = weight > 0
    weight = weight[filled]

    def mean(values: np.ndarray) -> np.ndarray:
        return np.bincount(bin_, w * values, bins)[filled] / weight

    error = np.sqrt(mean(p * (1 - p)) / weight)
    return Reliability(mean(p), mean(happened), weight, error)


def bin_numbers(
    p: Float[np.ndarray, " n"], w: Float[np.ndarray, " n"], bins: int, equal: str
) -> Int[np.ndarray, " n"]:
    """The bin of each probability: bins of equal "width", or of equal "weight"."""
    if equal not in ("width", "weight"):
        raise InputError(f"equal is {equal!r}; give 'width' or 'weight'.")
    if equal == "width":
        return np.clip(np.ceil(p * bins).astype(int) - 1, 0, bins - 1)
    levels, index = np.unique(p, return_inverse=True)  # equal ones stay together
    weight = np.bincount(index, w, len(levels))
    middle = np.cumsum(weight) - weight / 2
    return np.minimum((middle / w.sum() * bins).astype(int), bins - 1)[index]
