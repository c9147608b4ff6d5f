"""How a restricted Boltzmann machine is fitted: by its likelihood, or by contrastive divergence."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from likely.base.training.unsupervised import pack
from likely.core.precision import float64, to_numpy
from likely.core.rows import fill_absent, pad
from likely.generative.energies.divergence import ExactLikelihood, MachineProblem
from likely.generative.energies.machine import first_machine
from likely.generative.merged_rows import merged_rows
from likely.objectives import GaussianPrior
from likely.objectives.rows import Normalisation
from likely.solvers import LBFGS
from likely.typing import Batch, Key, Solution

MAX_EXACT_HIDDEN = 8
"""Hidden units up to which the likelihood itself is maximised."""
MAX_EXACT_CELLS = 2**22
"""Rows times states of hidden units, up to which it is."""


class Columns(NamedTuple):
    """The units of visible columns: nothing for binary ones."""

    center: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, w: np.ndarray, *, binary: bool) -> "Columns":
        """Means and deviations of what is not missing; a constant column is only centred."""
        d = X.shape[1]
        if binary:
            return cls(np.zeros(d), np.ones(d))
        there = ~np.isnan(X)
        weight = np.where(there, w[:, None], 0.0)
        total = np.maximum(weight.sum(0), 1e-300)
        filled = np.where(there, X, 0.0)
        center = (weight * filled).sum(0) / total
        spread = (weight * np.where(there, X - center, 0.0) ** 2).sum(0) / total
        tiny = 1e-12 * (1 + np.abs(center))
        return cls(center, np.where(np.sqrt(spread) > tiny, np.sqrt(spread), 1.0))


def can_be_exact(n: int, n_hidden: int) -> bool:
    """Whether the likelihood of n rows is cheap enough to be maximised itself."""
    return n_hidden <= MAX_EXACT_HIDDEN and n * 2**n_hidden <= MAX_EXACT_CELLS


def fit_exactly(
    V: np.ndarray,
    w: np.ndarray,
    problem: MachineProblem,
    key: Key,
    *,
    alpha: float | int,
    max_iter: int,
    tol: float | int,
) -> Solution:
    """The machine of largest likelihood plus prior, by L-BFGS in double precision.

    Args:
        V: (n, d) values, NaN where missing.
        w: (n,) weights.
        problem: the machine.
        key: of the first weights.
        alpha: strength of the prior.
        max_iter: steps, at most.
        tol: of the gradient.
    """
    batch = pad(pack(*merged_rows(V, w)))
    hyper = np.asarray(float(alpha)), np.asarray(max_iter), np.asarray(float(tol))
    with float64():
        return to_numpy(_maximum(problem, batch, key, hyper))


@eqx.filter_jit
def _maximum(problem: MachineProblem, batch: Batch, key: Key, hyper: Any) -> Solution:
    data = fill_absent(jax.tree.map(jax.numpy.asarray, batch))
    alpha, max_iter, tol = hyper
    model = first_machine(
        data, problem.n_hidden, key, binary=problem.binary, n_chains=0
    )
    objective = ExactLikelihood(GaussianPrior(alpha=alpha), Normalisation.of(data))
    return LBFGS(max_iter, tol).minimize(objective, model, data, key=None)
