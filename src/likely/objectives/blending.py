r"""Mixtures of an easy objective and the target, for continuation.

$L_λ = λ\,L_{\text{easy}} + (1 - λ)\,L$, with $L_0 = L$.
"""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from likely.typing import Batch, Key, State


class BlendedObjective(eqx.Module):
    """λ times one objective and 1 − λ times another.

    Args:
        easy: the objective at λ = 1.
        target: that at λ = 0.
        level: λ.
    """

    easy: Any
    target: Any
    level: Float[Array | np.ndarray, ""]

    def __call__(
        self, model: Any, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The blend, and the state after the target."""
        again = None if key is None else jax.random.clone(key)  # the same noise
        easy, _ = self.easy(model, batch, key=again, state=state)
        target, state = self.target(model, batch, key=key, state=state)
        level = self.level.astype(target.dtype)
        return level * easy + (1 - level) * target, state


class Blending(eqx.Module):
    """The path from an easy objective to the target for `solvers.Continuation`.

    Its last level is 0.

    Args:
        easy: an objective of the same model and rows, such as one with a strong prior.
    """

    easy: Any

    def __call__(self, objective: Any, level: Float[Array, ""]) -> BlendedObjective:
        """The objective at a level λ."""
        return BlendedObjective(self.easy, objective, level)
