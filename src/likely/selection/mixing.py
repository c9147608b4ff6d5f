r"""Mixture weights on the simplex by held-out likelihood, with a certificate.

$$\max_{π \ge 0,\, \sum π = 1}\; f(π) = \frac{1}{\sum w}\sum_i w_i \log \sum_j π_j\, p_{ij}.$$

f is concave with gradient $g_j = \frac{1}{\sum w}\sum_i w_i p_{ij} / \sum_k π_k p_{ik}$, and EM
is $π_j \leftarrow π_j g_j$. Since always $\sum_j π_j g_j = 1$, concavity bounds the distance to
the maximum: $f(π^*) - f(π) \le \max_j g_j - 1$. EM always converges, but slowly, so Newton
steps on the weights that are not zero are tried in between and kept where they help.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.base.rows import weights_of
from likely.core.checks import InputError

EM_STEPS = 10
"""Steps of EM before a Newton step is tried."""
MIN_LOG_PROB = -1e4
"""Log-likelihoods below are raised to this, so that no row is quite impossible."""


@dataclass(frozen=True)
class Mixing:
    """Weights on the simplex, and how good they are.

    Attributes:
        weights: (m,) π.
        value: f(π), nats per unit of weight.
        gap: no weights are better by more than this.
        steps: rounds of EM and Newton steps.
    """

    weights: Float[np.ndarray, " m"]
    value: float
    gap: float
    steps: int


def mixing_weights(
    log_probs: Any, w: Any = None, *, tolerance: float = 1e-9, max_steps: int = 2000
) -> Mixing:
    """The mixture of m predictors that makes held-out observations most likely.

    Args:
        log_probs: (n, m) log p_j(y_i | x_i).
        w: (n,) how often each row counts.
        tolerance: the gap to stop at, in nats per unit of weight.
        max_steps: the most rounds.

    Examples:
        >>> log_probs = np.log([[0.9, 0.2], [0.8, 0.3], [0.1, 0.6]])
        >>> round(float(lk.mixing_weights(log_probs).weights.sum()), 6)
        1.0
    """
    L = np.asarray(log_probs, np.float64)
    if L.ndim != 2 or L.size == 0 or np.isnan(L).any() or np.isposinf(L).any():
        raise InputError(f"log_probs has shape {L.shape} or NaN; give numbers, (n, m).")
    w = weights_of(w, len(L))
    L, w = np.maximum(L[w > 0], MIN_LOG_PROB), w[w > 0] / w.sum()
    top = L.max(1)
    P = np.exp(L - top[:, None])
    shift = float(w @ top)
    pi = np.full(L.shape[1], 1 / L.shape[1])
    gap = np.inf
    for step in range(max_steps):
        g = (w / (P @ pi)) @ P
        gap = float(g.max() - 1)
        if gap <= tolerance:
            return Mixing(pi, _value(P, w, pi) + shift, gap, step)
        for _ in range(EM_STEPS):
            pi = pi * ((w / (P @ pi)) @ P)
            pi /= pi.sum()
        pi = _newton(P, w, pi)
    return Mixing(pi, _value(P, w, pi) + shift, gap, max_steps)


def _value(P: np.ndarray, w: np.ndarray, pi: np.ndarray) -> float:
    with np.errstate(divide="ignore"):
        return float(w @ np.log(P @ pi))


def _newton(P: np.ndarray, w: np.ndarray, pi: np.ndarray) -> np.ndarray:
    """A Newton step, shortened until f rises; π as it is where it does not.

    Weights at zero whose gradient is below 1 stay there.
    """
    R = P / (P @ pi)[:, None]
    g = w @ R
    free = (pi > 1e-10) | (g > 1)
    k = int(free.sum())
    H = (w[:, None] * R[:, free]).T @ R[:, free]
    border = np.zeros((k + 1, k + 1))
    border[:k, :k] = H + 1e-14 * np.trace(H) * np.eye(k)
    border[:k, k] = border[k, :k] = 1.0
    step = np.zeros_like(pi)
    step[free] = np.linalg.lstsq(border, np.r_[g[free], 0.0], rcond=None)[0][:k]
    now, t = _value(P, w, pi), 1.0
    while t > 1e-6:
        moved = np.maximum(pi + t * step, 0.0)
        moved /= moved.sum()
        if _value(P, w, moved) > now:
            return moved
        t *= 0.5
    return pi
