r"""Temperature scaling: $p_c^{1/T} / \sum_k p_k^{1/T}$, with one T for all rows and classes.

T is chosen by held-out likelihood; the most probable class stays the most probable one.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from likely.evaluate.scores import coded

MIN_TEMPERATURE, MAX_TEMPERATURE = 0.05, 2000.0


def temperature(codes: Any, probs: Any, w: Any = None) -> float:
    """The temperature T that maximises the likelihood of held-out classes.

    A T above 1 means that the probabilities were over-confident.

    Examples:
        >>> p = np.where(np.arange(100) % 4 == 0, 0.01, 0.99)  # right three times of four
        >>> round(lk.evaluate.temperature(np.ones(100, int), np.stack([1 - p, p], axis=1)), 1)
        4.2
    """
    codes, probs, w = coded(codes, probs, w)
    logs, every = finite_logs(probs), np.arange(len(codes))

    def loss(log_t: float) -> float:
        scaled = log_softmax(logs / np.exp(log_t), axis=1)
        return float(-w @ scaled[every, codes] / w.sum())

    ends = np.log([MIN_TEMPERATURE, MAX_TEMPERATURE])
    found: Any = minimize_scalar(
        loss, bounds=ends, method="bounded", options={"xatol": 1e-6}
    )
    return float(np.exp(found.x)) if found.fun < loss(0.0) else 1.0


def temperature_scaled(probs: Any, T: float) -> Float[np.ndarray, "n c"]:
    r"""Temperature scaling: the probabilities $p_c^{1/T} / \sum_k p_k^{1/T}$.

    Examples:
        >>> lk.evaluate.temperature_scaled(np.array([[0.9, 0.1]]), 2.0).round(2)
        array([[0.75, 0.25]])
    """
    return softmax(finite_logs(probs) / T, axis=1)


def finite_logs(probs: Any) -> Float[np.ndarray, "n c"]:
    """The logarithms of probabilities, finite also where these are zero."""
    return np.log(np.maximum(np.asarray(probs, np.float64), np.finfo(np.float64).tiny))
