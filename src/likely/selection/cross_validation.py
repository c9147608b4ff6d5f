r"""Cross-validation of any predictor: one compiled program where it has one, else a loop.

Every setting of a grid is fitted to the training rows of every fold j ($t_{ji} = 1$) and judged
on the rows held out, in nats per unit of weight. For a setting α,

$$\text{nll}_{αj} = \frac{\sum_i w_i (1 - t_{ji})\,(-\log p_{αj}(y_i \mid x_i))}
                         {\sum_i w_i (1 - t_{ji})}.$$

Linear models and networks have a pure core: a fold is a vector of weights, and all fits are
one `vmap`. What does not depend on α, such as the decomposition in ridge regression, is
computed once for each fold; what does not depend on the fold, once. Whatever else there is
(another estimator, a parameter that is not a number) is fitted one after another, with the
same meaning.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Float, PyTree
from sklearn.base import is_classifier

from likely.base.rows import fill_absent_targets, weights_of
from likely.core.checks import InputError
from likely.evaluate.cross_validation import check_folds, cv_splits
from likely.selection.programs import fit_settings, with_params
from likely.selection.refits import TableRows
from likely.selection.scoring import Scoring


@dataclass(frozen=True)
class CrossValidation:
    """What cross-validation found, for m settings and j folds.

    Attributes:
        params: the m settings.
        nll: (m, j) held-out negative log-likelihood, nats per unit of weight.
        phi: the parameters of all fits, leading axes (m, j), where they were one program;
            None where they were a loop.
    """

    params: list[dict[str, Any]]
    nll: Float[np.ndarray, "m j"]
    phi: PyTree

    @property
    def mean_nll(self) -> Float[np.ndarray, " m"]:
        """The mean over folds."""
        return self.nll.mean(1)

    @property
    def standard_error(self) -> Float[np.ndarray, " m"]:
        """The standard error of `mean_nll`, from the spread over folds."""
        m, j = self.nll.shape
        return self.nll.std(1, ddof=1) / np.sqrt(j) if j > 1 else np.full(m, np.nan)

    @property
    def best_index(self) -> int:
        """The position in `params` of the setting with the lowest held-out nats."""
        return int(np.argmin(self.mean_nll))

    @property
    def best_params(self) -> dict[str, Any]:
        """The setting with the lowest held-out nats."""
        return self.params[self.best_index]


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    grid: Mapping[str, Any] | None = None,
    cv: Any = 5,
    sample_weight: Any = None,
    groups: Any = None,
) -> CrossValidation:
    """Fit every setting of a grid on every fold, and judge it on the rows held out.

    The estimator is left as it is: copies are fitted. A prediction is judged by
    `nll`, that of its `predict_dist`; a classifier without it by its
    `predict_proba`. A regressor that predicts numbers only is the mean of a normal
    distribution; its scale is the error on five inner folds of the training rows (the
    errors on the rows it was fitted to would be too small), so each fit is six.

    Args:
        estimator: any predictor of `likely` or scikit-learn, or a pipeline.
        X: (n, d) inputs: an array, a sparse matrix or a frame.
        y: (n,) targets; a model made by `from_formula` has them in the frame.
        grid: values of parameters, such as `{"alpha": [0.1, 1.0]}`; of the steps of a
            pipeline `{"ridge__alpha": [0.1, 1.0]}`. Every combination is a setting.
        cv: the number of folds, a scikit-learn splitter, or an iterable of splits.
        sample_weight: how often each row counts, in fits and in judgements.
        groups: what each row belongs to; a number of folds keeps groups together, and
            splitters such as `GroupKFold` get them.

    Examples:
        >>> table = lk.data.diabetes()
        >>> found = lk.cross_validate(lk.Ridge(), table.X, table.y, grid={"alpha": [0.01, 1.0]})
        >>> print(found.best_params)
        {'alpha': 0.01}
    """
    params = _settings(estimator, grid or {})
    y = targets_of(estimator, X, sample_weight) if y is None else y
    w = weights_of(sample_weight, len(y))
    targets = np.asarray(fill_absent_targets(y, w))
    classes = bool(is_classifier(estimator))
    splits = cv_splits(cv, targets, X, classes=classes, groups=groups, w=w)
    check_folds(splits, w)
    fits = fit_settings(estimator, (X, y, sample_weight), params, splits)
    if fits is not None:
        return CrossValidation(params, fits.nll, fits.phi)
    labels = np.unique(targets[w > 0]) if classes else None
    rows = TableRows(X, targets, w, None if groups is None else np.asarray(groups))
    nats = Scoring.of(None)
    scores = [
        nats.on_folds(with_params(estimator, p), rows, splits, labels) for p in params
    ]
    return CrossValidation(params, -np.array(scores), None)


def targets_of(estimator: Any, X: Any, sample_weight: Any) -> np.ndarray:
    """The targets that the formula of a model names."""
    formula = getattr(estimator, "formula", None)
    if formula is None:
        raise InputError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is "
            "None; only a model made by from_formula has its targets in the frame."
        )
    return formula.response(X, weights_of(sample_weight, len(X)))


def _settings(estimator: Any, grid: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every combination of the values, the last parameter changing first."""
    known, columns = estimator.get_params(), []
    for name, values in grid.items():
        if name not in known:
            raise InputError(
                f"{type(estimator).__name__} has no parameter {name!r}; "
                f"it has {', '.join(known) or 'none'}."
            )
        column = [] if isinstance(values, str) or not np.iterable(values) else values
        columns.append([v.item() if isinstance(v, np.generic) else v for v in column])
        if not columns[-1]:
            raise InputError(
                f"grid has {values!r} for {name!r}; give a list of one or more values."
            )
    return [dict(zip(grid, row, strict=True)) for row in product(*columns)]
