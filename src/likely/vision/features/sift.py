"""SIFT: keypoints that are found again after a turn, a change of size or of light.

Blobs are extrema of differences of Gaussians over place and scale (`scale_space`); weak ones
and those along edges are left out; each gets the main direction of the gradients around it,
and 4·4·8 numbers that describe them relative to that direction (`orientation`).
"""

from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.vision.features.extrema import local_extrema, refined
from likely.vision.features.grey import grey
from likely.vision.features.keypoints import Keypoints
from likely.vision.features.orientation import Level, descriptors, directions
from likely.vision.features.scale_space import Octave, octaves, sigma_of


def sift(
    image: Any,
    *,
    max_keypoints: int | None = None,
    contrast_threshold: float | int = 0.04,
    edge_threshold: float | int = 10,
    levels: int = 3,
) -> Keypoints:
    """Keypoints of an image by the scale-invariant feature transform.

    Args:
        image: (h, w), or (h, w, c) of which the brightness is used; numbers from 0 to 1, or
            bytes.
        max_keypoints: how many to return at most, the clearest ones.
        contrast_threshold: the least difference of Gaussians, times `levels`.
        edge_threshold: the largest ratio of the two curvatures of a blob.
        levels: scales for each doubling of size.
    """
    plane = grey(image)
    if levels < 1:
        raise InputError(f"levels is {levels}; give at least 1.")
    if max_keypoints is not None and max_keypoints < 1:
        raise InputError(f"max_keypoints is {max_keypoints}; give at least 1, or None.")
    parts = [
        _in_octave(octave, levels, (contrast_threshold, edge_threshold))
        for octave in octaves(plane, levels)
    ]
    parts = [part for part in parts if len(part)]
    return joined(parts, 128).strongest(max_keypoints)


def joined(parts: list[Keypoints], k: int) -> Keypoints:
    """The keypoints of all parts in one; descriptors have k entries."""
    names = ("points", "scales", "angles", "responses", "descriptors")
    empty = Keypoints(*(np.empty(s) for s in ((0, 2), (0,), (0,), (0,), (0, k))))
    return Keypoints(
        *(
            np.concatenate([getattr(part, name) for part in [empty, *parts]])
            for name in names
        )
    )


def _in_octave(octave: Octave, levels: int, least: tuple) -> Keypoints:
    """The keypoints of one octave, in pixels of the image."""
    contrast, edge = least
    found = refined(octave.D, local_extrema(octave.D, 0.5 * contrast / levels))
    H = found.curvature
    trace, det = H[:, 0, 0] + H[:, 1, 1], H[:, 0, 0] * H[:, 1, 1] - H[:, 0, 1] ** 2
    clear = np.abs(found.values) * levels >= contrast
    clear &= (det > 0) & (trace**2 * edge < (edge + 1) ** 2 * det)
    places, values = found.places[clear], np.abs(found.values[clear])
    parts = []
    level_of = np.clip(np.rint(places[:, 0]).astype(int), 1, levels)
    for number in np.unique(level_of):
        mine = level_of == number
        points, sigma = places[mine][:, :0:-1], sigma_of(places[mine, 0], levels)
        level = Level.of(octave.L[number])
        rows, angles = directions(level, points, sigma)
        points, sigma = points[rows], sigma[rows]
        parts.append(
            Keypoints(
                points * octave.pixel,
                sigma * octave.pixel,
                angles,
                values[mine][rows],
                descriptors(level, points, sigma, angles),
            )
        )
    return joined(parts, 128)
