r"""A step of EM where values are missing, and for rows of many columns.

The likelihood of a row is that of what was observed of it: with the columns o observed and m
missing, $x_o \sim N(μ_o, Σ_{oo})$, and given $x_o$ the missing ones have

$$\operatorname{E} x_m = μ_m + Σ_{mo} Σ_{oo}^{-1} (x_o - μ_o), \qquad
  \operatorname{Cov} x_m = Σ_{mm} - Σ_{mo} Σ_{oo}^{-1} Σ_{om},$$

which is what the moments of an M-step are made of. Rows with the same columns observed are treated
together. Differences from the mean are formed first, so that nothing cancels.
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import logsumexp

from likely.latent.clusters.gaussian.components import Components, Moments
from likely.latent.clusters.gaussian.packed import LOG_2PI

BLOCK_NUMBERS = 2**20
"""Numbers of all components that are treated at once."""


class IncompleteRows:
    """Rows of which values may be missing, and the moments that components find in them."""

    def __init__(self, X: np.ndarray, w: np.ndarray):
        self.X, self.w = X, w
        self.patterns = list(_patterns(np.isnan(X)))

    def log_joint(self, components: Components) -> np.ndarray:
        """(r, n, k) log π + log p(x | component) of what is observed of each row."""
        weights, means, S = _matrices(components)
        found = np.empty((*weights.shape, len(self.X)))
        for rows, o in self._blocks(means.size):
            L = np.linalg.cholesky(S[..., o[:, None], o])
            gaps = self.X[np.ix_(rows, o)] - means[..., None, o]
            z = gaps @ np.swapaxes(np.linalg.inv(L), -1, -2)
            log_det = np.log(np.diagonal(L, axis1=-2, axis2=-1)).sum(-1)
            constant = np.log(weights) - log_det - 0.5 * len(o) * LOG_2PI
            found[..., rows] = constant[..., None] - 0.5 * (z * z).sum(-1)
        return np.swapaxes(found, 1, 2)

    def moments(self, components: Components) -> Moments:
        """One E-step: the log-likelihood of each start, and what M-steps need."""
        joint = self.log_joint(components)
        log_prob = np.asarray(logsumexp(joint, axis=2))
        Q = np.swapaxes(self.w[:, None] * np.exp(joint - log_prob[..., None]), 1, 2)
        _, means, S = _matrices(components)
        first, second = self._sums(Q, means, S)
        N = Q.sum(-1)
        some = N > 0  # a component without rows stays where it is
        total = np.where(some, N, 1.0)[..., None]
        shift = first / total
        spread = second / total[..., None] - shift[..., None] * shift[..., None, :]
        S = np.where(some[..., None, None], spread, S)
        return Moments(log_prob @ self.w, N, means + shift, S)

    def _sums(self, Q: np.ndarray, means: np.ndarray, S: np.ndarray):
        """Σ q (x − mean) and Σ q (x − mean)(x − mean)ᵀ, expected given what is observed."""
        d = means.shape[-1]
        first, second = np.zeros_like(means), np.zeros_like(S)
        for rows, o in self._blocks(means.size):
            q = Q[..., rows]
            gaps = np.zeros((*q.shape, d))
            gaps[..., o] = self.X[np.ix_(rows, o)] - means[..., None, o]
            if len(o) < d:
                m = np.setdiff1d(np.arange(d), o)
                B = np.linalg.solve(S[..., o[:, None], o], S[..., o[:, None], m])
                gaps[..., m] = gaps[..., o] @ B
                rest = S[..., m[:, None], m] - S[..., m[:, None], o] @ B
                second[..., m[:, None], m] += q.sum(-1)[..., None, None] * rest
            first += (q[..., None, :] @ gaps)[..., 0, :]
            second += np.swapaxes(q[..., None] * gaps, -1, -2) @ gaps
        return first, second

    def _blocks(self, numbers: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Some rows with the same columns observed, and these columns."""
        size = max(1, BLOCK_NUMBERS // numbers)
        for rows, observed in self.patterns:
            for start in range(0, len(rows), size):
                yield rows[start : start + size], observed


def _matrices(components: Components) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, means, and covariances as matrices."""
    weights, means, S, _ = components
    return weights, means, S if S.ndim == 4 else S[..., None] * np.eye(S.shape[-1])


def _patterns(missing: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows with the same columns observed, and these columns."""
    if not missing.any():
        yield np.arange(len(missing)), np.arange(missing.shape[1])
        return
    patterns, own = np.unique(missing, axis=0, return_inverse=True)
    order = np.argsort(own.ravel(), kind="stable")
    ends = np.searchsorted(own.ravel()[order], np.arange(len(patterns) + 1))
    for number, pattern in enumerate(patterns):
        yield order[ends[number] : ends[number + 1]], np.flatnonzero(~pattern)
