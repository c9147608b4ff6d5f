"""The normal prior of the coefficients of linear models."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from likely.objectives.priors import AbstractPrior, penalised


class _ColumnPrior(AbstractPrior):
    """w_j ~ N(0, 1/α_j): a strength for each column, maybe of other coordinates."""

    alpha: Float[Array, ""]
    empty: Float[Array, " d"]
    """The strength of columns that hold nothing."""
    coordinates: Any = None
    """Those whose weights the prior is about."""
    on: str = eqx.field(static=True, default="weight")

    def smooth_log_prob(self, model: PyTree) -> Float[Array, ""]:
        (weight,) = penalised(model, self.on)
        raw = weight if self.coordinates is None else self.coordinates.weights(weight)
        squares = self.alpha * jnp.sum(raw**2)
        return -0.5 * (squares + self.empty @ jnp.sum(weight**2, 1))

    def kink_log_prob(self, model: PyTree) -> Float[Array, ""]:
        return jnp.zeros(())

    def prox(self, model: PyTree, step: Float[Array, ""]) -> PyTree:
        return model


def ridge_prior(
    X: Float[Array, "n d"], alpha: Float[Array, ""], hyper: dict
) -> AbstractPrior:
    """w ~ N(0, 1/α); a column of zeros gets the coefficient 0 whatever α is.

    Args:
        X: the columns.
        alpha: the strength.
        hyper: with the `coordinates` that the columns are in, unless they are as given.
    """
    coordinates = hyper.get("coordinates")
    return _ColumnPrior(alpha=alpha, empty=empty_columns(X), coordinates=coordinates)


def empty_columns(X: Float[Array, "n d"]) -> Float[Array, " d"]:
    """1 for columns that hold nothing but zeros, which are as good as absent."""
    return jnp.all(X == 0, axis=0).astype(X.dtype)
