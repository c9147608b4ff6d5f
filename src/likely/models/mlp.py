r"""The multilayer perceptron: dense layers with activations between."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np

from likely.core.checks import InputError
from likely.layers import (
    BatchNorm,
    Chain,
    Dense,
    Dropout,
    LayerNorm,
    MixedPrecision,
    Residual,
    activation,
    initializer,
)
from likely.layers.composition.mixed_precision import check_dtype
from likely.layers.units.activations import Activation
from likely.layers.units.initializers import Initializer
from likely.models.settings import setting
from likely.typing import Key

NORMS: dict[str, Callable] = {"batch": BatchNorm, "layer": LayerNorm}


def _sizes(value: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in np.ravel(value))


class MLP(eqx.Module):
    r"""The settings of a multilayer perceptron, as plain data; `build` makes the network.

    A hidden layer is $a' = \text{dropout}(σ(\text{norm}(aW + b)))$, the output $aW + b$;
    before a batch norm, which would remove it, there is no b.
    With `residual` the hidden layers after the first are blocks
    $a' = a + \text{dropout}(σ(\text{norm}(a)))W + b$, with a linear shortcut where the
    width changes: a block can lower its input as well as raise it.

    Args:
        hidden: the width of each hidden layer; () is a linear model.
        activation: a name of `layers.ACTIVATIONS`, or (name, number), or a function.
        norm: "batch", "layer" or None.
        dropout: the probability to drop a hidden unit.
        residual: whether hidden layers are residual blocks; "zero" also makes each start
            as the identity.
        init: a name of `layers.INITIALIZERS`, or ("gaussian", variance).
        output_init: the initialiser of the last layer; None is `init`.
        dtype: the precision of the computation, such as "bfloat16"; parameters keep
            theirs. None computes in the precision of the parameters.

    Examples:
        >>> import jax.numpy as jnp
        >>> import jax
        >>> model = lk.models.MLP((8,)).build(3, 1, key=jax.random.key(0))
        >>> model(jnp.ones((4, 3)))[0].shape
        (4, 1)
    """

    hidden: tuple[int, ...] = eqx.field(static=True, converter=_sizes, default=(64, 64))
    activation: Activation = setting("relu")
    norm: str | None = setting(None)
    dropout: float = setting(0.0)
    residual: bool | str = setting(False)
    init: Initializer = setting("he")
    output_init: Initializer | None = setting(None)
    dtype: str | None = setting(None)

    def __check_init__(self):
        if any(size < 1 for size in self.hidden):
            raise InputError(
                f"hidden is {self.hidden}; give the width of each hidden layer, "
                "at least 1."
            )
        if self.norm is not None and self.norm not in NORMS:
            raise InputError(f'norm is {self.norm!r}; give "batch", "layer" or None.')
        if self.residual not in (False, True, "zero"):
            raise InputError(
                f'residual is {self.residual!r}; give False, True or "zero".'
            )
        for init in (self.init, self.output_init or "he"):
            initializer(init)
        activation(self.activation, 1)
        Dropout(self.dropout)
        check_dtype(self.dtype or "float32")

    def build(self, n_in: int, n_out: int, *, key: Key) -> Chain | MixedPrecision:
        """The network from n_in inputs to n_out entries of η, with initial weights."""
        keys = iter(jax.random.split(key, 2 * len(self.hidden) + 1))
        layers, width = [], n_in
        for number, size in enumerate(self.hidden):
            if self.residual and number:
                layers += [self._block(width, size, next(keys), next(keys))]
            else:
                bias = self.norm != "batch" or bool(self.residual)
                layers += [
                    Dense(width, size, bias=bias, init=self.init, key=next(keys))
                ]
                layers += [] if self.residual else self._between(size)
            width = size
        layers += self._between(width) if self.residual and self.hidden else []
        init = self.init if self.output_init is None else self.output_init
        model = Chain(*layers, Dense(width, n_out, init=init, key=next(keys)))
        return model if self.dtype is None else MixedPrecision(model, self.dtype)

    def _between(self, size: int) -> list:
        """The norm, activation and dropout between two dense layers."""
        norm = [] if self.norm is None else [NORMS[self.norm](size)]
        drop = [Dropout(self.dropout)] if self.dropout else []
        return [*norm, activation(self.activation, size), *drop]

    def _block(self, width: int, size: int, *keys: Key) -> Residual:
        init = "zero" if self.residual == "zero" else self.init
        inside = Dense(width, size, init=init, key=keys[0])
        shortcut = None
        if width != size:
            shortcut = Dense(width, size, bias=False, init=self.init, key=keys[1])
        return Residual(Chain(*self._between(width), inside), shortcut)


def mlp(sizes: Sequence[int], *, key: Key, **settings: Any) -> Chain | MixedPrecision:
    """A multilayer perceptron of these sizes, inputs first, outputs last.

    Args:
        sizes: (d, hidden, ..., k).
        key: the random key of the initial weights.
        settings: settings of `MLP`: activation, norm, dropout, residual, init, dtype.

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> lk.models.mlp((3, 8, 1), key=jax.random.key(0))(jnp.ones((4, 3)))[0].shape
        (4, 1)
    """
    n_in, *hidden, n_out = sizes
    return MLP(tuple(hidden), **settings).build(n_in, n_out, key=key)
