r"""Nystroem features: a kernel by m explicit columns, for more rows than a Gram matrix."""

from collections.abc import Callable
from typing import Any, no_type_check

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from likely.core.checks import InputError, check_finite, check_weights
from likely.estimators.host import positive, seed_of
from likely.estimators.kernels.canonical import canonical
from likely.estimators.sparse import dense
from likely.models.kernels.functions import kernel_of


class Nystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""φ(x) = K_{ZZ}^{-1/2} K_Z(x) with m landmarks Z, so that φ(x)·φ(z) ≈ K(x, z).

    Exact on the landmarks, and everywhere if they are all rows. A `LinearSVC` on these
    columns costs n·m² instead of the n²·d and more of an `SVC`.

    Args:
        kernel: as in `SVC`.
        gamma: as in `SVC`.
        coef0: as in `SVC`.
        degree: as in `SVC`.
        n_components: m; at most the number of different rows.
        random_state: which rows are landmarks.

    Attributes:
        components_: (m, d) the landmarks.
        normalization_: (m, m) the inverse root of their Gram matrix.
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        kernel: str | Callable = "rbf",
        *,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        degree: float = 3,
        n_components: int = 100,
        random_state: Any = 0,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Nystroem":
        """Choose landmarks, a heavier row more likely, and make the root.

        Args:
            X: (n, d) inputs.
            y: not used.
            sample_weight: how often each row counts.
        """
        m = positive("n_components", self.n_components, least=1.0, whole=True)
        if self.kernel == "precomputed":
            raise InputError(
                "Nystroem chooses rows, so it needs rows: give the kernel."
            )
        X = validate_data(self, dense(X), dtype=np.float64, ensure_all_finite=False)
        w = np.ones(len(X)) if sample_weight is None else sample_weight
        w = check_weights(w, len(X))
        check_finite("X", X, w, names=getattr(self, "feature_names_in_", None))
        rows = canonical(X[w > 0], np.zeros(int((w > 0).sum())), w[w > 0])
        self.kernel_ = kernel_of(
            self.kernel, rows.X, rows.w, gamma=self.gamma, coef0=self.coef0,
            degree=self.degree,
        )  # fmt: skip
        rng = np.random.default_rng(seed_of(self.random_state))
        m = min(m, len(rows.w))
        chosen = rng.choice(len(rows.w), m, replace=False, p=rows.w / rows.w.sum())
        self.components_ = rows.X[np.sort(chosen)]
        K = self.kernel_(self.components_, self.components_)
        values, U = np.linalg.eigh(0.5 * (K + K.T))
        values = np.maximum(values, 1e-12 * values.max(initial=1e-300))
        self.normalization_ = (U / np.sqrt(values)) @ U.T
        return self

    def transform(self, X: Any) -> np.ndarray:
        """(n, m) features of each row."""
        check_is_fitted(self)
        X = validate_data(
            self, dense(X), reset=False, dtype=np.float64, ensure_all_finite=False
        )
        check_finite("X", X, names=getattr(self, "feature_names_in_", None))
        return self._columns(X)

    def _columns(self, X: np.ndarray) -> np.ndarray:
        """The features of checked rows: what a linear model asks of its `basis`."""
        return self.kernel_.weigh(X, self.components_, self.normalization_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)
