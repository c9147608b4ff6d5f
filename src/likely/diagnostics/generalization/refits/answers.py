"""From η of many fits to what is asked of them: means, probabilities, classes, losses."""

from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from likely.families import AbstractFamily, Normal, Predictive, StudentT

Want = Literal["mean", "probs", "classes", "losses"]
"""What is asked of a fit at each point: E[y | x], class probabilities, the number of the class
that is predicted, or −log p(y | x)."""


def answers(
    family: AbstractFamily,
    eta: Float[np.ndarray, "m t k"],
    want: Want,
    y: np.ndarray | None = None,
) -> np.ndarray:
    """(m, t), or (m, t, c) probabilities, (m, t, q) means of several outputs.

    Args:
        family: of p(y | θ).
        eta: unconstrained parameters of each fit at each point.
        want: what is asked for.
        y: (t,) or (m, t) targets as the family takes them, for losses.
    """
    m, t, k = eta.shape
    if want == "mean" and isinstance(family, Normal | StudentT):
        return np.asarray(eta[..., 0], np.float64)
    flat = Predictive(family, eta.reshape(m * t, k))
    if want == "losses":
        assert y is not None
        outputs = y.shape[-1:] if family.multivariate else ()
        at = np.broadcast_to(y, (m, t, *outputs))
        return -flat.log_prob(at.reshape(m * t, *outputs)).reshape(m, t)
    found: Any = flat.mean if want == "mean" else flat.probs
    found = found.reshape(m, t, *found.shape[1:])
    return found.argmax(-1) if want == "classes" else found
