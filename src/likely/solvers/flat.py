"""A model as a flat vector of its parameters, and the traces of solvers."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from likely.core.checks import concrete
from likely.typing import Batch, Key, State, Trace

MAX_TRACE_LENGTH = 4096
"""Points of a trace, about; longer runs are cut or thinned."""


def flatten(model: Any) -> tuple[Float[Array, " p"], Callable[[Array], Any]]:
    """φ as one vector, and the function from the vector to the model."""
    params, static = eqx.partition(model, eqx.is_inexact_array)
    x, unravel = ravel_pytree(params)
    return x, lambda x: eqx.combine(unravel(x), static)


def to_float64(tree: Any) -> Any:
    """The tree with float64 arrays as leaves (inside that scope); lists are arrays."""
    return jax.tree.map(
        lambda a: jnp.asarray(a, jnp.float64),
        tree,
        is_leaf=lambda a: isinstance(a, list),
    )


def reuse_key(key: Key | None) -> Key | None:
    """The same key again: a full-batch objective has the same noise in every call."""
    return None if key is None else jax.random.clone(key)


def value_and_gradient(
    objective: Any, rebuild: Callable[[Array], Any], data: Batch, key: Key | None
) -> Callable[[Array, State], tuple[tuple[Array, State], Array]]:
    """x, state ↦ ((loss, state), gradient), for full-batch solvers."""

    def loss(x: Float[Array, " p"], state: State):
        return objective(rebuild(x), data, key=reuse_key(key), state=state)

    return jax.value_and_grad(loss, has_aux=True)


def empty_trace(capacity: int, dtype, x: Float[Array, " p"] | None = None) -> Trace:
    """A trace of NaN; with space for the parameters of each point if `x` is given."""
    nan = jnp.full(capacity, jnp.nan, dtype)
    path = None if x is None else jnp.full((capacity, len(x)), jnp.nan, x.dtype)
    return Trace(nan, nan, nan, path)


def record(  # noqa: PLR0917
    trace: Trace,
    k: Array | int,
    loss: Array,
    gradient: Array | float,
    step: Array | float,
    x: Float[Array, " p"] | None = None,
) -> Trace:
    """The trace with loss and gradient of point `k`, and the step taken from there.

    Points beyond the capacity are dropped; `x` is kept only if the trace has a path.
    """
    before: Any = trace
    path = before.model
    return Trace(
        before.loss.at[k].set(loss, mode="drop"),
        before.gradient.at[k].set(gradient, mode="drop"),
        before.step.at[k].set(step, mode="drop"),
        None if path is None else path.at[k].set(x, mode="drop"),
    )


def unflatten_path(trace: Trace, rebuild: Callable[[Array], Any]) -> Trace:
    """The trace with its path as parameters, each with a leading axis of points."""
    if trace.model is None:
        return trace
    path = jax.vmap(lambda x: eqx.filter(rebuild(x), eqx.is_inexact_array))(trace.model)
    return Trace(trace.loss, trace.gradient, trace.step, path)


def trace_capacity(max_steps: Any) -> int:
    """The number of points of a trace: a power of two, so that few programs exist."""
    steps = int(max_steps) if concrete(max_steps) else MAX_TRACE_LENGTH
    return 1 << min(max(steps, 1), MAX_TRACE_LENGTH).bit_length()


def max_abs(g: Float[Array, " p"]) -> Float[Array, ""]:
    """The largest absolute entry (0 for an empty vector)."""
    return jnp.max(jnp.abs(g), initial=0.0)
