"""Synthetic scenes: digits or shapes on clutter, of which every box is known exactly."""

from collections.abc import Callable
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.data.dataset import generator
from likely.data.detection.annotated import AnnotatedImages
from likely.data.detection.clutter import clutter
from likely.data.detection.pictures import resized

Range = tuple[float | int, float | int]
MAX_OVERLAP = 0.15
"""The largest share of the smaller of two boxes that the other may cover."""
MAX_TRIALS = 50
"""Places that are tried for an object before the scene goes without it."""
MARGIN = 1
"""Pixels around the ink of a digit, at its own resolution, that belong to its box."""
BRIGHTNESS = 0.6, 1.0
"""The least and the largest brightness of an object."""
SHAPES = ("disc", "square", "triangle", "cross")


def digit_scenes(
    digits: Any,
    labels: Any,
    n: int = 2000,
    *,
    size: int = 64,
    count: tuple[int, int] = (1, 5),
    sides: Range = (10, 24),
    random_state: Any = 0,
) -> AnnotatedImages:
    """Scenes of digits on clutter; the box of a digit is its ink and a narrow margin.

    The longer side of a box is between the two `sides`; two boxes overlap by at most 15 %
    of the smaller one. Objects are drawn from `digits` with equal probability, so that
    disjoint digits give scenes that share none.

    Args:
        digits: (m, h, w) images of digits, bright on dark, as `data.mnist` has them.
        labels: (m,) what they are.
        n: how many scenes.
        size: of the sides of a scene, in pixels.
        count: the least and the most objects of a scene.
        sides: the shortest and the longest side of a box.
        random_state: seed of the draws.
    """
    D, labels = np.asarray(digits), np.asarray(labels)
    if D.ndim != 3 or len(D) != len(labels) or not len(D):
        raise InputError(
            f"digits has shape {D.shape} and labels {labels.shape}; give images (m, h, w) "
            "and a label for each of them."
        )
    D = D / 255 if D.dtype == np.uint8 else D.astype(np.float64)
    rng = generator(random_state)

    def draw() -> tuple[np.ndarray, Any]:
        number = int(rng.integers(len(D)))
        return _ink(D[number]), labels[number]

    return _scenes(rng, draw, D, n, size, count, sides, "Digits on clutter")


def shape_scenes(
    n: int = 500,
    *,
    size: int = 64,
    count: tuple[int, int] = (1, 4),
    sides: Range = (10, 24),
    random_state: Any = 0,
) -> AnnotatedImages:
    """Scenes of discs, squares, triangles and crosses on clutter.

    Args:
        n: how many scenes.
        size: of the sides of a scene, in pixels.
        count: the least and the most objects of a scene.
        sides: the shortest and the longest side of a box.
        random_state: seed of the draws.

    Examples:
        >>> len(lk.data.shape_scenes(3).boxes)
        3
    """
    rng, drawn = generator(random_state), {name: _shape(name) for name in SHAPES}

    def draw() -> tuple[np.ndarray, Any]:
        name = SHAPES[int(rng.integers(len(SHAPES)))]
        return drawn[name], name

    return _scenes(rng, draw, None, n, size, count, sides, "Shapes on clutter")


def _scenes(  # noqa: PLR0917
    rng: np.random.Generator,
    draw: Callable[[], tuple[np.ndarray, Any]],
    pieces: np.ndarray | None,
    n: int,
    size: int,
    count: tuple[int, int],
    sides: Range,
    what: str,
) -> AnnotatedImages:
    if not 0 <= count[0] <= count[1] or not 2 <= sides[0] <= sides[1] <= size:
        raise InputError(
            f"count is {count} and sides are {sides}; give the least and the most objects, "
            f"and the shortest and the longest side, from 2 to {size} pixels."
        )
    images, boxes, labels = np.empty((n, size, size), np.uint8), [], []
    for i in range(n):
        image = clutter(rng, size, pieces)
        placed, names = [], []
        for _ in range(int(rng.integers(count[0], count[1] + 1))):
            picture, name = draw()
            box = _place(rng, picture.shape, placed, size, sides)
            if box is not None:
                painted = resized(picture, (box[3] - box[1], box[2] - box[0]))
                _paint(image, rng.uniform(*BRIGHTNESS) * painted, box)
                placed.append(box)
                names.append(name)
        images[i] = np.round(255 * np.clip(image, 0, 1))
        boxes.append(np.array(placed, np.float64).reshape(-1, 4))
        labels.append(np.array(names))
    return AnnotatedImages(images, boxes, labels, description=f"{what}, {size} pixels.")


def _place(
    rng: np.random.Generator,
    shape: tuple[int, ...],
    others: list[tuple[int, int, int, int]],
    size: int,
    sides: Range,
) -> tuple[int, int, int, int] | None:
    """A free place of random size with the proportions of a picture, or None."""
    for _ in range(MAX_TRIALS):
        side = rng.uniform(*sides)
        h, w = (max(2, round(side * s / max(shape))) for s in shape)
        x, y = (int(rng.integers(0, size - s + 1)) for s in (w, h))
        box = (x, y, x + w, y + h)
        if all(_overlap(box, other) <= MAX_OVERLAP for other in others):
            return box
    return None


def _overlap(a: tuple[int, ...], b: tuple[int, ...]) -> float:
    """The share of the smaller box that the other covers."""
    w = min(a[2], b[2]) - max(a[0], b[0])
    h = min(a[3], b[3]) - max(a[1], b[1])
    smaller = min((c[2] - c[0]) * (c[3] - c[1]) for c in (a, b))
    return max(0, w) * max(0, h) / smaller


def _paint(image: np.ndarray, picture: np.ndarray, box: tuple[int, ...]) -> None:
    """Draw the bright parts of a picture into its box."""
    x0, y0, x1, y1 = box
    place = image[y0:y1, x0:x1]
    np.maximum(place, picture, out=place)


def _ink(digit: np.ndarray) -> np.ndarray:
    """A digit without the empty rows and columns around it, but for a margin."""
    ys, xs = (np.flatnonzero((digit > 0.25).any(axis)) for axis in (1, 0))
    if not len(ys):
        return digit
    (top, low), (left, right) = (
        (max(0, a[0] - MARGIN), a[-1] + 1 + MARGIN) for a in (ys, xs)
    )
    return digit[top:low, left:right]


def _shape(name: str, size: int = 48) -> np.ndarray:
    """A filled shape that touches all sides of its picture."""
    y, x = np.mgrid[:size, :size] / (size - 1) * 2 - 1
    inside = {
        "disc": x**2 + y**2 <= 1,
        "square": (abs(x) <= 1) & (abs(y) <= 1),
        "triangle": abs(x) <= (y + 1) / 2,
        "cross": (abs(x) <= 0.3) | (abs(y) <= 0.3),
    }
    return inside[name].astype(np.float64)
