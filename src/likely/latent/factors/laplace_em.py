r"""Approximate expectation maximisation for x ~ family(η = b + z B), z ~ N(0, I).

The E step finds the mode of z of each row by Newton's method, and takes the distribution of z
given x as normal there, with the covariance $Σ_i = (I + B \operatorname{diag}(h_i) B^\top)^{-1}$,
h minus the second derivatives of log p. The M step is one Newton step of the regression of each
column on z, with the uncertainty of z in it; then z is standardised, which saves most of the
iterations (Liu, Rubin and Wu, 1998). The marginal likelihood by Laplace's method,

$$\log p(x) \approx \log p(x \mid \hat z) - \tfrac12 \lVert \hat z \rVert^2
  + \tfrac12 \log \det Σ,$$

says when to stop. For a normal family nothing is approximate: it is probabilistic PCA.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from likely.families import AbstractFamily, Normal
from likely.latent.factors.entry_families import EntryFamily, Terms, entries_of

MODE_STEPS, MODE_TOL, MAX_HALVINGS = 50, 1e-9, 12


class Table(NamedTuple):
    """Entries, which of them are there (the others hold a number nobody looks at), weights."""

    X: Float[np.ndarray, "n d"]
    there: Bool[np.ndarray, "n d"]
    w: Float[np.ndarray, " n"]


class Modes(NamedTuple):
    """What is known about z of each row.

    Attributes:
        z: the mode.
        covariance: of z around it.
        log_prob: log p(x) by Laplace's method.
        terms: log p(x | z) of each entry with derivatives; 0 where a value is missing.
    """

    z: Float[np.ndarray, "n k"]
    covariance: Float[np.ndarray, "n k k"]
    log_prob: Float[np.ndarray, " n"]
    terms: Terms


def modes(
    entries: EntryFamily, table: Table, b: np.ndarray, B: np.ndarray, z: np.ndarray
) -> Modes:
    """The mode of z of each row, by Newton's method with halved steps."""
    k = len(B)
    pairs = (B[:, None] * B[None]).reshape(k * k, -1).T

    def look(z: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, Terms]:
        found = entries.terms(b + z @ B, table.X[rows])
        parts = Terms(*(np.where(table.there[rows], a, 0.0) for a in found))
        return parts.log_prob.sum(1) - 0.5 * (z**2).sum(1), parts

    left = np.arange(len(z))
    z = z.copy()
    for _ in range(MODE_STEPS):
        value, terms = look(z[left], left)
        H = np.eye(k) + (terms.curvature @ pairs).reshape(-1, k, k)
        step = np.linalg.solve(H, (terms.slope @ B.T - z[left])[..., None])[..., 0]
        size, worse = np.ones(len(left)), np.zeros(len(left), bool)
        for _ in range(MAX_HALVINGS):
            new = look(z[left] + size[:, None] * step, left)[0]
            worse = ~(new >= value - 1e-12 * np.abs(value))
            if not worse.any():
                break
            size[worse] /= 2
        z[left] += np.where(worse, 0.0, size)[:, None] * step
        large = np.abs(step).max(1) > MODE_TOL * (1 + np.abs(z[left]).max(1))
        left = left[large & ~worse]
        if not left.size:
            break
    value, terms = look(z, np.arange(len(z)))
    H = np.eye(k) + (terms.curvature @ pairs).reshape(-1, k, k)
    log_prob = value - 0.5 * np.linalg.slogdet(H)[1]
    return Modes(z, np.linalg.inv(H), log_prob, terms)


class Fitted(NamedTuple):
    """The fitted model and the log-likelihood of each iteration, per unit of weight."""

    b: Float[np.ndarray, " d"]
    B: Float[np.ndarray, "k d"]
    variance: float
    path: list[float]


def fit_laplace(
    family: AbstractFamily,
    table: Table,
    k: int,
    *,
    alpha: float,
    tol: float,
    max_iter: int,
) -> Fitted:
    """The model of largest likelihood, by approximate expectation maximisation.

    Args:
        family: of the entries.
        table: the entries.
        k: the number of components.
        alpha: of the penalty α B²/2, which keeps B finite where classes separate.
        tol: stop where the log-likelihood gains less, in nats per unit of weight.
        max_iter: the largest number of iterations.
    """
    weight = float(table.w.sum())
    b, B, variance = _start(family, table, k)
    z, path = np.zeros((len(table.X), k)), []
    best = Fitted(b, B, variance, path)
    for _ in range(max_iter):
        found = modes(entries_of(family, variance), table, b, B, z)
        path.append(float(table.w @ found.log_prob) / weight)
        if len(path) > 1 and path[-1] < path[-2]:
            path.pop()  # an approximate step too far: the one before stays
            break
        best = Fitted(b, B, variance, path)
        if len(path) > 1 and path[-1] < path[-2] + tol:
            break
        entries = entries_of(family, variance)
        b, B = _regressions(entries, table, b, B, found=found, alpha=alpha)
        if isinstance(family, Normal):
            variance = _variance(table, b, B, found)
        b, B, z = _standardised(table.w, b, B, found)
    return best


