"""Refits of networks as one program: each is a member with its key, rows and weights."""

from typing import Any

import equinox as eqx
import jax
import numpy as np

from likely.base.learning import Problem
from likely.base.training.members import Member, SharedRows, learn_members, train
from likely.base.training.regimes import released
from likely.core.precision import float64, to_numpy
from likely.diagnostics.generalization.refits.program import padded_sets
from likely.diagnostics.generalization.refits.training_sets import TrainingSets
from likely.estimators.networks.etas import member_etas
from likely.solvers.first_order.rules import AbstractFirstOrder
from likely.typing import Batch


def refit_networks(
    model: Any, problem: Problem, sets: TrainingSets, points: np.ndarray, keys: Any
) -> tuple[np.ndarray, np.ndarray]:
    """η of each network at the points and at its own rows.

    Args:
        model: the estimator, which has seen the rows of `problem`.
        problem: the rows of all sets and then the points, with any learner.
        sets: the training sets.
        points: which rows of the batch are points.
        keys: (m,) for first weights and batches.
    """
    batch, most = problem.batch, int(sets.sizes.max())
    first = sets.rows[np.argmax(sets.sizes)][:most]
    options = model._options(np.ones(most))
    learner = model._learner(batch.y[first], options)
    by_minibatches = isinstance(learner.solver, AbstractFirstOrder)
    size = options.padded_rows(most) if by_minibatches else None
    rows, w = padded_sets(sets, size)
    if by_minibatches:
        solver = options.first_order(rows.shape[1])
        learner = eqx.tree_at(lambda each: each.solver, learner, solver)
    members = Member(keys, w, rows)
    data = Batch(batch.x, batch.y, np.ones(len(batch.y)))
    shared = SharedRows(learner, options.hyper, data)
    if by_minibatches:
        phi = released(to_numpy(train(members, shared)))
    else:
        with float64():
            phi = to_numpy(learn_members(members, shared))
    new = member_etas(learner, phi, batch.x[points], model._kind.max_rows)
    with float64():
        known = np.asarray(_own_etas(learner, phi, batch.x[rows]), np.float64)
    return new, known[:, : sets.rows.shape[1]]


@eqx.filter_jit
def _own_etas(learner: Any, phi: Any, X: Any) -> Any:
    """η of each network at rows of its own."""
    arrays, static = eqx.partition(phi, eqx.is_array)

    def one(arrays: Any, X: Any) -> Any:
        return learner.eta(eqx.combine(arrays, static), X)

    return jax.vmap(one)(arrays, X)
