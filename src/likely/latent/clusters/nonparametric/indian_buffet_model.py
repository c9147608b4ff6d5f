r"""Rows as sums of features that each row has or has not, of an unknown number."""

from typing import Any, NamedTuple, no_type_check

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from likely.base.rows import dense, weights_of
from likely.base.settings import above_zero, at_least, store
from likely.base.transformer import Transformer
from likely.core.checks import InputError, check_finite
from likely.core.random import seed_of
from likely.core.threads import row_blocks, thread_count, thread_map
from likely.latent.clusters.nonparametric.indian_buffet_kernel import likeliest
from likely.latent.clusters.nonparametric.indian_buffet_sampler import (
    Features,
    draw_settings,
    gibbs_sweep,
    loadings,
    log_joint,
)
from likely.latent.clusters.nonparametric.repeated_rows import repeated

BLOCKS = 8
ROW_SWEEPS, MIN_SWEEPS, MAX_SWEEPS = 300_000, 20, 300
"""Rows times sweeps of a chain that is not told how many sweeps, within limits."""
MAX_CHAIN_ROWS = 20_000
"""Rows that a chain draws the features of, at most."""


class Draws(NamedTuple):
    """The likeliest draw of a chain, and how many features and what probability it had."""

    at: Features
    log_prob: float
    counts: np.ndarray
    trace: np.ndarray


