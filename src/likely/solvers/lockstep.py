"""Many runs in one program, step by step together: a cheap `vmap` of a loop.

A `while_loop` whose condition differs between the members of a `vmap` is compiled with
a selection of everything it carries, at every step. Runs that have stopped are frozen
by the stepper, which is cheaper; so the loop only needs to know whether *any* member
still runs, which is one Boolean for all.
"""

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool, Int

from likely.typing import RUNNING


@custom_vmap
def any_of(flag: Bool[Array, ""]) -> Bool[Array, ""]:
    """Whether the flag holds; under `vmap`, whether it holds for any member."""
    return flag


@any_of.def_vmap
def _(axis_size: int, batched: list[bool], flag: Bool[Array, "..."]):
    return any_of(jnp.any(flag, axis=0) if batched[0] else flag), False


def any_running(reason: Int[Array, ""]) -> Bool[Array, ""]:
    """Whether a run is running; under `vmap`, whether any member is."""
    return any_of(jax.lax.stop_gradient(reason) == RUNNING)
