r"""Cross-validation as one program: folds are weights, so all fits are one `vmap`.

For every fold j and every setting α the fit has weights $w\,t_j$ ($t_j$ is 0 on the rows held
out) and is judged on the rows held out, in nats:
$\text{nll}_{αj} = \sum_i w_i (1 - t_{ji})\,(-\log p_{αj}(y_i \mid x_i)) / \sum_i w_i (1 - t_{ji})$.
What does not depend on α, such as the decomposition in ridge regression, is computed
once for each fold; what does not depend on the fold, once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Float, PyTree
from sklearn.base import is_classifier

from likely.core.checks import InputError
from likely.core.precision import float64
from likely.core.random import key_of
from likely.estimators.linear import held_out, places
from likely.estimators.shell import AbstractPredictor


@dataclass(frozen=True)
class CrossValidation:
    """What cross-validation found; m settings, j folds.

    Attributes:
        params: the m settings.
        nll: (m, j) held-out negative log-likelihood, nats per unit of weight.
        phi: the parameters of all fits, leading axes (m, j).
    """

    params: list[dict[str, float]]
    nll: Float[np.ndarray, "m j"]
    phi: PyTree

    @property
    def mean_nll(self) -> Float[np.ndarray, " m"]:
        """The mean over folds."""
        return self.nll.mean(1)

    @property
    def standard_error(self) -> Float[np.ndarray, " m"]:
        """Of `mean_nll`, from the spread over folds."""
        return self.nll.std(1, ddof=1) / np.sqrt(self.nll.shape[1])

    @property
    def best_params(self) -> dict[str, float]:
        """The setting with the lowest held-out nats."""
        return self.params[int(np.argmin(self.mean_nll))]


def cross_validate(
    estimator: AbstractPredictor,
    X: Any,
    y: Any,
    *,
    grid: Mapping[str, Any] | None = None,
    cv: Any = 5,
    sample_weight: Any = None,
) -> CrossValidation:
    """Fit every setting of a grid on every fold, in one compiled program.

    Args:
        estimator: one of `likely.estimators`.
        X: (n, d) inputs.
        y: (n,) targets.
        grid: values for numeric hyper-parameters, such as `{"alpha": [0.1, 1.0]}`.
        cv: the number of folds, a scikit-learn splitter, or an iterable of splits.
        sample_weight: how often each row counts.
    """
    batch = estimator._batch(X, y, sample_weight)
    train = held_out.training_weights(cv, batch, is_classifier(estimator))
    params, hypers = _settings(estimator, grid or {})
    learner = estimator._learner(batch.y)
    learner.family.check(batch.y, batch.w)
    with float64():
        key = key_of(getattr(estimator, "random_state", 0))
        phi, nll = places.fits(estimator, learner, key, hypers, batch, train=train)
    places.forget_inputs(estimator)
    return CrossValidation(params, nll, phi)


def _settings(estimator: AbstractPredictor, grid: Mapping[str, Any]):
    """The settings as dictionaries, and as arrays with one entry for each."""
    fixed = estimator._hyper()
    unknown = [name for name in grid if name not in fixed]
    if unknown:
        raise InputError(
            f"{type(estimator).__name__} has no numeric hyper-parameter {unknown[0]!r}; "
            f"it has {list(fixed) or 'none'}."
        )
    values = [np.asarray(v).tolist() for v in grid.values()]
    params = [dict(zip(grid, row, strict=True)) for row in product(*values)]
    rows = [
        type(estimator)(**estimator.get_params(deep=False) | p)._hyper() for p in params
    ]
    return params, {name: np.array([row[name] for row in rows]) for name in fixed}
