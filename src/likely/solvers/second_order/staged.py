r"""Two stages: a quick solver first, and a thorough one from there, unless it had arrived.

A quasi-Newton method costs a fraction of Newton's steps where the loss is round, and hundreds
of steps where it is not, as where classes are nearly separated. Together they cost little more
than the better of the two. Under `vmap` the second stage runs where any member needs it.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from likely.solvers.lockstep import any_of
from likely.typing import CONVERGED, Batch, Key, Solution, Solver, State


class Staged(eqx.Module):
    """Minimise by one solver, and by another from where it stopped short.

    Args:
        first: the quick solver, with a low step limit.
        then: the thorough one.
    """

    first: Solver
    then: Solver

    def minimize(
        self, objective, model, data: Batch, *, key: Key | None, state: State = None
    ) -> Solution:
        """Minimise the objective over the parameters of the model."""
        return _minimize(self, objective, model, data, key=key, state=state)


@eqx.filter_jit
def _minimize(solver: Staged, objective, model, data, *, key, state) -> Solution:
    keys = (None, None) if key is None else jax.random.split(key)
    found = solver.first.minimize(objective, model, data, key=keys[0], state=state)

    def go_on(found: Solution) -> Solution:
        start = {"key": keys[1], "state": found.state}
        return solver.then.minimize(objective, found.model, data, **start)

    shapes = eqx.filter_eval_shape(go_on, found)
    done = jnp.isin(found.status.reason, jnp.asarray(CONVERGED))
    arrays, static = eqx.partition(found, eqx.is_array)
    end = eqx.filter(shapes, _is_shape, inverse=True)

    def later(arrays: Any) -> Any:
        return eqx.filter(go_on(eqx.combine(arrays, static)), eqx.is_array)

    def now(arrays: Any) -> Any:
        return jax.tree.map(_with_length, arrays, eqx.filter(shapes, _is_shape))

    return eqx.combine(jax.lax.cond(any_of(~done), later, now, arrays), end)


def _is_shape(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct)


def _with_length(a: Array, like: jax.ShapeDtypeStruct) -> Array:
    """An array as it is, a trace of another length cut or filled up with NaN."""
    if a.shape == like.shape:
        return a.astype(like.dtype)
    a = a[: like.shape[0]]
    end = jnp.full((like.shape[0] - len(a), *a.shape[1:]), jnp.nan, a.dtype)
    return jnp.concatenate([a, end]).astype(like.dtype)
