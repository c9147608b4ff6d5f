r"""The Gaussian process latent variable model: rows as smooth functions of few coordinates."""

import warnings
from typing import Any, no_type_check

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from likely.base.rows import dense
from likely.base.settings import at_least, one_of, store
from likely.base.transformer import Transformer
from likely.core.checks import InputError, check_finite
from likely.core.random import seed_of
from likely.core.threads import one_thread
from likely.latent.manifolds.gplvm_bound import KERNELS, Kernel
from likely.latent.manifolds.gplvm_fit import Predictor, fit_latent, minimize_rows

MAX_EXACT_ROWS, INDUCING = 300, 40
"""More rows than that are fitted with so many inducing inputs, unless told otherwise."""
ROW_STEPS, MIN_STEPS, MAX_STEPS = 1_000_000, 50, 500
"""Rows times steps of a fit that is not told how many steps, within limits."""
CANDIDATES, TRIES, CHUNK = 500, 3, 2000
"""Positions of the fit where a new row may begin, how many it tries, and rows at once."""


class GPLVM(Transformer):
    r"""Columns as Gaussian processes of latent positions: $\max_Z \log N(Y; 0, K(Z))$.

    The nonlinear sister of probabilistic PCA, which it is with a linear kernel. Each column of the
    centred rows is a draw of one Gaussian process over q latent coordinates, plus noise.
    Positions, kernel and noise are those of largest likelihood, times a standard normal prior of
    the positions, from a start at the principal components.

    Args:
        n_components: q, the number of latent coordinates.
        kernel: "rbf", of length scale 1: how far the positions spread along a coordinate says
            how much it matters; or "linear".
        n_inducing: the number of inducing inputs of the sparse bound, whose time grows as
            n·m²; "all" is the exact likelihood, in n³; None: exact up to 300 rows, and 40
            inducing inputs above.
        alpha: the strength of the prior of the positions; 0 is maximum likelihood.
        max_iter: the limit of steps; where None 500, less for more than 2000 rows.
        random_state: places inducing inputs, and coordinates beyond the rank of the rows.

    Attributes:
        embedding_: (n, q) the positions of the rows of the fit.
        log_likelihood_: log N(Y; 0, K) of all rows, or its lower bound where it is sparse.
        relevance_: (q,) the variance of the positions along each coordinate, in squared
            length scales: near 0 where it is not used.
        noise_std_: the standard deviation of the noise.
        inducing_: (m, q) the inducing inputs, none where the likelihood is exact.
        n_iter_: the number of steps.
    """

    n_components: Any
    kernel: Any
    n_inducing: Any
    alpha: Any
    max_iter: Any
    random_state: Any

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: str = "rbf",
        n_inducing: int | str | None = None,
        alpha: float = 1.0,
        max_iter: int | None = None,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any = None) -> "GPLVM":
        """Find the latent positions.

        Args:
            X: (n, d) rows, columns of comparable units.
            y: not used.
        """
        q = at_least("n_components", self.n_components, 1, whole=True)
        name = one_of("kernel", self.kernel, KERNELS)
        alpha = at_least("alpha", self.alpha)
        X = validate_data(self, dense(X), dtype=np.float64, ensure_all_finite=False)
        check_finite("X", X, names=getattr(self, "feature_names_in_", None))
        n = len(X)
        self.location_ = X.mean(0)
        size = np.sqrt(np.mean((X - self.location_) ** 2))
        self.scale_ = float(size if size > 1e-12 * np.abs(X).max() else 1.0)
        Y = (X - self.location_) / self.scale_
        rng = np.random.default_rng(seed_of(self.random_state))
        with one_thread():
            Z, strengths = _principal(Y, q, rng)
        steps, m = self._steps(n), self._inducing(n)
        U = Z[np.sort(rng.choice(n, m, replace=False))] if m else Z[:0]
        U = U + 0.1 * rng.normal(size=U.shape)
        if name == "linear":
            Z = Z * np.sqrt(strengths)
        with (
            one_thread()
        ):  # the same bits on any machine, and no waiting for small products
            found = fit_latent(Y, Z, U, Kernel(name, np.zeros(q), 0.0), alpha, steps)
        self.n_iter_ = max(int(found.rounds), 1)
        if not found.converged and self.max_iter is not None:
            warnings.warn(
                f"the positions still moved after {steps} steps; raise max_iter.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.embedding_, self.inducing_ = found.Z, found.U
        self.kernel_name_ = name
        self.log_a_, self.log_s_ = found.kernel.log_a, found.kernel.log_s
        prior = 0.5 * alpha * (found.Z**2).sum()
        self.log_likelihood_ = float(found.value + prior - Y.size * np.log(self.scale_))
        self.noise_std_ = float(np.sqrt(found.noise) * self.scale_)
        with one_thread():
            self._keep(Predictor.of(found, Y))
        return self

    @property
    def relevance_(self) -> np.ndarray:
        """(q,) the variance of the positions along each coordinate."""
        return self.embedding_.var(0)

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """(n, q) the positions of rows, found by `transform` after the fit."""
        return self.fit(X).transform(X)

    def inverse_transform(self, Z: Any, *, return_std: bool = False) -> Any:
        """(n, d) the mean rows at latent positions.

        Args:
            Z: (n, q) positions.
            return_std: whether to return the standard deviation of each row's columns too.
        """
        check_is_fitted(self)
        Z = np.asarray(Z, np.float64)
        q = self.embedding_.shape[1]
        if Z.ndim != 2 or Z.shape[1] != q:
            raise InputError(f"Z has shape {Z.shape}; give rows of {q} coordinates.")
        mean, variance = self._predictor()(Z)
        rows = self.location_ + self.scale_ * mean
        return (rows, self.scale_ * np.sqrt(variance)) if return_std else rows

    def _columns(self, X: np.ndarray) -> np.ndarray:
        Y, predict = (X - self.location_) / self.scale_, self._predictor()
        with one_thread():
            chunks = [Y[i : i + CHUNK] for i in range(0, len(Y), CHUNK)]
            return np.concatenate([self._search(chunk, predict) for chunk in chunks])

    def _search(self, Y: np.ndarray, predict: Predictor) -> np.ndarray:
        """The likeliest positions of rows, from the best few of those of the fit."""
        alpha, n = float(self.alpha), len(self.embedding_)
        starts = self.embedding_[np.linspace(0, n - 1, min(n, CANDIDATES)).astype(int)]
        mean, v = predict(starts)
        squares = (Y**2).sum(1)[:, None] - 2 * Y @ mean.T + (mean**2).sum(1)
        losses = 0.5 * (
            Y.shape[1] * np.log(v) + squares / v + alpha * (starts**2).sum(1)
        )
        best = np.argsort(losses, axis=1, kind="stable")[:, :TRIES]
        Z, least = np.zeros((len(Y), starts.shape[1])), np.full(len(Y), np.inf)
        for column in best.T:
            found, f = minimize_rows(
                lambda at, rows: predict.loss(at, Y[rows], alpha), starts[column]
            )
            Z = np.where((f < least)[:, None], found, Z)
            least = np.minimum(f, least)
        return Z

    def _steps(self, n: int) -> int:
        if self.max_iter is None:
            return min(max(ROW_STEPS // n, MIN_STEPS), MAX_STEPS)
        return at_least("max_iter", self.max_iter, 1, whole=True)

    def _inducing(self, n: int) -> int:
        """The number of inducing inputs; 0 where the likelihood is exact."""
        given = self.n_inducing
        if given is None:
            return 0 if n <= MAX_EXACT_ROWS else INDUCING
        if isinstance(given, str):
            one_of("n_inducing", given, ["all"])
            return 0
        return min(at_least("n_inducing", given, 1, whole=True), n)

    def _keep(self, predict: Predictor) -> None:
        self.inputs_, self.weights_ = predict.U, predict.W
        self.explained_, self.noise_ = predict.C, predict.noise

    def _predictor(self) -> Predictor:
        kernel = Kernel(self.kernel_name_, self.log_a_, self.log_s_)
        return Predictor(
            kernel, self.inputs_, self.weights_, self.explained_, self.noise_
        )

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


def _principal(
    Y: np.ndarray, q: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """(n, q) principal components of unit variance, and the share of variance of each."""
    left, values, _ = np.linalg.svd(Y, full_matrices=False)
    left *= np.where(left.sum(0) < 0, -1.0, 1.0)
    Z, strengths = 0.1 * rng.normal(size=(len(Y), q)), np.full(q, 1e-3)
    rank = min(q, int((values > 1e-10 * max(values[0], 1e-300)).sum()))
    Z[:, :rank] = left[:, :rank] * np.sqrt(len(Y))
    strengths[:rank] = np.maximum(
        values[:rank] ** 2 / max((values**2).sum(), 1e-300), 1e-3
    )
    return Z, strengths
