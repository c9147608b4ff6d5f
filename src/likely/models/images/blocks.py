"""Blocks of convolutional networks: norm, activation, convolution."""

import math
from collections.abc import Callable
from typing import Any

import jax

from likely.core.checks import InputError
from likely.layers import (
    BatchNorm,
    Chain,
    Convolution,
    Dropout,
    GroupNorm,
    Residual,
    activation,
)
from likely.layers.composition.mixed_precision import check_dtype
from likely.layers.units.activations import Activation
from likely.layers.units.initializers import Initializer
from likely.typing import Key

MAX_GROUPS = 8


def _group_norm(channels: int) -> GroupNorm:
    return GroupNorm(channels, math.gcd(channels, MAX_GROUPS))


IMAGE_NORMS: dict[str, Callable] = {"batch": BatchNorm, "group": _group_norm}


def check_settings(norm: str | None, of: Activation, dtype: str | None) -> None:
    """Raise an error unless norm, activation and precision are known."""
    if norm is not None and norm not in IMAGE_NORMS:
        raise InputError(f'norm is {norm!r}; give "batch", "group" or None.')
    activation(of, 1)
    check_dtype(dtype or "float32")


def norm_and_activation(norm: str | None, of: Activation, channels: int) -> list:
    """The normalisation layer, if any, and the activation."""
    first = [] if norm is None else [IMAGE_NORMS[norm](channels)]
    return [*first, activation(of, channels)]


def convolution_block(
    n_in: int,
    n_out: int,
    *,
    norm: str | None = None,
    activation: Activation = "relu",
    key: Key,
    **settings: Any,
) -> list:
    """Convolution, norm and activation; without a bias before a norm, which removes it."""
    settings.setdefault("bias", norm is None)
    return [
        Convolution(n_in, n_out, key=key, **settings),
        *norm_and_activation(norm, activation, n_out),
    ]


def residual_block(
    n_in: int,
    n_out: int,
    *,
    stride: int = 1,
    norm: str | None = "batch",
    activation: Activation = "relu",
    dropout: float = 0.0,
    init: Initializer = "he",
    zero: bool = False,
    axes: int = 2,
    key: Key,
) -> Residual:
    r"""$h + f(h)$ with f = norm, activation, convolution, norm, activation, convolution.

    The activation comes before the convolution (pre-activation order), so that a block can
    lower h as well as raise it. Where the size changes, the shortcut is a convolution of
    size 1.

    Args:
        n_in: the number of input channels.
        n_out: the number of output channels.
        stride: the stride of the first convolution and of the shortcut.
        norm: "batch", "group" or None.
        activation: a name of `layers.ACTIVATIONS`, or (name, number), or a function.
        dropout: the probability to drop a value before the last convolution.
        init: the initialiser of the filters.
        zero: whether the last convolution starts at zero, so that the block starts as
            the identity.
        axes: 1 for sequences, 2 for images.
        key: the random key of the initial filters.
    """
    first, second, third = jax.random.split(key, 3)
    bias = norm is None  # the last convolution has none: the next layer has a bias
    block = Chain(
        *norm_and_activation(norm, activation, n_in),
        Convolution(
            n_in, n_out, stride=stride, bias=bias, init=init, axes=axes, key=first
        ),
        *norm_and_activation(norm, activation, n_out),
        *([Dropout(dropout)] if dropout else []),
        Convolution(
            n_out,
            n_out,
            bias=False,
            init="zero" if zero else init,
            axes=axes,
            key=second,
        ),
    )
    if n_in == n_out and stride == 1:
        return Residual(block)
    shortcut = Convolution(
        n_in, n_out, 1, stride=stride, bias=False, init=init, axes=axes, key=third
    )
    return Residual(block, shortcut)
