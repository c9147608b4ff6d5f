r"""Platt scaling: $p = \mathrm{softmax}(a\,s + b)$ of scores s, with one slope a.

Each class has an offset b of its own.

For two classes this is Platt's logistic regression on the log-odds, $σ(a\,s + b)$; with log
probabilities for s, and b = 0, it is temperature scaling with T = 1/a. The parameters maximise

$$\sum_i w_i \log p_{y_i} - \tfrac{κ}{2} \bigl((a - 1)^2 + \lVert b \rVert^2\bigr).$$

The small prior κ is around a = 1, b = 0, which changes nothing; so the likelihood of the
rows of the fit never falls, and the parameters stay finite where scores separate the classes.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import log_softmax, softmax

from likely.core.checks import InputError
from likely.evaluate.scores import coded

PRIOR = 0.01
MAX_STEPS, TOLERANCE = 100, 1e-10


class Platt(NamedTuple):
    """A slope and offsets of scores.

    Attributes:
        slope: a.
        offset: (c,) b, with sum zero.
    """

    slope: float
    offset: Float[np.ndarray, " c"]

    def __call__(self, scores: Any) -> Float[np.ndarray, "n c"]:
        """Probabilities from scores of all classes, such as log-probabilities."""
        scores = np.asarray(scores, np.float64)
        return softmax(self.slope * scores + self.offset, axis=1)


def platt(codes: Any, scores: Any, w: Any = None) -> Platt:
    """Platt scaling by the likelihood of held-out classes.

    Args:
        codes: (n,) the class of each row, as a number from 0.
        scores: (n, c) scores of all classes: log-probabilities, or a decision function.
        w: how often each row counts.

    Examples:
        >>> scores = np.array([[2.0, -2.0], [1.0, -1.0], [-1.0, 1.0], [-2.0, 2.0]])
        >>> round(float(lk.evaluate.platt(np.array([0, 1, 0, 1]), scores).slope), 2)
        0.21
    """
    codes, S, w = coded(codes, scores, w)
    if S.ndim != 2 or not np.isfinite(S).all():
        raise InputError("scores must be finite numbers of all classes, shape (n, c).")
    n, c = S.shape
    S = S - S.mean(1, keepdims=True)  # a constant of a row changes nothing
    happened = np.eye(c)[codes]
    start = np.concatenate([[1.0], np.zeros(c)])

    def loss(v: np.ndarray) -> float:
        logs = log_softmax(v[0] * S + v[1:], axis=1)
        return float(-w @ logs[np.arange(n), codes]) + 0.5 * PRIOR * _square(v - start)

    v = start
    for _ in range(MAX_STEPS):
        P = softmax(v[0] * S + v[1:], axis=1)
        R = w[:, None] * (P - happened)
        g = np.concatenate([[(R * S).sum()], R.sum(0)]) + PRIOR * (v - start)
        step = np.linalg.solve(_hessian(P, S, w), g)
        v, moved = _descend(loss, v, step, float(g @ step))
        if not moved or float(g @ step) < TOLERANCE:
            break
    return Platt(float(v[0]), v[1:] - v[1:].mean())


def _hessian(P: np.ndarray, S: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The second derivatives in (a, b), of the loss and its prior."""
    c = P.shape[1]
    mean = (P * S).sum(1)
    H = np.empty((c + 1, c + 1))
    H[0, 0] = w @ ((P * S**2).sum(1) - mean**2)
    H[0, 1:] = H[1:, 0] = w @ (P * (S - mean[:, None]))
    H[1:, 1:] = np.diag(w @ P) - (w[:, None] * P).T @ P
    return H + PRIOR * np.eye(c + 1)


def _descend(loss: Any, v: np.ndarray, step: np.ndarray, slope: float):
    """A Newton step, halved until the loss falls; and whether it fell."""
    now, t = loss(v), 1.0
    while t > 1e-8:
        if loss(v - t * step) <= now - 1e-4 * t * slope:
            return v - t * step, True
        t *= 0.5
    return v, False


def _square(v: np.ndarray) -> float:
    return float(v @ v)
