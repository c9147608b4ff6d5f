r"""Support vector regression: a tube of half-width ε around a smooth function."""

from collections.abc import Callable
from typing import Any, no_type_check

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from likely.base.predictor import Predictor, distributes
from likely.base.settings import at_least, store
from likely.core.checks import InputError
from likely.estimators.kernels.margins import N_FOLDS, slack_cost
from likely.estimators.kernels.merged_rows import MergedRows, rows_for_kernel
from likely.evaluate.assignment import ordered_folds
from likely.families import Laplace, Predictive
from likely.models.kernels.functions import Kernel
from likely.models.kernels.svm.machine import Dual, Found, pack_machines

MIN_SCALE = 1e-300


class SVR(RegressorMixin, Predictor):
    r"""The flattest function whose errors beyond ε cost little.

    $$\min_{w,b}\; \tfrac12\lVert w\rVert^2 + C\sum_i \max(0, |y_i - f(x_i)| - ε), \qquad
      f(x) = w·φ(x) + b = \sum_s β_s K(x_s, x) + b.$$

    The loss is no likelihood and has no scale of its own. With
    `probability=True` the errors of five held-out folds give one: y | x ~ Laplace(f(x), s).

    Args:
        C: the cost of errors beyond ε.
        epsilon: half-width of the tube that costs nothing.
        kernel: as in `SVC`.
        degree: as in `SVC`.
        gamma: as in `SVC`.
        coef0: as in `SVC`.
        shrinking: as in `SVC`.
        probability: whether to learn the scale of errors.
        tol: the largest violation of the optimality conditions at the end.
        cache_size: megabytes for rows of K.
        max_iter: the largest number of steps; −1 is a very large one.

    Attributes:
        support_, support_vectors_, n_support_: the rows on or outside the tube.
        dual_coef_: (1, s) β.
        intercept_: (1,) b.
        coef_: (1, d) w, for the linear kernel.
        objective_: the dual objective, minimised.
        gap_: the largest violation of the optimality conditions.
        scale_: s, with `probability=True`.
        n_iter_: steps.

    Examples:
        >>> X = np.linspace(0, 6, 30)[:, None]
        >>> round(lk.SVR(C=10.0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])), 2)
        0.99
    """

    C: Any
    epsilon: Any
    kernel: Any
    shrinking: Any
    probability: Any
    tol: Any
    cache_size: Any
    max_iter: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        kernel: str | Callable = "rbf",
        degree: float = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        max_iter: int = -1,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "SVR":
        """Find the function.

        Args:
            X: (n, d) inputs, or (n, n) kernel values where they are precomputed.
            y: (n,) numbers.
            sample_weight: how often each row counts: multiplies C.
        """
        C = slack_cost(self.C)
        if np.isinf(C):
            raise InputError("C is infinite; SVR needs a finite cost of errors.")
        at_least("epsilon", self.epsilon)
        kernel, data = rows_for_kernel(self, self._rows(X, y, sample_weight))
        found = self._train(kernel, data, C, np.arange(len(data.y)))
        B, bias = found.b[:, None], np.array([found.intercept])
        self.machines_, support = pack_machines(kernel, data.X, B, bias, data.first)
        self.support_ = data.first[support].astype(np.int32)
        self.support_vectors_ = data.X[support]
        self.n_support_ = np.array([len(support)], np.int32)
        self.dual_coef_, self.intercept_ = B[support].T.copy(), bias
        if kernel.name == "linear":
            self.coef_ = B[support].T @ data.X[support]
        self.objective_, self.gap_ = found.objective, found.gap
        self.n_iter_ = found.steps
        if self.probability:
            self.scale_ = self._held_out_error(kernel, data, C)
        return self

    @available_if(distributes)
    def predict_dist(self, X: Any) -> Predictive:
        """y | x ~ Laplace(f(x), s) with s the mean absolute error of held-out folds."""
        f = self._mean(X)
        return Predictive(Laplace(), np.c_[f, np.full(len(f), np.log(self.scale_))])

    def _mean(self, X: Any, **known: Any) -> np.ndarray:
        X = self._inputs(X)
        return self.machines_(X)[:, 0]

    def _without_distribution(self) -> str | None:
        if self.probability:
            return None
        return (
            "SVR gives numbers, not distributions; fit it with probability=True to "
            "learn the scale of its errors on held-out folds."
        )

    def _train(
        self, kernel: Kernel, data: MergedRows, C: float, train: np.ndarray
    ) -> Found:
        """The function that some of the rows give."""
        limit, shrinking = int(self.max_iter), bool(self.shrinking)
        dual = Dual(kernel, float(self.tol), float(self.cache_size), limit, shrinking)
        cut = np.ix_(train, train) if kernel.name == "precomputed" else train
        costs = C * data.w[train]
        return dual.regress(data.X[cut], data.y[train], costs, float(self.epsilon))

    def _held_out_error(self, kernel: Kernel, data: MergedRows, C: float) -> float:
        """The mean absolute error on held-out rows."""
        n, error = len(data.y), 0.0
        if n < N_FOLDS:
            raise InputError(
                f"probability=True needs {N_FOLDS} or more different rows."
            )
        fold = ordered_folds(n, N_FOLDS)
        for j in range(N_FOLDS):
            train, out = np.flatnonzero(fold != j), np.flatnonzero(fold == j)
            found = self._train(kernel, data, C, train)
            B = np.zeros((n, 1))
            B[train, 0] = found.b
            bias = np.array([found.intercept])
            f = pack_machines(kernel, data.X, B, bias)[0](data.X[out])
            error += float(data.w[out] @ np.abs(data.y[out] - f[:, 0]))
        return max(error / float(data.w.sum()), MIN_SCALE)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
