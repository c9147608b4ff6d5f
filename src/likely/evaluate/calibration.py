r"""Calibration: do things said with probability p happen with frequency p?

For classes, rows are binned by confidence; the expected calibration error is
$\sum_b \frac{n_b}{n} |\text{frequency}_b - \text{confidence}_b|$. For numbers, the probability
integral transform $F(y)$ is uniform when the distribution is right.

Where a model is found **not** to be calibrated it is corrected (the notes print "found to
be calibrated"): probabilities by a temperature, $p_c^{1/T} / \sum_k p_k^{1/T}$, and
distributions of numbers by a factor s on the distance from their median. Both have one
parameter, chosen by held-out likelihood, and neither changes which answer is likeliest.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar

from likely.core.checks import InputError
from likely.evaluate.scores import coded, present

COOLEST, WARMEST = 0.05, 20.0


class Reliability(NamedTuple):
    """Confidence against frequency, in bins of confidence that hold rows."""

    confidence: Float[np.ndarray, " b"]
    frequency: Float[np.ndarray, " b"]
    weight: Float[np.ndarray, " b"]
    error: Float[np.ndarray, " b"]
    """Standard error of each frequency, were the confidences right."""

    @property
    def expected_error(self) -> float:
        """The expected calibration error."""
        gap = np.abs(self.frequency - self.confidence)
        return float(self.weight @ gap / self.weight.sum())

    @property
    def noise(self) -> float:
        """What the expected error would be about, were the confidences right."""
        share = self.weight / self.weight.sum()
        return float(np.sqrt(2 / np.pi) * (share @ self.error))


def reliability(
    codes: Any, probs: Any, w: Any = None, *, bins: int = 15, equal: str = "width"
) -> Reliability:
    """How often the most probable class is right, by how probable it was said to be.

    Args:
        codes: the class of each row, as a number.
        probs: (n, c) probabilities.
        w: how often each row counts.
        bins: how many bins of confidence.
        equal: "width", bins of equal width (of the notes), or "weight", of equal weight.
    """
    codes, probs, w = coded(codes, probs, w)
    right = (probs.argmax(1) == codes).astype(float)
    return reliability_of_events(right, probs.max(1), w, bins=bins, equal=equal)


def reliability_of_events(
    happened: Any, p: Any, w: Any = None, *, bins: int = 15, equal: str = "width"
) -> Reliability:
    """The same for one event a row, such as class 1 of two."""
    happened, p, w = present(happened, p, w=w)
    if equal not in {"width", "weight"}:
        raise InputError(f"equal is {equal!r}; give 'width' or 'weight'.")
    if equal == "width":
        place = np.clip(np.ceil(p * bins).astype(int) - 1, 0, bins - 1)
    else:
        order = np.argsort(p, kind="stable")
        middle = np.cumsum(w[order]) - w[order] / 2
        place = np.empty(len(p), int)
        place[order] = np.minimum((middle / w.sum() * bins).astype(int), bins - 1)
    weight = np.bincount(place, w, bins)
    held = weight > 0
    weight = weight[held]

    def mean(values: np.ndarray) -> np.ndarray:
        return np.bincount(place, w * values, bins)[held] / weight

    error = np.sqrt(mean(p * (1 - p)) / weight)
    return Reliability(mean(p), mean(happened), weight, error)


def temperature(codes: Any, probs: Any, w: Any = None) -> float:
    """The T under which held-out classes are likeliest; above 1 is over-confidence."""
    codes, probs, w = coded(codes, probs, w)
    logs = np.log(np.maximum(probs, np.finfo(np.float64).tiny))

    def loss(log_t: float) -> float:
        scaled = logs / np.exp(log_t)
        scaled = scaled - scaled.max(1, keepdims=True)
        own = scaled[np.arange(len(codes)), codes]
        return float(w @ (np.log(np.exp(scaled).sum(1)) - own) / w.sum())

    ends = np.log([COOLEST, WARMEST])
    found: Any = minimize_scalar(
        loss, bounds=ends, method="bounded", options={"xatol": 1e-6}
    )
    return float(np.exp(found.x)) if found.fun < loss(0.0) else 1.0


def heated(probs: Any, T: float) -> Float[np.ndarray, "n c"]:
    """Probabilities at temperature T."""
    tiny = np.finfo(np.float64).tiny
    logs = np.log(np.maximum(np.asarray(probs, np.float64), tiny)) / T
    p = np.exp(logs - logs.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


class Uniformity(NamedTuple):
    """The probability integral transform in bins, and its distance from uniform."""

    share: Float[np.ndarray, " b"]
    """Of each of b bins of equal width; 1/b when the distribution is right."""
    distance: float
    """The largest gap between the distribution function of F(y) and the diagonal."""
    noise: float
    """What the distance stays below in 95 of 100 cases, were it right."""


def uniformity(pit: Any, w: Any = None, *, bins: int = 20) -> Uniformity:
    """Whether F(y) is uniform: too full ends are intervals that are too narrow."""
    pit, w = present(pit, w=w)
    total = w.sum()
    place = np.minimum((pit * bins).astype(int), bins - 1)
    share = np.bincount(place, w, bins) / total
    order = np.argsort(pit, kind="stable")
    upper = np.cumsum(w[order]) / total
    lower = upper - w[order] / total
    gaps = np.maximum(np.abs(upper - pit[order]), np.abs(pit[order] - lower))
    return Uniformity(share, float(gaps.max()), float(1.358 / np.sqrt(total)))
