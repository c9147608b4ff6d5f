r"""Objectives that are smoothed over their parameters, for continuation.

$$L_σ(φ) = \mathbb{E}_{ε \sim N(0, I)}\, L(φ + σε)$$

has none of the local minima that are narrower than σ, and $L_0 = L$. The expectation is estimated
at each step by pairs ±ε, for which terms of odd order in σ cancel.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.typing import Batch, Key, State


class SmoothedObjective(eqx.Module):
    """An objective, averaged over normal changes of the parameters.

    Args:
        objective: what is smoothed.
        level: σ, the standard deviation of the changes.
        pairs: pairs of changes at each evaluation.
    """

    objective: Any
    level: Float[Array | np.ndarray, ""]
    pairs: int = eqx.field(static=True, default=1)

    def __call__(
        self, model: Any, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The mean over changed parameters; without a key the objective itself."""
        if key is None:
            return self.objective(model, batch, key=None, state=state)
        params, static = eqx.partition(model, eqx.is_inexact_array)
        leaves, tree = jax.tree.flatten(params)
        total, after = jnp.zeros(()), state
        for own in jax.random.split(key, self.pairs):
            k_change, *k_each = jax.random.split(own, 3)
            keys = jax.random.split(k_change, len(leaves))
            change = [
                jnp.asarray(self.level, a.dtype)
                * jax.random.normal(k, a.shape, a.dtype)
                for a, k in zip(leaves, keys, strict=True)
            ]
            for sign, k in zip((1, -1), k_each, strict=True):
                moved = [a + sign * e for a, e in zip(leaves, change, strict=True)]
                changed = eqx.combine(tree.unflatten(moved), static)
                loss, after = self.objective(changed, batch, key=k, state=state)
                total = total + loss / (2 * self.pairs)
        return total, after


class Smoothing(eqx.Module):
    """The path of objectives $L_σ$ for `solvers.Continuation`, whose last level is 0.

    Args:
        pairs: pairs of changes at each step, each of which costs two evaluations.
    """

    pairs: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        if self.pairs < 1:
            raise InputError(f"pairs is {self.pairs}; give at least 1.")

    def __call__(self, objective: Any, level: Float[Array, ""]) -> SmoothedObjective:
        """The objective at a level σ."""
        return SmoothedObjective(objective, level, self.pairs)
