r"""The linear support vector machine in the primal."""

import warnings
from typing import Any, no_type_check

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from likely.base.labels import class_weights
from likely.base.settings import one_of, store
from likely.core.checks import InputError
from likely.estimators.kernels.margins import MarginClassifier, slack_cost
from likely.models.kernels.svm.matrix_free import matrix_free_plane
from likely.models.kernels.svm.primal import Plane, plane

MAX_FACTORISED = 1000
"""Rows or columns, the fewer of the two, up to which Hessians are formed."""


class LinearSVC(ClassifierMixin, MarginClassifier):
    r"""The plane of widest margin, by Newton's method on the primal objective.

    $$\min_{w,b}\; \tfrac12\lVert w\rVert^2 + C\sum_i \max(0, 1 - y_i(x_i·w + b))^q, \qquad
      q = 1 \text{ or } 2.$$

    The time grows with n·d² once and n·d for each of a few steps, so it is the machine for
    many rows (with `Nystroem` features: also for kernels). Unlike liblinear's, the
    intercept is not penalised. More than two classes: one against the rest.

    Args:
        C: the cost of slack; as in `SVC`, larger is a smaller margin and less slack.
        loss: "squared_hinge" or "hinge".
        fit_intercept: whether there is a b.
        probability: whether to calibrate probabilities on five held-out folds.
        class_weight: None, "balanced" or a dict; multiplies C.
        max_iter: the largest number of Newton steps; with "hinge" for each of the
            smoother losses that lead to it.
        tol: the largest gradient at the end, relative to that at zero; of sparse rows no
            less than 1e-5.

    Attributes:
        classes_: the labels, sorted.
        coef_: (1, d) or (c, d).
        intercept_: (1,) or (c,).
        margin_: 1/‖w‖ of each machine.
        objective_: the objective of each machine.
        gap_: how far each objective can be above its minimum (by the dual).
        n_iter_: Newton steps of each machine, those of the loss that took most.

    Examples:
        >>> X, y = np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([0, 0, 1, 1])
        >>> print(lk.LinearSVC().fit(X, y).predict([[0.5], [5.5]]))
        [0 1]
    """

    C: Any
    loss: Any
    fit_intercept: Any
    class_weight: Any
    max_iter: Any
    tol: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        probability: bool = False,
        class_weight: Any = None,
        max_iter: int = 200,
        tol: float = 1e-9,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LinearSVC":
        """Find the plane, or one for each class.

        Args:
            X: (n, d) inputs.
            y: (n,) labels.
            sample_weight: how often each row counts: multiplies C.
        """
        C = slack_cost(self.C)
        if np.isinf(C):
            raise InputError(
                'C is infinite; use SVC(kernel="linear", C=float("inf")) for a hard margin.'
            )
        one_of("loss", self.loss, ("hinge", "squared_hinge"))
        rows = self._rows(X, y, sample_weight).present()
        codes = rows.y.astype(int)
        C = C * class_weights(self.class_weight, self.classes_, rows.y, rows.w)
        planes = self._planes(rows.X, codes, C)
        self.coef_ = np.stack([p.w for p in planes])
        self.intercept_ = np.array([p.b for p in planes])
        norms = np.linalg.norm(self.coef_, axis=1)
        self.margin_ = 1 / np.where(norms > 0, norms, np.inf)
        self.objective_ = np.array([p.objective for p in planes])
        self.gap_ = np.array([p.gap for p in planes])
        self.n_iter_ = np.array([p.steps for p in planes])
        if not all(p.converged for p in planes):
            warnings.warn(
                f"LinearSVC stopped at the step limit of {self.max_iter}; scale the "
                "columns, or raise max_iter.",
                ConvergenceWarning,
                stacklevel=2,
            )
        if self.probability:

            def values(train: np.ndarray, out: np.ndarray) -> np.ndarray:
                part = self._planes(rows.X[train], codes[train], C[train])
                return np.stack([rows.X[out] @ p.w + p.b for p in part], axis=1)

            self.scaling_ = self._calibration(codes, rows.w, values)
        return self

    @property
    def _pairwise(self) -> bool:
        return False

    @property
    def _takes_sparse(self) -> bool:
        return True

    def _values(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef_.T) + self.intercept_

    def _planes(self, X: Any, codes: np.ndarray, C: np.ndarray) -> list[Plane]:
        """One plane for two classes, else one for each class against the rest."""
        c = len(self.classes_)
        squared = self.loss == "squared_hinge"
        large = issparse(X) or (squared and min(X.shape) > MAX_FACTORISED)
        fit_plane = matrix_free_plane if large else plane
        return [
            fit_plane(
                X,
                np.where(codes == k, 1.0, -1.0),
                C,
                squared=squared,
                intercept=bool(self.fit_intercept),
                max_steps=int(self.max_iter),
                tol=float(self.tol),
            )
            for k in ([1] if c == 2 else range(c))
        ]
