r"""Continuation: a family of objectives from a smooth one to the target, each warm-started.

$L_{λ_1}, L_{λ_2}, \dots, L_{λ_m}$ are minimised one after another, each for some steps from where
the one before arrived; the last is the target. A loss with many local minima may have a smooth
relative with one, near the best of them.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from likely.core.checks import InputError
from likely.solvers.settings import Real, Whole, as_real, whole


class ObjectivePath(eqx.Module):
    """A named function of the target objective and a level, to an objective."""

    function: Callable = eqx.field(static=True)

    def __call__(self, objective: Any, level: Float[Array, ""]) -> Any:
        return self.function(objective, level)


def _as_path(value: Any) -> Any:
    return value if isinstance(value, eqx.Module) else ObjectivePath(value)


class Continuation(eqx.Module):
    """A family of objectives, minimised one after another, each from where the last ended.

    Args:
        path: `path(objective, level)` is the objective at a level: `objectives.Smoothing`,
            `objectives.Blending`, or a named function.
        levels: the levels in their order, the smoothest first; the last has to be the target.
        steps: steps at each level; the last has all that remain.
    """

    path: Any = eqx.field(converter=_as_path)
    levels: Real = eqx.field(converter=as_real)
    steps: Whole = whole(100)

    def __check_init__(self):
        if np.ndim(self.levels) != 1 or not np.size(self.levels):
            raise InputError(
                f"levels has shape {np.shape(self.levels)}; give a list of levels, the target last."
            )
        if not isinstance(self.steps, jax.Array) and int(self.steps) < 1:
            raise InputError(f"steps is {self.steps}; give at least 1 for each level.")

    def level(self, step: Int[Array, ""]) -> Float[Array, ""]:
        """The level of a step."""
        stage = jnp.minimum(step // self.steps, len(self.levels) - 1)
        return jnp.asarray(self.levels)[stage]

    def __call__(self, objective: Any, step: Int[Array, ""]) -> Any:
        """The objective of a step, from the target."""
        return self.path(objective, self.level(step))
