r"""Support vector classification by the dual."""

from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple, no_type_check

import numpy as np
from sklearn.base import ClassifierMixin

from likely.base.labels import class_weights
from likely.base.rows import Rows
from likely.base.settings import one_of, store
from likely.core.threads import thread_map
from likely.estimators.kernels.margins import MarginClassifier, slack_cost
from likely.estimators.kernels.merged_rows import MergedRows, rows_for_kernel
from likely.models.kernels.functions import Kernel
from likely.models.kernels.svm.machine import Dual, Found, pack_machines


class Trained(NamedTuple):
    """The machines on their rows: for each its rows and signs, and what was found."""

    sides: list[tuple[np.ndarray, np.ndarray]]
    found: list[Found]

    def signed(self, n: int) -> np.ndarray:
        """(n, m) β, zero for rows that a machine does not have."""
        B = np.zeros((n, len(self.found)))
        for m, ((rows, _), found) in enumerate(zip(*self, strict=True)):
            B[rows, m] = found.b
        return B

    def slack(self, n: int) -> np.ndarray:
        """(n, m) ξ, zero for rows that a machine does not have."""
        slack = np.zeros((n, len(self.found)))
        for m, ((rows, y), found) in enumerate(zip(*self, strict=True)):
            slack[rows, m] = np.maximum(0.0, 1 - y * found.f)
        return slack

    def each(self, name: str) -> np.ndarray:
        """(m,) a number of each machine."""
        return np.array([getattr(found, name) for found in self.found])


