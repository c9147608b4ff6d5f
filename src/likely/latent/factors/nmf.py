r"""Non-negative matrix factorisation: X ≈ Z B with no negative number in either.

Parts add up and never cancel, so that components look like parts of the rows: strokes of
digits, topics of texts. Each loss is the likelihood of a distribution with mean $λ = zB$:

| loss | −log p(x), up to a constant | distribution |
|---|---|---|
| Frobenius | $(x - λ)^2 / (2 s^2)$ | normal |
| Kullback-Leibler | $λ - x \log λ$ | Poisson |
| Itakura-Saito | $\log λ + x / λ$ | exponential |
"""

from typing import Any, no_type_check

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likely.base.rows import Rows, dense
from likely.base.settings import at_least, one_of, store
from likely.base.transformer import Transformer
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.latent.factors import (
    hierarchical_least_squares as least_squares,
    multiplicative_updates as multiplicative,
)
from likely.latent.factors.held_out_entries import compare_entries, log_density
from likely.latent.factors.nonnegative import check_not_negative, start_factors
from likely.latent.factors.rows import checked_rows

STARTS = ("nndsvd", "nndsvda", "random")


class NMF(Transformer):
    """Non-negative matrix factorisation, weighted, of dense or sparse rows.

    `transform` gives Z, the best one for each row on its own; B is `components_`.

    Args:
        n_components: how many; "nats" for the number that gives held-out entries of X the
            largest likelihood; "auto" for as many as columns.
        init: "nndsvd", "nndsvda", "random", or None for "nndsvda" where there are fewer
            components than rows and columns.
        solver: "cd", coordinate descent, for the Frobenius loss; "mu", multiplicative
            updates, for any; "auto".
        beta_loss: "frobenius", "kullback-leibler" or "itakura-saito".
        tol: stop where the projected gradient ("cd") is this share of the first one, or
            the root of the loss ("mu") falls by less than this share.
        max_iter: the largest number of iterations.
        alpha_W: strength of the penalty of Z.
        alpha_H: strength of the penalty of B; "same" as that of Z.
        l1_ratio: the share of the sum of entries in the penalty; the rest is of squares.
        random_state: seed of the start, and of the entries held out by "nats".

    Attributes:
        components_: (k, d) B.
        n_components_: k.
        reconstruction_err_: √(2 Σ w D(x, zB)), for the Frobenius loss √(Σ w ‖x − zB‖²).
        noise_variance_: s² of the normal distribution of the Frobenius loss.
        n_iter_: iterations.
        held_out_nats_: the comparison of "nats", a `HeldOutNats`.

    Examples:
        >>> X = np.random.default_rng(0).random((20, 6))
        >>> bool((lk.NMF(2).fit(X).components_ >= 0).all())
        True
    """

    n_components: Any
    init: Any
    solver: Any
    beta_loss: Any
    tol: Any
    max_iter: Any
    alpha_W: Any
    alpha_H: Any
    l1_ratio: Any
    random_state: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        init: str | None = None,
        solver: str = "auto",
        beta_loss: str = "frobenius",
        tol: float = 1e-4,
        max_iter: int = 200,
        alpha_W: float = 0.0,
        alpha_H: float | str = "same",
        l1_ratio: float = 0.0,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "NMF":
        """Find B.

        Args:
            X: (n, d) numbers of at least 0, dense or sparse.
            y: not used.
            sample_weight: how often each row counts.
        """
        one_of("beta_loss", self.beta_loss, multiplicative.LOSSES)
        if self.init is not None:
            one_of("init", self.init, STARTS)
        one_of("solver", self.solver, ("auto", "cd", "mu"))
        if self.solver == "cd" and self.beta_loss != "frobenius":
            raise InputError(
                f"solver='cd' minimises the Frobenius loss, not {self.beta_loss!r}; use "
                "solver='mu' or 'auto'."
            )
        tol = at_least("tol", self.tol)
        most = at_least("max_iter", self.max_iter, 1, whole=True)
        rows = checked_rows(self, X, sample_weight, keep_sparse=True, minimum=1)
        check_not_negative(self, rows.X, above=self.beta_loss == "itakura-saito")
        k, seed = self._count(rows), seed_of(self.random_state)
        Z, B = start_factors(rows.X, rows.w, k, self.init, seed)
        penalties = self._penalties(rows.X.shape[1], float(rows.w.sum()))
        options = {"tol": tol, "max_iter": most}
        beta = multiplicative.LOSSES[self.beta_loss]
        if self.solver == "mu" or beta != 2:
            Z, B, steps = multiplicative.fit_multiplicative(
                rows.X, rows.w, Z.T.copy(), B, penalties, beta=beta, **options
            )
        else:
            Z, B, steps = least_squares.fit_least_squares(
                rows.X, rows.w, Z, B, penalties, **options
            )
            Z = Z.T
        self.components_, self.n_components_, self.n_iter_ = B, k, steps
        loss = multiplicative.divergence(rows.X, Z, B, rows.w, beta)
        self.reconstruction_err_ = float(np.sqrt(max(2 * loss, 0.0)))
        numbers = float(rows.w.sum()) * rows.X.shape[1]
        self.noise_variance_ = max(2 * loss / numbers, 1e-12) if beta == 2 else 1.0
        return self

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """(n, d) Z B."""
        check_is_fitted(self)
        return np.asarray(Z, np.float64) @ self.components_

    def transform(self, X: Any) -> np.ndarray:
        """(n, k) the Z that is best for each row; it may be sparse."""
        check_is_fitted(self)
        X = checked_rows(self, X, keep_sparse=True, reset=False, minimum=1).X
        check_not_negative(self, X, above=self.beta_loss == "itakura-saito")
        return self._columns(X)

    def log_prob(self, X: Any) -> np.ndarray:
        """(n,) log p(x | z) of each row at its best z, in nats.

        The distribution is that of the loss: normal, Poisson or exponential. Since z is
        fitted to the row itself, this is not the probability of a new row: to compare
        numbers of components use "nats".
        """
        Z = self.transform(X)
        X = np.asarray(dense(X), np.float64)
        beta = multiplicative.LOSSES[self.beta_loss]
        mean = Z @ self.components_
        return log_density(X, mean, beta, self.noise_variance_).sum(1)

    def _columns(self, X: Any) -> np.ndarray:
        beta = multiplicative.LOSSES[self.beta_loss]
        l1, l2 = self._penalties(X.shape[1], 1.0)[:2]
        if beta == 2:
            return least_squares.solve_rows(X, self.components_, l1, l2)
        return multiplicative.solve_rows(X, self.components_, l1, l2, beta=beta)

    def _penalties(self, d: int, weight: float) -> tuple[float, float, float, float]:
        """Of |Z|, Z²/2, |B| and B²/2, on scikit-learn's scale."""
        share = at_least("l1_ratio", self.l1_ratio)
        of_z = at_least("alpha_W", self.alpha_W) * d
        given = self.alpha_W if self.alpha_H == "same" else self.alpha_H
        of_b = at_least("alpha_H", given) * weight
        return of_z * share, of_z * (1 - share), of_b * share, of_b * (1 - share)

    def _count(self, rows: Rows) -> int:
        """The number of components; stores the comparison that found it."""
        vars(self).pop("held_out_nats_", None)
        if self.n_components == "auto":
            return rows.X.shape[1]
        if self.n_components != "nats":
            return at_least("n_components", self.n_components, 1, whole=True)
        beta = multiplicative.LOSSES[self.beta_loss]
        self.held_out_nats_ = compare_entries(
            dense(rows.X), rows.w, beta, seed=seed_of(self.random_state)
        )
        return self.held_out_nats_.best

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
