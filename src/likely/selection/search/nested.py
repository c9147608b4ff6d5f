r"""Nested cross-validation: an honest estimate of a whole search.

The score of the setting that won a search is too good: it was chosen for being high. So
the search itself is cross-validated: in each outer fold it runs anew on the training rows,
and its winner is judged on rows that no part of the search has seen.

Scores of folds that share training rows are not independent. The standard error is that of
Nadeau and Bengio, with $n_h / n_t$ the ratio of held-out to training weight:

$$\text{se}^2 = \left(\frac{1}{j} + \frac{n_h}{n_t}\right) s^2.$$
"""

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.base import clone, is_classifier

from likely.base.rows import fill_absent_targets, weights_of
from likely.core.text_tables import text_table
from likely.evaluate.cross_validation import check_folds, cv_splits
from likely.selection.refits import TableRows
from likely.selection.scoring import Scoring


@dataclass(frozen=True, repr=False, eq=False)
class NestedCrossValidation:
    """What nested cross-validation found, on j outer folds; more is better.

    Attributes:
        scores: (j,) of the winner of each fold, on rows that its search has not seen.
        inner_scores: (j,) the best score inside each search, which is too good.
        params: the setting that won in each fold.
        share: held-out weight over training weight, averaged over folds.
        scoring: the name of the score; "nats" is the mean of log p(y | x).
    """

    scores: Float[np.ndarray, " j"]
    inner_scores: Float[np.ndarray, " j"]
    params: list[dict[str, Any]]
    share: float
    scoring: str = "nats"

    @property
    def mean(self) -> float:
        """The mean over folds: what to expect of the search on new rows."""
        return float(self.scores.mean())

    @property
    def standard_error(self) -> float:
        """The standard error of `mean`, corrected for shared training rows."""
        j = len(self.scores)
        if j < 2:
            return float("nan")
        return float(np.sqrt(1 / j + self.share) * self.scores.std(ddof=1))

    @property
    def optimism(self) -> float:
        """By how much the best score inside the searches is better than the honest one."""
        return float((self.inner_scores - self.scores).mean())

    def __str__(self) -> str:
        columns = {
            "fold": np.arange(len(self.scores)),
            "held-out": self.scores,
            "inner": self.inner_scores,
            "setting": [str(params) for params in self.params],
        }
        how = "higher" if self.optimism > 0 else "lower"
        return (
            f"{self.scoring} of the whole search: {self.mean:.4g} ± "
            f"{self.standard_error:.2g}; the best scores inside were {how} by "
            f"{abs(self.optimism):.2g}.\n\n{text_table(columns)}"
        )

    __repr__ = __str__


def nested_cross_validate(
    search: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    sample_weight: Any = None,
    groups: Any = None,
    executor: Executor | None = None,
) -> NestedCrossValidation:
    """Cross-validate a search: its winner in each fold, judged on rows it has not seen.

    Args:
        search: `GridSearch`, `RandomSearch`, `SuccessiveHalving` or `OptunaSearch`; copies of
            it are fitted.
        X: (n, d) inputs.
        y: (n,) targets.
        cv: the outer folds: their number, a scikit-learn splitter, or an iterable of splits.
        sample_weight: how often each row counts.
        groups: what each row belongs to, for the outer and the inner folds.
        executor: where the trials of each search run.

    Examples:
        >>> table = lk.data.diabetes()
        >>> search = lk.GridSearch(lk.Ridge(), {"alpha": [0.01, 1.0]}, cv=2)
        >>> len(lk.nested_cross_validate(search, table.X, table.y, cv=2).scores)
        2
    """
    w = weights_of(sample_weight, len(y))
    targets = np.asarray(fill_absent_targets(y, w))
    classes = bool(is_classifier(search))
    splits = cv_splits(cv, targets, X, classes=classes, groups=groups, w=w)
    check_folds(splits, w)
    labels = np.unique(targets[w > 0]) if classes else None
    rows = TableRows(X, targets, w, None if groups is None else np.asarray(groups))
    scoring = Scoring.of(search.scoring)
    scores, inner, params, shares = [], [], [], []
    for train, held_out in splits:
        known, new = rows.part(train), rows.part(held_out)
        own = {} if (known.w == 1).all() else {"sample_weight": known.w}
        one: Any = clone(search)
        if hasattr(one, "storage"):
            one.set_params(storage=None)  # that of the search on all rows
        one.fit(known.X, known.y, groups=known.groups, executor=executor, **own)
        scores.append(scoring.of_model(one, new, classes=labels, scale=one.scale_))
        inner.append(one.best_score_)
        params.append(one.best_params_)
        shares.append(new.w.sum() / known.w.sum())
    return NestedCrossValidation(
        np.array(scores), np.array(inner), params, float(np.mean(shares)), scoring.name
    )