class SVC(ClassifierMixin, MarginClassifier):
    r"""The widest margin between classes, in the feature space of a kernel.

    $$\min_{w,b,ξ}\; \tfrac12\lVert w\rVert^2 + C\sum_i ξ_i, \qquad
      y_i(w·φ(x_i) + b) \ge 1 - ξ_i,\; ξ_i \ge 0,$$

    by its dual $\max_α \sum α_i - \tfrac12\sum α_iα_jy_iy_jK_{ij}$ with K = φ·φ, 0 ≤ α ≤ C and
    $\sum α_iy_i = 0$. There is no likelihood here: f gives signs.
    With `probability=True` a sigmoid of f is fitted on held-out folds.

    Larger C means less slack and a smaller margin. For the objective ‖w‖² + λΣξ the box of
    the dual is [0, λ/2]: use `C=lam / 2`.

    Args:
        C: the cost of slack; `float("inf")` is the hard margin.
        kernel: "linear", "poly", "rbf", "sigmoid", "precomputed" or a function of two sets
            of rows.
        degree: the degree of the polynomial kernel.
        gamma: γ of the kernels; "scale" is 1 / (d · variance of X), "auto" 1 / d.
        coef0: c₀ of the polynomial and the sigmoid kernel.
        shrinking: whether rows that seem decided are left out for a while.
        probability: whether to calibrate probabilities on five held-out folds.
        tol: the largest violation of the optimality conditions at the end.
        cache_size: megabytes for rows of K.
        class_weight: None, "balanced" or a dict; multiplies C.
        multi_class: "ovo", a machine for each pair of classes, or "ovr", one for each
            class against the rest.
        decision_function_shape: "ovr" or "ovo", as in scikit-learn.
        break_ties: whether tied votes of "ovo" are decided by the scores, not the order.
        max_iter: the largest number of steps; −1 is a very large one.

    Attributes:
        classes_: the labels, sorted.
        support_: the indices of the support vectors among the rows of the fit.
        support_vectors_: (s, d), class after class.
        n_support_: the number of support vectors of each class.
        dual_coef_: signed α as in scikit-learn, (c − 1, s), or (c, s) with "ovr".
        intercept_: b of each machine.
        coef_: w of each machine, for the linear kernel.
        dual_variables_: (n, machines) α of each row.
        slack_: (n, machines) ξ of each row.
        margin_: 1/‖w‖ of each machine.
        objective_: the dual objective of each machine, minimised.
        gap_: the largest violation of the optimality conditions, for each machine.
        n_iter_: steps of each machine.

    Examples:
        >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        >>> print(lk.SVC(C=10.0).fit(X, [0, 1, 1, 0]).predict(X))
        [0 1 1 0]
    """

    C: Any
    kernel: Any
    shrinking: Any
    tol: Any
    cache_size: Any
    class_weight: Any
    multi_class: Any
    max_iter: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str | Callable = "rbf",
        degree: float = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        multi_class: str = "ovo",
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        max_iter: int = -1,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "SVC":
        """Find the machines.

        Args:
            X: (n, d) inputs, or (n, n) kernel values where they are precomputed.
            y: (n,) labels.
            sample_weight: how often each row counts: multiplies C.
        """
        C = slack_cost(self.C)
        for name in ("multi_class", "decision_function_shape"):
            one_of(name, getattr(self, name), ("ovo", "ovr"))
        rows = self._rows(X, y, sample_weight)
        kernel, data = rows_for_kernel(self, rows)
        w = class_weights(self.class_weight, self.classes_, data.y, data.w)
        codes, C = data.y.astype(int), C * w
        trained = self._train(kernel, data.X, codes, C)
        self._publish(kernel, data, rows, trained)
        if self.probability:

            def values(train: np.ndarray, out: np.ndarray) -> np.ndarray:
                part = self._train(kernel, data.X, codes[train], C[train], train)
                B = np.zeros((len(codes), len(part.found)))
                B[train] = part.signed(len(train))
                return pack_machines(kernel, data.X, B, part.each("intercept"))[0](
                    data.X[out]
                )

            self.scaling_ = self._calibration(codes, data.w, values)
        return self

    @property
    def _pairwise(self) -> bool:
        return self.multi_class == "ovo" and len(self.classes_) > 2

    def _values(self, X: np.ndarray) -> np.ndarray:
        return self.machines_(X)

    def _sides(self, codes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """The rows and the signs of each machine."""
        c, every_row = len(self.classes_), np.arange(len(codes))
        if c == 2:
            return [(every_row, np.where(codes == 1, 1.0, -1.0))]
        if self.multi_class == "ovr":
            return [(every_row, np.where(codes == k, 1.0, -1.0)) for k in range(c)]
        pairs = combinations(range(c), 2)
        taken = [(np.flatnonzero((codes == i) | (codes == j)), i) for i, j in pairs]
        return [(rows, np.where(codes[rows] == i, 1.0, -1.0)) for rows, i in taken]

    def _train(self, kernel: Kernel, X, codes, C, subset=None) -> Trained:  # noqa: PLR0917
        """A machine for each side; `subset` are the rows of X that codes and C have."""
        sides = self._sides(codes)
        cache = float(self.cache_size) / min(len(sides), 2)
        limit, shrinking = int(self.max_iter), bool(self.shrinking)
        dual = Dual(kernel, float(self.tol), cache, limit, shrinking)

        def one(side: tuple[np.ndarray, np.ndarray]) -> Found:
            rows, y = side
            own = rows if subset is None else subset[rows]
            part = X[np.ix_(own, own)] if kernel.name == "precomputed" else X[own]
            return dual.classify(part, y, C[rows])

        return Trained(sides, thread_map(one, sides))

    def _publish(
        self, kernel: Kernel, data: MergedRows, rows: Rows, trained: Trained
    ) -> None:
        """Set the fitted attributes by the rows as they were given.

        Args:
            kernel: K.
            data: the merged rows.
            rows: the rows of the fit.
            trained: the machines on the merged rows.
        """
        n, c = len(data.y), len(self.classes_)
        B = trained.signed(n)
        support = np.flatnonzero((B != 0).any(1))
        given, codes = data.first, data.y.astype(int)
        support = support[np.lexsort((given[support], codes[support]))]
        self.machines_ = pack_machines(
            kernel, data.X, B, trained.each("intercept"), given
        )[0]
        self.support_ = given[support].astype(np.int32)
        self.support_vectors_ = data.X[support]
        self.n_support_ = np.bincount(codes[support], minlength=c).astype(np.int32)
        self.dual_coef_ = _dual_coef(B[support], codes[support], c, self._pairwise)
        self.intercept_ = trained.each("intercept")
        if kernel.name == "linear":
            self.coef_ = B[support].T @ data.X[support]
        share = (rows.present().w / data.w[data.group])[:, None]
        self.dual_variables_ = _all_rows(rows, np.abs(B)[data.group] * share)
        self.slack_ = _all_rows(rows, trained.slack(n)[data.group])
        norms = trained.each("norm")
        self.margin_ = 1 / np.where(norms > 0, norms, np.inf)
        self.objective_, self.gap_ = trained.each("objective"), trained.each("gap")
        self.n_iter_ = trained.each("steps")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _all_rows(rows: Rows, values: np.ndarray) -> np.ndarray:
    """Values of the present rows, with zeros for absent rows before the last of them."""
    present = np.flatnonzero(rows.is_present)
    whole = np.zeros((int(present[-1]) + 1, values.shape[1]))
    whole[present] = values
    return whole


def _dual_coef(B: np.ndarray, codes: np.ndarray, c: int, pairwise: bool) -> np.ndarray:
    """scikit-learn's layout: for pairs, the c − 1 machines of each vector's own class."""
    if not pairwise:
        return B.T.copy()
    packed = np.zeros((c - 1, len(B)))
    for m, (i, j) in enumerate(combinations(range(c), 2)):
        packed[j - 1, codes == i] = B[codes == i, m]
        packed[i, codes == j] = B[codes == j, m]
    return packed
