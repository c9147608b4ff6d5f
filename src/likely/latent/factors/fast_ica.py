r"""Independent component analysis: x = μ + A s with independent sources that are not normal.

Rows are whitened, which leaves a rotation; a mixture of sources is closer to normal than the
sources are, so the rotation is chosen that makes the components least normal. FastICA
(Hyvärinen, 1999) repeats for each row u of the unmixing matrix

$$u \leftarrow E[x\, g(u^\top x)] - E[g'(u^\top x)]\, u,$$

and makes the rows orthonormal: all at once ("parallel") or one after another ("deflation").
"""

import warnings
from collections.abc import Callable
from typing import Any, no_type_check

import numpy as np
from scipy.linalg import polar
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from likely.base.settings import at_least, one_of, store
from likely.base.transformer import Transformer
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.latent.factors.component_count import component_count
from likely.latent.factors.rows import checked_rows
from likely.latent.factors.spectrum import exact_spectrum

Slope = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def logcosh(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The slope tanh of log cosh, and its derivative: good for most sources."""
    g = np.tanh(u)
    return g, 1 - g**2


def exp(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The slope of −exp(−u²/2), and its derivative: for sources with heavy tails."""
    e = np.exp(-0.5 * u**2)
    return u * e, (1 - u**2) * e


def cube(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The slope of the kurtosis, and its derivative: for sources without outliers."""
    return u**3, 3 * u**2


SLOPES: dict[str, Slope] = {"logcosh": logcosh, "exp": exp, "cube": cube}


class FastICA(Transformer):
    """Independent components by FastICA, weighted; sources have variance 1.

    Args:
        n_components: how many sources; None for all directions in which the rows vary.
        algorithm: "parallel" or "deflation".
        fun: what measures how far from normal a component is: "logcosh", "exp" or "cube".
        max_iter: the largest number of iterations.
        tol: stop when no direction changes by more.
        w_init: (k, k) the unmixing matrix of whitened rows to begin with.
        random_state: seed of that matrix.

    Attributes:
        components_: (k, d) the unmixing matrix: s = components_ (x − μ).
        mixing_: (d, k) the mixing matrix A, its pseudo-inverse.
        mean_: (d,) μ.
        whitening_: (k, d) what whitens the rows.
        n_iter_: iterations, of the slowest component for "deflation".

    Examples:
        >>> sources = np.random.default_rng(0).laplace(size=(200, 2))
        >>> X = sources @ np.array([[1.0, 0.5], [0.3, 1.0]])
        >>> lk.FastICA(2).fit_transform(X).shape
        (200, 2)
    """

    n_components: Any
    algorithm: Any
    fun: Any
    max_iter: Any
    tol: Any
    w_init: Any
    random_state: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_components: int | None = None,
        *,
        algorithm: str = "parallel",
        fun: str = "logcosh",
        max_iter: int = 500,
        tol: float = 1e-5,
        w_init: Any = None,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "FastICA":
        """Find the sources.

        Args:
            X: (n, d) rows.
            y: not used.
            sample_weight: how often each row counts.
        """
        one_of("algorithm", self.algorithm, ("parallel", "deflation"))
        slope = SLOPES[one_of("fun", self.fun, SLOPES)]
        tol = at_least("tol", self.tol)
        most = at_least("max_iter", self.max_iter, 1, whole=True)
        rows = checked_rows(self, X, sample_weight)
        n, d = rows.X.shape
        k = component_count(self.n_components, d, int(rows.w.sum()), share=False)
        if k == "nats":
            raise InputError(
                "FastICA has no likelihood, so n_components has to be a number or None."
            )
        found = exact_spectrum(rows.X, rows.w, by_scatter=n > d)
        k = min(int(k or d), found.rank)
        if k < 1:
            raise InputError("the rows are all equal: there are no sources to find.")
        scale = np.sqrt(found.squares[:k] / found.weight)
        self.mean_ = found.mean
        self.whitening_ = found.components[:k] / scale[:, None]
        white = (rows.X - found.mean) @ self.whitening_.T
        share = rows.w / found.weight
        start = self._start(k)
        solve = _parallel if self.algorithm == "parallel" else _deflation
        U, self.n_iter_ = solve(white, share, start, slope, tol=tol, most=most)
        if self.n_iter_ >= most:
            warnings.warn(
                f"FastICA stopped after {most} iterations without settling; raise "
                "max_iter or tol, or ask for fewer components.",
                ConvergenceWarning,
                stacklevel=2,
            )
        components = U @ self.whitening_
        largest = np.abs(components).argmax(1)
        signs = np.sign(components[np.arange(k), largest])
        self.components_ = components * signs[:, None]
        self.mixing_ = np.linalg.pinv(self.components_)
        return self

    def inverse_transform(self, S: Any) -> np.ndarray:
        """(n, d) the rows that sources give: μ + A s."""
        check_is_fitted(self)
        return self.mean_ + np.asarray(S, np.float64) @ self.mixing_.T

    def _start(self, k: int) -> np.ndarray:
        if self.w_init is None:
            rng = np.random.default_rng(seed_of(self.random_state))
            return rng.normal(size=(k, k))
        given = np.asarray(self.w_init, np.float64)
        if given.shape != (k, k):
            raise InputError(f"w_init has shape {given.shape}; give shape ({k}, {k}).")
        return given

    def _columns(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean_) @ self.components_.T

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


def _parallel(
    X: np.ndarray, w: np.ndarray, U: np.ndarray, slope: Slope, *, tol: float, most: int
) -> tuple[np.ndarray, int]:
    """All directions together, made orthonormal by the polar decomposition."""
    U = polar(U)[0]
    for step in range(1, most + 1):
        g, slopes = slope(X @ U.T)
        g *= w[:, None]
        new = polar(g.T @ X - (w @ slopes)[:, None] * U)[0]
        change = np.abs(np.abs(np.einsum("ij,ij->i", new, U)) - 1).max()
        U = new
        if change < tol:
            return U, step
    return U, most


def _deflation(
    X: np.ndarray, w: np.ndarray, U: np.ndarray, slope: Slope, *, tol: float, most: int
) -> tuple[np.ndarray, int]:
    """One direction after another, each orthogonal to those before."""
    found, slowest = np.zeros_like(U), 0
    for j, start in enumerate(U):
        u = start - found[:j].T @ (found[:j] @ start)
        u, steps = u / np.linalg.norm(u), 0
        while steps < most:
            steps += 1
            g, slopes = slope(X @ u)
            new = (w * g) @ X - (w @ slopes) * u
            new -= found[:j].T @ (found[:j] @ new)
            new /= np.linalg.norm(new)
            change = abs(abs(float(new @ u)) - 1)
            u = new
            if change < tol:
                break
        found[j], slowest = u, max(slowest, steps)
    return found, slowest
