r"""Feature maps, filters, and inputs that maximise a unit of an image network."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers import Convolution, initial_state, record
from likely.typing import Key, State


def feature_maps(
    model: Any, X: Float[Array | np.ndarray, "n h w c"], *, state: State = None
) -> dict[str, np.ndarray]:
    """The outputs of the layers that keep positions, by the path of the layer.

    Args:
        model: an image network.
        X: images as the network gets them (scaled).
        state: running statistics, if the model has any; None uses the initial ones.
    """
    state = initial_state(model) if state is None else state
    return {
        layer.path: np.asarray(layer.value)
        for layer in record(model, jnp.asarray(X), state=state)
        if np.ndim(layer.value) == 4
    }


def filters(model: Any, number: int = 0) -> Float[np.ndarray, "h w c o"]:
    """The filters of the convolution with this number (0 is the first, -1 the last)."""
    nodes = jax.tree.leaves(model, is_leaf=_is_convolution)
    found = list(filter(_is_convolution, nodes))
    if not -len(found) <= number < len(found):
        raise InputError(
            f"the model has {len(found)} convolutions, so there is no number {number}."
        )
    return np.asarray(found[number].weight)


def _is_convolution(node: Any) -> bool:
    return isinstance(node, Convolution)


def maximal_input(
    model: Any,
    shape: Sequence[int],
    unit: int,
    *,
    layer: str | None = None,
    state: State = None,
    steps: int = 100,
    norm: float | None = None,
    key: Key,
) -> Float[np.ndarray, "..."]:
    r"""The input of a given norm that maximises a unit, by gradient ascent.

    $x \leftarrow \text{norm} \cdot u/\lVert u \rVert$ with
    $u = x/\lVert x\rVert + \frac12\,g/\lVert g\rVert$ and g the gradient of the unit. For a
    linear unit this is its weight, rescaled. There may be several maxima; the key decides
    which one is found.

    Args:
        model: any network.
        shape: the shape of one input.
        unit: the index on the layer's last axis; of a feature map, the value at its centre.
        layer: the path of a layer, as in `feature_maps`; None is the output.
        state: running statistics, if the model has any; None uses the initial ones.
        steps: the number of ascent steps.
        norm: the norm of the input; None is that of an input of unit variance.
        key: the random key of the starting point.
    """
    state = initial_state(model) if state is None else state
    length = float(np.prod(shape)) ** 0.5 if norm is None else norm
    x = jax.random.normal(key, tuple(shape))
    paths = [layer.path for layer in record(model, x[None], state=state)]
    if layer is not None and layer not in paths:
        raise InputError(
            f"there is no layer {layer!r}; give one of {', '.join(filter(None, paths))}."
        )
    return np.asarray(
        _gradient_ascent(model, state, x, unit=unit, layer=layer, steps=steps) * length
    )


@eqx.filter_jit
def _gradient_ascent(
    model: Any, state: State, x: Array, *, unit: int, layer: Any, steps: int
):
    def response(x: Array) -> Array:
        if layer is None:
            value = model(x[None], state=state)[0]
        else:
            seen = record(model, x[None], state=state)
            value = next(r.value for r in seen if r.path == layer)
        value = value[0, ..., unit]
        return value[tuple(size // 2 for size in value.shape)]

    def step(_: Any, x: Array) -> Array:
        return _unit(x + 0.5 * _unit(jax.grad(response)(x)))

    return jax.lax.fori_loop(0, steps, step, _unit(x))


def _unit(x: Array) -> Array:
    return x / jnp.maximum(jnp.sqrt((x**2).sum()), 1e-12)
