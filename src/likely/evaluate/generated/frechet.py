r"""Fréchet distance between two sets of features, taken as normally distributed.

$$\lVert m_1 - m_2 \rVert^2 + \operatorname{tr}\bigl(S_1 + S_2 - 2 (S_1 S_2)^{1/2}\bigr)$$

With $S_i = R_i^\top R_i$ the last trace is the sum of the singular values of $R_1 R_2^\top$, which
are never negative, so that no complex root of a product is needed and singular covariances
are no special case. On features of Inception this is the FID.

The distance of finite samples is too large, by about a constant over n. Leaving out one
of g groups of rows at a time gives its standard error and an estimate of that bias.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.core.written_numbers import with_error
from likely.evaluate.assignment import generator_of
from likely.evaluate.generated.rows import feature_rows

GROUPS = 20
"""Groups of rows, each of which is left out once."""


class FrechetDistance(NamedTuple):
    """A Fréchet distance of two samples."""

    value: float
    """The distance of the samples."""
    error: float
    """Its standard error."""
    corrected: float
    """The value without the bias of finite samples; near 0 it may be negative."""

    def __str__(self) -> str:
        return f"{with_error(self.value, self.error)} (corrected {self.corrected:.4g})"


def frechet_distance(A: Any, B: Any, *, random_state: Any = 0) -> FrechetDistance:
    """The squared Fréchet distance between the normal distributions of two sets of features.

    Args:
        A: (n, d) features of real rows.
        B: (m, d) features of generated rows.
        random_state: which rows are left out together for the error.
    """
    A, B = feature_rows(A=A, B=B)
    value = _distance(_moments(A), _moments(B))
    rng = generator_of(random_state)
    variance = bias = 0.0
    for rows, other, swap in ((A, _moments(B), False), (B, _moments(A), True)):
        found = []
        for part in _parts(len(rows), rng):
            kept = _moments(np.delete(rows, part, axis=0))
            found.append(_distance(other, kept) if swap else _distance(kept, other))
        g = len(found)
        if g < 2:
            variance = bias = float("nan")
            break
        left_out = np.array(found)
        variance += (g - 1) / g * float(((left_out - left_out.mean()) ** 2).sum())
        bias += (g - 1) * float(left_out.mean() - value)
    return FrechetDistance(value, float(np.sqrt(variance)), value - bias)


def frechet_of_normals(mean_a: Any, cov_a: Any, mean_b: Any, cov_b: Any) -> float:
    """The squared Fréchet distance of two normal distributions.

    Args:
        mean_a: (d,) the mean of the first.
        cov_a: (d, d) its covariance.
        mean_b: (d,) the mean of the second.
        cov_b: (d, d) its covariance.

    Examples:
        >>> eye = np.eye(2)
        >>> round(float(lk.evaluate.frechet_of_normals(np.zeros(2), eye, np.ones(2), eye)), 3)
        2.0
    """
    means = [np.atleast_1d(np.asarray(m, np.float64)) for m in (mean_a, mean_b)]
    covs = [np.atleast_2d(np.asarray(c, np.float64)) for c in (cov_a, cov_b)]
    d = means[0].size
    if any(m.shape != (d,) for m in means) or any(c.shape != (d, d) for c in covs):
        shapes = ", ".join(str(a.shape) for a in (*means, *covs))
        raise InputError(
            f"the shapes are {shapes}; give means (d,), covariances (d, d)."
        )
    return _distance(*((m, _root(c)) for m, c in zip(means, covs, strict=True)))


def _distance(
    a: tuple[Float[np.ndarray, " d"], Float[np.ndarray, "r d"]],
    b: tuple[Float[np.ndarray, " d"], Float[np.ndarray, "s d"]],
) -> float:
    """The distance of two normals, each a mean and a root R of its covariance RᵀR."""
    (m, R), (k, Q) = a, b
    singular = np.linalg.svd(R @ Q.T, compute_uv=False).sum()
    spread = (R**2).sum() + (Q**2).sum() - 2 * singular
    return float(((m - k) ** 2).sum() + max(spread, 0.0))


def _moments(X: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray]:
    """The mean of rows, and a triangular root of their covariance."""
    mean = X.mean(0)
    R = np.linalg.qr((X - mean) / np.sqrt(max(len(X) - 1, 1)), mode="r")
    return mean, np.asarray(R)


def _root(S: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "d d"]:
    """R with RᵀR = S."""
    values, vectors = np.linalg.eigh((S + S.T) / 2)
    if values[0] < -1e-8 * max(abs(values[-1]), 1e-300):
        raise InputError(
            f"a covariance has the eigenvalue {values[0]:.3g}; it may have none below 0."
        )
    return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T


def _parts(n: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Groups of rows to leave out, so that at least two rows stay."""
    groups = min(GROUPS, n) if n > 3 else 1
    return np.array_split(rng.permutation(n), groups)
