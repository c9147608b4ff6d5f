r"""Whitening: the linear map that makes rows standard normal where they are normal.

$z = (x - m) R^{-1}$ with $R^\top R = Σ$. The covariance Σ is that of the rows, shrunk towards
independent columns, $Σ = (1 - a) C + a \operatorname{diag}(C)$, as much as makes each row most
probable under the normal distribution of the others (Hoffbeck and Landgrebe 1996).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from likely.core.rows import weighted_mean
from likely.layers.bijections.bijection import AbstractBijection

SHRINKAGES = (1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0)
"""Those that are tried."""


class Whitening(AbstractBijection):
    """z = (x − m) R⁻¹ with an upper triangular R; it is not trained.

    With a condition, m and R are those of (given, x): z is what x deviates from its linear
    prediction by, in units of the error of the prediction.

    Args:
        center: m.
        factor: R.
    """

    center: Float[Array | np.ndarray, " e"]
    factor: Float[Array | np.ndarray, "e e"]

    @classmethod
    def of(
        cls,
        X: Float[Array, "n d"],
        w: Float[Array, " n"],
        given: Float[Array, "n g"] | None = None,
    ) -> "Whitening":
        """That of the most probable normal distribution of these rows."""
        X = _beside(given, X)
        center = weighted_mean(X, w)
        D = X - center[None]
        scale = jnp.sqrt(weighted_mean(D**2, w))
        scale = jnp.where(scale > 0, scale, 1.0)
        D = jnp.where(w[:, None] > 0, D / scale[None], 0.0)
        half = jnp.linalg.qr(D * jnp.sqrt(w / w.sum())[:, None], mode="r")

        def tried(a: Array) -> tuple[Array, Array]:
            R = _shrunk(half, a)
            return _left_out(D, w, R, a), R

        losses, factors = jax.lax.map(tried, jnp.asarray(SHRINKAGES, X.dtype))
        best = jnp.argmin(jnp.where(jnp.isfinite(losses), losses, jnp.inf))
        return cls(center, factors[best] * scale[None])

    def forward(self, X, given=None, *, key=None):
        center, R = jax.lax.stop_gradient((self.center, self.factor))
        g = len(center) - X.shape[1]
        Z = solve_triangular(R, (_beside(given, X) - center[None]).T, trans=1).T
        log_det = -jnp.log(jnp.abs(jnp.diagonal(R)[g:])).sum()
        return Z[:, g:], jnp.full(len(X), log_det)

    def inverse(self, Z, given=None):
        g = len(self.center) - Z.shape[1]
        if given is not None and g:
            away = given.astype(Z.dtype) - self.center[None, :g]
            z = solve_triangular(self.factor[:g, :g], away.T, trans=1).T
            Z = jnp.concatenate([z, Z], 1)
        return Z @ jnp.triu(self.factor)[:, g:] + self.center[None, g:]


def _beside(given: Float[Array, "n g"] | None, X: Float[Array, "n d"]) -> Array:
    """(given, x) of each row, or x alone."""
    return X if given is None else jnp.concatenate([given.astype(X.dtype), X], 1)


def _shrunk(half: Float[Array, "r d"], a: Array) -> Float[Array, "d d"]:
    """R with RᵀR = (1 − a) C + a I, where C = `half`ᵀ `half` has ones on its diagonal."""
    eye = jnp.eye(half.shape[1], dtype=half.dtype)
    both = jnp.concatenate([jnp.sqrt(1 - a) * half, jnp.sqrt(a) * eye])
    return jnp.linalg.qr(both, mode="r")


def _left_out(
    D: Float[Array, "n d"], w: Float[Array, " n"], R: Float[Array, "d d"], a: Array
) -> Float[Array, ""]:
    r"""The mean loss of each row under the normal distribution of the others, up to constants.

    Without a row of weight 1 the covariance is less by a multiple of $d d^\top$, so that its
    inverse and its determinant follow from $q = d^\top Σ^{-1} d$.
    """
    total = w.sum()
    q = (solve_triangular(R, D.T, trans=1) ** 2).sum(0)
    less = jnp.maximum(1 - (1 - a) * total / jnp.maximum(total - 1, 1) ** 2 * q, 1e-6)
    away = (total / jnp.maximum(total - 1, 1)) ** 2 * q / less
    log_det = 2 * jnp.log(jnp.abs(jnp.diagonal(R))).sum() + jnp.log(less)
    return 0.5 * weighted_mean(away + log_det, w)
