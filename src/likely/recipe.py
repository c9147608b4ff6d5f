r"""The recipe: everything in this library is an instance of these lines.

    Choose a distribution p(y | θ).                         family
    Let a model compute η = f(x; φ), linked to θ.           model
    Minimise −log likelihood − log prior by a solver.       objective, solver
    Use the distribution you get.                           Fit

$$\hat φ = \arg\min_φ \; \frac{1}{\sum_i w_i}
  \Bigl[ -\sum_i w_i \log p\bigl(y_i \mid f(x_i; φ)\bigr) - \log p(φ) \Bigr]$$

Least squares is this with a normal family and a linear model; logistic regression
with a Bernoulli family; ridge and lasso with a Gaussian and a Laplace prior; a
classifier network with a categorical family and layers for f.

Where another path is taken: hinge and other losses of a margin are not likelihoods
(`objectives.surrogates`) and give signs, not distributions; trees are grown greedily;
nearest neighbours minimise nothing. Their files say so.
"""

from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from likely.core.checks import InputError, check_batch, concrete
from likely.core.forks import check_not_forked
from likely.core.precision import precision_of, to_numpy
from likely.core.rows import fill_absent
from likely.families import AbstractFamily, Predictive
from likely.layers.composition.chain import initial_state
from likely.objectives import AbstractPrior, NegativeLogLikelihood
from likely.objectives.nll import check_eta
from likely.typing import Batch, Key, Model, Solution, Solver, State

M = TypeVar("M", bound=Model)


class Fit(eqx.Module, Generic[M]):
    """A family, the fitted model, and how it went."""

    family: AbstractFamily
    solution: Solution[M]

    def __repr__(self) -> str:
        return f"Fit of {type(self.family).__name__}: {self.solution!r}"

    @property
    def model(self) -> M:
        """f with the fitted φ inside."""
        return self.solution.model

    def __call__(self, X) -> Predictive:
        """p(y | x) for each row of X."""
        with precision_of(self.model):
            eta = _eta(self.model, X, self.solution.state)
            return Predictive(self.family, np.asarray(eta))


def fit(
    family: AbstractFamily,
    model: M,
    data: Batch,
    *,
    prior: AbstractPrior | None = None,
    solver: Solver,
    key: Key,
    state: State = None,
    likelihood: Any = NegativeLogLikelihood,
) -> Fit[M]:
    """Fit φ by maximum likelihood (with a prior: maximum a posteriori).

    It may be traced: learners call it inside their programs, under `vmap` too.

    Args:
        family: p(y | θ), one of `likely.families`.
        model: η = f(x; φ), the start of the search.
        data: rows and weights.
        prior: p(φ), one of `likely.objectives`.
        solver: one of `likely.solvers`.
        key: for whatever is random in the model or the solver.
        state: running statistics to start from; those of a new model by default.
        likelihood: `PositionLikelihood` where y has a value for each position of a row.
    """
    check_not_forked()
    if concrete(data):
        data = check_batch(data)
        likelihood.check(family, data)
    data = jax.tree.map(jnp.asarray, data)
    state = initial_state(model) if state is None else state
    objective, data = _prepare(family, model, data, state, (prior, likelihood))
    solution = solver.minimize(objective, model, data, key=key, state=state)
    return Fit(family, to_numpy(solution) if concrete(solution) else solution)


@eqx.filter_jit
def objective_of(
    family: AbstractFamily,
    data: Batch,
    prior: AbstractPrior | None = None,
    likelihood: Any = NegativeLogLikelihood,
) -> tuple[Any, Batch]:
    """What is minimised for these rows, and the rows with absent ones made harmless."""
    data = fill_absent(data)
    return likelihood.of(family, data, prior), data


@eqx.filter_jit
def _prepare(family: AbstractFamily, model: Model, data: Batch, state, of: tuple):
    """`objective_of` for a model whose width was checked: once for each shape."""
    _check_model(family, model, data, state)
    return objective_of(family, data, *of)


def _check_model(family: AbstractFamily, model: Model, data: Batch, state: State):
    """Refuse a model that does not give `family.n_eta` numbers for each row."""
    try:
        found = eqx.filter_eval_shape(model, data.x, w=data.w, state=state)
    except (TypeError, ValueError) as error:
        shape = jax.tree.map(lambda a: a.shape, data.x)
        raise InputError(f"the model fails on X of shape {shape}: {error}") from error
    pair = isinstance(found, tuple) and len(found) == 2
    if not (pair and hasattr(found[0], "shape")):
        raise InputError(
            "the model has to return two things: η as one array, and its state, which "
            "may be None."
        )
    check_eta(family, found[0], data.y)


@eqx.filter_jit
def _eta(model: Model, X, state: State):
    """η of each row, in use: nothing random, no statistics moved."""
    return model(X, state=state)[0]
