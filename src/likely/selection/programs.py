"""Settings of an estimator with a pure core, on folds: all of them one compiled program.

Linear models and networks have numbers among their parameters that a compiled program takes
as arguments: penalties, learning rates. Settings that differ in these alone are fitted on
all folds by one `vmap`; `base.learning.held_out_fits` says how.
"""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, PyTree
from sklearn.base import clone

from likely.base.learning import Problem, held_out_fits
from likely.base.rows import weights_of
from likely.base.training.options import is_auto
from likely.core.random import key_of
from likely.evaluate.cross_validation import Splits, fold_counts


class Fits(NamedTuple):
    """Every setting on every fold."""

    model: Any
    """The estimator that has seen the rows, and knows their labels."""
    problem: Problem
    """What was fitted, with the present rows."""
    held_out: Float[np.ndarray, "j n"]
    """How often each of these rows is judged, in each fold."""
    phi: PyTree
    nll: Float[np.ndarray, "m j"]


def with_params(estimator: Any, params: dict[str, Any]) -> Any:
    """A copy of the estimator with this setting; also the values are copies."""
    copy: Any = clone(estimator)
    own: Any = clone(params, safe=False)  # pyright: ignore[reportArgumentType]
    return copy.set_params(**own)


def program_parameters(estimator: Any) -> set[str]:
    """The parameters that are arguments of its compiled program; none of most estimators."""
    if not hasattr(estimator, "_problem") or getattr(estimator, "formula", None):
        return set()
    return {*estimator._hyper(), *getattr(estimator, "_hyper_parameters", ())}


def fit_settings(
    estimator: Any,
    data: tuple[Any, Any, Any],
    params: list[dict[str, Any]],
    splits: Splits,
    *,
    judged: bool = True,
) -> Fits | None:
    """Fit all settings on all folds as one program; None where there is none.

    There is none for estimators without a pure core, for formulas (which learn levels and
    knots from the training rows), for parameters that are not its numbers, where y has no
    distribution or one for each pixel, and where the estimator changes the weights
    (`class_weight`): they depend on the training rows, and the rows held out are judged
    without them.

    Args:
        estimator: the predictor; it is not changed.
        data: inputs, targets, and weights or None.
        params: the settings, all of the same parameters.
        splits: the indices of the training rows and of the held-out rows of each fold.
        judged: whether held-out nats are needed.
    """
    if not hasattr(estimator, "_problem") or getattr(estimator, "formula", None):
        return None
    hypers = _numeric_settings(estimator, params)
    if hypers is None:
        return None
    model: Any = clone(estimator)
    problem = model._problem(*data)
    if problem is None or problem.learner.family is None:
        return None
    batch, family = problem.batch, problem.learner.family
    for_each_pixel = batch.y.ndim > 1 + family.multivariate
    w = weights_of(data[2], len(batch.w))
    if for_each_pixel or not np.array_equal(batch.w, w):
        return None
    family.check(batch.y, batch.w)
    folds, present = fold_counts(splits, w), problem.present()
    key = key_of(getattr(model, "random_state", 0))
    phi, nll = held_out_fits(present, key, hypers, *folds, judged=judged)
    return Fits(model, present, folds.held_out, phi, nll)


def _numeric_settings(
    estimator: Any, params: list[dict[str, Any]]
) -> dict[str, np.ndarray] | None:
    """(m,) values of each hyper-parameter of the core; None where one is no number."""
    names = list(estimator._hyper())
    if not set(params[0]) <= program_parameters(estimator):
        return None
    settled = hasattr(estimator, "_architecture")  # "auto" of a network is a number
    copy: Any = clone(estimator)
    each: list[dict[str, Any]] = []
    for setting in params:
        for name, value in setting.items():
            setattr(copy, name, value)
        values = [getattr(copy, name, 0.0) for name in names]
        if not all(isinstance(v, Real) or (settled and is_auto(v)) for v in values):
            return None
        each.append(copy._hyper())
    return {name: np.array([hyper[name] for hyper in each]) for name in names}
