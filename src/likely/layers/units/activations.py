r"""Activations: the nonlinear functions between linear layers.

Each acts on single values. Those without settings are JAX functions in a `Pointwise`
layer (relu, softplus, tanh, silu); the others are layers here, whose settings are
constants except for `PReLU`, whose slopes are learned.
"""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers.composition.chain import Pointwise
from likely.layers.composition.layer import AbstractLayer
from likely.layers.units.initializers import named


class AbstractActivation(AbstractLayer):
    """An activation with settings: a function σ(s) of each value."""


class LeakyReLU(AbstractActivation):
    r"""$s$ where $s \ge 0$, else $a s$."""

    slope: float = eqx.field(static=True, default=0.01, converter=float)

    def of(self, s):
        return jnp.where(s >= 0, s, self.slope * s)


class PReLU(AbstractActivation):
    r"""$s$ where $s \ge 0$, else $a_j s$ with a slope learned for each unit j."""

    slope: Float[Array, " d"]

    def __init__(self, size: int, slope: float = 0.25):
        self.slope = jnp.full(size, float(slope))

    def of(self, s):
        return jnp.where(s >= 0, s, jnp.expand_dims(self.slope, range(s.ndim - 1)) * s)


class ELU(AbstractActivation):
    r"""$s$ where $s \ge 0$, else $α(e^s - 1)$; smooth for α = 1."""

    alpha: float = eqx.field(static=True, default=1.0, converter=float)

    def of(self, s):
        return jax.nn.elu(s, self.alpha)


class Sigmoid(AbstractActivation):
    r"""$1/(1 + e^{-as})$, which tends to a step function as a grows."""

    slope: float = eqx.field(static=True, default=1.0, converter=float)

    def of(self, s):
        return jax.nn.sigmoid(self.slope * s)


class GELU(AbstractActivation):
    r"""$s\,Φ(s)$ with the normal distribution function Φ, not its tanh approximation."""

    def of(self, s):
        return jax.nn.gelu(s, approximate=False)


class PolynomialActivation(AbstractActivation):
    r"""$s^p$. Unstable: k layers make a polynomial of degree $p^k$."""

    power: int = eqx.field(static=True, default=2)

    def __check_init__(self):
        if int(self.power) != self.power or self.power < 1:
            raise InputError(
                f"the power is {self.power}; give a whole number of at least 1."
            )

    def of(self, s):
        return jax.lax.integer_pow(s, int(self.power))


class Heaviside(AbstractActivation):
    r"""$1[s \ge 0]$.

    Its derivative is 0 almost everywhere, so earlier layers do not learn; with
    `straight_through` the backward pass uses the derivative of the identity.
    """

    straight_through: bool = eqx.field(static=True, default=False)

    def of(self, s):
        return step_through(s) if self.straight_through else step(s)


def step(s: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """1 where s ≥ 0, else 0."""
    return (s >= 0).astype(s.dtype)


@jax.custom_jvp
def step_through(s: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """1 where s ≥ 0, else 0, with the derivative of the identity."""
    return step(s)


@step_through.defjvp
def _step_through(s, tangent):
    return step_through(*s), *tangent


def _plain(function: Callable) -> Callable:
    return lambda size: Pointwise(function)


def _sized(layer: Callable) -> Callable:
    return lambda size, *number: layer(*number)


ACTIVATIONS: dict[str, Callable] = {
    "relu": _plain(jax.nn.relu),
    "leaky_relu": _sized(LeakyReLU),
    "prelu": PReLU,
    "elu": _sized(ELU),
    "softplus": _plain(jax.nn.softplus),
    "sigmoid": _sized(Sigmoid),
    "tanh": _plain(jnp.tanh),
    "gelu": _sized(GELU),
    "silu": _plain(jax.nn.silu),
    "sin": _plain(jnp.sin),
    "polynomial": _sized(PolynomialActivation),
    "heaviside": _sized(Heaviside),
    "straight_through": _sized(lambda: Heaviside(straight_through=True)),
    "identity": _plain(jax.nn.identity),
}
"""Activations by name; `("leaky_relu", 0.2)` is a name with its one parameter."""

Activation = str | Sequence | Callable


def activation(of: Activation, size: int) -> Any:
    """An activation layer from a name, (name, number), function or layer.

    Args:
        of: the name in `ACTIVATIONS`, (name, number), a function, or a layer.
        size: the number of units (for slopes that are learned for each unit).
    """
    if isinstance(of, type):
        raise InputError(
            f"activation is the class {of.__name__}; give one of its objects, "
            f"such as {of.__name__}(...), or the name of an activation."
        )
    if callable(of):
        return of if isinstance(of, eqx.Module) else Pointwise(of)
    return named("activation", ACTIVATIONS, of, size)
