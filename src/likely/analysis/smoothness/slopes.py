"""Intervals of activations and of their slopes, between two values of each unit."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from likely.core.checks import InputError
from likely.core.precision import float64
from likely.layers import ELU, GELU, Heaviside, LeakyReLU, PolynomialActivation, Sigmoid
from likely.layers.composition.chain import Pointwise
from likely.layers.units.activations import PReLU


class Interval(NamedTuple):
    """The lowest and highest value of each entry."""

    low: np.ndarray
    high: np.ndarray

    def widened(self) -> "Interval":
        """The interval with room for the rounding of what made it."""
        room = 1e-12 * np.maximum(np.abs(self.low), np.abs(self.high)) + 1e-300
        return Interval(self.low - room, self.high + room)


class Shape(NamedTuple):
    """Where an activation and its slope turn.

    Attributes:
        function: the activation.
        turns: values at which it has a minimum or maximum.
        slope_turns: values at which its slope has one, or jumps.
        period: the distance at which the turns repeat, if they do.
    """

    function: Callable
    turns: tuple[float, ...] = ()
    slope_turns: tuple[float, ...] = (0.0,)
    period: float | None = None


ROOT2 = float(np.sqrt(2.0))
SMOOTH: dict[str, Shape] = {
    "relu": Shape(jax.nn.relu),
    "softplus": Shape(jax.nn.softplus),
    "tanh": Shape(jnp.tanh),
    "silu": Shape(jax.nn.silu, (-1.2784645427610738,), (-2.3993572805, 2.3993572805)),
    "sin": Shape(jnp.sin, (np.pi / 2,), (0.0,), np.pi),
    "identity": Shape(jax.nn.identity),
}
JUMP = 1e-9
"""How far from a turn slopes on both sides of it are taken."""


def shape_of(layer: Any) -> Shape:
    """Where the activation of a layer turns; a sentence where that is not known."""
    if isinstance(layer, Pointwise):
        name = getattr(layer.function, "__name__", "")
        if name in SMOOTH:
            return SMOOTH[name]
    if isinstance(layer, LeakyReLU | PReLU):
        slope = np.asarray(layer.slope, float)
        turns = (0.0,) if (slope < 0).any() else ()
        return Shape(layer.of, turns)
    if isinstance(layer, ELU | Sigmoid):
        return Shape(layer.of)
    if isinstance(layer, GELU):
        return Shape(layer.of, (-0.7517915246935645,), (-ROOT2, ROOT2))
    if isinstance(layer, PolynomialActivation):
        return Shape(layer.of, (0.0,))
    if isinstance(layer, Heaviside):
        raise InputError(
            "a network with steps (heaviside) is not Lipschitz: it jumps; use a sigmoid."
        )
    raise InputError(
        f"bounds are not known for the layer {type(layer).__name__}; give a chain of Dense, "
        "Residual, Dropout and the activations of likely.layers."
    )


def activation_interval(layer: Any, s: Interval) -> tuple[Interval, Interval]:
    """The intervals of σ(s) and of its slope σ'(s), for s in an interval of each unit."""
    shape = shape_of(layer)
    with float64():

        def values(at: np.ndarray) -> np.ndarray:
            return np.asarray(shape.function(jnp.asarray(at)[None]))[0]

        def slopes(at: np.ndarray) -> np.ndarray:
            x = jnp.asarray(at)[None]
            found = jax.jvp(shape.function, (x,), (jnp.ones_like(x),))[1]
            return np.asarray(found)[0]

        own = _candidates(s, shape.turns, shape.period, 0.0)
        steep = _candidates(s, shape.slope_turns, shape.period, JUMP)
        found = np.stack([values(at) for at in own])
        rates = np.stack([slopes(at) for at in steep])
    room = 1e-9 * np.abs(rates).max(initial=0.0) * len(shape.slope_turns)
    spread = rates.max(0) - rates.min(0)
    room = np.where(spread > 0, room, 0.0)  # slopes are taken beside their turns
    return (
        Interval(found.min(0), found.max(0)).widened(),
        Interval(rates.min(0) - room, rates.max(0) + room).widened(),
    )


def _candidates(
    s: Interval, turns: tuple[float, ...], period: float | None, beside: float
) -> list[np.ndarray]:
    """The ends of each interval, and the turns (or both sides of them) within it."""
    found = [s.low, s.high]
    for turn in turns:
        places = [np.full_like(s.low, turn)]
        if period is not None:  # the first two turns above the low end
            first = turn + period * np.ceil((s.low - turn) / period)
            places = [first, first + period]
        for place in places:
            for at in (place - beside, place, place + beside) if beside else (place,):
                found.append(np.clip(at, s.low, s.high))
    return found
