"""Sizes of a network, and dead units."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np

from likely.core.checks import InputError
from likely.layers import Chain, Dense, MixedPrecision, Pointwise, Residual, record
from likely.layers.units.activations import AbstractActivation
from likely.typing import State


@dataclass(frozen=True)
class Anatomy:
    """The depth, widths and numbers of parameters of a network."""

    inputs: int
    widths: tuple[int, ...]
    """Units of each hidden layer, first to last."""
    outputs: int
    parameters: int
    """The number of learned parameters."""
    rows: tuple[tuple[str, int], ...]
    """The name and the number of parameters of each layer."""

    @property
    def depth(self) -> int:
        """The number of hidden layers."""
        return len(self.widths)

    @property
    def width(self) -> int:
        """The number of units of the widest hidden layer."""
        return max(self.widths, default=0)

    @property
    def capacity(self) -> int:
        """The number of hidden units."""
        return sum(self.widths)

    def __str__(self) -> str:
        wide = max(len(name) for name, _ in self.rows)
        lines = [f"{name:<{wide}}  {count:>9,}" for name, count in self.rows]
        sizes = "-".join(map(str, (self.inputs, *self.widths, self.outputs)))
        return "\n".join(
            [*lines, f"{sizes}: depth {self.depth}, width {self.width}, "
             f"{self.capacity:,} hidden units, {self.parameters:,} parameters"]
        )  # fmt: skip


def anatomy(model: Any) -> Anatomy:
    """Count the layers, units and parameters of a network."""
    layers = list(_layers(model))
    dense = [layer for layer in layers if isinstance(layer, Dense)]
    return Anatomy(
        dense[0].weight.shape[-2],
        tuple(layer.weight.shape[-1] for layer in dense[:-1]),
        dense[-1].weight.shape[-1],
        parameter_count(model),
        tuple((layer_name(layer), parameter_count(layer)) for layer in layers),
    )


def parameter_count(model: Any) -> int:
    """The number of learned parameters: the entries of all real arrays in the model."""
    arrays = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
    return sum(array.size for array in arrays)


def _layers(model: Any) -> Iterator[Any]:
    """The elementary layers of a model, those inside residual blocks included."""
    if isinstance(model, Chain):
        for layer in model.layers:
            yield from _layers(layer)
    elif isinstance(model, Residual):
        yield from _layers(model.block)
    elif hasattr(model, "model"):
        yield from _layers(model.model)
    else:
        yield model


def layer_kind(layer: Any) -> str:
    """The name of a layer's function or class: relu, Dense."""
    if isinstance(layer, Pointwise):
        return layer.function.__name__
    return type(layer).__name__


def layer_name(layer: Any) -> str:
    """The kind of a layer, with the inputs and outputs of a dense one: Dense 3-1."""
    if isinstance(layer, Dense):
        return "Dense {}-{}".format(*layer.weight.shape[-2:])
    return layer_kind(layer)


def plain_chain(model: Any, caller: str) -> Chain:
    """The chain of layers inside a model, without precision and shared parameters."""
    while isinstance(model, MixedPrecision) or hasattr(model, "tail"):
        model = model.model
    if not isinstance(model, Chain):
        raise InputError(
            f"{caller} needs a chain of layers but got {type(model).__name__}; "
            "give a `Chain`, as `models.mlp`, `models.CNN` and `models.ResNet` build it."
        )
    return model


def dead_units(
    model: Any, X: Any, *, w: Any = None, state: State = None
) -> list[np.ndarray]:
    """The units that are 0 on all rows after an activation: a ReLU that cannot learn.

    Args:
        model: a network.
        X: rows; those of weight 0 do not count.
        w: row weights.
        state: running statistics, if the model has any.

    Returns:
        For each activation, first to last, whether each unit is dead; the mean of an
        array is the fraction of dead units.
    """
    present = np.ones(len(X), bool) if w is None else np.asarray(w) > 0
    return [
        ~(np.asarray(value)[present] != 0).any(axis=0)
        for _, layer, value in record(model, X, state=state)
        if isinstance(layer, Pointwise | AbstractActivation)
    ]
