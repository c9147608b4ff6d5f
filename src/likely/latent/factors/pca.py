r"""Principal component analysis: the directions in which rows vary most.

$$\max_u\; u^\top S u \;\text{ with }\; u^\top u = 1, \qquad
  S = \tfrac{1}{N} \sum_i w_i (x_i - \bar x)(x_i - \bar x)^\top, \quad N = \sum_i w_i,$$

has as its solutions the eigenvectors of S: $S u = λ u$, and the variance along u is λ.
"""

from typing import Any, no_type_check

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likely.base.density import Density
from likely.base.rows import Rows, check_inputs
from likely.base.settings import at_least, one_of, store
from likely.base.transformer import Transformer
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.latent.factors.bootstrap_variances import bootstrap_variances
from likely.latent.factors.component_count import component_count
from likely.latent.factors.held_out import compare_principal, principal_normal
from likely.latent.factors.principal_fit import fit_principal_missing
from likely.latent.factors.principal_normal import PrincipalNormal
from likely.latent.factors.rows import checked_rows
from likely.latent.factors.spectrum import (
    Scatter,
    Spectrum,
    eigen_spectrum,
    exact_spectrum,
    randomized_spectrum,
    scatter_of,
)

SOLVERS = ("auto", "exact", "full", "covariance_eigh", "randomized")
MAX_MISSING = 50
"""Components where values are missing and no number is given."""


