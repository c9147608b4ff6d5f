r"""Probabilistic PCA: factors and noise of the same size in every column.

$$x = μ + W z + ε, \quad z \sim N(0, I), \quad ε \sim N(0, s^2 I), \qquad
  p(x) = \int p(x \mid z)\, p(z)\, dz = N(x;\; μ,\; W W^\top + s^2 I).$$

The likelihood has its maximum at $w_i = ρ_i u_i$, $ρ_i^2 = λ_i - s^2$, with the eigenvectors $u_i$
and largest eigenvalues $λ_i$ of the covariance, and $s^2$ the mean of the others. As
$s^2 \to 0$, z becomes what PCA gives, up to scale.
"""

from typing import Any, NamedTuple, no_type_check

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from likely.base.density import Density
from likely.base.rows import Rows, check_inputs
from likely.base.settings import at_least, one_of, store
from likely.base.transformer import Transformer
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.latent.factors.component_count import component_count
from likely.latent.factors.held_out import compare_principal, principal_normal
from likely.latent.factors.low_rank_normal import LowRankNormal
from likely.latent.factors.principal_fit import fit_principal_em, fit_principal_missing
from likely.latent.factors.principal_normal import PrincipalNormal
from likely.latent.factors.rows import checked_rows
from likely.latent.factors.spectrum import exact_spectrum, scatter_of


class Posterior(NamedTuple):
    """The normal distribution of z given each row.

    Attributes:
        mean: of z, for each row.
        covariance: of z, for each row; smaller where more of the row is known.
    """

    mean: Float[np.ndarray, "n k"]
    covariance: Float[np.ndarray, "n k k"]


class ProbabilisticPCA(Transformer, Density):
    """PCA as a latent variable model, by maximum likelihood.

    `transform` gives E[z | x], `posterior` the whole distribution of z.

    Args:
        n_components: how many; "nats" for the number of largest held-out likelihood.
        method: "closed" for the eigenvectors of the covariance, or "em" for expectation
            maximisation from a random start, which finds the same. Where values are
            missing it is always expectation maximisation.
        tol: expectation maximisation stops when a step gains less, in nats per unit of
            weight.
        max_iter: the largest number of its steps.
        random_state: seed of the folds of "nats", and of the start of "em".

    Attributes:
        components_: (k, d) the rows of Wᵀ, w_i = ρ_i u_i, the largest entry positive.
        directions_: (k, d) the orthonormal u_i.
        eigenvalues_: (k,) λ, the variance of the rows along each u_i, divided by N.
        noise_variance_: s².
        mean_: (d,) μ.
        n_components_: k.
        held_out_nats_: the comparison of "nats", a `HeldOutNats`.
        loglike_: the log-likelihood before each step of expectation maximisation.
        n_iter_: how many steps there were; 1 in closed form.

    Examples:
        >>> X = lk.data.iris().X
        >>> lk.ProbabilisticPCA(2).fit(X).transform(X).shape
        (150, 2)
    """

    n_components: Any
    method: Any
    tol: Any
    max_iter: Any
    random_state: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_components: int | str = "nats",
        *,
        method: str = "closed",
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> "ProbabilisticPCA":
        """Find W, s² and μ of largest likelihood.

        Args:
            X: (n, d) rows; NaN is a missing value.
            y: not used.
            sample_weight: how often each row counts.
        """
        one_of("method", self.method, ("closed", "em"))
        tol = at_least("tol", self.tol)
        most = at_least("max_iter", self.max_iter, 1, whole=True)
        rows = checked_rows(self, X, sample_weight, allow_nan=True)
        seed = seed_of(self.random_state)
        k, path = self._count(rows, seed), []
        if np.isnan(rows.X).any():
            normal, path = fit_principal_missing(rows.X, rows.w, k, tol, most)
        elif self.method == "em":
            scatter = scatter_of(rows.X, rows.w)
            S = scatter.matrix / scatter.weight
            normal, path = fit_principal_em(S, k, tol, most, seed)
            normal = normal._replace(mean=scatter.mean)
        else:
            n, d = rows.X.shape
            spectrum = exact_spectrum(rows.X, rows.w, by_scatter=n > d)
            normal = principal_normal(spectrum, k, 0)
        normal.check_density()
        gain = np.maximum(normal.variances - normal.noise, 0.0)
        self.components_ = normal.components * np.sqrt(gain)[:, None]
        self.directions_ = normal.components
        self.eigenvalues_ = normal.variances
        self.noise_variance_, self.mean_ = normal.noise, normal.mean
        self.loglike_, self.n_iter_ = path, max(len(path), 1)
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

    def posterior(self, X: Any) -> Posterior:
        """The distribution of z given each row."""
        X, model = self._inputs(X), self._latent()
        there = ~np.isnan(X)
        patterns, number = np.unique(there, axis=0, return_inverse=True)
        covariance = model.posterior_covariances(patterns)[number.ravel()]
        return Posterior(model.posterior_mean(X), covariance)

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """(n, d) E[x | z] = μ + Wz."""
        check_is_fitted(self)
        return self.mean_ + np.asarray(Z, np.float64) @ self.components_

    def get_covariance(self) -> np.ndarray:
        """(d, d) the covariance W Wᵀ + s² I of a row."""
        check_is_fitted(self)
        return self._normal().covariance

    def _count(self, rows: Rows, seed: int) -> int:
        """The number of components; stores the comparison that found it."""
        d = rows.X.shape[1]
        vars(self).pop("held_out_nats_", None)
        k = component_count(self.n_components, d, int(rows.w.sum()), share=False)
        if k is None:
            raise InputError('n_components is None; give a whole number, or "nats".')
        if k != "nats":
            return int(k)
        complete = ~np.isnan(rows.X).any(1)
        found = compare_principal(
            rows.X[complete], rows.w[complete], freedom=0, seed=seed
        )
        self.held_out_nats_ = found
        return 1 if found is None else found.best

    def _normal(self) -> PrincipalNormal:
        return PrincipalNormal(
            self.mean_, self.directions_, self.eigenvalues_, self.noise_variance_
        )

    def _latent(self) -> LowRankNormal:
        """The model of x given z; where nothing is noise, with the least there can be."""
        floor = 1e-12 * self.eigenvalues_.max()
        psi = np.full(len(self.mean_), max(self.noise_variance_, floor))
        return LowRankNormal(self.mean_, self.components_.T, psi)

    def _inputs(self, X: Any) -> np.ndarray:
        X = check_inputs(self, X, allow_nan=True)
        if np.isinf(X).any():
            raise InputError("X contains infinity; mark such values as missing (NaN).")
        return X

    def _columns(self, X: np.ndarray) -> np.ndarray:
        return self._latent().posterior_mean(X)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
