"""A linear model with an offset: a known part of η that has no coefficient."""

import equinox as eqx
from jaxtyping import Array, Float

from likely.models.linear.linear import Linear
from likely.typing import State

Rows = tuple[Float[Array, "n d"], Float[Array, " n"]]


class Offset(eqx.Module):
    r"""$η = XW + 1b + o$ for rows (X, o). A `LinearModel`.

    With a log link, an exposure e is the offset log e: twice the exposure doubles the
    expected count.
    """

    model: Linear

    def __call__(
        self, X: Rows, *, w=None, key=None, state: State = None
    ) -> tuple[Float[Array, "n k"], State]:
        """XW + 1b + o."""
        eta, state = self.model(X[0])
        return eta + X[1][:, None], state

    @property
    def coefficients(self) -> Float[Array, "p k"]:
        """W stacked on b."""
        return self.model.coefficients

    def design(self, X: Rows) -> Float[Array, "n p"]:
        """X with a column of ones appended."""
        return self.model.design(X[0])

    def with_coefficients(self, B: Float[Array, "p k"]) -> "Offset":
        """The model whose W stacked on b is B."""
        return Offset(self.model.with_coefficients(B))
