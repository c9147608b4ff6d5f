r"""Output shapes, parameters, operations and receptive fields of any model."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from likely.autodiff.modes.work import jaxpr_work
from likely.diagnostics.anatomy import layer_kind, layer_name, parameter_count
from likely.layers import Convolution, TransposedConvolution, initial_state, record
from likely.typing import State


def flops(model: Any, shape: Sequence[int]) -> int:
    """The additions and multiplications of one forward pass for one row of this shape.

    They are counted in the traced program, so for any model; a multiply-add is two. A
    training step takes about three times as many: the backward pass has two products for
    each one of the forward pass.
    """
    X = jax.ShapeDtypeStruct((1, *shape), jnp.float32)
    arrays, static = eqx.partition(model, _is_array)
    run = jax.make_jaxpr(lambda a, X: _inference(eqx.combine(a, static), X)[0])
    return round(jaxpr_work(run(arrays, X).jaxpr)[0].flops)


def stacked_field(
    size: Sequence[int],
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
) -> int:
    r"""The receptive field of a unit after layers with these windows.

    $r_l = r_{l-1} + D_l(K_l - 1)\prod_{m<l} S_m$ with $r_0 = 1$.
    """
    stride, dilation = stride or [1] * len(size), dilation or [1] * len(size)
    field, total_stride = 1, 1
    for k, s, d in zip(size, stride, dilation, strict=True):
        field, total_stride = field + d * (k - 1) * total_stride, total_stride * s
    return field


def receptive_field(
    model: Any, shape: Sequence[int], *, state: State = None
) -> tuple[int, ...]:
    """The extent, along each axis, of the inputs that influence one unit of the output.

    It is measured, so it holds for any model: NaN in one line of the input makes every
    output that depends on it NaN. The largest extent over the units is returned; near the
    edges it is smaller, so give a shape that is large enough.

    Args:
        model: any model, with or without positions in its output.
        shape: the shape of one row, channels last.
        state: running statistics, if the model has any; None uses the initial ones.
    """
    state = initial_state(model) if state is None else state
    return tuple(_extent(model, shape, axis, state) for axis in range(len(shape) - 1))


def _extent(model: Any, shape: Sequence[int], axis: int, state: State) -> int:
    lines = shape[axis]
    X = np.ones((lines, *shape), np.float32)
    np.moveaxis(X, axis + 1, 1)[np.arange(lines), np.arange(lines)] = np.nan
    y, _ = eqx.filter_jit(_inference)(model, jnp.asarray(X), state)
    reached = np.isnan(np.asarray(y)).reshape(lines, -1)  # (lines, units)
    reached = reached[:, reached.any(0)]
    if not reached.size:
        return 0
    first, last = reached.argmax(0), lines - 1 - reached[::-1].argmax(0)
    return int((last - first).max()) + 1


def _is_array(leaf: Any) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)


def _inference(model: Any, X: Any, state: State = None) -> Any:
    state = initial_state(model) if state is None else state
    return model(X, state=state)


@dataclass(frozen=True)
class Survey:
    """The output shape and the number of parameters of each layer."""

    rows: tuple[tuple[str, tuple[int, ...], int], ...]
    """The name, the output shape and the number of parameters of each layer."""
    parameters: int
    flops: int
    """The operations of one forward pass for one row."""

    def __str__(self) -> str:
        cells = [
            (name, "x".join(map(str, shape)), f"{count:,}")
            for name, shape, count in self.rows
        ]
        wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [f"{a:<{wide[0]}}  {b:>{wide[1]}}  {c:>{wide[2]}}" for a, b, c in cells]
        total = f"{self.parameters:,} parameters, {self.flops:,} operations for one row"
        return "\n".join([*lines, total])


def survey(model: Any, shape: Sequence[int]) -> Survey:
    """The layers of a model in the order of computation, without computing anything.

    Args:
        model: any model; chains and blocks are listed layer by layer.
        shape: the shape of one row, channels last.
    """
    layers: list = []
    total: list[int] = []

    def values(model: Any, X: Any) -> list:
        records = record(model, X, state=initial_state(model))
        total.append(parameter_count(model))
        layers.extend(r.layer for r in records)
        return [r.value for r in records]

    X = jax.ShapeDtypeStruct((1, *shape), jnp.float32)
    outputs = eqx.filter_eval_shape(values, model, X)
    rows = tuple(
        (_name(layer), value.shape[1:], parameter_count(layer))
        for layer, value in zip(layers, outputs, strict=True)
    )
    return Survey(rows, total[0], flops(model, shape))


def _name(layer: Any) -> str:
    if not isinstance(layer, Convolution | TransposedConvolution):
        return layer_name(layer)
    window = "x".join(map(str, layer.size))
    stride = "" if prod(layer.stride) == 1 else f", stride {layer.stride[0]}"
    return f"{layer_kind(layer)} {window}{stride}"
