r"""Normal approximations $q = N(μ, Σ)$ of a distribution, in three shapes of Σ.

    mean-field   Σ = diag(s²)          d numbers; no correlations
    low rank     Σ = diag(s²) + VVᵀ    d + dr numbers
    full rank    Σ = LLᵀ               d(d+1)/2 numbers

A draw is $z = μ + s ⊙ ε$ $(+ V ε')$, or $μ + Lε$: smooth in the parameters, which is what
reparameterised gradients need. The entropy is $\frac12 \log\det Σ + \frac d2 (1 + \log
2π)$.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from scipy.linalg import solve_triangular

from likely.core.random import seed_of
from likely.inference.mcmc.target import Layout

SHAPES = ("mean-field", "low rank", "full rank")
LOG_2PI = float(np.log(2 * np.pi))


class GaussianParameters(eqx.Module):
    r"""What is optimised: μ, log s, and V or the part of L below its diagonal (or None).

    With `full` the factor is $L = \mathrm{diag}(s) + \mathrm{tril}(C)$.
    """

    mean: Any
    log_scale: Any
    extra: Any
    full: bool = eqx.field(static=True, default=False)

    @property
    def n_noise(self) -> int:
        """Normal numbers that a draw needs."""
        d = self.mean.shape[0]
        return d if self.extra is None or self.full else d + self.extra.shape[1]

    def draw(
        self, noise: Float[Array | np.ndarray, "n e"]
    ) -> Float[Array | np.ndarray, "n d"]:
        """z for each row of noise."""
        d = self.mean.shape[0]
        z = self.mean[None] + jnp.exp(self.log_scale)[None] * noise[:, :d]
        if self.extra is None:
            return z
        if self.full:
            return z + noise @ jnp.tril(self.extra, -1).T
        return z + noise[:, d:] @ self.extra.T

    @property
    def entropy(self) -> Float[Array | np.ndarray, ""]:
        """The entropy of q, in nats."""
        d = self.mean.shape[0]
        half_log_det = self.log_scale.sum()
        if self.extra is not None and not self.full:
            U = self.extra / jnp.exp(self.log_scale)[:, None]
            inner = jnp.eye(U.shape[1]) + U.T @ U
            half_log_det += 0.5 * jnp.linalg.slogdet(inner)[1]
        return half_log_det + 0.5 * d * (1 + LOG_2PI)


class GaussianApproximation(eqx.Module):
    """A normal distribution that stands for another, on the host.

    Attributes:
        mean: (d,) μ.
        factor: (d, d) L, lower triangular, Σ = LLᵀ.
        layout: the structure and names of the d numbers.
    """

    mean: Float[np.ndarray, " d"]
    factor: Float[np.ndarray, "d d"]
    layout: Layout = eqx.field(static=True)

    @classmethod
    def of(cls, found: GaussianParameters, layout: Layout) -> "GaussianApproximation":
        """The distribution of fitted parameters."""
        scale = np.exp(np.asarray(found.log_scale))
        mean = np.asarray(found.mean)
        if found.extra is None:
            return cls(mean, np.diag(scale), layout)
        extra = np.asarray(found.extra)
        if found.full:
            return cls(mean, np.diag(scale) + np.tril(extra, -1), layout)
        return cls(
            mean, np.linalg.cholesky(np.diag(scale**2) + extra @ extra.T), layout
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the d numbers."""
        return self.layout.names

    @property
    def tree(self) -> PyTree:
        """μ in the structure of the start."""
        return self.layout.tree(self.mean)

    @property
    def covariance(self) -> Float[np.ndarray, "d d"]:
        """Σ."""
        return self.factor @ self.factor.T

    @property
    def std(self) -> Float[np.ndarray, " d"]:
        """The standard deviations."""
        return np.sqrt((self.factor**2).sum(1))

    @property
    def entropy(self) -> float:
        """The entropy, in nats."""
        d = len(self.mean)
        return float(np.log(np.diagonal(self.factor)).sum() + 0.5 * d * (1 + LOG_2PI))

    def sample(self, n: int, random_state: Any = 0) -> Float[np.ndarray, "n d"]:
        """Independent draws."""
        rng = np.random.default_rng(seed_of(random_state))
        return self.mean + rng.standard_normal((n, len(self.mean))) @ self.factor.T

    def log_prob(self, Z: Any) -> Float[np.ndarray, " n"]:
        """log q of each row of Z."""
        white = solve_triangular(self.factor, (np.asarray(Z) - self.mean).T, lower=True)
        d = len(self.mean)
        half_log_det = np.log(np.diagonal(self.factor)).sum()
        return -0.5 * ((white**2).sum(0) + d * LOG_2PI) - half_log_det
