r"""A normalising flow: a density by the change of variables.

$$\log p(x \mid c) = \log q(f(x; c)) + \log\,\lvert\det \partial f/\partial x\rvert,$$

where f is a bijection with learned parts and q a simple distribution, so that the density is
exact, and a sample is one pass of the inverse: $x = f^{-1}(z; c)$ with $z \sim q$.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.layers.bijections.bijection import AbstractBijection
from likely.models.flows.base import AbstractBase, StandardNormal
from likely.typing import Key


class Flow(eqx.Module):
    """A bijection and the distribution that it maps rows to.

    Args:
        units: a fixed bijection to columns of mean 0 and variance 1, or None.
        bijection: from rows of any shape to rows of numbers.
        base: the distribution of the latter.
    """

    units: AbstractBijection | None
    bijection: AbstractBijection
    base: AbstractBase

    def log_prob(
        self,
        X: Float[Array, "n ..."],
        given: Float[Array, "n g"] | None = None,
        *,
        key: Key | None = None,
        noise: Any = None,
    ) -> Float[Array, " n"]:
        """log p(x | given) of each row, in nats.

        Args:
            X: rows.
            given: the condition of each row.
            key: in training, of dropout and noise.
            noise: the standard deviation of noise that is added in training, in units of
                the columns after `units`; it keeps flows of few rows from tying themselves
                to single rows.
        """
        X, log_det = self._in_units(X, given)
        if key is not None and noise is not None:
            key, own = jax.random.split(key)
            X = X + noise * jax.random.normal(own, X.shape, X.dtype)
        Z, more = self.bijection.forward(X, given, key=key)
        return self.base.log_prob(Z.reshape(len(Z), -1)) + log_det + more

    def transform(
        self, X: Float[Array, "n ..."], given: Float[Array, "n g"] | None = None
    ) -> Float[Array, "n d"]:
        """z of each row."""
        return self.bijection.forward(self._in_units(X, given)[0], given)[0]

    def inverse(
        self, Z: Float[Array, "n d"], given: Float[Array, "n g"] | None = None
    ) -> Float[Array, "n ..."]:
        """x of each z."""
        X = self.bijection.inverse(Z, given)
        return X if self.units is None else self.units.inverse(X, given)

    def start_log_prob(
        self, X: Float[Array, "n ..."], given: Float[Array, "n g"] | None = None
    ) -> Float[Array, " n"]:
        """log p by `units` alone: of whitening, that of a normal distribution."""
        Z, log_det = self._in_units(X, given)
        return StandardNormal().log_prob(Z.reshape(len(Z), -1)) + log_det

    def _in_units(
        self, X: Array, given: Float[Array, "n g"] | None
    ) -> tuple[Array, Array]:
        if self.units is None:
            return X, jnp.zeros(len(X), X.dtype)
        return self.units.forward(X, given)
