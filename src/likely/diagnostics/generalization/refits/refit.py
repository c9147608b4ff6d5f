r"""Many fits of one estimator to many training sets, and what they say at given points.

Linear models and networks have a pure core, so that all fits are one compiled program; any
other estimator is fitted in a loop, with the same meaning. Each fit has a seed of its own: what
is random in the learner varies like the data.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import jax
import numpy as np
from sklearn.base import clone

from likely.base.learning import Problem
from likely.base.predictor import Predictor
from likely.diagnostics.generalization.refits.answers import answers
from likely.diagnostics.generalization.refits.loop import Options, refit_in_loop
from likely.diagnostics.generalization.refits.networks import refit_networks
from likely.diagnostics.generalization.refits.program import refit_program
from likely.diagnostics.generalization.refits.question import Question
from likely.diagnostics.generalization.refits.training_sets import TrainingSets
from likely.estimators.networks.predictor import NetworkPredictor


@dataclass(frozen=True)
class Refits:
    """What m fits say.

    Attributes:
        points: (m, t) or (m, t, c), at the points.
        own: (m, r) or (m, r, c), at the training rows of each.
        as_program: whether all fits were one program.
    """

    points: np.ndarray
    own: np.ndarray
    as_program: bool


def refit(
    estimator: Any,
    sets: TrainingSets,
    question: Question,
    *,
    seed: int,
    options: Options = Options(),  # noqa: B008
) -> Refits:
    """Fit a copy of the estimator to each set, and ask it.

    Args:
        estimator: any predictor of `likely` or scikit-learn, or a pipeline.
        sets: the training sets.
        question: what is asked, and where.
        seed: from which each fit gets one of its own.
        options: how a loop is run.
    """
    seeds = np.random.default_rng(seed).integers(2**31, size=len(sets), dtype=np.uint32)
    found = _as_program(estimator, sets, question, seeds)
    if found is not None:
        return Refits(*found, as_program=True)
    looped = refit_in_loop(estimator, sets, question, seeds, options)
    return Refits(*looped, as_program=False)


def _as_program(
    estimator: Any, sets: TrainingSets, question: Question, seeds: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """All fits as one program, or None where there is none."""
    if not _has_core(estimator) or not _have_all_classes(sets, question.classes):
        return None
    model: Any = clone(estimator)
    n, of_table = len(sets.y), question.X is None
    X = sets.X if of_table else np.concatenate([sets.X, np.asarray(question.X)])
    y = sets.y if of_table else np.concatenate([sets.y, question.y])
    problem = model._problem(X, y)
    if not _is_plain(problem, len(y)):
        return None
    where = np.arange(n) if of_table else np.arange(n, len(y))
    family, targets = problem.learner.family, problem.batch.y
    family.check(targets, problem.batch.w)
    keys = jax.vmap(jax.random.key)(seeds)
    if isinstance(model, NetworkPredictor):
        found = refit_networks(model, problem, sets, where, keys)
    else:
        losses = question.want == "losses"
        found = refit_program(problem, sets, where, keys, losses=losses)
        if losses or found is None:
            return found
    return (
        answers(family, found[0], question.want, targets[where]),
        answers(family, found[1], question.want, targets[sets.rows]),
    )


def _has_core(estimator: Any) -> bool:
    """Whether it has a pure core whose hyper-parameters are numbers, and predicts by it."""
    if not hasattr(estimator, "_problem") or getattr(estimator, "formula", None):
        return False
    cls = type(estimator)
    if isinstance(estimator, NetworkPredictor):
        return cls.predict is Predictor.predict
    alpha = getattr(estimator, "alpha", 0.0)
    known = alpha is None or isinstance(alpha, Real)
    plain = cls.predict is Predictor.predict and cls._mean is Predictor._mean
    return bool(known and plain)


def _have_all_classes(sets: TrainingSets, classes: np.ndarray | None) -> bool:
    """Whether every set has rows of all classes."""
    if classes is None:
        return True
    here = np.where(sets.w > 0, np.searchsorted(classes, sets.y)[sets.rows], -1)
    return all((here == c).any(1).all() for c in range(len(classes)))


def _is_plain(problem: Problem | None, n: int) -> bool:
    """Whether the rows are a table, each with one y that has a distribution."""
    if problem is None or problem.learner.family is None:
        return False
    batch, family = problem.batch, problem.learner.family
    plain = not isinstance(batch.x, tuple) and len(batch.w) == n
    return bool(
        plain and (batch.w == 1).all() and batch.y.ndim == 1 + family.multivariate
    )
