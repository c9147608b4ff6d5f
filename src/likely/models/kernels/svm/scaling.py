r"""Probabilities from scores: η_c = a·s_c + b_c, by maximum likelihood on held-out rows.

With two classes, s = (0, f), this is Platt's sigmoid. Scores that separate the classes
would make a infinite; as Platt does, a row of class c counts as class c with probability
(N_c + 1)/(N_c + 2), and the other classes share the rest.

Where each pair of classes has a machine, each machine gets a sigmoid first, and the score of
a class is the sum of the log-probabilities that its machines give it.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp


@dataclass(frozen=True)
class Scaling:
    """The scaling η_c = a·s_c + b_c of scores."""

    slope: float
    bias: Float[np.ndarray, " c"]

    def __call__(self, S: Float[np.ndarray, "n c"]) -> Float[np.ndarray, "n c"]:
        """η of each row."""
        return self.slope * S + self.bias


@dataclass(frozen=True)
class PairScaling:
    """A sigmoid for each pair of classes, and the scaling of the resulting scores."""

    pairs: Float[np.ndarray, "m 2"]
    """The slope a and the bias b of each pair."""
    whole: Scaling

    def __call__(self, F: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n c"]:
        """η of each row, from the decision values of the machines."""
        return self.whole(_products(F, self.pairs, len(self.whole.bias)))


def pair_scaling(
    F: Float[np.ndarray, "n m"],
    codes: Int[np.ndarray, " n"],
    w: Float[np.ndarray, " n"],
    c: int,
) -> PairScaling:
    """Fit the sigmoid of each pair on the rows of its classes, then the scaling of all."""
    pairs = []
    for m, (i, j) in enumerate(combinations(range(c), 2)):
        rows = (codes == i) | (codes == j)
        S = np.c_[np.zeros(rows.sum()), F[rows, m]]
        one = scaling(S, (codes[rows] == i).astype(int), w[rows])
        pairs.append((one.slope, one.bias[1] - one.bias[0]))
    table = np.array(pairs)
    return PairScaling(table, scaling(_products(F, table, c), codes, w))


def _products(F: np.ndarray, pairs: np.ndarray, c: int) -> Float[np.ndarray, "n c"]:
    """The score Σ_j log P(i | i or j) of each class i."""
    total = np.zeros((len(F), c))
    Z = F * pairs[:, 0] + pairs[:, 1]
    for m, (i, j) in enumerate(combinations(range(c), 2)):
        total[:, i] -= np.logaddexp(0, -Z[:, m])
        total[:, j] -= np.logaddexp(0, Z[:, m])
    return total


def scaling(
    S: Float[np.ndarray, "n c"],
    codes: Int[np.ndarray, " n"],
    w: Float[np.ndarray, " n"],
    *,
    biased: bool = True,
    max_steps: int = 100,
) -> Scaling:
    """Fit the scaling by damped Newton steps.

    Without biases the most probable class is always that of the largest score.
    """
    n, c = S.shape
    counts = np.bincount(codes, w, minlength=c)
    T = np.tile((1 / (counts + 2))[codes][:, None] / (c - 1), (1, c))
    T[np.arange(n), codes] = ((counts + 1) / (counts + 2))[codes]
    size = float(
        np.sqrt(np.average(((S - S.mean(1, keepdims=True)) ** 2).sum(1), weights=w))
    )
    S = S / size if size > 0 else S
    theta = np.r_[0.0, biased * np.log(np.maximum(counts, 0.5))]
    free = np.r_[True, np.full(c, biased)]

    def loss(theta: np.ndarray) -> float:
        eta = theta[0] * S + theta[1:]
        return float(w @ (logsumexp(eta, axis=1) - (T * eta).sum(1)))

    now = loss(theta)
    for _ in range(max_steps):
        eta = theta[0] * S + theta[1:]
        P = np.exp(eta - logsumexp(eta, axis=1, keepdims=True))
        R = w[:, None] * (P - T)
        g = np.r_[(R * S).sum(), R.sum(0)] * free
        if np.abs(g).max() <= 1e-10 * w.sum():
            break
        mean = (P * S).sum(1)
        H = np.empty((c + 1, c + 1))
        H[0, 0] = w @ ((P * S**2).sum(1) - mean**2)
        H[0, 1:] = H[1:, 0] = (w[:, None] * P * (S - mean[:, None])).sum(0)
        WP = w[:, None] * P
        H[1:, 1:] = np.diag(WP.sum(0)) - P.T @ WP
        p = -np.linalg.lstsq(H * free * free[:, None], g, rcond=1e-12)[0]
        t = 1.0
        while t > 1e-8 and not loss(theta + t * p) <= now + 1e-4 * t * (g @ p):
            t *= 0.5
        if t <= 1e-8:
            break
        theta = theta + t * p
        now = loss(theta)
    slope = theta[0] / size if size > 0 else theta[0]
    return Scaling(float(slope), theta[1:] - theta[1:].mean())
