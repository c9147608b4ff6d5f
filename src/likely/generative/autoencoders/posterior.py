r"""Normal posteriors of codes: $q(z \mid x) = N(μ(x), L(x) L(x)^\top)$.

With a diagonal L the entries of the code are independent given the row; with a full one,
lower triangular, they may depend on each other. A draw is $z = μ + L ε$ with ε ~ N(0, I), so
that it has a gradient in μ and L; $\log|L|$ is a sum over its diagonal, and the divergence from
the prior N(0, I) is

$$KL(q, p) = \tfrac12 \bigl( \lVert L \rVert_F^2 + \lVert μ \rVert^2 - k - 2 \log |L| \bigr).$$
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from likely.core.numerics import HALF_LOG_2PI

SHAPES = ("diagonal", "full")
MIN_LOG_SCALE, MAX_LOG_SCALE = -12.0, 6.0


class NormalPosterior(NamedTuple):
    """The posterior of the codes of n rows."""

    mean: Float[Array, "n k"]
    log_scale: Float[Array, "n k"]
    """The logarithm of the diagonal of L."""
    lower: Float[Array, "n k k"] | None
    """What L has below its diagonal; None where it is diagonal."""

    def draw(self, noise: Float[Array, "n k"]) -> Float[Array, "n k"]:
        """z = μ + L ε."""
        z = self.mean + jnp.exp(self.log_scale) * noise
        if self.lower is None:
            return z
        return z + jnp.einsum("nij,nj->ni", self.lower, noise)

    def log_prob(self, noise: Float[Array, "n k"]) -> Float[Array, " n"]:
        """log q of the draw of this noise."""
        return -(0.5 * noise**2 + HALF_LOG_2PI + self.log_scale).sum(-1)

    def log_density(self, z: Float[Array, "n k"]) -> Float[Array, " n"]:
        """log q of any code."""
        gap = z - self.mean
        if self.lower is None:
            return self.log_prob(gap * jnp.exp(-self.log_scale))
        noise = solve_triangular(self.factor, gap[..., None], lower=True)[..., 0]
        return self.log_prob(noise)

    @property
    def factor(self) -> Float[Array, "n k k"]:
        """L, lower triangular."""
        eye = jnp.eye(self.mean.shape[-1], dtype=self.mean.dtype)
        diagonal = jnp.exp(self.log_scale)[..., None] * eye[None]
        return diagonal if self.lower is None else diagonal + self.lower

    def divergence(self) -> Float[Array, " n"]:
        """KL(q, N(0, I)), in nats."""
        squares = jnp.exp(2 * self.log_scale) + self.mean**2
        found = 0.5 * (squares - 1 - 2 * self.log_scale).sum(-1)
        if self.lower is None:
            return found
        return found + 0.5 * (self.lower**2).sum((-1, -2))


def prior_log_prob(z: Float[Array, "n k"]) -> Float[Array, " n"]:
    """log N(z; 0, I)."""
    return -(0.5 * z**2 + HALF_LOG_2PI).sum(-1)


def posterior_size(k: int, shape: str) -> int:
    """How many numbers an encoder computes for a code of k numbers."""
    return 2 * k if shape == "diagonal" else 2 * k + k * (k - 1) // 2


def as_posterior(out: Float[Array, "n o"], k: int, shape: str) -> NormalPosterior:
    """The posterior, from the numbers of an encoder.

    Args:
        out: μ, log diag L, and the entries below the diagonal.
        k: the length of a code.
        shape: "diagonal" or "full".
    """
    mean = out[:, :k]
    log_scale = jnp.clip(out[:, k : 2 * k], MIN_LOG_SCALE, MAX_LOG_SCALE)
    if shape == "diagonal" or k == 1:
        return NormalPosterior(mean, log_scale, None)
    rows, columns = np.tril_indices(k, -1)
    lower = jnp.zeros((len(out), k, k), out.dtype)
    lower = lower.at[:, rows, columns].set(out[:, 2 * k :])
    return NormalPosterior(mean, log_scale, lower)
