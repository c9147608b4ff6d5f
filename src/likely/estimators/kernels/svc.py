r"""Support vector classification by the dual."""

from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple, no_type_check

import numpy as np

from likely.core.checks import InputError
from likely.estimators.finite import FiniteRows, finite_rows, share
from likely.estimators.host import class_weights
from likely.estimators.kernels.canonical import Canonical, canonical
from likely.estimators.kernels.margins import AbstractMarginClassifier, price
from likely.models.kernels.functions import Kernel, kernel_of
from likely.models.kernels.svm.machine import Dual, Found, gather


class Trained(NamedTuple):
    """The machines on their rows: for each its rows, signs and what was found."""

    sides: list[tuple[np.ndarray, np.ndarray]]
    found: list[Found]

    def signed(self, n: int) -> np.ndarray:
        """(n, m) β."""
        B = np.zeros((n, len(self.found)))
        for m, ((rows, _), found) in enumerate(zip(*self, strict=True)):
            B[rows, m] = found.b
        return B

    def slack(self, n: int) -> np.ndarray:
        """(n, m) ξ."""
        slack = np.zeros((n, len(self.found)))
        for m, ((rows, y), found) in enumerate(zip(*self, strict=True)):
            slack[rows, m] = np.maximum(0.0, 1 - y * found.f)
        return slack

    @property
    def intercepts(self) -> np.ndarray:
        """(m,) b."""
        return np.array([found.intercept for found in self.found])

    def each(self, name: str) -> np.ndarray:
        """(m,) a number of each machine."""
        return np.array([getattr(found, name) for found in self.found])


