r"""Eigenvalues of the Hessian of a loss: all of few weights, by Lanczos' method of many.

With m products $H v$ from a random start, Lanczos' method finds the ends of the spectrum to a
known residual. The rest is estimated from several starts with entries ±1, made orthogonal to the
q eigenvectors that are known by then: $v^\top H v$ plus the q eigenvalues estimates the trace
(Hutchinson), and the quadratures the density of the eigenvalues,

$$\hat ρ(x) = \frac1p \sum_{i=1}^q K_h(x - λ_i)
  + \frac{p - q}{p}\,\frac1s \sum_{j=1}^s \sum_i ω_{ji}\,K_h(x - θ_{ji}),$$

each with a standard error over the s starts. An eigenvalue $λ = v^\top H v$ is a mean over rows
too, of their curvatures $v^\top H_i v$: what other rows would have given is within the standard
error of that mean, to first order.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.lanczos import RitzPairs, lanczos, ritz_pairs
from likely.core.precision import precision_of
from likely.core.random import seed_of
from likely.diagnostics.landscape.surface import LossSurface
from likely.evaluate.scores import mean_score
from likely.solvers.flat import flatten

MAX_EXACT = 800
"""Weights up to which the whole Hessian is computed."""
PARALLEL_COLUMNS = 16
"""Columns of the Hessian that are computed side by side."""
MAX_KNOWN = 16
"""Eigenvectors that are taken out of the random starts."""
MAX_BASIS_BYTES = 2**29
"""Memory for the vectors of Lanczos' method."""


class Eigenpairs(NamedTuple):
    """The ends of a spectrum, and its distribution."""

    values: Float[np.ndarray, " k"]
    """The largest eigenvalues, descending."""
    vectors: Float[np.ndarray, "k p"]
    residuals: Float[np.ndarray, " k"]
    """There is an eigenvalue within this distance of each."""
    lowest: float
    lowest_residual: float
    nodes: tuple[Float[np.ndarray, " m"], ...]
    """The nodes of the quadrature of each start; all eigenvalues, where they are known."""
    weights: tuple[Float[np.ndarray, " m"], ...]
    """Their weights, which sum to 1."""
    traces: Float[np.ndarray, " s"]
    """An estimate of the trace by each start."""
    exact: bool


def eigenpairs(
    surface: LossSurface,
    k: int,
    *,
    exact: bool,
    n_starts: int = 8,
    n_steps: int = 60,
    random_state: Any = 0,
) -> Eigenpairs:
    """The spectrum of the Hessian at the centre of a loss surface.

    Args:
        surface: the loss.
        k: how many of the largest eigenvalues are given with their vectors.
        exact: whether the whole Hessian is computed.
        n_starts: random starts for the trace and the density, after the first one.
        n_steps: products for each start.
        random_state: the seed of the starts.
    """
    if exact:
        return _exact(surface, k)
    p = surface.n_parameters
    room = MAX_BASIS_BYTES // (p * surface.center.itemsize)
    steps = max(2, min(p, n_steps, room))
    rng = np.random.default_rng(seed_of(random_state))
    signs = rng.choice([-1.0, 1.0], (1 + n_starts, p)).astype(surface.center.dtype)
    first, basis = _pairs(surface, signs[0], np.zeros((MAX_KNOWN, p)), steps)
    top = np.arange(len(first.values))[::-1][:k]
    vectors = first.coordinates[:, top].T @ basis[: len(first.coordinates)]
    known = _known(first, p)
    Q = np.zeros((MAX_KNOWN, p), signs.dtype)
    Q[: len(known)] = first.coordinates[:, known].T @ basis[: len(first.coordinates)]
    values, q = first.values[known], len(known)
    nodes, weights, traces = [], [], []
    for v in signs[1:]:
        v = v - (v @ Q.T) @ Q
        found, _ = _pairs(surface, v, Q, steps)
        nodes.append(np.append(values, found.values))
        weights.append(np.append(np.full(q, 1 / p), found.weights * (p - q) / p))
        traces.append(values.sum() + v @ v * (found.weights @ found.values))
    return Eigenpairs(
        first.values[top],
        vectors,
        first.residuals[top],
        float(first.values[0]),
        float(first.residuals[0]),
        tuple(nodes),
        tuple(weights),
        np.array(traces),
        False,
    )


def _known(found: RitzPairs, p: int) -> np.ndarray:
    """Which Ritz pairs are as good as eigenpairs, the largest of them."""
    size = np.abs(found.values)
    sure = np.flatnonzero(found.residuals < 1e-5 * size.max())
    return sure[np.argsort(-size[sure])][: min(MAX_KNOWN, p // 2)]


def _pairs(
    surface: LossSurface, start: np.ndarray, Q: np.ndarray, steps: int
) -> tuple[RitzPairs, np.ndarray]:
    """The Ritz pairs from a start, orthogonal to the rows of Q, and their basis."""
    with precision_of(surface.model):
        v, known = (jnp.asarray(a, surface.center.dtype) for a in (start, Q))
        alpha, beta, basis = map(np.asarray, _tridiagonal(surface, v, known, steps))
        return ritz_pairs(alpha, beta), basis


def _exact(surface: LossSurface, k: int) -> Eigenpairs:
    with precision_of(surface.model):
        H = np.asarray(_hessian(surface), np.float64)
    H = 0.5 * (H + H.T)
    values, vectors = np.linalg.eigh(H)
    residuals = np.linalg.norm(H @ vectors - vectors * values, axis=0)
    top = np.arange(len(values))[::-1][:k]
    return Eigenpairs(
        values[top],
        vectors[:, top].T,
        residuals[top],
        float(values[0]),
        float(residuals[0]),
        (values,),
        (np.full(len(values), 1 / len(values)),),
        np.array([np.trace(H)]),
        True,
    )


@eqx.filter_jit
def _tridiagonal(surface: LossSurface, start: Array, Q: Array, steps: int) -> Any:
    center = flatten(surface.model)[0]

    def product(v: Array) -> Array:
        u = surface.curvature(center, v)
        return u - (u @ Q.T) @ Q

    return lanczos(product, start, steps)


@eqx.filter_jit
def _hessian(surface: LossSurface) -> Array:
    center = flatten(surface.model)[0]
    units = jnp.eye(len(center), dtype=center.dtype)
    return jax.lax.map(
        lambda v: surface.curvature(center, v), units, batch_size=PARALLEL_COLUMNS
    )


def row_curvatures(
    surface: LossSurface, vectors: Float[np.ndarray, "k p"]
) -> Float[np.ndarray, "k n"]:
    """The curvature vᵀHᵢv of the loss of each row along some directions."""
    with precision_of(surface.model):
        directions = jnp.asarray(vectors, surface.center.dtype)
        return np.asarray(_row_curvatures(surface, directions))


@eqx.filter_jit
def _row_curvatures(surface: LossSurface, vectors: Array) -> Array:
    center = flatten(surface.model)[0]

    def slopes(phi: Array, v: Array) -> Array:
        return jax.jvp(surface.losses, (phi,), (v,))[1]

    def one(v: Array) -> Array:
        return jax.jvp(lambda phi: slopes(phi, v), (center,), (v,))[1]

    return jax.lax.map(one, vectors)


def row_errors(
    surface: LossSurface, vectors: Float[np.ndarray, "k p"]
) -> Float[np.ndarray, " k"]:
    """The standard errors of eigenvalues as means over rows, to first order."""
    curvatures = row_curvatures(surface, vectors)
    return np.array([mean_score(c, surface.w).error for c in curvatures])
