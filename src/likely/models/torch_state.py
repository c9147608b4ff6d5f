"""Weights from and to PyTorch, for networks of the same architecture.

PyTorch puts channels first, and output features before input features. A state dict is
any mapping from names to arrays, so PyTorch itself is not needed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from likely.core.checks import InputError
from likely.layers import (
    BatchNorm,
    Chain,
    Convolution,
    Dense,
    Flatten,
    GroupNorm,
    LayerNorm,
    MixedPrecision,
    PReLU,
    Running,
    TransposedConvolution,
    initial_state,
)
from likely.layers.composition.shape import output_shape
from likely.typing import State

KINDS = (
    BatchNorm,
    Convolution,
    Dense,
    GroupNorm,
    LayerNorm,
    PReLU,
    TransposedConvolution,
)


def from_torch(
    model: Any,
    weights: Mapping[str, Any],
    shape: Sequence[int],
    *,
    order: Sequence[str] | None = None,
) -> tuple[Any, State]:
    """The model with the weights of a PyTorch state dict, and its running statistics.

    Layers are matched in order, which in PyTorch is the order in which a module's
    constructor defines them; sizes have to agree.

    Args:
        model: a model of the same architecture.
        weights: `module.state_dict()`.
        shape: the shape of one row, channels last; needed where images are flattened,
            since PyTorch flattens them with channels first.
        order: the names of the PyTorch layers, such as "features.0", in the order of this
            model's layers, where the two orders differ.
    """
    theirs = _named(weights)
    names = list(theirs) if order is None else list(order)
    ours = _parameter_layers(model)
    if len(names) != len(ours):
        raise InputError(
            f"the state dict has {len(names)} layers with weights and the model has "
            f"{len(ours)}; give a model of the same architecture."
        )
    flattened = _flattened(model, shape)
    made, running = [], []
    for name, layer in zip(names, ours, strict=True):
        found = {leaf: np.asarray(value) for leaf, value in theirs[name].items()}
        if "running_mean" in found:
            running.append((found["running_mean"], found["running_var"]))
        made.append(_loaded(layer, found, flattened.get(id(layer)), name))
    state = initial_state(model)
    statistics = iter([Running(*map(jnp.asarray, pair)) for pair in running])
    state = jax.tree.map(
        lambda old: next(statistics, old), state, is_leaf=lambda s: _is(s, Running)
    )
    return eqx.tree_at(_parameter_layers, model, made), state


def to_torch(model: Any, shape: Sequence[int]) -> list[dict[str, np.ndarray]]:
    """The parameters of each layer, first to last, as PyTorch stores them.

    Args:
        model: any model whose layers exist in PyTorch.
        shape: the shape of one row, channels last.
    """
    flattened = _flattened(model, shape)
    return [
        _stored(layer, flattened.get(id(layer))) for layer in _parameter_layers(model)
    ]


def _parameter_layers(model: Any) -> list:
    """The layers with parameters, in order."""
    leaves = jax.tree.leaves(model, is_leaf=lambda node: _is(node, KINDS))
    return [leaf for leaf in leaves if _is(leaf, KINDS)]


def _is(node: Any, kinds: Any) -> bool:
    return isinstance(node, kinds)


def _named(weights: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The state dict, grouped by layer."""
    layers: dict[str, dict[str, Any]] = {}
    for name, value in weights.items():
        layer, _, leaf = name.rpartition(".")
        if leaf != "num_batches_tracked":
            layers.setdefault(layer, {})[leaf] = value
    return layers


def _flattened(model: Any, shape: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """The image shape for each dense layer that reads flattened images, by its id."""
    while _is(model, MixedPrecision):
        model = model.model
    found: dict[int, tuple[int, ...]] = {}
    if not _is(model, Chain):
        return found
    for i, layer in enumerate(model.layers):
        if _is(layer, Flatten):
            after = [later for later in model.layers[i:] if _is(later, Dense)]
            if after:
                found[id(after[0])] = output_shape(Chain(*model.layers[:i]), shape)
    return found


def _axis_order(layer: Any) -> tuple[int, ...] | None:
    """The permutation of the axes of PyTorch's weight that gives ours."""
    if _is(layer, Dense):
        return (1, 0)
    if _is(layer, Convolution | TransposedConvolution):
        positions = range(2, layer.weight.ndim)
        return (*positions, 1, 0)
    return None


def _fields(layer: Any) -> tuple[str, str]:
    if _is(layer, BatchNorm | GroupNorm | LayerNorm):
        return "scale", "shift"
    return ("slope", "") if _is(layer, PReLU) else ("weight", "bias")


def _loaded(layer: Any, found: dict, image: tuple[int, ...] | None, name: str) -> Any:
    for theirs, ours in zip(("weight", "bias"), _fields(layer), strict=True):
        old = getattr(layer, ours, None)
        if (old is None) != (theirs not in found):
            state = "has no" if old is None else "needs a"
            raise InputError(
                f"{name}: the model's {type(layer).__name__} {state} {theirs}."
            )
        if old is None:
            continue
        new, axes = found[theirs], _axis_order(layer)
        if theirs == "weight" and axes is not None and new.ndim == len(axes):
            new = new.transpose(axes)
            if image is not None:
                new = _channels_last(new, image)
        if new.shape != old.shape:
            raise InputError(
                f"{name}.{theirs} has shape {found[theirs].shape} in PyTorch, which is "
                f"{new.shape} here, but the model's {type(layer).__name__} has "
                f"{old.shape}; give a model of the same sizes, or the order of layers."
            )
        new = jnp.asarray(new, old.dtype)
        layer = eqx.tree_at(lambda node, ours=ours: getattr(node, ours), layer, new)
    return layer


def _stored(layer: Any, image: tuple[int, ...] | None) -> dict[str, np.ndarray]:
    stored = {}
    for theirs, ours in zip(("weight", "bias"), _fields(layer), strict=True):
        value = getattr(layer, ours, None)
        if value is None:
            continue
        value, axes = np.asarray(value), _axis_order(layer)
        if theirs == "weight" and axes is not None:
            if image is not None:
                value = _channels_first(value, image)
            value = value.transpose(np.argsort(axes))
        stored[theirs] = np.ascontiguousarray(value)
    return stored


def _channels_last(weight: np.ndarray, image: tuple[int, ...]) -> np.ndarray:
    """Rows of a weight from (c, h, w) order to (h, w, c)."""
    *positions, c = image
    cube = weight.reshape(c, *positions, -1)
    return np.moveaxis(cube, 0, -2).reshape(weight.shape)


def _channels_first(weight: np.ndarray, image: tuple[int, ...]) -> np.ndarray:
    cube = weight.reshape(*image, -1)
    return np.moveaxis(cube, -2, 0).reshape(weight.shape)