class SVC(AbstractMarginClassifier):
    r"""The widest margin between classes, in the feature space of a kernel.

    $$\min_{w,b,ξ}\; \tfrac12\lVert w\rVert^2 + C\sum_i ξ_i, \qquad
      y_i(w·φ(x_i) + b) \ge 1 - ξ_i,\; ξ_i \ge 0,$$

    by its dual $\max_α \sum α_i - \tfrac12\sum α_iα_jy_iy_jK_{ij}$ with K = φ·φ, 0 ≤ α ≤ C and
    $\sum α_iy_i = 0$. There is no likelihood here (a place where the recipe bends): f gives signs.
    With `probability=True` a sigmoid of f is fitted on held-out folds.

    **Where notes print it otherwise.** Larger C (or λ, the factor of Σξ) means *less* slack
    and a *smaller* margin, not a larger one. The box [0, λ] belongs to ½‖w‖² + λΣξ; for
    ‖w‖² + λΣξ it is [0, λ/2]: use `C=lam` or `C=lam / 2`.

    Args:
        C: the price of slack; `float("inf")` is the hard margin.
        kernel: "linear", "poly", "rbf", "sigmoid", "precomputed" or a function of two sets
            of rows.
        degree: of the polynomial kernel.
        gamma: of the kernels; "scale" is 1 / (d · variance of X), "auto" 1 / d.
        coef0: c₀ of the polynomial and the sigmoid kernel.
        shrinking: whether rows that seem decided are left out for a while.
        probability: whether to calibrate probabilities on five held-out folds.
        tol: how far the optimality conditions may be from true.
        cache_size: megabytes for rows of K.
        class_weight: None, "balanced" or a dict; multiplies C.
        multi_class: "ovo", a machine for each pair of classes, or "ovr", one for each
            class against the rest.
        decision_function_shape: "ovr" or "ovo", as in scikit-learn.
        break_ties: whether tied votes of "ovo" are decided by the scores, not the order.
        max_iter: step limit; −1 is a very large one.

    Attributes:
        classes_: the labels, sorted.
        support_: places of the support vectors among the rows of the fit.
        support_vectors_: (s, d), class after class.
        n_support_: how many of each class.
        dual_coef_: signed α as in scikit-learn, (c − 1, s), or (c, s) with "ovr".
        intercept_: b of each machine.
        coef_: w of each machine, for the linear kernel.
        dual_variables_: (n, machines) α of each row.
        slack_: (n, machines) ξ of each row.
        margin_: 1/‖w‖ of each machine.
        objective_: the dual objective of each machine, minimised.
        gap_: how far the optimality conditions are from true, for each.
        n_iter_: steps of each.
    """

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
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "SVC":
        """Find the machines.

        Args:
            X: (n, d) inputs, or (n, n) kernel values where they are precomputed.
            y: (n,) labels.
            sample_weight: how often each row counts: multiplies C.
        """
        C = price(self.C)
        for name in ("multi_class", "decision_function_shape"):
            if getattr(self, name) not in ("ovo", "ovr"):
                raise InputError(
                    f'{name} is {getattr(self, name)!r}; give "ovo" or "ovr".'
                )
        rows = finite_rows(self, X, y, sample_weight)
        data = merged(self.kernel, rows)
        settings = {"gamma": self.gamma, "coef0": self.coef0, "degree": self.degree}
        kernel = kernel_of(self.kernel, data.X, data.w, **settings)
        w = class_weights(self.class_weight, self.classes_, data.y, data.w)
        codes, C = data.y.astype(int), C * w
        trained = self._train(kernel, data.X, codes, C)
        self._publish(kernel, data, rows, trained)
        if self.probability:

            def values(inside: np.ndarray, out: np.ndarray) -> np.ndarray:
                part = self._train(kernel, data.X, codes[inside], C[inside], inside)
                B = np.zeros((len(codes), len(part.found)))
                B[inside] = part.signed(len(inside))
                return gather(kernel, data.X, B, part.intercepts)[0](data.X[out])

            self.scaling_ = self._calibrated(codes, data.w, values)
        return self

    @property
    def _pairwise(self) -> bool:
        return self.multi_class == "ovo" and len(self.classes_) > 2

    def _values(self, X: np.ndarray) -> np.ndarray:
        return self.machines_(X)

    def _sides(self, codes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """The rows and the signs of each machine."""
        c = len(self.classes_)
        everyone = np.arange(len(codes))
        if c == 2:
            return [(everyone, np.where(codes == 1, 1.0, -1.0))]
        if self.multi_class == "ovr":
            return [(everyone, np.where(codes == k, 1.0, -1.0)) for k in range(c)]
        pairs = combinations(range(c), 2)
        taken = [(np.flatnonzero((codes == i) | (codes == j)), i) for i, j in pairs]
        return [(rows, np.where(codes[rows] == i, 1.0, -1.0)) for rows, i in taken]

    def _train(self, kernel: Kernel, X, codes, C, among=None) -> Trained:  # noqa: PLR0917
        """A machine for each side, on all rows or those `among` them."""
        sides = self._sides(codes)
        each = float(self.cache_size) / min(len(sides), 2)
        limit, shrinking = int(self.max_iter), bool(self.shrinking)
        dual = Dual(kernel, float(self.tol), each, limit, shrinking)

        def one(side: tuple[np.ndarray, np.ndarray]) -> Found:
            rows, y = side
            place = rows if among is None else among[rows]
            part = X[np.ix_(place, place)] if kernel.name == "precomputed" else X[place]
            return dual.classify(part, y, C[rows])

        return Trained(sides, share(one, sides))

    def _publish(
        self, kernel: Kernel, data: Canonical, rows: FiniteRows, trained: Trained
    ) -> None:
        """Everything by the rows as they were given, support vectors class by class."""
        n, c = len(data.y), len(self.classes_)
        B = trained.signed(n)
        support = np.flatnonzero((B != 0).any(1))
        given, codes = rows.present[data.first], data.y.astype(int)
        support = support[np.lexsort((given[support], codes[support]))]
        self.machines_ = gather(kernel, data.X, B, trained.intercepts, given)[0]
        self.support_ = given[support].astype(np.int32)
        self.support_vectors_ = data.X[support]
        self.n_support_ = np.bincount(codes[support], minlength=c).astype(np.int32)
        self.dual_coef_ = _dual_coef(B[support], codes[support], c, self._pairwise)
        self.intercept_ = trained.intercepts
        if kernel.name == "linear":
            self.coef_ = B[support].T @ data.X[support]
        share_of = (rows.w / data.w[data.place])[:, None]
        self.dual_variables_ = _all_rows(rows, np.abs(B)[data.place] * share_of)
        self.slack_ = _all_rows(rows, trained.slack(n)[data.place])
        norms = trained.each("norm")
        self.margin_ = 1 / np.where(norms > 0, norms, np.inf)
        self.objective_, self.gap_ = trained.each("objective"), trained.each("gap")
        self.n_iter_ = trained.each("steps")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def merged(kernel: Any, rows: FiniteRows) -> Canonical:
    """Rows by content; kernel values stay as they are, but have to be square."""
    if kernel != "precomputed":
        return canonical(rows.X, rows.y, rows.w)
    if len(rows.present) < rows.X.shape[1] and rows.X.shape[1] > rows.present.max():
        X = rows.X[:, rows.present]
    else:
        X = rows.X
    if X.shape[0] != X.shape[1]:
        raise InputError(
            f"a precomputed kernel is square, rows by rows; this one has shape {X.shape}."
        )
    everyone = np.arange(len(X))
    return Canonical(X, rows.y, rows.w, everyone, everyone)


def _all_rows(rows: FiniteRows, values: np.ndarray) -> np.ndarray:
    """Values of the rows that count, zeros for the absent ones before the last."""
    whole = np.zeros((int(rows.present[-1]) + 1, values.shape[1]))
    whole[rows.present] = values
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
