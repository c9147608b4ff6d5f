"""Plain functions as objectives: `minimize(f, x0)` with any solver."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import PyTree

from likely.core.checks import concrete
from likely.core.precision import float64, to_numpy
from likely.solvers.flat import to_float64
from likely.solvers.second_order.bfgs import BFGS
from likely.typing import Batch, Key, Solution, Solver, State


class Function(eqx.Module):
    """A function of the parameters alone, as an objective without data."""

    f: Callable[[PyTree], Any]

    def __call__(
        self,
        model: PyTree,
        batch: Batch,
        *,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Any, State]:
        """f(x), and the state unchanged."""
        return self.f(model), state


NO_ROWS = Batch(None, None, np.ones(1))


def minimize(
    f: Callable[[PyTree], Any],
    x0: PyTree,
    *,
    solver: Solver | None = None,
    key: Key | None = None,
) -> Solution:
    """Minimise a function of one array, or of any tree of arrays, in double precision.

    Define f once, at module level: a new function is a new program to compile.

    Args:
        f: from parameters to a number, in terms of `jax.numpy`.
        x0: where to start; a list of numbers is an array.
        solver: one of `likely.solvers`; `BFGS()` if not given.
        key: for solvers that draw random numbers.

    Examples:
        >>> import jax.numpy as jnp
        >>> found = lk.solvers.minimize(lambda x: jnp.sum((x - 3.0) ** 2), np.zeros(2))
        >>> print(np.asarray(found.model).round(3))
        [3. 3.]
    """
    solver = BFGS() if solver is None else solver
    if not concrete(x0):
        return solver.minimize(Function(f), x0, NO_ROWS, key=key)
    with float64():
        return to_numpy(solver.minimize(Function(f), to_float64(x0), NO_ROWS, key=key))
