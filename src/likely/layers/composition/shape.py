"""The output shape of a model, without computing the output."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from likely.layers.composition.chain import initial_state


def output_shape(model: Any, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of a model's output for one row of this shape."""
    X = jax.ShapeDtypeStruct((1, *shape), jnp.float32)
    y = eqx.filter_eval_shape(lambda m, X: m(X, state=initial_state(m))[0], model, X)
    return y.shape[1:]
