"""How latent positions are found: L-BFGS for those of the fit, a small BFGS for each new row."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from likely.latent.manifolds.gplvm_bound import (
    Kernel,
    log_likelihood,
    sparse_bound,
    whitening,
)

LOG_RANGE = (-12.0, 12.0)
"""Limits of the logarithm of the kernel's variance."""
MIN_LOG_NOISE, MAX_LOG_NOISE = np.log(1e-6), np.log(10.0)
ROUNDS, HALVINGS = 60, 20
"""Steps of the search for the position of a new row, and trials of each step."""


class Latent(NamedTuple):
    """Latent positions, inducing inputs (none: exact), kernel and noise."""

    Z: np.ndarray
    U: np.ndarray
    kernel: Kernel
    noise: float
    value: float
    """The penalised log-likelihood, or its bound."""
    rounds: int
    message: str
    converged: bool


def fit_latent(  # noqa: PLR0917
    Y: np.ndarray,
    Z: np.ndarray,
    U: np.ndarray,
    kernel: Kernel,
    alpha: float,
    max_iter: int,
) -> Latent:
    """Maximise log p(Y | Z) − α|Z|²/2 over Z, U, the kernel's variance and the noise.

    Args:
        Y: (n, d) rows.
        Z: (n, q) where to begin.
        U: (m, q) inducing inputs to begin with; none for the exact likelihood.
        kernel: to begin with.
        alpha: the strength of the standard normal prior of Z.
        max_iter: the limit of steps.
    """
    n, m, q, d = Z.size, U.size, Z.shape[1], Y.shape[1]
    R = _reduced(Y)

    def unpack(v: np.ndarray) -> tuple[Kernel, np.ndarray, np.ndarray, float]:
        own = Kernel(kernel.name, v[n + m : n + m + q], float(v[-2]))
        return (
            own,
            v[:n].reshape(Z.shape),
            v[n : n + m].reshape(-1, q),
            float(np.exp(v[-1])),
        )

    def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
        own, at, inputs, noise = unpack(v)
        try:
            if m:
                found = sparse_bound(own, at, inputs, R, noise, d)
            else:
                found = log_likelihood(own, at, R, noise, d)
        except np.linalg.LinAlgError:  # a step that went too far is taken back
            return 1e25, np.zeros_like(v)
        slope = found.slopes
        parts = [alpha * at.ravel() - slope.Z.ravel(), -slope.U.ravel(), -slope.log_a]
        value = 0.5 * alpha * (at**2).sum() - found.value
        return value, np.concatenate([*parts, [-slope.log_s, -found.log_noise]])

    start = np.concatenate(
        [Z.ravel(), U.ravel(), kernel.log_a, [kernel.log_s, np.log(0.1)]]
    )
    fixed = [(r, r) for r in kernel.log_a]  # the scale of Z stands for it
    limits = [LOG_RANGE, (MIN_LOG_NOISE, MAX_LOG_NOISE)]
    bounds = [*[(None, None)] * (n + m), *fixed, *limits]
    options = {"maxiter": max_iter, "maxfun": 2 * max_iter + 50, "maxcor": 20}
    options |= {"ftol": 1e-12, "gtol": 1e-6}
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    own, at, inputs, noise = unpack(found.x)
    return Latent(
        at, inputs, own, noise, -found.fun, found.nit, str(found.message), found.success
    )


