r"""How signals pass through a network: forward, backward, and how smooth they stay.

**Variance**: of what each layer makes, and of the gradient that comes back to it.
**Shattered gradients**: along a line of inputs $x_0, x_1, \dots$ the slopes
$g_t = \partial y/\partial x_t$ of a shallow network resemble their neighbours; those of a
deep one soon look like white noise; residual connections keep them alike. Over draws of
the first weights,

$$R_l = \frac{\mathbb{E}\sum_t g_t\,g_{t+l}}
  {\sqrt{\mathbb{E}\sum_t g_t^2\;\mathbb{E}\sum_t g_{t+l}^2}}.$$
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers import Chain, Pointwise, initial_state
from likely.layers.composition.mixed_precision import MixedPrecision
from likely.typing import Key, State


class SignalProfile(NamedTuple):
    """The layers of a chain, first to last, beginning with the input."""

    names: list[str]
    values: Float[np.ndarray, " l"]
    """Variance of what each makes."""
    gradients: Float[np.ndarray, " l"]
    """Mean square of the gradient with respect to it, 1 at the output."""


def signal_profile(
    model: Any, X: Float[Array | np.ndarray, "n ..."], *, key: Key, state: State = None
) -> SignalProfile:
    """Variances of values and gradients, layer by layer.

    The gradient is that of Σ v·y with standard normal v, as if any loss had sent it.

    Args:
        model: a chain of layers.
        X: rows as the network gets them.
        key: for v.
        state: running statistics; None starts them.
    """
    while isinstance(model, MixedPrecision) or hasattr(model, "tail"):
        model = model.model
    if not isinstance(model, Chain):
        raise InputError(
            f"signal_profile walks a chain of layers but got {type(model).__name__}."
        )
    state = initial_state(model) if state is None else state
    values, gradients = _profile(model, state, jnp.asarray(X), key)
    names = ["input", *map(_name, model.layers)]
    return SignalProfile(names, np.asarray(values), np.asarray(gradients))


@eqx.filter_jit
def _profile(model: Chain, state: State, X: Array, key: Key) -> tuple[Array, Array]:
    states = state or (None,) * len(model.layers)
    made, backs = [X], []
    for layer, s in zip(model.layers, states, strict=True):
        value, back = jax.vjp(
            lambda X, layer=layer, s=s: layer(X, state=s)[0], made[-1]
        )
        made.append(value)
        backs.append(back)
    slope = jax.random.normal(key, made[-1].shape, made[-1].dtype)
    slopes = [slope]
    for back in reversed(backs):
        (slope,) = back(slope)
        slopes.append(slope)
    gradients = jnp.stack([(g**2).mean() for g in reversed(slopes)])
    return jnp.stack([value.var() for value in made]), gradients / gradients[-1]


def _name(layer: Any) -> str:
    if isinstance(layer, Pointwise):
        return layer.function.__name__
    return type(layer).__name__


def gradient_autocorrelation(
    build: Callable[[Key], Any],
    line: Float[Array | np.ndarray, "t d"],
    *,
    draws: int = 50,
    key: Key,
) -> Float[np.ndarray, " t"]:
    """R of the slopes along a line of inputs, for each lag.

    Args:
        build: a network from a key, such as `lambda k: settings.build(2, 1, key=k)`.
        line: inputs in equal steps, not through 0: where all biases start at 0 that is
            the only place where slopes change. (t, 1) will do.
        draws: networks to average over.
        key: for their first weights.
    """
    line = jnp.asarray(line)
    ahead = jnp.broadcast_to(line[-1] - line[0], line.shape)

    def slopes(key: Key) -> Array:
        model = build(key)
        state = initial_state(model)
        run = lambda X: model(X, state=state)[0][:, 0]  # noqa: E731
        return jax.jvp(run, (line,), (ahead,))[1]

    g = np.asarray(jax.jit(jax.vmap(slopes))(jax.random.split(key, draws)), np.float64)
    n = g.shape[1]

    def at(lag: int) -> float:
        here, there = g[:, : n - lag], g[:, lag:]
        size = np.sqrt((here**2).sum() * (there**2).sum())
        return float((here * there).sum() / size) if size > 0 else 0.0

    return np.array([at(lag) for lag in range(n)])
