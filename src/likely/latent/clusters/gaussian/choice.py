r"""The number of components of a normal mixture, by a criterion that is smallest.

`bic` is $-2 \log p(X) + p \log n$ and `aic` $-2 \log p(X) + 2 p$ with p free parameters and the
total weight n; `nats` is the mean negative log-likelihood of rows that are held out, fold by fold.
Numbers are tried from 1 on until two in a row are no better than the best.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from likely.evaluate.splits import k_fold
from likely.latent.clusters.gaussian.components import Components, parameter_count
from likely.latent.clusters.gaussian.incomplete import IncompleteRows
from likely.latent.clusters.gaussian.starts import starts_of
from likely.latent.clusters.gaussian.steps import Found, expectation_maximization

CRITERIA = ("bic", "aic", "nats")
PATIENCE, FOLDS = 2, 5


class Fitting(NamedTuple):
    """How a mixture is fitted to columns of mean 0 and variance 1."""

    kind: str
    floor: float
    tol: float
    max_iter: int
    starts: int
    seed: int

    def best(self, X: np.ndarray, w: np.ndarray, k: int) -> tuple[Found, Components]:
        """Where EM ended from each start, and the components of the best."""
        settings = {"kind": self.kind, "floor": self.floor, "seed": self.seed}
        begin = starts_of(X, w, k, starts=self.starts, **settings)
        return self.from_start(X, w, begin)

    def from_start(self, X, w, start: Components) -> tuple[Found, Components]:
        """EM from these components, and the best that was found."""
        settings = {"kind": self.kind, "floor": self.floor, "tol": self.tol}
        found = expectation_maximization(
            X, w, start, max_iter=self.max_iter, **settings
        )
        return found, found.components.take(np.array([found.best]))


def chosen_number(
    X: np.ndarray, w: np.ndarray, fitting: Fitting, criterion: str, most: int
) -> tuple[int, np.ndarray]:
    """The number of components with the smallest criterion, and its values from 1 on.

    Args:
        X: (n, d) different rows of columns with mean 0 and variance 1.
        w: (n,) their weights.
        fitting: how a mixture is fitted.
        criterion: "bic", "aic" or "nats".
        most: the largest number to try.
    """
    judge: Callable[..., float] = _held_out if criterion == "nats" else _penalised
    values: list[float] = []
    for k in range(1, min(most, len(X)) + 1):
        values.append(judge(X, w, fitting, k, criterion))
        if k - 1 - int(np.argmin(values)) >= PATIENCE:
            break
    return int(np.argmin(values)) + 1, np.array(values)


def _penalised(X, w, fitting: Fitting, k: int, criterion: str) -> float:
    found, _ = fitting.best(X, w, k)
    log_prob = found.log_prob[found.best] * w.sum()
    size = {"kind": fitting.kind, "k": k, "d": X.shape[1]}
    return criterion_value(criterion, log_prob, w.sum(), **size)


def criterion_value(
    criterion: str, log_prob: float, weight: float, *, kind: str, k: int, d: int
) -> float:
    """BIC or AIC of k components of d columns with this log-likelihood."""
    factor = np.log(weight) if criterion == "bic" else 2.0
    return float(-2 * log_prob + parameter_count(kind, k, d) * factor)


def _held_out(X, w, fitting: Fitting, k: int, _: Any) -> float:
    """The mean negative log-likelihood of held-out rows; ∞ where rows are too few."""
    folds = min(FOLDS, len(X))
    if folds < 2 or k > len(X) - -(-len(X) // folds):
        return 0.0 if k == 1 else np.inf
    split = k_fold(len(X), folds, sample_weight=w, random_state=fitting.seed)
    total = 0.0
    for train, test in zip(*split, strict=True):
        _, components = fitting.best(X[train > 0], train[train > 0], k)
        rows = IncompleteRows(X[test > 0], test[test > 0])
        total -= rows.w @ logsumexp(rows.log_joint(components)[0], axis=1)
    return float(total / w.sum())