def _start(
    family: AbstractFamily, table: Table, k: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """The best b without components by Newton's method, and B by what is left."""
    X, there, w = table
    count = w @ there
    mean = (w @ np.where(there, X, 0.0)) / count
    squares = w @ np.where(there, X - mean, 0.0) ** 2
    variance = max(float(squares.sum() / count.sum()), 1e-300)
    entries = entries_of(family, variance)
    b = np.zeros(X.shape[1])
    for _ in range(MODE_STEPS):
        terms = entries.terms(np.broadcast_to(b, X.shape).copy(), X)
        slope = w @ np.where(there, terms.slope, 0.0)
        curvature = w @ np.where(there, terms.curvature, 0.0)
        step = np.clip(slope / np.maximum(curvature, 1e-12 * count), -2.0, 2.0)
        b = b + (slope / curvature if isinstance(family, Normal) else step)
        b = b if isinstance(family, Normal) else np.clip(b, -30.0, 30.0)
        if np.abs(step).max() < 1e-8:
            break
    terms = entries.terms(np.broadcast_to(b, X.shape).copy(), X)
    h = (w @ np.where(there, terms.curvature, 0.0)) / count
    R = np.where(there, terms.slope, 0.0) / np.sqrt(np.maximum(h, 1e-8))
    values, vectors = np.linalg.eigh((R * w[:, None]).T @ R / w.sum())
    gain = np.sqrt(np.maximum(values[::-1][:k] - 1, 0.1))
    B = gain[:, None] * vectors[:, ::-1].T[:k] / np.sqrt(np.maximum(h, 1e-2 * h.max()))
    return b, B, variance


def _regressions(
    entries: EntryFamily,
    table: Table,
    b: np.ndarray,
    B: np.ndarray,
    *,
    found: Modes,
    alpha: float,
) -> tuple[np.ndarray, np.ndarray]:
    """One Newton step for the coefficients (B_j, b_j) of each column, halved if need be."""
    k, d = B.shape
    n = len(found.z)
    one = np.concatenate([found.z, np.ones((n, 1))], axis=1)
    second = one[:, :, None] * one[:, None]
    second[:, :k, :k] += found.covariance
    wh = table.w[:, None] * found.terms.curvature
    H = (wh.T @ second.reshape(n, -1)).reshape(d, k + 1, k + 1)
    spread = (wh.T @ found.covariance.reshape(n, -1)).reshape(d, k, k)
    ridge = alpha * np.r_[np.ones(k), 0.0]
    beta = np.concatenate([B, b[None]]).T
    g = (table.w[:, None] * found.terms.slope).T @ one - ridge * beta
    g[:, :k] -= np.einsum("jkl,jl->jk", spread, B.T)
    size = np.trace(H, axis1=1, axis2=2)[:, None, None]
    H = H + np.diag(ridge) + (1e-10 * size + 1e-12) * np.eye(k + 1)
    step = np.linalg.solve(H, g[..., None])[..., 0]

    def value(beta: np.ndarray) -> np.ndarray:
        terms = entries.terms(one @ beta.T, table.X)
        own = table.w @ np.where(table.there, terms.log_prob, 0.0)
        blur = np.einsum("jk,jkl,jl->j", beta[:, :k], spread, beta[:, :k])
        return own - 0.5 * blur - 0.5 * (ridge * beta**2).sum(1)

    before, scale = value(beta), np.ones(d)
    for _ in range(MAX_HALVINGS):
        worse = ~(value(beta + scale[:, None] * step) >= before)
        if not worse.any():
            break
        scale[worse] /= 2
    beta = beta + scale[:, None] * step
    return beta[:, k], beta[:, :k].T


def _standardised(
    w: np.ndarray, b: np.ndarray, B: np.ndarray, found: Modes
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same η with z of mean 0 and covariance 1: expanded, EM takes far fewer steps."""
    mean = w @ found.z / w.sum()
    centred = found.z - mean
    second = centred.T @ (centred * w[:, None])
    second += np.einsum("n,nkl->kl", w, found.covariance)
    L = np.linalg.cholesky(second / w.sum())
    return b + mean @ B, L.T @ B, np.linalg.solve(L, centred.T).T


def _variance(table: Table, b: np.ndarray, B: np.ndarray, found: Modes) -> float:
    """The noise variance of a normal family, with the uncertainty of z in it."""
    gap = np.where(table.there, table.X - b - found.z @ B, 0.0)
    pairs = (B[:, None] * B[None]).reshape(len(B) ** 2, -1)
    blur = found.covariance.reshape(len(gap), -1) @ pairs
    squares = table.w @ (gap**2 + np.where(table.there, blur, 0.0))
    return max(float(squares.sum() / (table.w @ table.there).sum()), 1e-300)
