r"""The coupling layer: one part of a row stays, and says how the other part is mapped.

With $x = (a, b)$ the layer is $z = (a, f(b; θ(a)))$, f being an increasing function of each
number of b and θ any network. Its Jacobian is triangular, so that
$\log\lvert\det\rvert = \sum_j \log f'(b_j)$, and the inverse costs as much as the map
(Dinh, Sohl-Dickstein and Bengio 2017).
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.layers.bijections.affine import AbstractIncreasing
from likely.layers.bijections.bijection import AbstractBijection, joined, row_sums
from likely.typing import Key


class Coupling(AbstractBijection):
    """The first `kept` numbers of the last axis stay; they map the others.

    Rows may be tables (n, d) or images (n, h, w, c), of which channels are mapped.

    Args:
        conditioner: a network from `joined(a, given)` to `n_parameters` numbers for each
            number of b, at each position.
        function: the increasing function.
        kept: how many numbers stay.
    """

    conditioner: Any
    function: AbstractIncreasing
    kept: int = eqx.field(static=True)

    def forward(self, X, given=None, *, key=None):
        a, b = X[..., : self.kept], X[..., self.kept :]
        y, log_slope = self.function.forward(b, self._theta(a, b, given, key))
        return jnp.concatenate([a, y], -1), row_sums(log_slope)

    def inverse(self, Z, given=None):
        a, y = Z[..., : self.kept], Z[..., self.kept :]
        b = self.function.inverse(y, self._theta(a, y, given, None))
        return jnp.concatenate([a, b], -1)

    def _theta(
        self,
        a: Float[Array, "n *positions k"],
        b: Float[Array, "n *positions m"],
        given: Float[Array, "n g"] | None,
        key: Key | None,
    ) -> Float[Array, "n *positions p m"]:
        theta, _ = self.conditioner(joined(a, given), key=key)
        return theta.reshape(*b.shape[:-1], self.function.n_parameters, b.shape[-1])
