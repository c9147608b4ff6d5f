r"""The likelihood of latent positions under Gaussian processes, and its gradient.

All d columns of Y are draws of one Gaussian process over latent positions Z, plus noise:

$$\log p(Y \mid Z) = -\tfrac{d}{2} \log |2π K| - \tfrac12 \operatorname{tr} K^{-1} Y Y^\top,
  \qquad K = k(Z, Z) + σ^2 I .$$

With m inducing inputs U it has the lower bound of Titsias, in $O(n m^2)$: the same with
$Q = K_{fu} K_{uu}^{-1} K_{uf}$ in the place of k(Z, Z), less
$\tfrac{d}{2σ^2} \operatorname{tr}(k(Z, Z) - Q)$.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve, solve_triangular

JITTER = 1e-6
"""What is added to the diagonal of the kernel of inducing inputs, as a share of s."""
KERNELS = ("rbf", "linear")


class Kernel(NamedTuple):
    r"""$s\, \exp(-\tfrac12 \sum_q a_q (z_q - z'_q)^2)$, or $\sum_q a_q z_q z'_q$."""

    name: str
    log_a: np.ndarray
    """(q,)"""
    log_s: float

    @property
    def a(self) -> np.ndarray:
        """(q,) the relevance of each latent column."""
        return np.exp(self.log_a)

    @property
    def jitter(self) -> float:
        """What is added to the diagonal of the kernel of inducing inputs."""
        return JITTER * (1.0 if self.name == "linear" else float(np.exp(self.log_s)))

    def __call__(self, Z: np.ndarray, U: np.ndarray) -> np.ndarray:
        """(n, m) the kernel of all pairs."""
        product = (Z * self.a) @ U.T
        if self.name == "linear":
            return product
        squares = (Z**2) @ self.a, (U**2) @ self.a
        distance = np.maximum(squares[0][:, None] + squares[1] - 2 * product, 0.0)
        return np.exp(self.log_s - 0.5 * distance)

    def diagonal(self, Z: np.ndarray) -> np.ndarray:
        """(n,) the kernel of each position with itself."""
        if self.name == "linear":
            return (Z**2) @ self.a
        return np.full(len(Z), np.exp(self.log_s))

    def pull(
        self, G: np.ndarray, E: np.ndarray, Z: np.ndarray, U: np.ndarray
    ) -> "Slopes":
        """The gradient of a function of E = k(Z, U) whose gradient by E is G."""
        a = self.a
        if self.name == "linear":
            GU = G @ U
            return Slopes(GU * a, G.T @ Z * a, (Z * GU).sum(0) * a, 0.0)
        H = G * E
        rows, columns, HU = H.sum(1), H.sum(0), H @ U
        by_Z = a * (HU - Z * rows[:, None])
        by_U = a * (H.T @ Z - U * columns[:, None])
        square = rows @ Z**2 + columns @ U**2 - 2 * (Z * HU).sum(0)
        return Slopes(by_Z, by_U, -0.5 * square * a, float(rows.sum()))

    def pull_diagonal(self, g: float, Z: np.ndarray) -> "Slopes":
        """The gradient of g times the sum of the diagonal."""
        if self.name == "linear":
            return Slopes(
                2 * g * Z * self.a, 0.0 * Z[:0], g * (Z**2).sum(0) * self.a, 0.0
            )
        total = g * len(Z) * np.exp(self.log_s)
        return Slopes(0.0 * Z, 0.0 * Z[:0], 0.0 * self.a, float(total))


class Slopes(NamedTuple):
    """Gradients by Z, by U, by log a and by log s."""

    Z: np.ndarray
    U: np.ndarray
    log_a: np.ndarray
    log_s: float


class Value(NamedTuple):
    """A log-likelihood or its bound, its slopes, and that by log σ²."""

    value: float
    slopes: Slopes
    log_noise: float


def whitening(kernel: Kernel, K: Float[np.ndarray, "m m"]) -> Float[np.ndarray, "m m"]:
    """L⁻¹ with LLᵀ = K plus a little on its diagonal."""
    eye = np.eye(len(K))
    L = np.linalg.cholesky(K + kernel.jitter * eye)
    return solve_triangular(L, eye, lower=True)


def log_likelihood(
    kernel: Kernel,
    Z: Float[np.ndarray, "n q"],
    Y: Float[np.ndarray, "n r"],
    noise: float,
    d: int,
) -> Value:
    """log p(Y | Z), in O(n³).

    Args:
        kernel: of the process.
        Z: the latent positions.
        Y: rows, or others with the same products YYᵀ.
        noise: σ².
        d: the number of columns of the rows.
    """
    n = len(Y)
    E = kernel(Z, Z)
    factor = cho_factor(E + noise * np.eye(n), lower=True)
    W, inverse = cho_solve(factor, Y), cho_solve(factor, np.eye(n))
    size = 2 * np.log(np.diagonal(factor[0])).sum()
    value = -0.5 * (d * (size + n * np.log(2 * np.pi)) + (Y * W).sum())
    G = 0.5 * (W @ W.T - d * inverse)
    slopes = kernel.pull(G, E, Z, Z)
    slopes = slopes._replace(Z=slopes.Z + slopes.U, U=Z[:0])
    trace = float(np.trace(G))
    return Value(float(value), slopes, noise * trace)


def sparse_bound(  # noqa: PLR0917
    kernel: Kernel,
    Z: Float[np.ndarray, "n q"],
    U: Float[np.ndarray, "m q"],
    Y: Float[np.ndarray, "n r"],
    noise: float,
    d: int,
) -> Value:
    """The lower bound of log p(Y | Z) with inducing inputs U, in O(n m²).

    Args:
        kernel: of the process.
        Z: the latent positions.
        U: the inducing inputs.
        Y: rows, or others with the same products YYᵀ.
        noise: σ².
        d: the number of columns of the rows.
    """
    n, m, b = len(Y), len(U), 1.0 / noise
    Euu, Euf = kernel(U, U), kernel(U, Z)
    upper = whitening(kernel, Euu)
    Phi, P, A = Euf @ Euf.T, Euf @ Y, upper @ Euf * np.sqrt(b)
    inner = cho_factor(np.eye(m) + A @ A.T, lower=True)
    inner_inverse = upper.T @ cho_solve(inner, upper)
    W, inverse = inner_inverse @ P, upper.T @ upper
    kept, psi = (inverse * Phi).sum(), kernel.diagonal(Z).sum()
    size, fit = np.log(np.diagonal(inner[0])).sum(), (P * W).sum()
    value = 0.5 * n * d * np.log(b / (2 * np.pi)) - d * size
    value += 0.5 * (b**2 * fit - b * (Y**2).sum() - b * d * (psi - kept))
    WW = W @ W.T
    by_uf = (b * d * (inverse - inner_inverse) - b**3 * WW) @ Euf + b**2 * W @ Y.T
    by_uu = 0.5 * (d * (inverse - inner_inverse) - b**2 * WW)
    by_uu -= 0.5 * b * d * inverse @ Phi @ inverse
    by_b = 0.5 * n * d / b - 0.5 * d * (inner_inverse * Phi).sum() + b * fit
    by_b -= 0.5 * ((Y**2).sum() + b**2 * (WW * Phi).sum() + d * (psi - kept))
    uu, uf = kernel.pull(by_uu, Euu, U, U), kernel.pull(by_uf, Euf, U, Z)
    ff = kernel.pull_diagonal(-0.5 * b * d, Z)
    by_jitter = np.trace(by_uu) * kernel.jitter if kernel.name == "rbf" else 0.0
    slopes = Slopes(
        uf.U + ff.Z,
        uu.Z + uu.U + uf.Z,
        uu.log_a + uf.log_a + ff.log_a,
        uu.log_s + uf.log_s + ff.log_s + by_jitter,
    )
    return Value(float(value), slopes, float(-b * by_b))
