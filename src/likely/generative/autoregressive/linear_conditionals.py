r"""Linear predictions of each column from those before it, in any order of the columns.

With the covariance $Σ = R^\top R$ of what a network reads, columns sorted by the order, and
$z = (x - m)R^{-1}$, the prediction is $E[x_j \mid x_{<j}] = x_j - R_{jj} z_j$ and its error has
the deviation $R_{jj}$. A network begins there: for a table of numbers that is their most
probable normal distribution, whatever the order.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Int

from likely.layers.bijections.whitening import Whitening


class LinearConditionals(eqx.Module):
    """The means and covariance of inputs; they are not trained.

    Args:
        whitening: of the inputs, in the order in which they come.
        variables: the column of each input; −1 for conditions, which come first.
    """

    whitening: Whitening
    variables: tuple[int, ...] = eqx.field(static=True)

    def __call__(
        self, X: Float[Array, "n i"], order: Int[Array, " q"]
    ) -> tuple[Float[Array, "n i"], Float[Array, " i"]]:
        """The prediction of each input from those of earlier columns, and its deviation.

        Args:
            X: inputs.
            order: the rank of each column, from 0 on.
        """
        center, R = jax.lax.stop_gradient(
            (self.whitening.center, self.whitening.factor)
        )
        rank = jnp.append(jnp.asarray(order), -1)
        places = jnp.argsort(rank[np.array(self.variables)], stable=True)
        R = jnp.linalg.qr(R[:, places], mode="r")
        away = (X - center[None])[:, places]
        scale = jnp.diagonal(R)
        expected = away - solve_triangular(R, away.T, trans=1).T * scale[None]
        back = jnp.argsort(places)
        return expected[:, back] + center[None], jnp.abs(scale)[back]
