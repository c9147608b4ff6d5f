r"""Maximum likelihood of probabilistic PCA: in closed form, or step by step.

With the eigenvalues $λ_1 \ge λ_2 \ge \dots$ and eigenvectors $u_i$ of the covariance S the columns
of W are $w_i = ρ_i u_i$ with $ρ_i^2 = \max(0, λ_i - s^2)$, and $s^2$ is the mean of the eigenvalues
that are left (Tipping and Bishop, 1999). Expectation maximisation repeats, with
$M = W^\top W + s^2 I$,

$$W \leftarrow S W (s^2 I + M^{-1} W^\top S W)^{-1}, \qquad
  s^2 \leftarrow \tfrac{1}{d} \operatorname{Tr}(S - S W_{old} M^{-1} W^\top).$$
"""

import numpy as np
from jaxtyping import Float

from likely.latent.factors.low_rank_normal import LOG_2PI, LowRankNormal
from likely.latent.factors.missing_values import fit_missing
from likely.latent.factors.principal_normal import PrincipalNormal, principal_maximum
from likely.latent.factors.spectrum import oriented

MIN_VARIANCE = 1e-9
"""The smallest variance where values are missing, as a share of the mean variance."""


def fit_principal_missing(
    X: Float[np.ndarray, "n d"],
    w: Float[np.ndarray, " n"],
    k: int,
    tol: float,
    max_iter: int,
) -> tuple[PrincipalNormal, list[float]]:
    """Probabilistic PCA of rows with missing values, and the likelihood of each step."""

    def maximise(S: np.ndarray, before: LowRankNormal | None) -> LowRankNormal:
        return principal_maximum(S, k, MIN_VARIANCE).low_rank

    fit = fit_missing(X, w, maximise, tol=tol, max_iter=max_iter)
    return principal_form(fit.normal), fit.path


def fit_principal_em(
    S: Float[np.ndarray, "d d"], k: int, tol: float, max_iter: int, seed: int
) -> tuple[PrincipalNormal, list[float]]:
    """Probabilistic PCA of a covariance by expectation maximisation, from a random W.

    Returns:
        The distribution, with mean zero, and the log-likelihood before each step, in nats
        per unit of weight.
    """
    d = len(S)
    size = float(np.trace(S)) / d
    W = np.random.default_rng(seed).normal(size=(d, k)) * np.sqrt(size / 2)
    s2, path = 0.5 * size, []
    for _ in range(max_iter):
        M = W.T @ W + s2 * np.eye(k)
        SW = S @ W
        inverse = np.linalg.inv(M)
        trace = (np.trace(S) - np.trace(inverse @ W.T @ SW)) / s2
        log_det = (d - k) * np.log(s2) + np.linalg.slogdet(M)[1]
        path.append(float(-0.5 * (d * LOG_2PI + log_det + trace)))
        if len(path) > 1 and path[-1] - path[-2] < tol:
            break
        new = SW @ np.linalg.inv(s2 * np.eye(k) + inverse @ W.T @ SW)
        s2 = max(float(np.trace(S) - np.trace(SW @ inverse @ new.T)) / d, 1e-12 * size)
        W = new
    normal = LowRankNormal(np.zeros(d), W, np.full(d, s2))
    return principal_form(normal), path


def principal_form(normal: LowRankNormal) -> PrincipalNormal:
    """A model with the same noise in all columns, in its principal directions."""
    d, k = normal.W.shape
    U, s, _ = np.linalg.svd(normal.W, full_matrices=False)
    noise = float(normal.psi[0])
    variances = s**2 + noise
    return PrincipalNormal(
        normal.mean, oriented(U.T), variances, noise if k < d else 0.0
    )
