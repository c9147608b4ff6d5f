"""η of all members of a network, for many rows: some at a time, of a few sizes."""

from typing import Any

import equinox as eqx
import jax
import numpy as np

from likely.base.training.members import Network
from likely.core.precision import float64, precision_of
from likely.core.rows import pad_rows
from likely.estimators.networks.learner import NetworkLearner

MAX_PARALLEL_MEMBERS = 16
"""Members that predict side by side."""


def member_etas(
    learner: NetworkLearner, phi: Network, X: np.ndarray, max_rows: int | None
) -> np.ndarray:
    """(m, n, k) η of the members, in the units of the data.

    Args:
        learner: the core.
        phi: with a leading axis of members.
        X: rows in the shape that the network takes.
        max_rows: how many are computed together; None for all, in float64.
    """
    if max_rows is None:
        with float64():
            etas = _eta_of(learner, phi, pad_rows(X))
            return np.asarray(etas, np.float64)[:, : len(X)]
    with precision_of(phi.solution.model):
        parts = [pad_rows(X[i : i + max_rows]) for i in range(0, len(X), max_rows)]
        etas = [np.asarray(_eta_of(learner, phi, part)) for part in parts]
    return np.concatenate(etas, 1).astype(np.float64)[:, : len(X)]


@eqx.filter_jit
def _eta_of(learner: NetworkLearner, phi: Network, X: Any):
    """η of every member, some members at a time, so that they fit in the cache."""
    m = len(phi.solution.loss)
    at_once = max(k for k in range(1, MAX_PARALLEL_MEMBERS + 1) if m % k == 0)
    if at_once == m:
        return jax.vmap(learner.eta, in_axes=(0, None))(phi, X)
    arrays, static = eqx.partition(phi, eqx.is_array)

    def one(arrays: Any) -> Any:
        return learner.eta(eqx.combine(arrays, static), X)

    return jax.lax.map(one, arrays, batch_size=at_once)
