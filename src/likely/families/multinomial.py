r"""The multinomial family: counts of c classes among n draws."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.families.binomial import binomial_cdf
from likely.families.counts import (
    count_of,
    count_term,
    factorial_remainder,
    not_whole,
)
from likely.families.family import AbstractFamily
from likely.families.inversion import discrete_quantile, normal_guess


class Multinomial(AbstractFamily):
    r"""Counts y with $\sum_j y_j = n$, p = softmax(η).

    $$-\log p = n \log\sum_j e^{η_j} - \sum_j y_j η_j
      - \log\frac{n!}{y_1! \cdots y_c!}.$$

    Each count on its own is binomial; `cdf` and `quantile` are those of each count.

    Examples:
        >>> import jax.numpy as jnp
        >>> family = lk.families.Multinomial(6, 3)
        >>> family.distribution(**family.theta(jnp.zeros(3))).mean.round(2)
        Array([2., 2., 2.], dtype=float32)
    """

    total_count: int = eqx.field(static=True)
    n_eta: int = eqx.field(static=True)
    discrete: ClassVar[bool] = True
    multivariate: ClassVar[bool] = True
    remedy: ClassVar[str] = "Check the counts of the row and total_count."

    def __init__(self, total_count: int, n_classes: int):
        self.total_count = count_of(total_count, "total_count")
        self.n_eta = count_of(n_classes, "n_classes")

    @property
    def n_outputs(self) -> int:
        """The number of counts, one for each class."""
        return self.n_eta

    @property
    def needs(self) -> str:
        """The counts that are possible, in words."""
        return f"counts of {self.n_eta} classes that sum to {self.total_count}"

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """Log-probabilities up to a constant."""
        return {"logits": eta}

    def eta(self, *, logits: Any) -> Float[Array, "*n k"]:
        """The columns of logits."""
        return jnp.asarray(logits)

    def distribution(self, **theta: Any) -> distributions.MultinomialLogits:
        """NumPyro's multinomial distribution."""
        return distributions.MultinomialLogits(total_count=self.total_count, **theta)

    def marginal(
        self, y: Num[Array, "n k"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """The log-frequencies, mean zero; a class that never occurs counts half a draw."""
        total = w @ y
        log_frequency = jnp.log(jnp.where(total > 0, total, 0.5))
        return log_frequency - jnp.mean(log_frequency)

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each row has entries that are not counts, or a wrong total."""
        return not_whole(y).any(-1) | (y.sum(-1) != self.total_count)

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n k"]
    ) -> Float[Array, "*n"]:
        """log p = log n!/(y₁!⋯y_c!) + Σ y_j (η_j − logsumexp(η))."""
        y = y.astype(eta.dtype)
        n = jnp.full_like(y, self.total_count)
        mean, log_p = n * jax.nn.softmax(eta, -1), jax.nn.log_softmax(eta, -1)
        parts = count_term(y, mean, y - mean, jnp.log(n) + log_p)
        return factorial_remainder(n[..., 0]) + parts.sum(-1)

    def cdf(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n k"]
    ) -> Float[Array, "*n k"]:
        """The cdf P(Y_j ≤ y_j) of each count."""
        return binomial_cdf(log_odds(eta), float(self.total_count), y)

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n k"]
    ) -> Float[Array, "*n k"]:
        """The quantile of each count, by a search on its cdf."""
        p = jax.nn.softmax(eta, -1)
        guess = normal_guess(q, self.total_count * p, self.total_count * p * (1 - p))
        found = discrete_quantile(lambda y: self.cdf(eta, y), q, *guess)
        return jnp.minimum(found, self.total_count)

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n k"]:
        """The likeliest counts: each draw goes to the class with the largest p/(y+1)."""
        p = jax.nn.softmax(eta, -1)

        def draw(_, y: Array) -> Array:
            return y + jax.nn.one_hot(jnp.argmax(p / (y + 1), -1), y.shape[-1])

        return jax.lax.fori_loop(0, self.total_count, draw, jnp.zeros_like(p))


def log_odds(eta: Float[Array, "*n k"]) -> Float[Array, "*n k"]:
    """The log-odds of each class against all others."""
    c = eta.shape[-1]
    itself = jnp.eye(c, dtype=bool).reshape((1,) * (eta.ndim - 1) + (c, c))
    others = jnp.where(itself, -jnp.inf, eta[..., None, :])
    return eta - jax.nn.logsumexp(others, -1)
