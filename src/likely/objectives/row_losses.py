"""The loss of each row by a model that is known: how hard a row is."""

from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from likely.typing import Batch, State


class RowLosses(eqx.Module):
    """The difficulty of rows for `solvers.Curriculum`: their losses by another model.

    Args:
        objective: a loss of rows, such as `NegativeLogLikelihood.of(family, data)`.
        model: a model that was trained before, usually a smaller one.
        state: its running statistics, if it has any.
    """

    objective: Any
    model: Any
    state: State = None

    def __call__(self, batch: Batch) -> Float[Array, " n"]:
        """The loss of each row, before weighting."""
        eta, _ = self.model(batch.x, state=self.state)
        return self.objective.pointwise(eta, batch.y)
