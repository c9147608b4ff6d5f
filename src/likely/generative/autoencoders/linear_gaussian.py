r"""A variational autoencoder written by hand, in which everything has a formula.

    z ~ N(m, P),   x | z ~ N(W z + b, Ψ),   q(z | x) = N(A x + c, S)

Then x ~ N(W m + b, W P Wᵀ + Ψ) exactly, and the evidence lower bound of a row is

$$E_q \log p(x \mid z) - KL(q, p) = \log p(x) - KL\bigl(q(z \mid x), p(z \mid x)\bigr),$$

so that the gap is seen to be a divergence, which is zero where q is the posterior
$p(z \mid x) = N(m + K (x - W m - b),\, P - K W P)$, $K = P W^\top (W P W^\top + Ψ)^{-1}$.
"""

import dataclasses
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from likely.core.checks import InputError
from likely.core.numerics import HALF_LOG_2PI


@dataclasses.dataclass(frozen=True)
class LinearGaussianVAE:
    """A linear decoder and a linear encoder, both with normal noise.

    Args:
        weight: W, (d, k).
        noise: Ψ, (d, d) or its diagonal (d,).
        encoder: A, (k, d); None takes the posterior, for which the bound is exact.
        spread: S, (k, k) or its diagonal.
        offset: b, (d,).
        encoder_offset: c, (k,).
        prior_mean: m, (k,).
        prior_spread: P, (k, k) or its diagonal; the identity where None.
    """

    weight: Any
    noise: Any
    encoder: Any = None
    spread: Any = None
    offset: Any = None
    encoder_offset: Any = None
    prior_mean: Any = None
    prior_spread: Any = None

    def __post_init__(self):
        W = np.atleast_2d(np.asarray(self.weight, np.float64))
        d, k = W.shape
        fields: dict[str, Any] = {
            "weight": W,
            "noise": _matrix("noise", self.noise, d),
            "offset": _vector("offset", self.offset, d),
            "prior_mean": _vector("prior_mean", self.prior_mean, k),
            "prior_spread": _matrix("prior_spread", self.prior_spread, k),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        A, S, c = self.encoder, self.spread, self.encoder_offset
        if A is None:
            A, c, S = self._posterior()
        A = np.atleast_2d(np.asarray(A, np.float64))
        if A.shape != (k, d):
            raise InputError(f"encoder has shape {A.shape}; give a matrix ({k}, {d}).")
        object.__setattr__(self, "encoder", A)
        object.__setattr__(self, "spread", _matrix("spread", S, k))
        object.__setattr__(self, "encoder_offset", _vector("encoder_offset", c, k))

    @property
    def mean(self) -> np.ndarray:
        """(d,) the mean of x."""
        return self.weight @ self.prior_mean + self.offset

    @property
    def covariance(self) -> np.ndarray:
        """(d, d) the covariance of x."""
        return self.weight @ self.prior_spread @ self.weight.T + self.noise

    def log_prob(self, X: Any) -> np.ndarray:
        """(n,) log p(x), the evidence of each row."""
        return _log_normal(np.atleast_2d(X) - self.mean, self.covariance)

    def elbo(self, X: Any) -> np.ndarray:
        """(n,) the evidence lower bound of each row, without any draw."""
        X = np.atleast_2d(np.asarray(X, np.float64))
        mean = X @ self.encoder.T + self.encoder_offset
        gaps = X - mean @ self.weight.T - self.offset
        spread = self.weight @ self.spread @ self.weight.T
        expected = _log_normal(gaps, self.noise)
        expected = expected - 0.5 * np.trace(np.linalg.solve(self.noise, spread))
        return expected - _divergence(
            mean, self.spread, self.prior_mean[None], self.prior_spread
        )

    def gap(self, X: Any) -> np.ndarray:
        """(n,) KL(q(z | x), p(z | x)) of each row: log p(x) minus the bound."""
        X = np.atleast_2d(np.asarray(X, np.float64))
        A, c, S = self._posterior()
        mean = X @ self.encoder.T + self.encoder_offset
        return _divergence(mean, self.spread, X @ A.T + c, S)

    def with_posterior(self) -> "LinearGaussianVAE":
        """The same model with the encoder for which the bound is log p(x)."""
        A, c, S = self._posterior()
        return dataclasses.replace(self, encoder=A, encoder_offset=c, spread=S)

    def sample(self, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """(n, d) rows: first a code, then a row given the code."""
        rng = np.random.default_rng(random_state)
        Z = rng.multivariate_normal(self.prior_mean, self.prior_spread, n)
        d = len(self.offset)
        noise = rng.multivariate_normal(np.zeros(d), self.noise, n)
        return Z @ self.weight.T + self.offset + noise

    def _posterior(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A, c and S of the posterior."""
        W, P = self.weight, self.prior_spread
        gain = np.linalg.solve(self.covariance, W @ P).T
        return gain, self.prior_mean - gain @ self.mean, P - gain @ W @ P


def _vector(name: str, value: Any, size: int) -> np.ndarray:
    found = np.zeros(size) if value is None else np.asarray(value, np.float64)
    if found.shape != (size,):
        raise InputError(f"{name} has shape {found.shape}; give {size} numbers.")
    return found


def _matrix(name: str, value: Any, size: int) -> np.ndarray:
    """A covariance, from itself or its diagonal."""
    found = np.ones(size) if value is None else np.asarray(value, np.float64)
    found = np.diag(found) if found.ndim == 1 else found
    if found.shape != (size, size) or not np.allclose(found, found.T):
        raise InputError(
            f"{name} has shape {found.shape}; give a covariance ({size}, {size}), or its "
            "diagonal."
        )
    if np.linalg.eigvalsh(found).min() <= 0:
        raise InputError(f"{name} is not positive definite; give positive variances.")
    return 0.5 * (found + found.T)


def _log_normal(gaps: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    factor = cho_factor(covariance, lower=True)
    squares = (gaps * cho_solve(factor, gaps.T).T).sum(1)
    log_root = np.log(np.diag(factor[0])).sum()
    return -0.5 * squares - log_root - HALF_LOG_2PI * gaps.shape[1]


def _divergence(
    mean: np.ndarray, spread: np.ndarray, other: np.ndarray, other_spread: np.ndarray
) -> np.ndarray:
    """(n,) KL(N(mean, spread), N(other, other_spread))."""
    factor = cho_factor(other_spread, lower=True)
    gaps = mean - other
    squares = (gaps * cho_solve(factor, gaps.T).T).sum(1)
    trace = np.trace(cho_solve(factor, spread))
    logs = np.linalg.slogdet(other_spread)[1] - np.linalg.slogdet(spread)[1]
    return 0.5 * (squares + trace - len(spread) + logs)
