r"""The binomial family: successes among n trials."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.precision import number
from likely.core.rows import weighted_mean
from likely.families.counts import (
    count_of,
    count_term,
    factorial_remainder,
    frequency_logit,
    not_whole,
)
from likely.families.family import AbstractFamily
from likely.families.incomplete import beta_cdf
from likely.families.inversion import discrete_quantile, normal_guess


class Binomial(AbstractFamily):
    r"""The number y of successes in n trials of probability p = σ(η).

    $-\log p(y) = n \log(1+e^η) - yη - \log\binom ny$. It is the sum of n independent
    Bernoulli variables.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Binomial(10), np.zeros((1, 1)))
        >>> print(dist.mean)
        [5.]
    """

    total_count: np.ndarray
    n_eta: int = eqx.field(default=1, static=True)
    discrete: ClassVar[bool] = True
    remedy: ClassVar[str] = "Raise total_count, or use Poisson for unlimited counts."

    def __init__(self, total_count: int):
        self.total_count = number(count_of(total_count, "total_count"))
        self.n_eta = 1

    @property
    def needs(self) -> str:
        """The counts that are possible, in words."""
        return f"counts from 0 to {int(self.total_count)}"

    def theta(self, eta: Float[Array, "*n 1"]) -> dict[str, Array]:
        """The log-odds of a success, and the number of trials."""
        trials = jnp.full(eta.shape[:-1], self.total_count, dtype=int)
        return {"logits": eta[..., 0], "total_count": trials}

    def eta(self, *, logits: Any, total_count: Any = None) -> Float[Array, "*n 1"]:
        """The column of log-odds."""
        return jnp.asarray(logits)[..., None]

    def distribution(self, **theta: Any) -> distributions.BinomialLogits:
        """NumPyro's binomial distribution."""
        return distributions.BinomialLogits(**theta)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " 1"]:
        """The log-odds of the frequency; half a trial away from it where it is 0 or 1."""
        n = jnp.asarray(self.total_count, w.dtype)
        return frequency_logit(weighted_mean(y, w) / n, w.sum() * n)[None]

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is negative, not whole, or above n."""
        return not_whole(y) | (y > self.total_count)

    def log_prob(
        self, eta: Float[Array, "*n 1"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log p = log C(n, y) − y log(1 + e^−η) − (n − y) log(1 + e^η)."""
        logits, y = eta[..., 0], y.astype(eta.dtype)
        n = jnp.full_like(y, self.total_count)
        p, q = jax.nn.sigmoid(logits), jax.nn.sigmoid(-logits)
        gap = jnp.where(logits > 0, n * q - (n - y), y - n * p)  # y − n p
        yes = count_term(y, n * p, gap, jnp.log(n) - jax.nn.softplus(-logits))
        no = count_term(n - y, n * q, -gap, jnp.log(n) - jax.nn.softplus(logits))
        return factorial_remainder(n) + yes + no

    def cdf(self, eta: Float[Array, "*n 1"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """P(Y ≤ y) = I(1 − p; n − ⌊y⌋, ⌊y⌋ + 1), the incomplete beta function."""
        return binomial_cdf(eta[..., 0], self.total_count, y)

    def quantile(
        self, eta: Float[Array, "*n 1"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The quantile, by a search on the cdf."""
        n = jnp.asarray(self.total_count, eta.dtype)
        mean = n * jax.nn.sigmoid(eta[..., 0])
        guess = normal_guess(q, mean, mean * jax.nn.sigmoid(-eta[..., 0]))
        found = discrete_quantile(lambda y: self.cdf(eta, y), q, *guess)
        return jnp.minimum(found, n)

    def mode(self, eta: Float[Array, "*n 1"]) -> Float[Array, "*n"]:
        """The mode ⌊(n + 1) p⌋, at most n."""
        n = jnp.asarray(self.total_count, eta.dtype)
        return jnp.minimum(jnp.floor((n + 1) * jax.nn.sigmoid(eta[..., 0])), n)


def binomial_cdf(
    logits: Float[Array, "*n"], n: Any, y: Num[Array, "*n"]
) -> Float[Array, "*n"]:
    """The cdf P(Y ≤ y) for n trials, at any real y."""
    n = jnp.full_like(logits, n)
    k = jnp.clip(jnp.floor(y).astype(logits.dtype), -1.0, n)
    inside = (k >= 0) & (k < n)
    safe = jnp.where(inside, k, 0.0)
    lower = beta_cdf(jnp.maximum(n - safe, 1.0), safe + 1, -logits)[0]
    return jnp.where(inside, lower, jnp.where(k < 0, 0.0, 1.0))
