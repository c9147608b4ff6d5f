r"""Propagation of signals and gradients through the depth of a network.

**Variance**: of the output of each layer, and of the gradient with respect to it.
**Shattered gradients**: along a line of inputs $x_0, x_1, \dots$ the gradients
$g_t = \partial y/\partial x_t$ of a shallow network are similar at neighbouring inputs;
those of a deep one look like white noise; residual connections keep them similar. Over
draws of the initial weights,

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

from likely.diagnostics.anatomy import layer_kind, plain_chain
from likely.layers import Chain, initial_state
from likely.typing import Key, State


class SignalProfile(NamedTuple):
    """Variances of the input and of each layer of a chain, first to last."""

    names: list[str]
    values: Float[np.ndarray, " l"]
    """The variance of the output of each layer."""
    gradients: Float[np.ndarray, " l"]
    """The mean square of the gradient with respect to it, relative to the last layer."""


def signal_profile(
    model: Any, X: Float[Array | np.ndarray, "n ..."], *, key: Key, state: State = None
) -> SignalProfile:
    """Variances of values and gradients, layer by layer.

    The gradient is that of Σ v·y with standard normal v, in place of a loss.

    Args:
        model: a chain of layers.
        X: rows as the network gets them.
        key: the random key of v.
        state: running statistics; None uses the initial ones.
    """
    model = plain_chain(model, "signal_profile")
    state = initial_state(model) if state is None else state
    values, gradients = _profile(model, state, jnp.asarray(X), key)
    names = ["input", *map(layer_kind, model.layers)]
    return SignalProfile(names, np.asarray(values), np.asarray(gradients))


@eqx.filter_jit
def _profile(model: Chain, state: State, X: Array, key: Key) -> tuple[Array, Array]:
    states = state or (None,) * len(model.layers)
    outputs, pullbacks = [X], []
    for layer, s in zip(model.layers, states, strict=True):
        value, pullback = jax.vjp(
            lambda X, layer=layer, s=s: layer(X, state=s)[0], outputs[-1]
        )
        outputs.append(value)
        pullbacks.append(pullback)
    cotangent = jax.random.normal(key, outputs[-1].shape, outputs[-1].dtype)
    cotangents = [cotangent]
    for pullback in reversed(pullbacks):
        (cotangent,) = pullback(cotangent)
        cotangents.append(cotangent)
    gradients = jnp.stack([(g**2).mean() for g in reversed(cotangents)])
    return jnp.stack([value.var() for value in outputs]), gradients / gradients[-1]


def gradient_autocorrelation(
    build: Callable[[Key], Any],
    line: Float[Array | np.ndarray, "t d"],
    *,
    draws: int = 50,
    key: Key,
) -> Float[np.ndarray, " t"]:
    """The autocorrelation R of the gradients along a line of inputs, for each lag.

    Args:
        build: makes a network from a key, such as `lambda k: settings.build(2, 1, key=k)`.
        line: inputs (t, d) in equal steps, on a line that does not pass through 0 (with
            initial biases of 0, the gradient on a line through 0 changes only there).
        draws: the number of networks to average over.
        key: the random key of their initial weights.
    """
    line = jnp.asarray(line)
    direction = jnp.broadcast_to(line[-1] - line[0], line.shape)

    def slopes(key: Key) -> Array:
        model = build(key)
        state = initial_state(model)
        run = lambda X: model(X, state=state)[0][:, 0]  # noqa: E731
        return jax.jvp(run, (line,), (direction,))[1]

    g = np.asarray(jax.jit(jax.vmap(slopes))(jax.random.split(key, draws)), np.float64)
    n = g.shape[1]

    def at(lag: int) -> float:
        first, second = g[:, : n - lag], g[:, lag:]
        size = np.sqrt((first**2).sum() * (second**2).sum())
        return float((first * second).sum() / size) if size > 0 else 0.0

    return np.array([at(lag) for lag in range(n)])
