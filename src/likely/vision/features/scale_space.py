"""Scale space: an image at ever coarser scales, and where it differs from one to the next.

    L(σ) = G(σ) * I,    D(σ) = L(kσ) − L(σ) ≈ (k − 1)·σ²·∇²L

The difference of Gaussians D answers to blobs of size σ. Scales go in octaves of `levels`
steps, k = 2^(1/levels); each octave starts from every second pixel of the one before.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.ndimage import gaussian_filter

CAMERA_BLUR = 0.5
"""The blur σ that a photograph is taken to have, in its pixels."""
BASE_BLUR = 1.6
"""σ of the first level of every octave, in pixels of the octave."""
MIN_SIDE = 16
"""The smallest side of an octave in pixels."""


class Octave(NamedTuple):
    """Images of one size: L (levels + 3) and their differences D (levels + 2)."""

    L: Float[np.ndarray, "s h w"]
    D: Float[np.ndarray, "t h w"]
    pixel: float
    """Pixels of the image for one of the octave."""


def octaves(image: Float[np.ndarray, "h w"], levels: int) -> list[Octave]:
    """The octaves of an image, from twice as many pixels on."""
    base = _blurred(_doubled(image), 2 * CAMERA_BLUR, BASE_BLUR)
    found, pixel = [], 0.5
    while min(base.shape) >= MIN_SIDE:
        octave = _octave(base, levels, pixel)
        found.append(octave)
        base, pixel = octave.L[levels, ::2, ::2], 2 * pixel
    return found


def sigma_of(level: Float[np.ndarray, " n"], levels: int) -> Float[np.ndarray, " n"]:
    """The blur of a level, also between levels, in pixels of its octave."""
    return BASE_BLUR * 2.0 ** (level / levels)


def _doubled(image: np.ndarray) -> np.ndarray:
    """(2h − 1, 2w − 1): pixel (2i, 2j) is pixel (i, j), the others lie half-way between."""
    for axis in (0, 1):
        rows = np.moveaxis(image, axis, 0)
        finer = np.repeat(rows, 2, 0)[:-1]
        finer[1::2] = (rows[:-1] + rows[1:]) / 2
        image = np.moveaxis(finer, 0, axis)
    return np.ascontiguousarray(image)


def _octave(base: np.ndarray, levels: int, pixel: float) -> Octave:
    sigmas = sigma_of(np.arange(levels + 3.0), levels)
    L = [base]
    for before, after in zip(sigmas[:-1], sigmas[1:], strict=True):
        L.append(_blurred(L[-1], before, after))
    stack = np.stack(L)
    return Octave(stack, np.diff(stack, axis=0), pixel)


def _blurred(image: np.ndarray, before: float, after: float) -> np.ndarray:
    """The image with more blur: variances of Gaussians add up."""
    more = float(np.sqrt(max(after**2 - before**2, 0.01)))
    return gaussian_filter(image, more, mode="nearest", truncate=4.0)
