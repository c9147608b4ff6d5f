r"""Exponential family PCA: the general form X = f(Z B).

Each entry of a table is a draw from a family whose parameter is a product of few factors,

$$x_{ij} \sim p(x \mid η_{ij}), \qquad η_{ij} = b_j + z_i \cdot B_{\cdot j}, \qquad
  z_i \sim N(0, I),$$

so that f, the mean of the family, turns a table of rank k into counts, yes or no, waiting times.
With a normal family it is probabilistic PCA.
"""

import warnings
from typing import Any, no_type_check

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from likely.base.density import Density
from likely.base.marginal import family_of
from likely.base.rows import Rows, check_inputs
from likely.base.settings import at_least, store
from likely.base.transformer import Transformer
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.latent.factors.entry_families import NAMES, check_entries, entries_of
from likely.latent.factors.held_out import compare_fits
from likely.latent.factors.laplace_em import Fitted, Table, fit_laplace, modes
from likely.latent.factors.rows import checked_rows


class ExponentialFamilyPCA(Transformer, Density):
    """PCA of counts, of yes and no, of any family: rows are f(zB) and noise of the family.

    `transform` gives the most probable z of each row, `log_prob` the probability of a row with z
    integrated out, by Laplace's method. Values may be missing (NaN).

    Args:
        n_components: how many; "nats" for the number of largest held-out likelihood.
        family: "normal", "bernoulli", "poisson", or a family of `likely.families` with one
            parameter, such as `Exponential()`. The variance of a normal one is learned.
        alpha: penalty α/2 of the sum of squares of B, so that it stays finite.
        tol: stop where an iteration gains less, in nats per unit of weight.
        max_iter: the largest number of iterations.
        random_state: seed of the folds of "nats".

    Attributes:
        components_: (k, d) B, its rows orthogonal, the largest first.
        intercept_: (d,) b.
        noise_variance_: of a normal family; 1 for others.
        family_: the family.
        n_components_: k.
        loglike_: the log-likelihood of each iteration, in nats per unit of weight.
        n_iter_: how many there were.
        held_out_nats_: the comparison of "nats", a `HeldOutNats`.
    """

    n_components: Any
    family: Any
    alpha: Any
    tol: Any
    max_iter: Any
    random_state: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_components: int | str = 2,
        *,
        family: Any = "normal",
        alpha: float = 1e-3,
        tol: float = 1e-4,
        max_iter: int = 500,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> "ExponentialFamilyPCA":
        """Find B and b.

        Args:
            X: (n, d) rows of what the family is over; NaN is a missing value.
            y: not used.
            sample_weight: how often each row counts.
        """
        self.family_ = family_of(self.family, NAMES)
        at_least("alpha", self.alpha)
        at_least("tol", self.tol)
        most = at_least("max_iter", self.max_iter, 1, whole=True)
        rows = checked_rows(self, X, sample_weight, allow_nan=True)
        check_entries(self.family_, rows.X)
        k = self._count(rows)
        found = self._fit(rows.X, rows.w, k)
        if len(found.path) >= most:
            warnings.warn(
                f"ExponentialFamilyPCA stopped after {most} iterations that still gained; "
                "raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        U, s, _ = np.linalg.svd(found.B.T, full_matrices=False)
        signs = np.sign(U[np.abs(U).argmax(0), np.arange(U.shape[1])])
        self.components_ = (U * s * signs).T
        self.intercept_, self.noise_variance_ = found.b, found.variance
        self.loglike_, self.n_iter_ = found.path, len(found.path)
        self.n_components_ = k
        return self

    def log_prob(self, X: Any) -> np.ndarray:
        """(n,) log p(x) of each row, in nats, by Laplace's method over z."""
        return self._modes(self._inputs(X)).log_prob

    def sample(self, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """(n, d) independent draws."""
        check_is_fitted(self)
        rng = np.random.default_rng(seed_of(random_state))
        z = rng.normal(size=(n, self.n_components_))
        eta = self.intercept_ + z @ self.components_
        return entries_of(self.family_, self.noise_variance_).sample(eta, rng)

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """(n, d) E[x | z] = f(b + zB)."""
        check_is_fitted(self)
        eta = self.intercept_ + np.asarray(Z, np.float64) @ self.components_
        return entries_of(self.family_, self.noise_variance_).mean(eta)

    def _fit(self, X: np.ndarray, w: np.ndarray, k: int) -> Fitted:
        options = {"alpha": self.alpha, "tol": self.tol, "max_iter": self.max_iter}
        return fit_laplace(self.family_, _table(X, w), k, **options)

    def _count(self, rows: Rows) -> int:
        """The number of components; stores the comparison that found it."""
        vars(self).pop("held_out_nats_", None)
        d = rows.X.shape[1]
        if self.n_components != "nats":
            given = at_least("n_components", self.n_components, 1, whole=True)
            return min(given, max(d - 1, 1))
        complete = ~np.isnan(rows.X).any(1)

        def log_prob(X: np.ndarray, w: np.ndarray, k: int, other: np.ndarray):
            found = self._fit(X, w, k)
            entries = entries_of(self.family_, found.variance)
            start = np.zeros((len(other), k))
            table = _table(other, np.ones(len(other)))
            return modes(entries, table, found.b, found.B, start).log_prob

        found = compare_fits(
            rows.X[complete],
            rows.w[complete],
            log_prob,
            most=max(d - 1, 1),
            seed=seed_of(self.random_state),
        )
        self.held_out_nats_ = found
        return 1 if found is None else found.best

    def _modes(self, X: np.ndarray):
        entries = entries_of(self.family_, self.noise_variance_)
        start = np.zeros((len(X), self.n_components_))
        table = _table(X, np.ones(len(X)))
        return modes(entries, table, self.intercept_, self.components_, start)

    def _inputs(self, X: Any) -> np.ndarray:
        X = check_inputs(self, X, allow_nan=True)
        if np.isinf(X).any():
            raise InputError("X contains infinity; mark such values as missing (NaN).")
        check_entries(self.family_, X)
        return X

    def _columns(self, X: np.ndarray) -> np.ndarray:
        return self._modes(X).z

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _table(X: np.ndarray, w: np.ndarray) -> Table:
    """Entries with a value of the same column in the place of missing ones."""
    there = ~np.isnan(X)
    if there.all():
        return Table(X, there, w)
    first = X[there.argmax(0), np.arange(X.shape[1])]
    first = np.where(np.isnan(first), np.nanmin(X), first)
    return Table(np.where(there, X, first), there, w)