class Predictor(NamedTuple):
    """The mean k(z)W of each column at a position z, and the variance of all of them."""

    kernel: Kernel
    U: np.ndarray
    W: np.ndarray
    C: np.ndarray
    """(m, m) with the variance k(z, z) − k(z) C k(z)ᵀ + σ²."""
    noise: float

    @classmethod
    def of(cls, found: Latent, Y: np.ndarray) -> "Predictor":
        """The posterior of the process, given the latent positions of rows."""
        kernel, noise = found.kernel, found.noise
        if not len(found.U):
            factor = cho_factor(
                kernel(found.Z, found.Z) + noise * np.eye(len(Y)), lower=True
            )
            inverse = cho_solve(factor, np.eye(len(Y)))
            return cls(kernel, found.Z, cho_solve(factor, Y), inverse, noise)
        E, upper = kernel(found.U, found.Z), whitening(kernel, kernel(found.U, found.U))
        A = upper @ E / np.sqrt(noise)
        inner = cho_factor(np.eye(len(E)) + A @ A.T, lower=True)
        B = upper.T @ cho_solve(inner, upper)
        return cls(kernel, found.U, B @ (E @ Y) / noise, upper.T @ upper - B, noise)

    def __call__(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n, d) means and (n,) variances at some positions."""
        E = self.kernel(Z, self.U)
        spread = self.kernel.diagonal(Z) - ((E @ self.C) * E).sum(1)
        return E @ self.W, np.maximum(spread, 0.0) + self.noise

    def loss(
        self, Z: np.ndarray, Y: np.ndarray, alpha: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n,) −log p(y | z) + α|z|²/2 up to a constant, and (n, q) its gradient."""
        d, E = Y.shape[1], self.kernel(Z, self.U)
        CE = E @ self.C
        spread = self.kernel.diagonal(Z) - (CE * E).sum(1)
        v, gap = np.maximum(spread, 0.0) + self.noise, E @ self.W - Y
        square = (gap**2).sum(1)
        value = 0.5 * (d * np.log(v) + square / v + alpha * (Z**2).sum(1))
        by_v = 0.5 * (d - square / v) / v * (spread > 0)
        G = (gap @ self.W.T) / v[:, None] - 2 * by_v[:, None] * CE
        slope = self.kernel.pull(G, E, Z, self.U).Z + alpha * Z
        if self.kernel.name == "linear":
            slope += 2 * by_v[:, None] * Z * self.kernel.a
        return value, slope


def minimize_rows(
    loss: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
    Z: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """BFGS for each row on its own: where its loss is least, and the loss there.

    Args:
        loss: the losses and gradients of some rows, given their positions and numbers.
        Z: (n, q) where to begin.
    """
    n, q = Z.shape
    Z, H = Z.copy(), np.tile(np.eye(q), (n, 1, 1))
    f, g = loss(Z, np.arange(n))
    H /= np.maximum(np.linalg.norm(g, axis=1), 1.0)[:, None, None]
    at = np.arange(n)
    for _ in range(ROUNDS):
        at = at[np.abs(g[at]).max(1) > 1e-8 * np.maximum(np.abs(f[at]), 1.0)]
        if not len(at):
            break
        p = -np.einsum("nij,nj->ni", H[at], g[at])
        slope, t = (p * g[at]).sum(1), np.ones(len(at))
        new = Z[at] + p
        f1, g1 = loss(new, at)
        for _ in range(HALVINGS):
            bad = ~(f1 <= f[at] + 1e-4 * t * slope)
            if not bad.any():
                break
            t[bad] *= 0.5
            new[bad] = Z[at[bad]] + t[bad, None] * p[bad]
            f1[bad], g1[bad] = loss(new[bad], at[bad])
        good = f1 < f[at]
        s, y, moved = (new - Z[at])[good], (g1 - g[at])[good], at[good]
        Z[moved], f[moved], g[moved] = new[good], f1[good], g1[good]
        H[moved] = _updated(H[moved], s, y)
        at = moved
    return Z, f


def _updated(H: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The inverse Hessians after a step; as before where the curvature is not positive."""
    sy = (s * y).sum(1)
    ok = sy > 1e-10 * np.linalg.norm(s, axis=1) * np.linalg.norm(y, axis=1)
    rho = np.where(ok, 1.0 / np.where(ok, sy, 1.0), 0.0)[:, None, None]
    V = np.eye(s.shape[1]) - rho * s[:, :, None] * y[:, None]
    return V @ H @ V.transpose(0, 2, 1) + rho * s[:, :, None] * s[:, None]


def _reduced(Y: np.ndarray) -> np.ndarray:
    """Rows of at most n columns with the same products YYᵀ."""
    if Y.shape[1] <= len(Y):
        return Y
    left, values, _ = np.linalg.svd(Y, full_matrices=False)
    return left * values
