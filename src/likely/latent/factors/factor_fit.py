r"""Maximum likelihood of factor analysis, from the covariance of the rows.

$$\ell(W, ψ) = -\tfrac12 \bigl( d \log 2π + \log \det A + \operatorname{Tr}(S A^{-1}) \bigr),
  \qquad A = W W^\top + \operatorname{diag} ψ .$$

For given ψ the best W is known: with the eigenvalues $θ_j$ and eigenvectors $u_j$ of
$ψ^{-1/2} S ψ^{-1/2}$, its columns are $ψ^{1/2} u_j \sqrt{\max(0, θ_j - 1)}$. What is left is a
smooth function of $\log ψ$ (Jöreskog, 1967), for Newton's method with the expected curvature:

$$\frac{\partial(-\ell)}{\partial \log ψ_i} = \tfrac12 \sum_{j > k} (1 - θ_j) u_{ij}^2, \qquad
  H_{il} \approx \tfrac12 \Bigl(\sum_{j > k} u_{ij} u_{lj}\Bigr)^2 .$$

Expectation maximisation (Rubin and Thayer, 1982) repeats, with $β = W^\top A^{-1}$,

$$W \leftarrow S β^\top (I - β W + β S β^\top)^{-1}, \qquad
  ψ \leftarrow \operatorname{diag}(S - W β S).$$
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from likely.latent.factors.low_rank_normal import LOG_2PI, LowRankNormal
from likely.latent.factors.spectrum import oriented

MIN_UNIQUENESS = 1e-6
"""The smallest noise variance, as a share of the variance of the column."""
MAX_STEP, MAX_DAMPING = 3.0, 1e9
"""The largest change of log ψ in one step; the damping at which rounding hides any gain."""


class Loadings(NamedTuple):
    """W and ψ, and the log-likelihood of each iteration, in nats per unit of weight."""

    W: Float[np.ndarray, "d k"]
    psi: Float[np.ndarray, " d"]
    path: list[float]
    converged: bool

    def normal(self, mean: Float[np.ndarray, " d"]) -> LowRankNormal:
        """The distribution of a row."""
        return LowRankNormal(mean, self.W, self.psi)


def fit_direct(
    S: Float[np.ndarray, "d d"],
    k: int,
    *,
    tol: float,
    max_iter: int,
    start: Float[np.ndarray, " d"] | None = None,
) -> Loadings:
    """Maximise the likelihood over log ψ by damped Newton steps; W follows.

    Args:
        S: the covariance.
        k: the number of factors.
        tol: stop where the largest entry of the gradient is below.
        max_iter: the largest number of iterations.
        start: ψ to begin with.
    """
    R, scale = _correlation(S)
    units = 0.5 * float(np.log(scale).sum())
    low = float(np.log(MIN_UNIQUENESS))
    first = _uniqueness(R, k) if start is None else start / scale
    x = np.log(np.clip(first, MIN_UNIQUENESS, 1.0))
    point, damping, converged = _profile(R, x, k), 1e-6, False
    path = [-point.loss - units]
    while len(path) <= max_iter and damping < MAX_DAMPING:
        g = point.gradient
        free = ~(((x <= low) & (g > 0)) | ((x >= 0) & (g < 0)))
        if not free.any() or np.abs(g[free]).max() < tol:
            converged = True
            break
        H = point.curvature[np.ix_(free, free)]
        step = np.zeros(len(x))
        step[free] = np.linalg.solve(H + damping * np.eye(len(H)), g[free])
        trial = np.clip(x - np.clip(step, -MAX_STEP, MAX_STEP), low, 0.0)
        found = _profile(R, trial, k)
        if found.loss <= point.loss:
            damping = max(damping / 10, 1e-12)
            x, point = trial, found
            path.append(-point.loss - units)
        else:
            damping *= 10
    psi, root = np.exp(x), np.sqrt(scale)
    W = _loadings(R, psi, k) * root[:, None]
    return Loadings(W, psi * scale, path, converged or damping >= MAX_DAMPING)


def fit_em(
    S: Float[np.ndarray, "d d"], k: int, *, tol: float, max_iter: int
) -> Loadings:
    """Expectation maximisation, from the principal directions.

    Args:
        S: the covariance.
        k: the number of factors.
        tol: stop where a step gains less, in nats per unit of weight.
        max_iter: the largest number of steps.
    """
    R, scale = _correlation(S)
    psi = np.clip(_uniqueness(R, k), MIN_UNIQUENESS, 1.0)
    W, path = _loadings(R, psi, k), []
    units, converged = 0.5 * float(np.log(scale).sum()), False
    for _ in range(max_iter):
        scaled = W / psi[:, None]
        M = np.eye(k) + W.T @ scaled
        beta = np.linalg.solve(M, scaled.T)
        RB = R @ beta.T
        trace = (np.diag(R) / psi).sum() - np.trace(scaled.T @ RB)
        log_det = np.log(psi).sum() + np.linalg.slogdet(M)[1]
        path.append(float(-0.5 * (len(R) * LOG_2PI + log_det + trace)) - units)
        if len(path) > 1 and path[-1] - path[-2] < tol:
            converged = True
            break
        W = np.linalg.solve(np.eye(k) - beta @ W + beta @ RB, RB.T).T
        psi = np.clip(np.diag(R) - (W * RB).sum(1), MIN_UNIQUENESS, None)
    root = np.sqrt(scale)
    W = canonical(W, psi)
    return Loadings(W * root[:, None], psi * scale, path, converged)


def canonical(
    W: Float[np.ndarray, "d k"], psi: Float[np.ndarray, " d"]
) -> Float[np.ndarray, "d k"]:
    """The rotation of W that makes Wᵀ ψ⁻¹ W diagonal, its largest entry first."""
    U, s, _ = np.linalg.svd(W / np.sqrt(psi)[:, None], full_matrices=False)
    return oriented((U * s * np.sqrt(psi)[:, None]).T).T


def _correlation(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The correlations, and the variances; a column that does not vary gets a small one."""
    variance = np.diag(S).copy()
    mean = variance.mean() or 1.0
    constant = variance <= 1e-12 * mean
    scale = np.where(constant, MIN_UNIQUENESS * mean, variance)
    root = np.sqrt(scale)
    R = S / np.outer(root, root)
    R[np.diag_indices(len(R))] = 1.0
    return R, scale


