r"""The linear model: $η = XW + 1b$, or $(X - 1c)W + 1b$ about a centre."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.typing import State


class Linear(eqx.Module):
    r"""$η = XW + 1b$, or $XW$ where `bias` is None. A `LinearModel`.

    With a `centre` it is $(X - 1c)W + 1b$: where columns are far from zero, XW + 1b would
    be a small difference of large numbers. Solvers leave the centre as it is.

    Examples:
        >>> import jax.numpy as jnp
        >>> model = lk.models.Linear.zeros(3)
        >>> model(jnp.ones((4, 3)))[0].shape
        (4, 1)
    """

    weight: Float[Array, "d k"]
    bias: Float[Array, " k"] | None
    centre: Float[Array, " d"] | None = None

    @classmethod
    def zeros(
        cls, d: int, k: int = 1, bias: Float[Array, " k"] | bool = True
    ) -> "Linear":
        """The model with W = 0 and a bias of zero, the given bias, or none (False)."""
        if bias is True:
            bias = jnp.zeros(k)
        weight = jnp.zeros((d, k))
        return cls(weight, None if bias is False else jnp.asarray(bias))

    def __call__(
        self, X: Float[Array, "n d"], *, w=None, key=None, state: State = None
    ) -> tuple[Float[Array, "n k"], State]:
        """XW + 1b."""
        # The barrier keeps XLA from fusing the product into the reductions that follow,
        # which on CPUs turns a matrix product into a scalar loop when fits are batched.
        # A single output is computed as a vector: its gradient then reads X only once.
        one = self.weight.shape[1] == 1
        eta = jax.lax.optimization_barrier(
            self._centred(X) @ (self.weight[:, 0] if one else self.weight)
        )
        eta = eta[:, None] if one else eta
        return (eta if self.bias is None else eta + self.bias[None]), state

    @property
    def coefficients(self) -> Float[Array, "p k"]:
        """W stacked on b."""
        if self.bias is None:
            return self.weight
        return jnp.concatenate([self.weight, self.bias[None]])

    def design(self, X: Float[Array, "n d"]) -> Float[Array, "n p"]:
        """X with a column of ones appended."""
        X = self._centred(X)
        if self.bias is None:
            return X
        return jnp.concatenate([X, jnp.ones((X.shape[0], 1), X.dtype)], axis=1)

    def with_coefficients(self, B: Float[Array, "p k"]) -> "Linear":
        """The model whose W stacked on b is B."""
        if self.bias is None:
            return Linear(B, None, self.centre)
        return Linear(B[:-1], B[-1], self.centre)

    def _centred(self, X: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """X − 1c."""
        return (
            X if self.centre is None else X - jax.lax.stop_gradient(self.centre)[None]
        )