class PCA(Transformer, Density):
    """Principal component analysis, weighted, with a density and missing values.

    Rows are projected on the directions of largest variance. As a density it is that of
    probabilistic PCA: normal with these variances, and with the mean of all other variances
    in every other direction.

    Args:
        n_components: how many; a share between 0 and 1 of the variance that has to be
            explained; "nats" for the number of largest held-out likelihood; None for all
            directions in which the rows vary.
        whiten: whether the new columns are divided by their standard deviations.
        svd_solver: "exact" (eigenvectors of the covariance where that is precise, a singular
            value decomposition otherwise), "covariance_eigh", "full", "randomized", or
            "auto": randomized for less than 80 % of the components of a large matrix.
        iterated_power: power iterations of "randomized".
        n_bootstrap: resamples for the standard errors of explained variances; 0 for none.
        tol: where values are missing, stop when an iteration gains less than this
            log-likelihood, in nats per unit of weight.
        max_iter: where values are missing, the largest number of iterations.
        random_state: seed of "randomized", of the folds of "nats" and of the bootstrap.

    Attributes:
        components_: (k, d) orthonormal directions, the largest entry of each positive.
        explained_variance_: (k,) the variance along each, with N − 1 in the denominator.
        explained_variance_ratio_: (k,) as shares of the variance of all columns.
        explained_variance_error_: (k,) standard errors by the bootstrap, if asked for.
        explained_variance_ratio_error_: (k,) those of the shares.
        singular_values_: (k,) roots of the sums of squares.
        mean_: (d,) of the columns.
        noise_variance_: the mean variance along the other directions.
        n_components_: k.
        held_out_nats_: the comparison of "nats", a `HeldOutNats`.
        n_iter_: iterations where values are missing; 1 where none are.

    Examples:
        >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.1]])
        >>> lk.PCA(1).fit(X).explained_variance_ratio_.round(2)
        array([1.])
    """

    n_components: Any
    whiten: Any
    svd_solver: Any
    iterated_power: Any
    n_bootstrap: Any
    tol: Any
    max_iter: Any
    random_state: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        whiten: bool = False,
        svd_solver: str = "auto",
        iterated_power: int | str = "auto",
        n_bootstrap: int = 0,
        tol: float = 1e-7,
        max_iter: int = 1000,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "PCA":
        """Find the directions.

        Args:
            X: (n, d) rows; NaN is a missing value.
            y: not used.
            sample_weight: how often each row counts.
        """
        one_of("svd_solver", self.svd_solver, SOLVERS)
        members = at_least("n_bootstrap", self.n_bootstrap, whole=True)
        rows = checked_rows(self, X, sample_weight, allow_nan=True)
        seed = seed_of(self.random_state)
        for name in ("stream_", "held_out_nats_", "explained_variance_error_"):
            vars(self).pop(name, None)
        if np.isnan(rows.w @ rows.X).any() and np.isnan(rows.X).any():  # fast, sure
            return self._fit_missing(rows)
        k = component_count(self.n_components, *_limits(rows))
        if k == "nats":
            self.held_out_nats_ = compare_principal(
                rows.X, rows.w, freedom=1, seed=seed
            )
            k = 1 if self.held_out_nats_ is None else self.held_out_nats_.best
        self._keep(self._spectrum(rows, k, seed), k)
        if members:
            found, totals = bootstrap_variances(
                rows.X, rows.w, self.n_components_, members=members, seed=seed
            )
            ratios = found / np.where(totals > 0, totals, 1.0)[:, None]
            self.explained_variance_error_ = found.std(0)
            self.explained_variance_ratio_error_ = ratios.std(0)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "PCA":
        """Add rows to those seen before: exactly what a fit to all of them would give.

        The covariance is kept between calls, so memory is that of d² numbers. After `fit`,
        which keeps none, the first call begins anew.

        Args:
            X: (n, d) rows.
            y: not used.
            sample_weight: how often each row counts.
        """
        if self.n_components == "nats":
            raise InputError(
                'n_components="nats" compares all rows with each other; give a number or '
                "a share to partial_fit."
            )
        stream = getattr(self, "stream_", None)
        rows = checked_rows(self, X, sample_weight, reset=stream is None, minimum=1)
        found = scatter_of(rows.X, rows.w)
        if stream is not None:
            found = Scatter(*stream).merge(found)
        self.stream_ = tuple(found)
        if found.weight > 1:
            limits = len(found.mean), int(found.weight)
            self._keep(
                eigen_spectrum(found), component_count(self.n_components, *limits)
            )
        return self

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """(n, d) the rows in the space of the components that have these new columns."""
        check_is_fitted(self)
        Z = np.asarray(Z, np.float64)
        scale = self._scale() if self.whiten else 1.0
        return (Z * scale) @ self.components_ + self.mean_

    def log_prob(self, X: Any) -> np.ndarray:
        """(n,) log p(x) of each row, in nats, of the values that are not missing."""
        X = self._inputs(X)
        return self._normal().log_prob(X)

    def sample(self, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """(n, d) independent draws."""
        check_is_fitted(self)
        rng = np.random.default_rng(seed_of(random_state))
        return self._normal().sample(n, rng)

    def get_covariance(self) -> np.ndarray:
        """(d, d) the covariance of the density."""
        check_is_fitted(self)
        return self._normal().covariance

    def _inputs(self, X: Any) -> np.ndarray:
        X = check_inputs(self, X, allow_nan=True)
        if np.isinf(X).any():
            raise InputError("X contains infinity; mark such values as missing (NaN).")
        return X

    def _columns(self, X: np.ndarray) -> np.ndarray:
        if np.isnan(X).any():
            X = self._normal().low_rank.filled(X)
        Z = (X - self.mean_) @ self.components_.T
        return Z / self._scale() if self.whiten else Z

    def _normal(self) -> PrincipalNormal:
        return PrincipalNormal(
            self.mean_,
            self.components_,
            self.explained_variance_,
            self.noise_variance_,
        )

    def _scale(self) -> np.ndarray:
        """The standard deviations of components; 1 where there is none."""
        found = np.sqrt(self.explained_variance_)
        return np.where(found > 0, found, 1.0)

    def _spectrum(self, rows: Rows, k: Any, seed: int) -> Spectrum:
        """The directions of rows by the solver that is asked for."""
        (n, d), solver = rows.X.shape, self.svd_solver
        few = isinstance(k, int) and 1 <= k < 0.8 * min(n, d)
        tall = d <= 1000 and n >= 10 * d
        if solver == "auto" and not tall and max(n, d) > 500 and few:
            solver = "randomized"
        if solver == "randomized":
            if not isinstance(k, int):
                raise InputError(
                    f"n_components is {self.n_components!r}, but svd_solver='randomized' "
                    "finds a given number of components; give a whole number."
                )
            rng = np.random.default_rng(seed)
            return randomized_spectrum(rows.X, rows.w, k, rng, self.iterated_power)
        if solver == "covariance_eigh":
            return eigen_spectrum(scatter_of(rows.X, rows.w))
        by_scatter = tall if solver == "auto" else solver == "exact" and n > d
        return exact_spectrum(rows.X, rows.w, by_scatter=by_scatter)

    def _keep(self, spectrum: Spectrum, k: Any) -> None:
        """Store k directions; a share is turned into a number, None into all."""
        if k is None:
            k = max(spectrum.rank, 1)
        elif isinstance(k, float):
            shares = np.cumsum(spectrum.squares) / max(spectrum.total, 1e-300)
            k = min(int((shares < k - 1e-12).sum()) + 1, max(spectrum.rank, 1))
        total = spectrum.total / (spectrum.weight - 1)
        self._store(principal_normal(spectrum, k, 1), total, spectrum.weight)

    def _store(self, normal: PrincipalNormal, total: float, weight: float) -> None:
        self.mean_, self.components_ = normal.mean, normal.components
        self.explained_variance_ = normal.variances
        self.noise_variance_ = normal.noise
        self.explained_variance_ratio_ = normal.variances / (total or 1.0)
        self.singular_values_ = np.sqrt(normal.variances * (weight - 1))
        self.n_components_, self.n_iter_ = len(normal.components), 1

    def _fit_missing(self, rows: Rows) -> "PCA":
        """The directions of rows with missing values, by expectation maximisation."""
        n, d = rows.X.shape
        k = component_count(self.n_components, *_limits(rows))
        if k == "nats" or isinstance(k, float):
            raise InputError(
                f"n_components is {self.n_components!r} and X has missing values; give a "
                "whole number, or None."
            )
        count = int(k or min(n - 1, d, MAX_MISSING))
        tol = at_least("tol", self.tol)
        most = at_least("max_iter", self.max_iter, 1, whole=True)
        normal, path = fit_principal_missing(rows.X, rows.w, count, tol, most)
        weight = float(rows.w.sum())
        ratio = weight / (weight - 1)
        variances, noise = ratio * normal.variances, ratio * normal.noise
        total = float(variances.sum() + (d - count) * noise)
        normal = normal._replace(variances=variances, noise=noise)
        self._store(normal, total, weight)
        self.n_iter_ = len(path)
        return self

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _limits(rows: Rows) -> tuple[int, int]:
    """The number of columns, and that of rows."""
    return rows.X.shape[1], int(rows.w.sum())
