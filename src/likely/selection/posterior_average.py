r"""Bayesian model averaging over several models.

$$p(y \mid x, S) = \sum_i w_i\, p(y \mid x, f_i), \qquad w_i \propto p(S \mid f_i)\, p(f_i),$$

with the evidence $p(S \mid f_i)$ by Laplace's approximation, by bridge sampling from
posterior draws, by BIC (log-likelihood less half a log n for each parameter, which needs no
prior), or by held-out likelihood (cross-validation, for any predictor). With all models
wrong, weights by evidence still go to one of them as n grows; `Stacking` looks for the best
mixture instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from likely.base.rows import weights_of
from likely.core.checks import InputError, check_choice
from likely.core.precision import float64
from likely.estimators.linear.model import LinearModel
from likely.estimators.networks.predictor import NetworkPredictor
from likely.inference.mcmc.target import log_densities
from likely.inference.variational.gaussian import LOG_2PI
from likely.selection.cross_validation import cross_validate
from likely.selection.ensemble import Ensemble
from likely.selection.posterior import (
    check_proper,
    posterior_of,
    sample_posterior,
)

RULES = ("evidence", "bridge", "bic", "nats")


@dataclass(frozen=True, eq=False)
class ModelAverage:
    """Several fitted models and their weights.

    Attributes:
        names: of the models.
        weights: (m,) posterior probabilities of the models, with sum one.
        log_scores: (m,) log evidence, or what stands for it, in nats.
        ensemble: the fitted `Ensemble` with these weights: it predicts, and can be saved.
        by: how the scores were found.
    """

    names: tuple[str, ...]
    weights: np.ndarray
    log_scores: np.ndarray
    ensemble: Ensemble
    by: str

    def predict_dist(self, X: Any) -> Any:
        """The mixture of the models' distributions."""
        return self.ensemble.predict_dist(X)

    def predict(self, X: Any) -> np.ndarray:
        """The mean of y, or its most probable class, for each row."""
        return self.ensemble.predict(X)

    def __str__(self) -> str:
        width = max(map(len, self.names))
        rows = [
            f"{name.ljust(width)}  {score:16.3f}  {weight:8.4f}"
            for name, score, weight in zip(
                self.names, self.log_scores, self.weights, strict=True
            )
        ]
        head = f"{''.ljust(width)}  {self.by + ', nats':>16}  {'weight':>8}"
        return "\n".join([head, *rows])

    __repr__ = __str__


def model_average(
    estimators: Sequence[Any],
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    by: str = "evidence",
    prior: Any = None,
    cv: Any = 5,
    random_state: Any = 0,
) -> ModelAverage:
    """Weigh several models by how well they explain the rows, and average them.

    Args:
        estimators: predictors, or pairs (name, predictor).
        X: (n, d) inputs.
        y: (n,) targets.
        sample_weight: how often each row counts.
        by: "evidence" (Laplace's approximation) or "bridge" (posterior draws) for
            estimators with a proper prior of their weights; "bic" for any linear model or
            network; "nats", the held-out log-likelihood, for any predictor.
        prior: (m,) prior probabilities of the models; equal unless given.
        cv: the folds of by="nats".
        random_state: the seed of by="bridge".
    """
    check_choice("by", by, RULES)
    pairs = [e if isinstance(e, tuple) else (type(e).__name__, e) for e in estimators]
    if not pairs:
        raise InputError("estimators has to be a list of one or more predictors.")
    p = np.ones(len(pairs)) if prior is None else np.asarray(prior, float)
    if p.shape != (len(pairs),) or not (p > 0).all():
        raise InputError(f"prior has to hold {len(pairs)} numbers above 0.")
    rows = (X, y, sample_weight)
    found = [_score(model, rows, by, (cv, random_state)) for _, model in pairs]
    flat = {number for _, number in found}
    if len(flat) > 1:
        raise InputError(
            "the models have different numbers of parameters with a flat prior "
            "(intercepts, scales), so their evidences are in different units; give all "
            'an intercept and one family, or compare by="bic" or "nats".'
        )
    scores = np.array([score for score, _ in found])
    log_w = scores + np.log(p / p.sum())
    weights = np.exp(log_w - np.logaddexp.reduce(log_w))
    ensemble = Ensemble(list(pairs), weights=weights).fit(X, y, sample_weight)
    names = tuple(str(name) for name, _ in pairs)
    return ModelAverage(names, weights, scores, ensemble, by)


def _score(estimator: Any, rows: tuple, by: str, how: tuple) -> tuple[float, int]:
    """The log score of a model, and how many of its parameters have a flat prior."""
    X, y, w = rows
    if by == "nats":
        found = cross_validate(estimator, X, y, sample_weight=w, cv=how[0])
        total = float(weights_of(w, len(y)).sum())
        return -total * float(found.mean_nll[0]), 0
    if not isinstance(estimator, LinearModel | NetworkPredictor):
        raise InputError(
            f"{type(estimator).__name__} has no likelihood of its parameters; weigh the "
            'models by="nats", which needs predictions only.'
        )
    if by == "bridge":
        drawn = sample_posterior(estimator, X, y, w, random_state=how[1])
        return drawn.evidence().log_evidence, _n_flat(drawn.target)
    model: Any = clone(estimator)
    model.fit(X, y, w)
    target, whitened, layout, _ = posterior_of(model, rows)
    if by == "bic":
        total = float(weights_of(w, len(y)).sum())
        return target.log_likelihood - 0.5 * layout.size * np.log(total), 0
    check_proper(target)
    with float64():
        top = float(np.asarray(log_densities(whitened, np.zeros((1, layout.size))))[0])
    return top + 0.5 * layout.size * LOG_2PI, _n_flat(target)


def _n_flat(target: Any) -> int:
    """How many parameters have a flat prior: all but weights."""
    start = target.start
    if not isinstance(start, dict):
        return int(target.learner.shared)
    return sum(np.size(value) for name, value in start.items() if name != "weight")
