r"""Support vector regression: a tube of half-width ε around a smooth function."""

from collections.abc import Callable
from typing import Any, no_type_check

import numpy as np

from likely.core.checks import InputError
from likely.estimators.finite import finite_inputs, finite_rows, without_nan
from likely.estimators.host import AbstractHostRegressor, positive
from likely.estimators.kernels.margins import price
from likely.estimators.kernels.svc import merged
from likely.families import Laplace, Predictive
from likely.models.kernels.functions import Kernel, kernel_of
from likely.models.kernels.svm.machine import Dual, Found, gather

FOLDS = 5


class SVR(AbstractHostRegressor):
    r"""The flattest function whose errors beyond ε are cheap.

    $$\min_{w,b}\; \tfrac12\lVert w\rVert^2 + C\sum_i \max(0, |y_i - f(x_i)| - ε), \qquad
      f(x) = w·φ(x) + b = \sum_s β_s K(x_s, x) + b.$$

    Another place where the recipe bends: the loss has no scale of its own. With
    `probability=True` the errors of five held-out folds give one: y | x ~ Laplace(f(x), s).

    Args:
        C: the price of errors beyond ε.
        epsilon: half-width of the tube that costs nothing.
        kernel: as in `SVC`.
        degree: as in `SVC`.
        gamma: as in `SVC`.
        coef0: as in `SVC`.
        shrinking: as in `SVC`.
        probability: whether to learn the scale of errors.
        tol: how far the optimality conditions may be from true.
        cache_size: megabytes for rows of K.
        max_iter: step limit; −1 is a very large one.

    Attributes:
        support_, support_vectors_, n_support_: the rows on or outside the tube.
        dual_coef_: (1, s) β.
        intercept_: (1,) b.
        coef_: (1, d) w, for the linear kernel.
        objective_: of the dual, minimised.
        scale_: s, with `probability=True`.
        n_iter_: steps.
    """

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
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "SVR":
        """Find the function.

        Args:
            X: (n, d) inputs, or (n, n) kernel values where they are precomputed.
            y: (n,) numbers.
            sample_weight: how often each row counts: multiplies C.
        """
        C = price(self.C)
        if np.isinf(C):
            raise InputError("C is infinite; SVR needs a finite price of errors.")
        positive("epsilon", self.epsilon)
        rows = finite_rows(self, X, y, sample_weight)
        data = merged(self.kernel, rows)
        settings = {"gamma": self.gamma, "coef0": self.coef0, "degree": self.degree}
        kernel = kernel_of(self.kernel, data.X, data.w, **settings)
        everyone = np.arange(len(data.y))
        found = self._train(kernel, data.X, data.y, C * data.w, everyone)
        B, bias = found.b[:, None], np.array([found.intercept])
        given = rows.present[data.first]
        self.machines_, support = gather(kernel, data.X, B, bias, given)
        self.support_ = given[support].astype(np.int32)
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

    def predict(self, X: Any) -> np.ndarray:
        """f of each row."""
        return self._mean(finite_inputs(self, X))

    def _mean(self, X: np.ndarray) -> np.ndarray:
        return self.machines_(X)[:, 0]

    def predict_dist(self, X: Any) -> Predictive:
        """y | x ~ Laplace(f(x), s) with s the mean error of held-out folds."""
        if not self.probability:
            raise AttributeError(
                "SVR gives numbers, not distributions; fit it with probability=True to "
                "learn the scale of its errors on held-out folds."
            )
        f = self.predict(X)
        return Predictive(Laplace(), np.c_[f, np.full(len(f), np.log(self.scale_))])

    def _train(self, kernel: Kernel, X, y, C, inside) -> Found:  # noqa: PLR0917
        dual = Dual(
            kernel,
            float(self.tol),
            float(self.cache_size),
            int(self.max_iter),
            bool(self.shrinking),
        )
        cut = np.ix_(inside, inside) if kernel.name == "precomputed" else inside
        return dual.regress(X[cut], y[inside], C[inside], float(self.epsilon))

    def _held_out_error(self, kernel: Kernel, data, C: float) -> float:
        """The mean absolute error on rows that did not teach."""
        n, error = len(data.y), 0.0
        if n < FOLDS:
            raise InputError(f"probability=True needs {FOLDS} or more different rows.")
        for fold in range(FOLDS):
            out = np.arange(fold, n, FOLDS)
            inside = np.setdiff1d(np.arange(n), out)
            found = self._train(kernel, data.X, data.y, C * data.w, inside)
            B = np.zeros((n, 1))
            B[inside, 0] = found.b
            f = gather(kernel, data.X, B, np.array([found.intercept]))[0](data.X[out])
            error += float(data.w[out] @ np.abs(data.y[out] - f[:, 0]))
        return max(error / float(data.w.sum()), 1e-300)

    def __sklearn_tags__(self):
        tags = without_nan(super().__sklearn_tags__())
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
