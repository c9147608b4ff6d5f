r"""The hurdle family: zero with some probability, else a positive number."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro.distributions import Distribution, constraints

from likely.core.checks import InputError
from likely.core.numerics import sigmoid, softplus
from likely.core.rows import weighted_mean
from likely.families.counts import frequency_logit
from likely.families.family import AbstractFamily


class Hurdle(AbstractFamily):
    r"""Numbers from zero on with many exact zeros: expenses, rainfall, claims.

    y is 0 with probability π and otherwise drawn from a family of positive numbers,

    $$-\log p = -\log π \text{ at } y = 0, \qquad
      -\log(1 - π) - \log p_+(y) \text{ for } y > 0.$$

    So p is a probability at 0 and a density above it: its nats compare with those of
    other families that give 0 a probability, and with no others. η = (log-odds of zero,
    η of the positive part).

    Args:
        family: of the positive part, such as `LogNormal()`, `Gamma()` or `Weibull()`.

    Examples:
        >>> family = lk.families.Hurdle(lk.families.Gamma())
        >>> print(family.n_eta)
        3
    """

    family: AbstractFamily
    needs: ClassVar[str] = "finite numbers of at least 0"
    remedy: ClassVar[str] = "Use Normal for both signs."
    zeros: ClassVar[bool] = True

    def __init__(self, family: AbstractFamily):
        number = not (family.discrete or family.multivariate)
        if not number or not family.outside(np.zeros(1))[0]:
            raise InputError(
                f"Hurdle needs a family of numbers above 0, such as LogNormal() or Gamma(); "
                f"{type(family).__name__} is none."
            )
        self.family = family

    @property
    def n_eta(self) -> int:
        """The length of η: 1, and that of the positive part."""
        return 1 + self.family.n_eta

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """The log-odds of zero, and the parameters of the positive part."""
        return {"gate_logits": eta[..., 0], **self.family.theta(eta[..., 1:])}

    def eta(self, *, gate_logits: Any, **theta: Any) -> Float[Array, "*n k"]:
        """The log-odds of zero, then η of the positive part."""
        rest = self.family.eta(**theta)
        logits = jnp.broadcast_to(jnp.asarray(gate_logits), rest.shape[:-1])
        return jnp.concatenate([logits[..., None], rest], -1)

    def distribution(self, *, gate_logits: Any, **theta: Any) -> Distribution:
        """The hurdle as a NumPyro distribution."""
        return HurdleDistribution(gate_logits, self.family.distribution(**theta))

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """The share of zeros, and the positive part fitted to the positive y."""
        above = y > 0
        own = jnp.where(above, w, 0.0)
        own = jnp.where(own.sum() > 0, own, w)  # all are zero: any finite η
        zero = frequency_logit(weighted_mean((~above).astype(w.dtype), w), w.sum())
        rest = self.family.marginal(jnp.where(above, y, 1.0), own)
        return jnp.concatenate([zero[None], rest])

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is negative, or not finite."""
        return np.where(y == 0, False, self.family.outside(y))

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log π at 0, log(1 − π) + log p₊(y) above."""
        logit, above = eta[..., 0], y > 0
        inside = self.family.log_prob(eta[..., 1:], jnp.where(above, y, 1.0))
        positive = inside - softplus(logit)
        return jnp.where(
            above, positive, jnp.where(y == 0, -softplus(-logit), -jnp.inf)
        )

    def cdf(self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """π + (1 − π) P₊(Y ≤ y) from 0 on."""
        zero, rest = sigmoid(eta[..., 0]), sigmoid(-eta[..., 0])
        below = self.family.cdf(eta[..., 1:], y)
        inside = jnp.where(below < 0.5, zero + rest * below, 1 - rest * (1 - below))
        return jnp.where(y < 0, 0.0, inside)

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """0 up to q = π, then the quantile of the positive part at (q − π)/(1 − π)."""
        zero, rest = sigmoid(eta[..., 0]), sigmoid(-eta[..., 0])
        above = q > zero
        rest = jnp.where(above, rest, 1.0)
        level = jnp.where(q < 0.5, (q - zero) / rest, 1 - (1 - q) / rest)
        level = jnp.where(above, jnp.clip(level, 0.0, 1.0), 0.5)
        return jnp.where(above, self.family.quantile(eta[..., 1:], level), 0.0)

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n"]:
        """0, or the mode of the positive part where p is higher there."""
        above = self.family.mode(eta[..., 1:])
        there = self.log_prob(eta, above) > self.log_prob(eta, jnp.zeros_like(above))
        return jnp.where(there, above, 0.0)


class HurdleDistribution(Distribution):
    """Zero with probability sigmoid(gate_logits), else a draw from `base`."""

    arg_constraints = {"gate_logits": constraints.real}
    _support = constraints.nonnegative
    pytree_data_fields = ("base",)

    def __init__(self, gate_logits, base: Distribution, *, validate_args=None):
        self.gate_logits, self.base = jnp.asarray(gate_logits), base
        super().__init__(base.batch_shape, validate_args=validate_args)

    def log_prob(self, value: Any, intermediates: Any = None) -> Array:
        """log p with respect to a point mass at 0 and length above."""
        inside = self.base.log_prob(jnp.where(value > 0, value, 1.0))
        positive = inside - softplus(self.gate_logits)
        return jnp.where(value > 0, positive, -softplus(-self.gate_logits))

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Array:
        """Draws: a zero or a draw from the positive part."""
        first, second = jax.random.split(key)
        shape = sample_shape + self.batch_shape
        above = jax.random.bernoulli(first, sigmoid(-self.gate_logits), shape)
        return jnp.where(above, self.base.sample(second, sample_shape), 0.0)

    @property
    def mean(self) -> Array:
        """(1 − π) times the mean of the positive part."""
        return sigmoid(-self.gate_logits) * self.base.mean

    @property
    def variance(self) -> Array:
        """(1 − π) v + π (1 − π) m² with mean m and variance v of the positive part."""
        p = sigmoid(-self.gate_logits)
        return p * self.base.variance + p * (1 - p) * self.base.mean**2
