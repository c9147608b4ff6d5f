r"""The cumulative logit family: classes in an order, by proportional odds."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.checks import InputError
from likely.core.numerics import bounded, softplus, unbounded
from likely.families.family import AbstractFamily

SMALL_GAP = 3e-3
"""A gap between thresholds below which log(1 − e^−gap) is computed by its series."""


class CumulativeLogit(AbstractFamily):
    r"""Ordered classes y ∈ {0, ..., c−1}: $P(Y > j) = σ(η_0 - t_j)$ with rising thresholds t.

    $$t_0 = 0, \qquad t_j = t_{j-1} + e^{η_j}, \qquad
      p(y) = σ(t_y - η_0) - σ(t_{y-1} - η_0).$$

    η has one entry less than there are classes: the location η₀ and the logarithms of the
    gaps between thresholds. Where the gaps are the same for all rows (`models.Shared`), a
    change of η₀ multiplies the odds of every "above j" by the same factor: proportional odds.
    With two classes it is the Bernoulli family.

    Examples:
        >>> family = lk.families.CumulativeLogit(3)
        >>> print(family.n_eta)
        2
    """

    n_eta: int = eqx.field(static=True)
    discrete: ClassVar[bool] = True
    remedy: ClassVar[str] = "Encode the levels in their order, or give more classes."

    def __init__(self, n_classes: int):
        if n_classes < 2:
            raise InputError(f"n_classes is {n_classes}; give at least two classes.")
        self.n_eta = int(n_classes) - 1

    @property
    def needs(self) -> str:
        """The class numbers that are possible, in words."""
        return f"class numbers from 0 to {self.n_eta}"

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """The location and the thresholds, of which the first is 0."""
        return {"predictor": eta[..., 0], "cutpoints": thresholds(eta)}

    def eta(self, *, predictor: Any, cutpoints: Any) -> Float[Array, "*n k"]:
        """The location above the first threshold, and the logarithms of the gaps."""
        cutpoints = jnp.asarray(cutpoints)
        location = jnp.asarray(predictor) - cutpoints[..., 0]
        gaps = unbounded(jnp.log(jnp.diff(cutpoints, axis=-1)))
        return jnp.concatenate([location[..., None], gaps], -1)

    def distribution(self, **theta: Any) -> distributions.OrderedLogistic:
        """NumPyro's ordered logistic distribution."""
        return distributions.OrderedLogistic(**theta)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """The thresholds at the cumulative frequencies; an absent class counts half a row."""
        counts = w @ jax.nn.one_hot(y.astype(int), self.n_eta + 1, dtype=w.dtype)
        counts = jnp.where(counts > 0, counts, 0.5)
        below, above = jnp.cumsum(counts)[:-1], jnp.cumsum(counts[::-1])[::-1][1:]
        logits = jnp.log(below) - jnp.log(above)
        return jnp.concatenate([-logits[:1], unbounded(jnp.log(jnp.diff(logits)))])

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is not one of 0, ..., c−1."""
        return ~((y >= 0) & (y <= self.n_eta) & (y == np.floor(y)))

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log σ(b) + log σ(−a) + log(1 − e^(a − b)) for y between thresholds a and b."""
        chosen = _numbers(eta, self.n_eta + 1) == y.astype(int)[..., None]
        return jnp.sum(jnp.where(chosen, self.log_probs(eta), 0.0), -1)

    def cdf(self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """σ(t_j − η₀) at the last threshold up to y."""
        here = (
            _numbers(eta, self.n_eta)
            == jnp.clip(jnp.floor(y), -1, self.n_eta)[..., None]
        )
        inside = jnp.sum(jnp.where(here, self._below(eta), 0.0), -1)
        return jnp.where(y >= self.n_eta, 1.0, inside)

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The number of classes for which the cdf is below q."""
        goal = q * (1 - 4 * jnp.finfo(q.dtype).eps)
        return jnp.sum(self._below(eta) < goal[..., None], -1).astype(eta.dtype)

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n"]:
        """The likeliest class."""
        return jnp.argmax(self.log_probs(eta), -1).astype(eta.dtype)

    def probs(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n c"]:
        """The probabilities of the classes."""
        p = jnp.exp(self.log_probs(eta))
        return p / p.sum(-1, keepdims=True)

    def log_probs(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n c"]:
        """The log-probabilities of the classes."""
        above = eta[..., :1] - thresholds(eta)  # the log-odds of y > j
        below = jnp.concatenate([-softplus(above), jnp.zeros_like(eta[..., :1])], -1)
        beyond = jnp.concatenate([jnp.zeros_like(eta[..., :1]), -softplus(-above)], -1)
        return below + beyond + _log_between(eta)

    def _below(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n k"]:
        """P(Y ≤ j) of all classes but the last."""
        return jax.nn.sigmoid(thresholds(eta) - eta[..., :1])


def thresholds(eta: Float[Array, "*n k"]) -> Float[Array, "*n k"]:
    """The thresholds from the logarithms of their gaps, the first one 0."""
    gaps = jnp.exp(bounded(eta[..., 1:]))
    start = jnp.zeros_like(eta[..., :1])
    return jnp.concatenate([start, jnp.cumsum(gaps, -1)], -1)


def _log_between(eta: Float[Array, "*n k"]) -> Float[Array, "*n c"]:
    """log(1 − e^−gap) of inner classes, 0 at both ends; accurate for small gaps."""
    log_gap = bounded(eta[..., 1:])
    gap = jnp.exp(log_gap)
    small = gap < SMALL_GAP
    usual = jnp.log(-jnp.expm1(-jnp.where(small, 1.0, gap)))
    little = jnp.where(small, gap, 0.0)
    series = log_gap - little / 2 + little**2 / 24
    end = jnp.zeros_like(eta[..., :1])
    return jnp.concatenate([end, jnp.where(small, series, usual), end], -1)


def _numbers(eta: Float[Array, "*n k"], size: int) -> Array:
    """0, 1, ... with as many axes as η."""
    return jnp.arange(size).reshape((1,) * (eta.ndim - 1) + (-1,))
