"""SURF: keypoints from box filters on an integral image.

Second derivatives of a Gaussian are replaced by sums over rectangles (white +, black −), so
that filters of every size L cost the same; one of size L stands for σ = 1.2·L/9. Blobs are
maxima over place and scale of the determinant

    Dxx·Dyy − (0.9·Dxy)²,

and are described by sums of Haar wavelet responses, dx, |dx|, dy, |dy|, in 4 by 4 cells.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.vision.features.extrema import local_extrema, refined
from likely.vision.features.grey import grey
from likely.vision.features.integral import integral_image, sums_at
from likely.vision.features.keypoints import Keypoints
from likely.vision.features.sift import joined
from likely.vision.features.wavelets import wavelet_descriptors, wavelet_directions

SIZES = ((9, 15, 21, 27), (15, 27, 39, 51), (27, 51, 75, 99))
"""Sides of the filters of each octave, in pixels."""
SIGMA_OF_SIDE = 1.2 / 9
MIXED_WEIGHT = 0.81
"""The weight of Dxy² in the determinant, which balances the boxes against Gaussians."""


def surf(
    image: Any, *, max_keypoints: int | None = None, threshold: float | int = 2e-4
) -> Keypoints:
    """Keypoints of an image by speeded-up robust features.

    Args:
        image: (h, w), or (h, w, c) of which the brightness is used; numbers from 0 to 1, or
            bytes.
        max_keypoints: how many to return at most, the clearest ones.
        threshold: the least determinant of second derivatives.
    """
    if max_keypoints is not None and max_keypoints < 1:
        raise InputError(f"max_keypoints is {max_keypoints}; give at least 1, or None.")
    plane = grey(image)
    S = integral_image(plane - plane.mean())  # outside of the image is its mean
    fits = [sizes for sizes in SIZES if 3 * sizes[0] <= min(S.shape)]
    known = {side: determinant(S, side) for side in {s for f in fits for s in f}}
    parts = []
    for octave, sizes in enumerate(fits):
        step = 2**octave
        stack = np.stack([known[side] for side in sizes])[:, ::step, ::step]
        found = refined(stack, local_extrema(stack, threshold, minima=False))
        clear = found.values >= threshold
        places, responses = found.places[clear], found.values[clear]
        side = sizes[0] + places[:, 0] * (sizes[1] - sizes[0])
        points, sigma = places[:, :0:-1] * step, side * SIGMA_OF_SIDE
        angles = wavelet_directions(S, points, sigma)
        vectors = wavelet_descriptors(S, points, sigma, angles)
        parts.append(Keypoints(points, sigma, angles, responses, vectors))
    return joined(parts, 64).strongest(max_keypoints)


def determinant(S: Float[np.ndarray, "h1 w1"], side: int) -> Float[np.ndarray, "h w"]:
    """The determinant of second derivatives at every pixel, by boxes of one size.

    Near the border, where the boxes reach outside, it is 0.
    """
    h, w = S.shape[0] - 1, S.shape[1] - 1
    y, x = np.arange(h)[:, None], np.arange(w)[None, :]
    third, half = side // 3, side // 2

    def box(top: int, left: int, height: int, width: int) -> np.ndarray:
        return sums_at(S, y + top, x + left, height, width)

    long, short = 2 * third - 1, third // 2
    xx = box(1 - third, -half, long, side) - 3 * box(1 - third, -short, long, third)
    yy = box(-half, 1 - third, side, long) - 3 * box(-short, 1 - third, third, long)
    xy = box(-third, 1, third, third) + box(1, -third, third, third)
    xy -= box(-third, -third, third, third) + box(1, 1, third, third)
    value = (xx * yy - MIXED_WEIGHT * xy**2) / side**4
    value[:half], value[-half:], value[:, :half], value[:, -half:] = 0, 0, 0, 0
    return value