def _uniqueness(R: np.ndarray, k: int) -> np.ndarray:
    """A start for ψ: what the other columns do not explain of each."""
    d = len(R)
    explained = np.linalg.inv(R + 1e-6 * np.eye(d))
    return (1 - 0.5 * k / d) / np.maximum(np.diag(explained), 1.0)


def _spectrum(R: np.ndarray, psi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    root = 1 / np.sqrt(psi)
    theta, U = np.linalg.eigh(R * np.outer(root, root))
    return theta[::-1], U[:, ::-1]


class _Point(NamedTuple):
    """The loss at some log ψ, with W at its best, its gradient and its curvature."""

    loss: float
    gradient: Float[np.ndarray, " d"]
    curvature: Float[np.ndarray, "d d"]


def _profile(R: np.ndarray, log_psi: np.ndarray, k: int) -> _Point:
    """−ℓ, its gradient and its expected curvature, as functions of log ψ."""
    theta, U = _spectrum(R, np.exp(log_psi))
    kept = _kept(theta, k)
    own = np.where(kept, np.log(np.maximum(theta, 1e-300)) + 1, theta)
    loss = 0.5 * (len(R) * LOG_2PI + log_psi.sum() + own.sum())
    rest = U[:, ~kept]
    gradient = 0.5 * rest**2 @ (1 - theta[~kept])
    return _Point(float(loss), gradient, 0.5 * (rest @ rest.T) ** 2)


def _kept(theta: np.ndarray, k: int) -> np.ndarray:
    return (np.arange(len(theta)) < k) & (theta > 1)


def _loadings(R: np.ndarray, psi: np.ndarray, k: int) -> np.ndarray:
    """The best W for given ψ, in canonical form."""
    theta, U = _spectrum(R, psi)
    gain = np.sqrt(np.maximum(theta[:k] - 1, 0.0))
    return oriented((U[:, :k] * gain * np.sqrt(psi)[:, None]).T).T
