r"""Certified Lipschitz constants of networks, by interval bounds.

On a box of inputs every unit stays within an interval, and so does the slope of its activation. The
Jacobian of the network is then within a matrix of intervals; the norm of their largest
absolute entries bounds its norm, and with it the Lipschitz constant on the box. The product of
the spectral norms of the layers is another bound; the lower one counts.
"""

from typing import Any, NamedTuple

import numpy as np

from likely.analysis.search import box_of
from likely.analysis.smoothness.slopes import Interval, activation_interval
from likely.core.checks import InputError
from likely.layers import Chain, Dense, Dropout, Residual


class LipschitzBound(NamedTuple):
    """The result of `lipschitz_bound`: no two points of the box are steeper than `value`.

    Attributes:
        value: the certified constant, for Euclidean distances.
        by_intervals: the bound from the intervals of the Jacobian.
        by_norms: the bound from the norms of the layers.
        low: (k,) the lowest value that each output can have.
        high: (k,) the highest value that each output can have.
    """

    value: float
    by_intervals: float
    by_norms: float
    low: np.ndarray
    high: np.ndarray


class _State(NamedTuple):
    """What is known after a layer: values, Jacobian, and the product of norms."""

    values: Interval
    jacobian: Interval
    norm: float


def lipschitz_bound(network: Any, low: Any, high: Any) -> LipschitzBound:
    """A Lipschitz constant of a network on a box that is certain to hold.

    Args:
        network: a chain of dense layers, activations, dropout and residual blocks, as
            `models.mlp` makes them; or a list of such layers, or of (W, b) pairs and layers.
        low: (d,) the lowest value of each input.
        high: (d,) the highest value of each input.
    """
    box = box_of(low, high)
    d = box.dimension
    start = _State(Interval(box.low, box.high), Interval(np.eye(d), np.eye(d)), 1.0)
    end = _through(_layers(network), start)
    largest = np.maximum(np.abs(end.jacobian.low), np.abs(end.jacobian.high))
    by_intervals = float(np.linalg.norm(largest, 2)) * (1 + 1e-12)
    by_norms = end.norm * (1 + 1e-12)
    return LipschitzBound(
        min(by_intervals, by_norms), by_intervals, by_norms, *end.values
    )


def _layers(network: Any) -> list[Any]:
    if isinstance(network, Chain):
        return list(network.layers)
    return list(network) if isinstance(network, list | tuple) else [network]


def _through(layers: list[Any], state: _State) -> _State:
    for layer in layers:
        state = _step(layer, state)
    return state


def _step(layer: Any, state: _State) -> _State:
    """What is known after one more layer."""
    if isinstance(layer, Dropout):
        return state  # it does nothing where a network is used
    if isinstance(layer, Chain):
        return _through(list(layer.layers), state)
    if isinstance(layer, Residual):
        return _residual(layer, state)
    if isinstance(layer, Dense):
        bias = 0.0 if layer.bias is None else np.asarray(layer.bias, float)
        return _dense(np.asarray(layer.weight, float), bias, state)
    if isinstance(layer, tuple):
        weight, bias = layer
        return _dense(np.asarray(weight, float), np.asarray(bias, float), state)
    values, slopes = activation_interval(layer, state.values)
    steepest = float(np.maximum(np.abs(slopes.low), np.abs(slopes.high)).max())
    pairs = [
        slope[None] * side for slope in slopes for side in state.jacobian
    ]  # (d, units) each
    jacobian = Interval(np.min(pairs, axis=0), np.max(pairs, axis=0))
    return _State(values, jacobian, state.norm * steepest)


def _dense(W: np.ndarray, bias: Any, state: _State) -> _State:
    """Intervals through aW + b, rows of the Jacobian ∂a/∂x kept as (d, units)."""
    if len(W) != len(state.values.low):
        raise InputError(
            f"a layer takes {len(W)} values but gets {len(state.values.low)}; low and high "
            "need one number for each input of the network."
        )
    values = _product(state.values, W)
    return _State(
        Interval(values.low + bias, values.high + bias).widened(),
        _product(state.jacobian, W),
        state.norm * float(np.linalg.norm(W, 2)),
    )


def _product(a: Interval, W: np.ndarray) -> Interval:
    """The interval of aW: its middle, and the half-widths through |W|."""
    middle, half = 0.5 * (a.low + a.high), 0.5 * (a.high - a.low)
    centre, reach = middle @ W, half @ np.abs(W)
    room = 1e-12 * (np.abs(middle) @ np.abs(W) + reach)
    return Interval(centre - reach - room, centre + reach + room)


def _residual(layer: Residual, state: _State) -> _State:
    block = _step(layer.block, state)
    skip = state if layer.shortcut is None else _step(layer.shortcut, state)
    values = Interval(*(b + s for b, s in zip(block.values, skip.values, strict=True)))
    jacobian = Interval(
        *(b + s for b, s in zip(block.jacobian, skip.jacobian, strict=True))
    )
    return _State(values.widened(), jacobian.widened(), block.norm + skip.norm)