class IndianBuffetModel(Transformer):
    r"""$x_i = b + \sum_k z_{ik} a_k + ε_i$ with binary z from an Indian buffet process.

    Rows share features instead of belonging to one cluster, and how many features there are is
    learned. Loadings $a_k \sim N(0, σ_a^2 I)$ are integrated out; α and both variances are drawn
    too, with the priors Gamma(1, 1) of α and inverse Gamma(1, 1) of $σ_a^2$ and (1, 0.01) of the
    noise, in units in which a column has the mean variance 1. The draw of largest joint
    probability is kept.

    Of more than 20,000 rows, the chains draw the features of 20,000 random ones; the others
    have the features that `transform` finds.

    All columns have the same noise: give them comparable units. A weight has to be a whole
    number, and says how often a row is there.

    Args:
        alpha: the mean number of features of a row; drawn where None.
        center: whether b is the mean of the columns; otherwise b = 0, and a row without
            features is noise around zero.
        n_init: the number of independent chains, of which the likeliest draw is kept.
        n_sweeps: how often a chain draws the features of all rows; where None 300, less for
            more than 1000 rows.
        burn_in: the share of sweeps that are not considered.
        n_jobs: the number of threads of `transform`; all where None.
        random_state: of the draws.

    Attributes:
        features_: (k, d) the posterior mean of the loadings, frequent features first.
        intercept_: (d,) b.
        Z_: (n, k) the features of the rows of the fit, 0 or 1; rows of weight 0 have none.
        feature_probs_: (k,) the share of rows that have each feature.
        noise_std_: σ_x.
        alpha_: α of the draw.
        feature_counts_: (sweeps,) the number of features after each sweep of its chain.
        log_joint_: (sweeps,) the logarithm of the joint probability after each sweep.
    """

    alpha: Any
    center: Any
    n_init: Any
    n_sweeps: Any
    burn_in: Any
    n_jobs: Any
    random_state: Any

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        *,
        alpha: float | None = None,
        center: bool = True,
        n_init: int = 3,
        n_sweeps: int | None = None,
        burn_in: float = 0.5,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> "IndianBuffetModel":
        """Draw features from their posterior, and keep the likeliest draw.

        Args:
            X: (n, d) rows.
            y: not used.
            sample_weight: how often each row is there, whole numbers.
        """
        chains = at_least("n_init", self.n_init, 1, whole=True)
        if self.n_sweeps is not None:
            at_least("n_sweeps", self.n_sweeps, 1, whole=True)
        if not 0 <= at_least("burn_in", self.burn_in) < 1:
            raise InputError(
                f"burn_in is {self.burn_in}; give a share from 0 to below 1."
            )
        alpha = 1.0 if self.alpha is None else above_zero("alpha", self.alpha)
        X = validate_data(self, dense(X), dtype=np.float64, ensure_all_finite=False)
        w = weights_of(sample_weight, len(X))
        check_finite("X", X, w, names=getattr(self, "feature_names_in_", None))
        root = np.random.SeedSequence(seed_of(self.random_state))
        rng = np.random.default_rng(root)
        rows, source = repeated(X[w > 0], w[w > 0], "IndianBuffetModel", rng)
        self.intercept_ = rows.mean(0) if self.center else np.zeros(X.shape[1])
        size = np.sqrt(np.mean((rows - self.intercept_) ** 2))
        self.scale_ = float(size if size > 1e-12 * np.abs(rows).max() else 1.0)
        rows, source = rows[:MAX_CHAIN_ROWS], source[:MAX_CHAIN_ROWS]
        rows = np.ascontiguousarray((rows - self.intercept_) / self.scale_)
        sweeps = self.n_sweeps
        if sweeps is None:
            sweeps = min(max(ROW_SWEEPS // len(rows), MIN_SWEEPS), MAX_SWEEPS)
        seeds = root.spawn(chains)
        found = thread_map(
            lambda seed: self._draw(
                rows, alpha, int(sweeps), np.random.default_rng(seed)
            ),
            seeds,
            thread_count(self.n_jobs),
        )
        best = max(found, key=lambda chain: chain.log_prob)
        self.feature_counts_, self.log_joint_ = best.counts, best.trace
        own = self._keep(best.at, rows)
        drawn, there = np.flatnonzero(w > 0)[source], w > 0
        self.Z_ = np.zeros((len(X), own.shape[1]))
        self.Z_[drawn] = own
        there[drawn] = False
        self.Z_[there] = self._columns(X[there])
        return self

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """(n, d) the rows that features make: b + Z A, with the mean loadings."""
        check_is_fitted(self)
        Z = np.asarray(Z, np.float64)
        if Z.ndim != 2 or Z.shape[1] != len(self.features_):
            raise InputError(
                f"Z has shape {Z.shape}; give a row of {len(self.features_)} features each."
            )
        return self.intercept_ + Z @ self.features_

    def _draw(
        self, X: np.ndarray, alpha: float, sweeps: int, rng: np.random.Generator
    ) -> "Draws":
        """A chain, and its draw of largest joint probability."""
        at, best, trace = Features(np.zeros((len(X), 0)), alpha, 0.5, 0.5), None, []
        for s in range(sweeps):
            at = gibbs_sweep(at, X, rng)
            drawn = draw_settings(at, X, rng)
            at = drawn if self.alpha is None else drawn._replace(alpha=alpha)
            trace.append((at.Z.shape[1], log_joint(at, X)))
            late = s >= int(self.burn_in * sweeps)
            if late and (best is None or trace[-1][1] > best[0]):
                best = trace[-1][1], at
        assert best is not None
        counts, values = np.array(trace).T
        return Draws(best[1], best[0], counts.astype(int), values)

    def _keep(self, best: Features, X: np.ndarray) -> np.ndarray:
        """Keep a draw, frequent features first; the features of its rows."""
        order = np.argsort(-best.Z.sum(0), kind="stable")
        best = best._replace(Z=np.ascontiguousarray(best.Z[:, order]))
        self.covariance_, self.means_ = loadings(best, X)
        self.features_ = self.means_ * self.scale_
        self.feature_probs_ = best.Z.mean(0)
        self.noise_, self.alpha_ = best.noise, best.alpha
        self.noise_std_ = float(np.sqrt(best.noise) * self.scale_)
        return best.Z

    def _columns(self, X: np.ndarray) -> np.ndarray:
        """The likeliest features of each row, found by changing one or two at a time."""
        rows = np.ascontiguousarray((X - self.intercept_) / self.scale_)
        p = np.clip(self.feature_probs_, 1e-9, 1 - 1e-9)
        Z, odds = np.zeros((len(rows), len(p))), np.log(p / (1 - p))
        S, M = (np.ascontiguousarray(a) for a in (self.covariance_, self.means_))
        thread_map(
            lambda part: likeliest(rows, odds, self.noise_, S, M, *part, Z),
            row_blocks(len(rows), BLOCKS),
            thread_count(self.n_jobs),
        )
        return Z

    @property
    def _n_features_out(self) -> int:
        return len(self.features_)
