r"""Calibration: do events predicted with probability p happen with frequency p?

For classes, rows are binned by confidence; the expected calibration error is
$\sum_b \frac{n_b}{n} |\text{frequency}_b - \text{confidence}_b|$. For numbers, the probability
integral transform $F(y)$ is uniform where the distribution is right.

A model that is not calibrated can be corrected: probabilities by temperature scaling,
$p_c^{1/T} / \sum_k p_k^{1/T}$, and distributions of numbers by a factor s on the distance
from their median. Both have one parameter, chosen by held-out likelihood, and neither
changes the most probable class or the median.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from likely.core.checks import InputError
from likely.evaluate.scores import coded, present

MIN_TEMPERATURE, MAX_TEMPERATURE = 0.05, 20.0


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
    """
    happened, p, w = present(happened, p, w=w)
    if equal not in {"width", "weight"}:
        raise InputError(f"equal is {equal!r}; give 'width' or 'weight'.")
    if equal == "width":
        bin_ = np.clip(np.ceil(p * bins).astype(int) - 1, 0, bins - 1)
    else:
        order = np.argsort(p, kind="stable")
        middle = np.cumsum(w[order]) - w[order] / 2
        bin_ = np.empty(len(p), int)
        bin_[order] = np.minimum((middle / w.sum() * bins).astype(int), bins - 1)
    weight = np.bincount(bin_, w, bins)
    filled = weight > 0
    weight = weight[filled]

    def mean(values: np.ndarray) -> np.ndarray:
        return np.bincount(bin_, w * values, bins)[filled] / weight

    error = np.sqrt(mean(p * (1 - p)) / weight)
    return Reliability(mean(p), mean(happened), weight, error)


def temperature(codes: Any, probs: Any, w: Any = None) -> float:
    """The temperature T that maximises the likelihood of held-out classes.

    A T above 1 means that the probabilities were over-confident.
    """
    codes, probs, w = coded(codes, probs, w)
    logs, every = _finite_logs(probs), np.arange(len(codes))

    def loss(log_t: float) -> float:
        scaled = log_softmax(logs / np.exp(log_t), axis=1)
        return float(-w @ scaled[every, codes] / w.sum())

    ends = np.log([MIN_TEMPERATURE, MAX_TEMPERATURE])
    found: Any = minimize_scalar(
        loss, bounds=ends, method="bounded", options={"xatol": 1e-6}
    )
    return float(np.exp(found.x)) if found.fun < loss(0.0) else 1.0


def temperature_scaled(probs: Any, T: float) -> Float[np.ndarray, "n c"]:
    r"""Temperature scaling: the probabilities $p_c^{1/T} / \sum_k p_k^{1/T}$."""
    return softmax(_finite_logs(probs) / T, axis=1)


def _finite_logs(probs: Any) -> Float[np.ndarray, "n c"]:
    """The logarithms of probabilities, finite also where these are zero."""
    return np.log(np.maximum(np.asarray(probs, np.float64), np.finfo(np.float64).tiny))


class Uniformity(NamedTuple):
    """The probability integral transform in bins, and its distance from uniform."""

    share: Float[np.ndarray, " b"]
    """The share of rows in each of b bins of equal width; 1/b where the model is right."""
    distance: float
    """The largest gap between the distribution function of F(y) and the diagonal."""
    noise: float
    """The 95 % quantile of the distance if the distribution were right."""


def uniformity(pit: Any, w: Any = None, *, bins: int = 20) -> Uniformity:
    """Whether F(y) is uniform; full outer bins mean that intervals are too narrow."""
    pit, w = present(pit, w=w)
    total = w.sum()
    bin_ = np.minimum((pit * bins).astype(int), bins - 1)
    share = np.bincount(bin_, w, bins) / total
    order = np.argsort(pit, kind="stable")
    upper = np.cumsum(w[order]) / total
    lower = upper - w[order] / total
    gaps = np.maximum(np.abs(upper - pit[order]), np.abs(pit[order] - lower))
    return Uniformity(share, float(gaps.max()), float(1.358 / np.sqrt(total)))
