r"""The categorical family: softmax and cross-entropy."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.checks import InputError
from likely.families.family import AbstractFamily


class Categorical(AbstractFamily):
    r"""Classes y ∈ {0, ..., c−1} with p = softmax(η): $-\log p = -η_y + \log\sum_j e^{η_j}$.

    η has one entry for each class; adding a constant to all changes nothing. With
    two classes it is the Bernoulli family at η₁ − η₀.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Categorical(3), np.zeros((1, 3)))
        >>> print(dist.probs.round(2))
        [[0.33 0.33 0.33]]
    """

    n_eta: int = eqx.field(static=True)
    discrete: ClassVar[bool] = True
    remedy: ClassVar[str] = "Encode the labels, or give more classes."

    def __init__(self, n_classes: int):
        if n_classes < 1:
            raise InputError(f"n_classes is {n_classes}; give at least one class.")
        self.n_eta = int(n_classes)

    @property
    def needs(self) -> str:
        """The class numbers that are possible, in words."""
        return f"class numbers from 0 to {self.n_eta - 1}"

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """Log-probabilities up to a constant."""
        return {"logits": eta}

    def eta(self, *, logits: Any) -> Float[Array, "*n k"]:
        """The columns of logits."""
        return jnp.asarray(logits)

    def distribution(self, **theta: Any) -> distributions.CategoricalLogits:
        """NumPyro's categorical distribution."""
        return distributions.CategoricalLogits(**theta)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """The log-frequencies, mean zero; a class that never occurs counts half a row."""
        counts = jax.nn.one_hot(y.astype(int), self.n_eta, dtype=w.dtype)
        total = w @ counts
        log_frequency = jnp.log(jnp.where(total > 0, total, 0.5))
        return log_frequency - jnp.mean(log_frequency)

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is not one of 0, ..., c−1."""
        return ~((y >= 0) & (y < self.n_eta) & (y == np.floor(y)))

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """η_y − logsumexp(η), computed as −log(1 + Σ e^(η_j − η_y)): accurate where it is tiny."""
        chosen = _classes(eta) == y.astype(int)[..., None]
        own = jnp.sum(jnp.where(chosen, eta, 0.0), -1, keepdims=True)
        rest = jnp.where(chosen, -jnp.inf, eta - own)
        top = jax.lax.stop_gradient(
            jnp.maximum(rest.max(-1), 0.0)
        )  # cancels: any will do
        others = jnp.sum(jnp.exp(rest - top[..., None]), -1)
        return -(top + jnp.log1p(jnp.expm1(-top) + others))

    def cdf(self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """The probability of the classes up to y, in their order."""
        below = _classes(eta) <= y[..., None]
        total = jnp.sum(jnp.where(below, jax.nn.softmax(eta, -1), 0.0), -1)
        return jnp.where(y < self.n_eta - 1, jnp.minimum(total, 1.0), 1.0)

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The number of classes, in their order, for which the cdf is below q."""
        cdf = jnp.cumsum(jax.nn.softmax(eta, -1), -1)[..., :-1]
        goal = q * (1 - 4 * jnp.finfo(q.dtype).eps)
        return jnp.sum(cdf < goal[..., None], -1).astype(eta.dtype)

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n"]:
        """The likeliest class."""
        return jnp.argmax(eta, -1).astype(eta.dtype)

    def probs(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n k"]:
        """The probabilities softmax(η) of the classes."""
        return jax.nn.softmax(eta, -1)


def _classes(eta: Float[Array, "*n k"]) -> Array:
    """0, ..., c−1 with as many axes as η."""
    return jnp.arange(eta.shape[-1]).reshape((1,) * (eta.ndim - 1) + (-1,))
