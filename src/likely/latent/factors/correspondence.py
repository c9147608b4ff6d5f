r"""Correspondence analysis: rows and columns of a table of counts on one map.

With the table as shares P, its row sums r and its column sums c,

$$D_r^{-1/2} (P - r c^\top) D_c^{-1/2} = U \operatorname{diag}(s)\, V^\top$$

are the standardised residuals from independence; their squares add up to χ²/N, the total
inertia, of which each axis has $s^2$. Rows have the coordinates $D_r^{-1/2} U s$: the
profiles of rows, in the χ² distance, seen from the mean profile.
"""

from typing import Any, no_type_check

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likely.base.rows import check_inputs
from likely.base.settings import store
from likely.base.transformer import Transformer
from likely.core.checks import InputError
from likely.latent.factors.component_count import component_count
from likely.latent.factors.nonnegative import check_not_negative
from likely.latent.factors.rows import checked_rows
from likely.latent.factors.spectrum import oriented

MIN_INERTIA = 1e-24
"""Inertia of an axis, as a share of the largest one, below which it is rounding."""


class CorrespondenceAnalysis(Transformer):
    """Correspondence analysis of a table of counts, or of other numbers that are not negative.

    `transform` gives the principal coordinates of rows, those of the fit or supplementary
    ones: only the shares of a row matter. `column_coordinates_` are those of the columns;
    `plots.biplot` draws both.

    Args:
        n_components: how many axes; None for all that have inertia.

    Attributes:
        components_: (k, d) standard coordinates of the columns: inertia 1 on each axis.
        column_coordinates_: (d, k) principal coordinates of the columns.
        inertia_: (k,) of each axis.
        total_inertia_: χ²/N of the table.
        explained_inertia_ratio_: (k,) shares of the total.
        column_masses_: (d,) the share of each column.
        column_contributions_: (d, k) the shares of columns in the inertia of each axis.
        column_quality_: (d, k) the shares of axes in the inertia of each column.

    Examples:
        >>> counts = np.array([[10, 2, 1], [3, 8, 2], [1, 3, 9]])
        >>> lk.CorrespondenceAnalysis(2).fit(counts).transform(counts).shape
        (3, 2)
    """

    n_components: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, n_components: int | None = None):
        store(self, locals())

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> "CorrespondenceAnalysis":
        """Find the axes of largest inertia.

        Args:
            X: (n, d) counts, a row for each row of the table.
            y: not used.
            sample_weight: how often each row counts.
        """
        rows = checked_rows(self, X, sample_weight)
        check_not_negative(self, rows.X)
        N = rows.X * rows.w[:, None]
        N = N[N.sum(1) > 0]
        n, d = N.shape
        if d < 2:
            raise InputError(
                "X has 1 feature(s); shares of one column do not differ: give a table "
                "with at least 2 columns."
            )
        k = component_count(self.n_components, d, int(rows.w.sum()), share=False)
        if k == "nats":
            raise InputError(
                "CorrespondenceAnalysis has no likelihood: give n_components as a number."
            )
        if not N.size:
            raise InputError("X has no count above zero; give a table with counts.")
        P = N / N.sum()
        r, c = P.sum(1), P.sum(0)
        root = np.where(c > 0, 1 / np.sqrt(np.where(c > 0, c, 1.0)), 0.0)
        E = (P - np.outer(r, c)) * root / np.sqrt(r)[:, None]
        _, s, V = np.linalg.svd(E, full_matrices=False)
        real = s**2 > MIN_INERTIA * max(s[0] ** 2, 1e-6)
        count = max(min(int(real.sum()), int(k or d)), 1)
        if isinstance(k, int) and count < k:
            raise InputError(
                f"n_components is {k}, but the table has inertia on {int(real.sum())} "
                "axes; give at most as many, or None."
            )
        s, V = s[:count], oriented(V[:count])
        self.column_masses_ = c
        self.components_ = V * root
        self.column_coordinates_ = (self.components_ * s[:, None]).T
        self.inertia_ = s**2
        self.total_inertia_ = float((E**2).sum())
        self.explained_inertia_ratio_ = s**2 / (self.total_inertia_ or 1.0)
        self.column_contributions_ = (V**2).T
        squares = (E**2).sum(0)
        own = c[:, None] * self.column_coordinates_**2
        self.column_quality_ = own / np.where(squares > 0, squares, 1.0)[:, None]
        return self

    def inverse_transform(self, F: Any) -> np.ndarray:
        """(n, d) the shares of columns in rows with these coordinates: c (1 + F G)."""
        check_is_fitted(self)
        return self.column_masses_ * (1 + np.asarray(F, np.float64) @ self.components_)

    def _inputs(self, X: Any) -> np.ndarray:
        X = check_inputs(self, X)
        check_not_negative(self, X)
        return X

    def _columns(self, X: np.ndarray) -> np.ndarray:
        total = X.sum(1, keepdims=True)
        known = X * (self.column_masses_ > 0)
        profiles = np.where(total > 0, known / np.where(total > 0, total, 1.0), 0.0)
        centred = profiles - self.column_masses_ * (total > 0)
        return centred @ self.components_.T

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
