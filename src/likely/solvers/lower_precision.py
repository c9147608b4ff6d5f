"""Compute in bfloat16, keep float32: the model casts what goes in and what comes out.

The master weights stay as they are; the products are done on rounded copies, η is
widened again before the likelihood sees it, and gradients arrive in the precision
of the master weights, because the derivative of a cast is a cast.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from likely.typing import Key, State

DTYPES = {"bfloat16": jnp.bfloat16, "float16": jnp.float16}


class LowerPrecision(eqx.Module):
    """A model that computes in fewer bits than it is kept in."""

    model: Any
    dtype: str = eqx.field(static=True)

    def __call__(
        self, X: Any, *, w: Any = None, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, "n k"], State]:
        """η of the rounded model on rounded rows, widened; the state keeps its bits."""
        small = DTYPES[self.dtype]
        model, rows = cast(self.model, small), cast(X, small)
        eta, moved = model(rows, w=w, key=key, state=state)
        moved = jax.tree.map(lambda a, old: a.astype(old.dtype), moved, state)
        return eta.astype(_kept(self.model)), moved


def cast(tree: PyTree, dtype: Any) -> PyTree:
    """The tree with its inexact arrays in another precision."""
    return jax.tree.map(
        lambda a: a.astype(dtype) if eqx.is_inexact_array(a) else a, tree
    )


def _kept(model: Any) -> Any:
    """The precision of the master weights."""
    leaves = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
    return jnp.result_type(*leaves) if leaves else jnp.float32
