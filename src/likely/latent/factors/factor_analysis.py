r"""Factor analysis: a few common factors, and noise of its own for each column.

$$x = μ + W z + ε, \qquad z \sim N(0, I), \quad ε \sim N(0, \operatorname{diag} ψ).$$

Unlike principal components, factors do not care about the units of columns: each column may be as
noisy as it likes, and W explains what columns have in common.
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
from likely.latent.factors.component_count import component_count
from likely.latent.factors.factor_fit import Loadings, fit_direct, fit_em
from likely.latent.factors.held_out import compare_fits
from likely.latent.factors.low_rank_normal import LowRankNormal
from likely.latent.factors.missing_values import fit_missing
from likely.latent.factors.rotations import ROTATIONS, rotation_of
from likely.latent.factors.rows import checked_rows
from likely.latent.factors.spectrum import scatter_of


class FactorAnalysis(Transformer, Density):
    """Factor analysis by maximum likelihood, with rotations and missing values.

    `transform` gives E[z | x]. A column that does not vary is taken to have a millionth of
    the mean variance, which also bounds how small the noise of a column may be.

    Args:
        n_components: how many factors; "nats" for the number of largest held-out
            likelihood.
        method: "direct" maximises the likelihood by Newton's method; "em" is expectation
            maximisation, which takes many more steps.
        rotation: "varimax" or "quartimax" (orthogonal), "promax" (factors correlate), or
            None: the one in which Wᵀ ψ⁻¹ W is diagonal.
        tol: stop where a step of "em" gains less, in nats per unit of weight, or where the
            gradient of "direct" is smaller.
        max_iter: the largest number of iterations.
        random_state: seed of the folds of "nats".

    Attributes:
        components_: (k, d) the loadings Wᵀ, rotated.
        noise_variance_: (d,) ψ.
        mean_: (d,) μ.
        rotation_matrix_: (k, k) T of the rotation: loadings are those without one times T.
        factor_correlation_: (k, k) of the factors; the unit matrix unless "promax".
        n_components_: k.
        loglike_: the log-likelihood of each iteration, in nats per unit of weight.
        n_iter_: how many there were.
        held_out_nats_: the comparison of "nats", a `HeldOutNats`.

    Examples:
        >>> X = lk.data.iris().X
        >>> lk.FactorAnalysis(1).fit(X).transform(X).shape
        (150, 1)
    """

    n_components: Any
    method: Any
    rotation: Any
    tol: Any
    max_iter: Any
    random_state: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_components: int | str = "nats",
        *,
        method: str = "direct",
        rotation: str | None = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "FactorAnalysis":
        """Find W, ψ and μ of largest likelihood.

        Args:
            X: (n, d) rows; NaN is a missing value.
            y: not used.
            sample_weight: how often each row counts.
        """
        one_of("method", self.method, ("direct", "em"))
        if self.rotation is not None:
            one_of("rotation", self.rotation, ROTATIONS)
        at_least("tol", self.tol)
        at_least("max_iter", self.max_iter, 1, whole=True)
        rows = checked_rows(self, X, sample_weight, allow_nan=True)
        k = self._count(rows)
        if np.isnan(rows.X).any():
            normal, path = self._fit_missing(rows, k)
        else:
            scatter = scatter_of(rows.X, rows.w)
            found = self._loadings(scatter.matrix / scatter.weight, k)
            normal, path = found.normal(scatter.mean), found.path
        T = rotation_of(normal.W, self.rotation)
        L = normal.W @ T
        standard = L / np.sqrt((normal.W**2).sum(1) + normal.psi)[:, None]
        largest = standard[np.abs(standard).argmax(0), np.arange(k)]
        signs = np.where(largest < 0, -1.0, 1.0)
        self.rotation_matrix_ = T * signs
        self.components_ = (L * signs).T
        inverse = np.linalg.inv(self.rotation_matrix_)
        self.factor_correlation_ = inverse @ inverse.T
        self.mean_, self.noise_variance_ = normal.mean, normal.psi
        self.loglike_, self.n_iter_ = path, len(path)
        self.n_components_ = k
        return self

    def log_prob(self, X: Any) -> np.ndarray:
        """(n,) log p(x) of each row, in nats, of the values that are not missing."""
        X = self._inputs(X)
        return self._normal().log_prob(X)

    def sample(self, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """(n, d) independent draws."""
        check_is_fitted(self)
        rng = np.random.default_rng(seed_of(random_state))
        return self._normal().sample(n, rng)

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """(n, d) E[x | z] = μ + Wz."""
        check_is_fitted(self)
        return self.mean_ + np.asarray(Z, np.float64) @ self.components_

    def get_covariance(self) -> np.ndarray:
        """(d, d) the covariance W Wᵀ + diag ψ of a row."""
        check_is_fitted(self)
        return self._normal().covariance

    def _count(self, rows: Rows) -> int:
        """The number of factors; stores the comparison that found it."""
        d = rows.X.shape[1]
        vars(self).pop("held_out_nats_", None)
        k = component_count(self.n_components, d, int(rows.w.sum()), share=False)
        if k is None:
            raise InputError('n_components is None; give a whole number, or "nats".')
        if k != "nats":
            return int(k)
        complete = ~np.isnan(rows.X).any(1)

        def log_prob(X: np.ndarray, w: np.ndarray, k: int, other: np.ndarray):
            scatter = scatter_of(X, w)
            found = self._loadings(scatter.matrix / scatter.weight, k)
            return found.normal(scatter.mean).log_prob(other)

        self.held_out_nats_ = compare_fits(
            rows.X[complete],
            rows.w[complete],
            log_prob,
            most=most_factors(d),
            seed=seed_of(self.random_state),
        )
        return 1 if self.held_out_nats_ is None else self.held_out_nats_.best

    def _loadings(self, S: np.ndarray, k: int) -> Loadings:
        fit = fit_direct if self.method == "direct" else fit_em
        return fit(S, k, tol=self.tol, max_iter=self.max_iter)

    def _fit_missing(self, rows: Rows, k: int) -> tuple[LowRankNormal, list[float]]:
        """Expectation maximisation; each M step maximises the likelihood of a covariance."""

        def maximise(S: np.ndarray, before: LowRankNormal | None) -> LowRankNormal:
            start = None if before is None else before.psi
            options = {"tol": self.tol, "max_iter": self.max_iter}
            found = fit_direct(S, k, start=start, **options)
            return found.normal(np.zeros(len(S)))

        options = {"tol": self.tol, "max_iter": self.max_iter}
        fit = fit_missing(rows.X, rows.w, maximise, **options)
        return fit.normal, fit.path

    def _normal(self) -> LowRankNormal:
        W = self.components_.T @ np.linalg.inv(self.rotation_matrix_)
        return LowRankNormal(self.mean_, W, self.noise_variance_)

    def _inputs(self, X: Any) -> np.ndarray:
        X = check_inputs(self, X, allow_nan=True)
        if np.isinf(X).any():
            raise InputError("X contains infinity; mark such values as missing (NaN).")
        return X

    def _columns(self, X: np.ndarray) -> np.ndarray:
        return self._normal().posterior_mean(X) @ np.linalg.inv(self.rotation_matrix_).T

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def most_factors(d: int) -> int:
    """The largest k for which d columns have more covariances than parameters."""
    return max(k for k in range(1, max(d, 2)) if k == 1 or (d - k) ** 2 >= d + k)
