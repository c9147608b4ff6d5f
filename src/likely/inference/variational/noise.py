"""Normal noise that is drawn once, with exact moments, for reparameterised objectives."""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri
from scipy.stats import qmc

from likely.core.random import seed_of

MIN_DRAWS, MAX_DRAWS = 64, 2048
MAX_SOBOL = 21201
"""Dimensions for which Sobol's sequence is known."""


def fixed_noise(
    e: int, random_state: Any, draws: int | None = None
) -> Float[np.ndarray, "m e"]:
    """(m, e) quasi-random normal numbers in pairs ±ε with exact second moments.

    Their mean is 0 and, where m/2 ≥ e, their covariance is the identity, so that the mean
    of a quadratic function over them is its expectation. With more dimensions than
    draws only the variances are exact.

    Args:
        e: dimensions.
        random_state: the seed.
        draws: m; by default four for each dimension, at least 64 and at most 2048.
    """
    wanted = 4 * e if draws is None else draws
    half = 1 << (int(np.clip(wanted, MIN_DRAWS, MAX_DRAWS)) - 1).bit_length() - 1
    rng = np.random.default_rng(seed_of(random_state))
    if e <= MAX_SOBOL:
        points = qmc.Sobol(e, scramble=True, rng=rng).random(half)
        noise = ndtri(np.clip(points, 1e-12, 1 - 1e-12))
    else:
        noise = rng.standard_normal((half, e))
    if half > e:
        root = np.linalg.cholesky(noise.T @ noise / half)
        noise = np.linalg.solve(root, noise.T).T
    else:
        noise = noise / np.sqrt((noise**2).mean(0))
    return np.concatenate([noise, -noise])
