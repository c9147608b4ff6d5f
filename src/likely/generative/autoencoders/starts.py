r"""Where a variational autoencoder begins: at probabilistic principal components.

With $Λ$ the k largest eigenvalues of the covariance of the inputs, V their directions and
σ² the mean of the others, probabilistic PCA has $W = V(Λ - σ^2)^{1/2}$ and the posterior

$$q(z \mid x) = N\bigl(Λ^{-1} W^\top (x - \bar x),\; σ^2 Λ^{-1}\bigr),$$

which is what a linear shortcut beside the networks computes at first. A column of the output
begins with the slope of its η in z: its covariance with z, divided by the variance that its
family has at the mean. So a model of a table is never worse than a linear one for long, and
the networks learn what is not linear.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.rows import weighted_mean
from likely.families import (
    Bernoulli,
    Categorical,
    NegativeBinomial,
    Poisson,
    RoundedNormal,
)
from likely.families.location_scale import AbstractLocationScale
from likely.generative.autoencoders.cells import Block, CellLikelihood

MIN_NOISE = 1e-2
"""The smallest share of the variance that is noise."""
MAX_EXACT_COLUMNS = 128
"""Columns up to which all eigenvectors are computed."""
SUBSPACE_STEPS, EXTRA_DIRECTIONS = 5, 8
MIN_LEFT = 0.02
"""The smallest share of the variance of a column that codes leave open at first."""
MIN_VARIANCE = 1e-2
"""The smallest variance of a probability that slopes are divided by."""


class LinearStart(NamedTuple):
    """The linear parts of an encoder and a decoder, and the noise of the columns."""

    center: Float[Array, " p"]
    mean: Float[Array, "p k"]
    """From inputs to means of codes."""
    log_scale: Float[Array, " k"]
    """The logarithm of the standard deviation of codes given a row."""
    slopes: Float[Array, "k o"]
    """From codes to outputs of the decoder."""
    start: Float[Array, " o"]
    """What is added to the outputs of the decoder."""
    tail: Float[Array, " t"]
    """What all rows share; scales are of what codes leave open."""


def linear_start(
    X: Float[Array, "n p"],
    v: Float[Array, "n q"],
    w: Float[Array, "n q"],
    likelihood: CellLikelihood,
    k: int,
) -> LinearStart:
    """The start from weighted rows; safe to trace.

    Args:
        X: the inputs of the encoder.
        v: the cells.
        w: the weight of each cell, 0 where it is missing; that of a row is the largest.
        likelihood: of the cells.
        k: the length of a code.
    """
    rows = w.max(1)
    center = weighted_mean(X, rows)
    gaps = X - center[None]
    root = jnp.sqrt(rows / rows.sum())
    scaled = root[:, None] * gaps
    p = X.shape[1]
    have, total = min(k, p), jnp.maximum((scaled**2).sum(), 1e-12)
    values, vectors = _leading(scaled, have)
    rest = (total - values.sum()) / max(p - have, 1)
    noise = jnp.maximum(rest, MIN_NOISE * total / p)
    top = jnp.maximum(values, noise)
    share = jnp.sqrt(1 - noise / top)  # of a direction without signal it is 0
    mean = vectors * (share / jnp.sqrt(top))[None]
    log_scale = 0.5 * jnp.log(noise / top)
    mean = jnp.pad(mean, ((0, 0), (0, k - have)))
    log_scale = jnp.pad(log_scale, (0, k - have))
    Z = gaps @ mean
    spread = jnp.exp(2 * log_scale)  # E z zᵀ = mean square of the means + posterior
    parts = [
        _block_start(block, likelihood.of_block(block, v), Z, spread, w)
        for block in likelihood.blocks
    ]
    slopes, starts, tails = zip(*parts, strict=True)
    return LinearStart(
        center,
        mean,
        log_scale,
        jnp.concatenate(slopes, 1),
        jnp.concatenate(starts),
        jnp.concatenate(tails),
    )


def _leading(
    scaled: Float[Array, "n p"], k: int
) -> tuple[Float[Array, " k"], Float[Array, "p k"]]:
    """The largest eigenvalues of the covariance and their directions.

    Of wide rows by a few steps of subspace iteration, which is enough for a start.
    """
    p = scaled.shape[1]
    if p <= MAX_EXACT_COLUMNS:
        values, vectors = jnp.linalg.eigh(scaled.T @ scaled)
        return jnp.maximum(values[::-1][:k], 0.0), vectors[:, ::-1][:, :k]
    width = min(p, k + EXTRA_DIRECTIONS)
    basis = jax.random.normal(jax.random.key(0), (p, width), scaled.dtype)
    for _ in range(SUBSPACE_STEPS):
        basis, _ = jnp.linalg.qr(scaled.T @ (scaled @ basis))
    inner = scaled @ basis
    values, turned = jnp.linalg.eigh(inner.T @ inner)
    return jnp.maximum(values[::-1][:k], 0.0), basis @ turned[:, ::-1][:, :k]


def _block_start(
    block: Block, v: Array, Z: Array, spread: Array, w: Array
) -> tuple[Array, Array, Array]:
    """(k, o) slopes of the outputs of a block, their start, and what all rows share."""
    own = w if block.size == w.shape[1] else w[:, np.array(block.columns)]
    total = jnp.maximum(own.sum(0), 1e-6)
    squares = (w.max(1)[:, None] * Z**2).sum(0) / w.max(1).sum() + spread
    Z = Z / squares[None]  # so that covariances are coefficients of regression
    out, tail = block.first(v, own)
    k, m = Z.shape[1], block.size
    if isinstance(block.family, Categorical):
        hot = (v[..., None] == jnp.arange(block.family.n_eta)[None, None]).astype(
            v.dtype
        )
        share = (own[..., None] * hot).sum(0) / total[:, None]
        gap = own[..., None] * (hot - share[None])
        slope = jnp.einsum("nk,nmc->kmc", Z, gap) / total[None, :, None]
        slope = slope / jnp.maximum(share, MIN_VARIANCE)[None]
        return slope.reshape(k, -1), out, tail
    mean = (own * v).sum(0) / total
    slope = Z.T @ (own * (v - mean[None])) / total[None]
    if isinstance(block.family, Bernoulli):
        slope = slope / jnp.maximum(mean * (1 - mean), MIN_VARIANCE)[None]
    elif isinstance(block.family, NegativeBinomial | Poisson):
        slope = slope / jnp.maximum(mean, MIN_VARIANCE)[None]
    elif not isinstance(block.family, AbstractLocationScale | RoundedNormal):
        slope = jnp.zeros_like(slope)  # families whose η is not a location
    full = jnp.zeros((k, m, block.own), v.dtype).at[..., 0].set(slope)
    if block.floors is None:
        return full.reshape(k, -1), out, tail
    variance = (own * (v - mean[None]) ** 2).sum(0) / total
    left = variance - (slope**2 * squares[:, None]).sum(0)
    floor = jnp.maximum(jnp.asarray(block.floors, v.dtype) ** 2, MIN_LEFT * variance)
    log_scale = 0.5 * jnp.log(jnp.maximum(left, floor))
    if block.tail:
        return full.reshape(k, -1), out, log_scale
    out = out.reshape(m, block.own).at[:, 1].set(log_scale).reshape(-1)
    return full.reshape(k, -1), out, tail
