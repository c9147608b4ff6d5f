r"""The autoregressive layer: each number is mapped as those before it say.

$z_j = f(x_j; θ_j(x_1, …, x_{j-1}))$ with one masked network for all θ_j, so that the map
is one pass and its Jacobian triangular (Papamakarios, Pavlakou and Murray 2017). The
inverse finds the numbers one after another, d passes in all.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.layers.bijections.affine import AbstractIncreasing
from likely.layers.bijections.bijection import AbstractBijection, joined, row_sums
from likely.typing import Key


class Autoregressive(AbstractBijection):
    """All numbers of a row, mapped in the order of the network.

    Args:
        conditioner: a network from `joined(x, given)` to (n, p·d), in which the p numbers
            of column j depend on columns before j (in some order) and the condition only.
        function: the increasing function.
    """

    conditioner: Any
    function: AbstractIncreasing

    def forward(self, X, given=None, *, key=None):
        Z, log_slope = self.function.forward(X, self._theta(X, given, key))
        return Z, row_sums(log_slope)

    def inverse(self, Z, given=None):
        """The fixed point of x = f⁻¹(z; θ(x)).

        Pass k makes the first k columns right, whatever the others are, so that d passes
        are enough; it ends earlier where a pass changes nothing.
        """

        def passed(c: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            number, X, _ = c
            new = self.function.inverse(Z, self._theta(X, given, None))
            return number + 1, new, jnp.any(new != X)

        def goes_on(c: tuple[Array, Array, Array]) -> Array:
            return (c[0] < Z.shape[-1]) & c[2]

        start = jnp.asarray(0), jnp.zeros_like(Z), jnp.asarray(True)
        return jax.lax.while_loop(goes_on, passed, start)[1]

    def _theta(
        self,
        X: Float[Array, "n d"],
        given: Float[Array, "n g"] | None,
        key: Key | None,
    ) -> Float[Array, "n p d"]:
        theta, _ = self.conditioner(joined(X, given), key=key)
        return theta.reshape(len(X), self.function.n_parameters, X.shape[-1])
