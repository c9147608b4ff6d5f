r"""Mixtures of normal distributions by EM: $p(x) = \sum_j π_j N(x; μ_j, Σ_j)$."""

import warnings
from typing import Any, no_type_check

import numpy as np
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from likely.base.density import Density
from likely.base.rows import check_inputs, weights_of
from likely.base.settings import at_least, one_of, store
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.latent.clusters.gaussian.choice import (
    CRITERIA,
    Fitting,
    chosen_number,
    criterion_value,
)
from likely.latent.clusters.gaussian.components import KINDS, Components
from likely.latent.clusters.gaussian.incomplete import IncompleteRows
from likely.latent.clusters.gaussian.starts import given_start
from likely.latent.clusters.row_order import ordered_rows
from likely.latent.clusters.rows import (
    check_present,
    default_starts,
    standardisation,
    weighted_rows,
)

LEAST_FLOOR = 1e-10
"""Below this share of the variance of a column, rounding decides a covariance."""


class GaussianMixture(Density):
    r"""Rows from one of k normal distributions: $p(x) = \sum_j π_j N(x; μ_j, Σ_j)$.

    Fitted by EM from several starts at once, in double precision; the likelihood never
    falls. Where values are missing (NaN) the likelihood is that of what was observed. The
    result does not depend on the order of rows, nor on the units of the columns.

    Args:
        n_components: k, or how to choose it: "bic", "aic", or "nats" for the likelihood of
            held-out rows. There are at most as many components as different rows.
        covariance_type: "full", "tied" (one for all components), "diag" or "spherical".
        n_init: the number of starts; "auto" is 10, and 3 for more than 10,000 rows.
        tol: a start ends when the mean log-likelihood of a row rises by less, in nats.
        max_iter: the largest number of steps of a start.
        reg_covar: the smallest variance of a component in any direction, as a share of the
            variances of the columns. Of several starts one without such a component is
            preferred.
        max_components: the largest number that is tried where it is chosen.
        weights_init: (k,) π to start from; `means_init` has to be given too.
        means_init: (k, d) μ to start from, in the place of k-means; then there is one start.
        precisions_init: the inverse covariances to start from.
        random_state: of the starts.

    Attributes:
        weights_: (k,) π.
        means_: (k, d) μ.
        covariances_: Σ: (k, d, d), (d, d) if tied, (k, d) if diagonal, (k,) if spherical.
        n_components_: k.
        lower_bound_: the mean log-likelihood of a row, in nats.
        lower_bounds_: (t,) the same before each step and at the end.
        converged_: whether the best start ended before `max_iter`.
        n_iter_: its number of steps.
        location_: (d,) the means of the columns.
        scale_: (d,) their standard deviations; EM runs on columns of mean 0 and variance 1.
        criterion_values_: the criterion from 1 component on, where it chose.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> X = np.r_[rng.normal(0, 1, (50, 1)), rng.normal(8, 1, (50, 1))]
        >>> np.sort(lk.GaussianMixture(2).fit(X).means_[:, 0]).round()
        array([0., 8.])
    """

    n_components: Any
    covariance_type: Any
    n_init: Any
    tol: Any
    max_iter: Any
    reg_covar: Any
    max_components: Any
    weights_init: Any
    means_init: Any
    precisions_init: Any
    random_state: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_components: int | str = "bic",
        *,
        covariance_type: str = "full",
        n_init: int | str = "auto",
        tol: float = 1e-4,
        max_iter: int = 300,
        reg_covar: float = 1e-6,
        max_components: int = 10,
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> "GaussianMixture":
        """Find the components of largest likelihood.

        Args:
            X: (n, d) rows; NaN is a missing value.
            y: not used.
            sample_weight: how often each row counts.
        """
        X, w = weighted_rows(self, X, sample_weight, allow_nan=True)
        rows = ordered_rows(X[w > 0], w[w > 0])
        one_of("covariance_type", self.covariance_type, KINDS)
        common = self.covariance_type == "spherical"
        self.location_, self.scale_ = standardisation(rows.X, rows.w, common=common)
        Z = (rows.X - self.location_) / self.scale_
        fitting = self._fitting(len(Z))
        units = float(rows.w @ (~np.isnan(Z) @ np.log(self.scale_)))
        k = self._number(Z, rows.w, fitting, units)
        if self.means_init is None:
            found, best = fitting.best(Z, rows.w, k)
        else:
            names = "means_init", "weights_init", "precisions_init"
            start = given_start(
                Z,
                rows.w,
                k,
                kind=fitting.kind,
                given={name: getattr(self, name) for name in names},
                middle=self.location_,
                scale=self.scale_,
            )
            found, best = fitting.from_start(Z, rows.w, start)
        self._keep(best)
        self.lower_bounds_ = found.paths[found.best] - units / rows.w.sum()
        self.lower_bound_ = float(self.lower_bounds_[-1])
        self.n_iter_ = int(found.n_iter[found.best])
        self.converged_ = bool(found.converged[found.best])
        if not self.converged_:
            warnings.warn(
                f"EM did not converge in {self.max_iter} steps; give a larger max_iter, or a "
                "larger tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def log_prob(self, X: Any) -> np.ndarray:
        """(n,) log p(x) of what is observed of each row, in nats."""
        return np.asarray(logsumexp(self._log_joint(X), axis=1))

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, k) the probability that each row came from each component."""
        joint = self._log_joint(X)
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def responsibilities(self, X: Any) -> np.ndarray:
        """(n, k) the probabilities of components: another name for `predict_proba`."""
        return self.predict_proba(X)

    def predict(self, X: Any) -> np.ndarray:
        """(n,) the most probable component of each row."""
        return self._log_joint(X).argmax(1)

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Fit, and the most probable component of each row."""
        return self.fit(X, y, sample_weight).predict(X)

    def sample(self, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """(n, d) independent draws."""
        check_is_fitted(self)
        rng = np.random.default_rng(seed_of(random_state))
        z = rng.choice(len(self.weights_), n, p=self.weights_)
        roots = np.linalg.cholesky(self._standard()[2])
        draws = np.einsum(
            "nij,nj->ni", roots[z], rng.normal(size=(n, len(self.scale_)))
        )
        return self.means_[z] + draws * self.scale_

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """The Bayesian information criterion; smaller is better."""
        return self._criterion("bic", X, sample_weight)

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike's information criterion; smaller is better."""
        return self._criterion("aic", X, sample_weight)

    def _criterion(self, name: str, X: Any, sample_weight: Any) -> float:
        weight = weights_of(sample_weight, len(X)).sum()
        log_prob = self.score(X, sample_weight=sample_weight) * weight
        k, d = self.means_.shape
        size = {"kind": self.covariance_type, "k": k, "d": d}
        return criterion_value(name, log_prob, weight, **size)

    def _fitting(self, n: int) -> Fitting:
        floor = max(at_least("reg_covar", self.reg_covar), LEAST_FLOOR)
        return Fitting(
            self.covariance_type,
            floor,
            at_least("tol", self.tol),
            at_least("max_iter", self.max_iter, 1, whole=True),
            default_starts(self.n_init, n),
            seed_of(self.random_state),
        )

    def _number(
        self, Z: np.ndarray, w: np.ndarray, fitting: Fitting, units: float
    ) -> int:
        """k, at most the number of different rows; the log of units is added to criteria."""
        k = self.n_components
        if isinstance(k, str):
            one_of("n_components", k, CRITERIA)
            most = at_least("max_components", self.max_components, 1, whole=True)
            shift = units / w.sum() if k == "nats" else 2 * units
            k, values = chosen_number(Z, w, fitting, k, most)
            self.criterion_values_ = values + shift
        k = at_least("n_components", k, 1, whole=True)
        if k > len(Z):
            raise InputError(
                f"n_components is {k}, but there are {len(Z)} different rows (n_samples = "
                f"{len(Z)}); ask for fewer components, or give more rows."
            )
        return k

    def _keep(self, best: Components) -> None:
        """Store the components in the units of the columns."""
        weights, means, S, _ = (a[0] for a in best)
        kind, scale = self.covariance_type, self.scale_
        self.weights_, self.n_components_ = weights, len(weights)
        self.means_ = means * scale + self.location_
        S = S * (np.outer(scale, scale) if S.ndim == 3 else scale**2)
        self.covariances_ = {"tied": S[0], "spherical": S.T[0]}.get(kind, S)

    def _standard(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights, means and covariance matrices for columns of mean 0 and variance 1."""
        k, d = self.means_.shape
        S = np.asarray(self.covariances_)
        if self.covariance_type in ("diag", "spherical"):
            S = S.reshape(k, -1, 1) * np.eye(d)
        S = np.broadcast_to(S, (k, d, d)) / np.outer(self.scale_, self.scale_)
        return self.weights_, (self.means_ - self.location_) / self.scale_, S

    def _log_joint(self, X: Any) -> np.ndarray:
        """(n, k) log π + log p(x | component) of what is observed."""
        X = check_inputs(self, X, allow_nan=True)
        names = getattr(self, "feature_names_in_", None)
        check_present("X", X, names=names, allow_nan=True)
        weights, means, S = self._standard()
        own = Components(
            weights[None], means[None], S[None], np.zeros((1, len(means)), bool)
        )
        rows = IncompleteRows((X - self.location_) / self.scale_, np.ones(len(X)))
        return rows.log_joint(own)[0] - (~np.isnan(X) @ np.log(self.scale_))[:, None]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
