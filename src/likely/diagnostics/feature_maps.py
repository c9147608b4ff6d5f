r"""What the units of a network of images see: maps, filters, favourite inputs."""

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
    """What each layer that keeps positions makes of the images, by its place.

    Args:
        model: a network of images.
        X: as the network gets them (scaled).
        state: running statistics, if it keeps any; None starts them.
    """
    state = initial_state(model) if state is None else state
    return {
        seen.path: np.asarray(seen.value)
        for seen in record(model, jnp.asarray(X), state=state)
        if np.ndim(seen.value) == 4
    }


def filters(model: Any, number: int = 0) -> Float[np.ndarray, "h w c o"]:
    """The filters of a convolution of the model, first or later."""
    found = [
        node
        for node in jax.tree.leaves(model, is_leaf=_is_convolution)
        if _is_convolution(node)
    ]
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
    r"""The input of a given length that a unit answers most, by gradient ascent.

    $x \leftarrow \text{norm} \cdot u/\lVert u \rVert$ with
    $u = x/\lVert x\rVert + \frac12\,g/\lVert g\rVert$ and g the gradient of the unit. Of a
    linear unit it is the weight itself, stretched. There may be several maxima; the key
    decides which one is found.

    Args:
        model: any network.
        shape: of one input.
        unit: the entry of the layer's last axis; of a map the value in the middle.
        layer: the path of a layer, as `feature_maps` names it; None is the output.
        state: running statistics, if it keeps any; None starts them.
        steps: of the ascent.
        norm: the length of the input; None is that of an input of unit variance.
        key: for where to begin.
    """
    state = initial_state(model) if state is None else state
    length = float(np.prod(shape)) ** 0.5 if norm is None else norm
    x = jax.random.normal(key, tuple(shape))
    paths = [seen.path for seen in record(model, x[None], state=state)]
    if layer is not None and layer not in paths:
        raise InputError(
            f"there is no layer {layer!r}; give one of {', '.join(filter(None, paths))}."
        )
    return np.asarray(
        _ascend(model, state, x, unit=unit, layer=layer, steps=steps) * length
    )


@eqx.filter_jit
def _ascend(model: Any, state: State, x: Array, *, unit: int, layer: Any, steps: int):
    def answer(x: Array) -> Array:
        if layer is None:
            value = model(x[None], state=state)[0]
        else:
            seen = record(model, x[None], state=state)
            value = next(r.value for r in seen if r.path == layer)
        value = value[0, ..., unit]
        return value[tuple(size // 2 for size in value.shape)]

    def step(_: Any, x: Array) -> Array:
        return _unit(x + 0.5 * _unit(jax.grad(answer)(x)))

    return jax.lax.fori_loop(0, steps, step, _unit(x))


def _unit(x: Array) -> Array:
    return x / jnp.maximum(jnp.sqrt((x**2).sum()), 1e-12)
