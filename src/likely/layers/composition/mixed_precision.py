"""Mixed precision: compute in half precision, keep the parameters in single."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from likely.core.checks import InputError
from likely.layers.composition.chain import initial_state
from likely.typing import Key, Model, State

DTYPES = ("bfloat16", "float16", "float32", "float64")


def cast(tree: PyTree, dtype: Any) -> PyTree:
    """The tree with every array of real numbers in another precision."""

    def one(leaf):
        return jnp.asarray(leaf, dtype) if eqx.is_inexact_array(leaf) else leaf

    return jax.tree.map(one, tree)


def check_dtype(dtype: str) -> None:
    """Raise an error unless dtype is a supported floating-point type."""
    if dtype not in DTYPES:
        raise InputError(f"dtype is {dtype!r}; give one of {', '.join(DTYPES)}.")


class MixedPrecision(eqx.Module):
    """A model that computes in `dtype` while its parameters keep their own.

    Gradients have the precision of the parameters, since the cast is part of the
    differentiated function; so has η, and losses are summed in float32. Normalisation
    layers compute their statistics in float32, and running statistics are state, which
    is not cast.
    """

    model: Model
    dtype: str = eqx.field(static=True, default="bfloat16")

    def __check_init__(self):
        check_dtype(self.dtype)

    def initial_state(self) -> State:
        """The state of the model inside."""
        return initial_state(self.model)

    def __call__(
        self, X: Any, *, w=None, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, "n ..."], State]:
        """Cast, compute, cast back."""
        leaves = jax.tree.leaves(eqx.filter(self.model, eqx.is_inexact_array))
        wide = jnp.result_type(*leaves)
        narrow, X = cast((self.model, X), self.dtype)
        eta, state = narrow(X, w=w, key=key, state=state)
        return eta.astype(wide), state
