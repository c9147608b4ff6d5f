r"""The Bernoulli family: two classes and binary cross-entropy."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.numerics import softplus
from likely.core.rows import weighted_mean
from likely.families.counts import frequency_logit
from likely.families.family import AbstractFamily


class Bernoulli(AbstractFamily):
    r"""Labels y ∈ {0, 1} with P(y=1) = σ(η): $-\log p = \log(1 + e^{-η}) + (1-y)\,η$.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Bernoulli(), np.zeros((1, 1)))
        >>> print(dist.mean)
        [0.5]
    """

    n_eta: int = eqx.field(default=1, static=True)
    discrete: ClassVar[bool] = True
    needs: ClassVar[str] = "labels 0 or 1"
    remedy: ClassVar[str] = "Use Categorical for more classes, or encode the labels."

    def theta(self, eta: Float[Array, "*n 1"]) -> dict[str, Array]:
        """The log-odds (the probability itself would round to 1)."""
        return {"logits": eta[..., 0]}

    def eta(self, *, logits: Any) -> Float[Array, "*n 1"]:
        """The column of log-odds."""
        return jnp.asarray(logits)[..., None]

    def distribution(self, **theta: Any) -> distributions.BernoulliLogits:
        """NumPyro's Bernoulli distribution."""
        return distributions.BernoulliLogits(**theta)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " 1"]:
        """The log-odds of the frequency; half a row away from it where it is 0 or 1."""
        return frequency_logit(weighted_mean(y, w), w.sum())[None]

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is neither 0 nor 1."""
        return ~((y == 0) | (y == 1))

    def log_prob(
        self, eta: Float[Array, "*n 1"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """−log(1 + e^−η) − (1 − y) η, computed as −log(1 + e^∓η): accurate where it is tiny."""
        return -softplus((1 - 2 * y) * eta[..., 0])

    def cdf(self, eta: Float[Array, "*n 1"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """The cdf: 0 below 0, P(y=0) below 1, then 1."""
        zero = jax.nn.sigmoid(-eta[..., 0])
        return jnp.where(y < 0, 0.0, jnp.where(y < 1, zero, 1.0))

    def quantile(
        self, eta: Float[Array, "*n 1"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The quantile: 1 where q exceeds P(y=0), else 0."""
        above = q > self.cdf(eta, jnp.zeros_like(q)) * (1 + 4 * jnp.finfo(q.dtype).eps)
        return above.astype(eta.dtype)

    def mode(self, eta: Float[Array, "*n 1"]) -> Float[Array, "*n"]:
        """The likelier label."""
        return (eta[..., 0] > 0).astype(eta.dtype)

    def probs(self, eta: Float[Array, "*n 1"]) -> Float[Array, "*n 2"]:
        """The probabilities σ(−η), σ(η) of both classes."""
        return jax.nn.sigmoid(jnp.concatenate([-eta, eta], -1))
