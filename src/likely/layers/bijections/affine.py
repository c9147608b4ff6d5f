r"""Increasing functions of single numbers with parameters θ of their own: affine ones."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

LOG_SCALE_BOUND = 2.0
"""The largest |log s| of one affine function: a factor of seven."""


class AbstractIncreasing(eqx.Module):
    r"""An increasing function $y = f(x; θ)$ of a number, θ being p real numbers.

    At θ = 0 it is the identity. The p parameters of d numbers come as (n, ..., p, d).
    """

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """P, how many numbers θ has."""

    @abstractmethod
    def forward(
        self, x: Float[Array, "*n d"], theta: Float[Array, "*n p d"]
    ) -> tuple[Float[Array, "*n d"], Float[Array, "*n d"]]:
        """f(x; θ), and the logarithm of its slope there."""

    @abstractmethod
    def inverse(
        self, y: Float[Array, "*n d"], theta: Float[Array, "*n p d"]
    ) -> Float[Array, "*n d"]:
        """The x with f(x; θ) = y."""


class AffineFunction(AbstractIncreasing):
    r"""$y = s x + t$ with $\log s = b \tanh(θ_1/b)$ and $t = θ_2$.

    The bound b on log s keeps a chain of many such functions invertible to the precision
    of the machine.

    Args:
        bound: b.
    """

    bound: float = eqx.field(static=True, default=LOG_SCALE_BOUND)

    @property
    def n_parameters(self) -> int:
        return 2

    def forward(self, x, theta):
        log_scale = self._log_scale(theta)
        return x * jnp.exp(log_scale) + theta[..., 1, :], log_scale

    def inverse(self, y, theta):
        return (y - theta[..., 1, :]) * jnp.exp(-self._log_scale(theta))

    def _log_scale(self, theta: Float[Array, "*n p d"]) -> Float[Array, "*n d"]:
        return self.bound * jnp.tanh(theta[..., 0, :] / self.bound)
