r"""Nystroem features: a kernel by m explicit columns, for more rows than a Gram matrix."""

from collections.abc import Callable
from typing import Any, no_type_check

import numpy as np
from sklearn.utils.validation import validate_data

from likely.base.rows import dense, weights_of
from likely.base.settings import at_least, store
from likely.base.transformer import Transformer
from likely.core.checks import InputError, check_finite
from likely.core.random import seed_of
from likely.estimators.kernels.merged_rows import merge_rows
from likely.models.kernels.functions import kernel_of


class Nystroem(Transformer):
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

    Examples:
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> lk.Nystroem(n_components=10).fit_transform(X).shape
        (50, 10)
    """

    kernel: Any
    gamma: Any
    coef0: Any
    degree: Any
    n_components: Any
    random_state: Any

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
        store(self, locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Nystroem":
        """Choose landmarks, a heavier row more likely, and make the root.

        Args:
            X: (n, d) inputs.
            y: not used.
            sample_weight: how often each row counts.
        """
        m = at_least("n_components", self.n_components, 1, whole=True)
        if self.kernel == "precomputed":
            raise InputError(
                "Nystroem chooses rows, so it needs rows: give the kernel."
            )
        X = validate_data(self, dense(X), dtype=np.float64, ensure_all_finite=False)
        w = weights_of(sample_weight, len(X))
        check_finite("X", X, w, names=getattr(self, "feature_names_in_", None))
        X, w = X[w > 0], w[w > 0]
        rows = merge_rows(X, np.zeros(len(w)), w)
        settings = {"gamma": self.gamma, "coef0": self.coef0, "degree": self.degree}
        self.kernel_ = kernel_of(self.kernel, rows.X, rows.w, **settings)
        rng = np.random.default_rng(seed_of(self.random_state))
        m = min(m, len(rows.w))
        chosen = rng.choice(len(rows.w), m, replace=False, p=rows.w / rows.w.sum())
        self.components_ = rows.X[np.sort(chosen)]
        K = self.kernel_(self.components_, self.components_)
        values, U = np.linalg.eigh(0.5 * (K + K.T))
        values = np.maximum(values, 1e-12 * values.max(initial=1e-300))
        self.normalization_ = (U / np.sqrt(values)) @ U.T
        return self

    def _columns(self, X: np.ndarray) -> np.ndarray:
        return self.kernel_.weigh(X, self.components_, self.normalization_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)
