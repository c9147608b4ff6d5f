r"""The plane projective map between two images, found in spite of wrong matches.

    (x', y') = (a/c, b/c),    (a, b, c) = H·(x, y, 1)

Four pairs of points determine H. RANSAC takes four pairs at random, again and again, keeps
the H that most pairs agree with to within a few pixels, and fits H to all of these by least
squares of the distances.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from likely.core.checks import InputError, check_finite
from likely.evaluate.assignment import generator_of

MIN_PAIRS = 4
BATCH = 200
"""Samples of four pairs that are tried at once."""
CONFIDENCE = 0.9999
"""Trials end when a sample without a wrong pair was drawn with this probability."""
MAX_DETERMINANT_RATIO = 1e6
REFINEMENTS = 10


@dataclass(frozen=True)
class Homography:
    """A plane projective map and the pairs of points that agree with it.

    Attributes:
        matrix: (3, 3) H with H[2, 2] = 1.
        inliers: (n,) whether each pair agrees with it.
        error: root mean square distance of these pairs, in pixels.
    """

    matrix: Float[np.ndarray, "3 3"]
    inliers: Bool[np.ndarray, " n"]
    error: float

    def __call__(self, points: Any) -> Float[np.ndarray, "n 2"]:
        """Where points (n, 2) go."""
        return project(self.matrix, np.asarray(points, np.float64))


def project(H: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points (n, 2) under H (..., 3, 3), (..., n, 2); NaN beyond the horizon."""
    rows = np.concatenate([points, np.ones((len(points), 1))], 1)
    moved = rows @ np.swapaxes(H, -1, -2)
    ahead = moved[..., 2:] > 1e-9
    return np.where(
        ahead, moved[..., :2] / np.where(ahead, moved[..., 2:], 1.0), np.nan
    )


def find_homography(
    source: Any,
    target: Any,
    *,
    max_error: float | int = 3.0,
    max_trials: int = 5000,
    random_state: Any = 0,
) -> Homography:
    """The map from points of one image to those of another, robust to wrong pairs.

    Args:
        source: (n, 2) points, at least 4.
        target: (n, 2) where they are in the other image.
        max_error: the distance in pixels within which a pair agrees with a map.
        max_trials: how many samples of four pairs to draw at most.
        random_state: seed or NumPy generator.
    """
    a, b = _pairs(source, target)
    rng = generator_of(random_state)
    best, trials, needed = np.zeros(len(a), bool), 0, float(max_trials)
    while trials < needed:
        near = _agreement(a, b, rng, float(max_error))
        trials += BATCH
        count = near.sum(1)
        if count.max() > best.sum():
            best = near[count.argmax()]
            clean = (best.mean()) ** MIN_PAIRS
            needed = min(
                max_trials, np.log(1 - CONFIDENCE) / np.log1p(-min(clean, 1 - 1e-9))
            )
    if best.sum() < MIN_PAIRS:
        raise InputError(
            f"no four of {len(a)} pairs agree on a map that others follow; give better "
            "matches (a lower ratio), or a larger max_error."
        )
    H = _least_squares(a, b, best)
    for _ in range(3):  # pairs may join that the sample of four was too inexact for
        again = _distances(H, a, b) < max_error
        if again.sum() < MIN_PAIRS or (again == best).all():
            break
        best = again
        H = _least_squares(a, b, best)
    error = np.sqrt((_distances(H, a[best], b[best]) ** 2).mean())
    return Homography(H, best, float(error))


def _pairs(source: Any, target: Any) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.asarray(source, np.float64), np.asarray(target, np.float64)
    if a.shape != b.shape or a.ndim != 2 or a.shape[1] != 2:
        raise InputError(
            f"source and target have shapes {a.shape} and {b.shape}; give (n, 2) of each."
        )
    if len(a) < MIN_PAIRS:
        raise InputError(
            f"there are {len(a)} pairs of points, but a homography needs at least 4."
        )
    check_finite("source", a)
    check_finite("target", b)
    return a, b


def _distances(H: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How far the points of a come from those of b; infinite beyond the horizon."""
    d = np.linalg.norm(project(H, a) - b, axis=-1)
    return np.where(np.isfinite(d), d, np.inf)


def _agreement(a, b, rng: np.random.Generator, max_error: float) -> np.ndarray:
    """(trials, n) which pairs agree with the maps through four pairs at random."""
    four = rng.random((BATCH, len(a))).argpartition(MIN_PAIRS - 1, 1)[:, :MIN_PAIRS]
    (Ta, p), (Tb, q) = _scaled(a), _scaled(b)
    M, r = _equations(p[four], q[four])
    regular = np.abs(np.linalg.det(M)) > 1e-10
    M = np.where(regular[:, None, None], M, np.eye(8))
    h = np.linalg.solve(M, r[..., None])[..., 0]
    H = np.concatenate([h, np.ones((BATCH, 1))], 1).reshape(-1, 3, 3)
    H = np.linalg.inv(Tb) @ H @ Ta
    return (_distances(H, a, b) < max_error) & regular[:, None]


def _scaled(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The map that brings points to mean 0 and distance √2, and the points so moved."""
    middle = points.mean(0)
    size = np.sqrt(2) / max(np.linalg.norm(points - middle, axis=1).mean(), 1e-12)
    T = np.array(
        [[size, 0, -size * middle[0]], [0, size, -size * middle[1]], [0, 0, 1]]
    )
    return T, (points - middle) * size


def _equations(p: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Linear equations M·h = r for eight entries of H, two for each pair (..., n, 2)."""
    x, y = p[..., 0], p[..., 1]
    one, zero = np.ones_like(x), np.zeros_like(x)
    u, v = q[..., 0], q[..., 1]
    first = np.stack([x, y, one, zero, zero, zero, -u * x, -u * y], -1)
    second = np.stack([zero, zero, zero, x, y, one, -v * x, -v * y], -1)
    return np.concatenate([first, second], -2), np.concatenate([u, v], -1)


def _least_squares(a: np.ndarray, b: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """H of least squared distances: the linear solution, then Gauss-Newton steps."""
    (Ta, p), (Tb, q) = _scaled(a[mask]), _scaled(b[mask])
    M, r = _equations(p, q)
    h = np.linalg.lstsq(M, r, rcond=None)[0]
    for _ in range(REFINEMENTS):
        c = p @ h[6:] + 1.0
        moved = np.concatenate([p @ h[:2] + h[2], p @ h[3:5] + h[5]]) / np.tile(c, 2)
        J = M / np.tile(c, 2)[:, None]
        J[:, 6:] = -np.tile(p, (2, 1)) * (moved / np.tile(c, 2))[:, None]
        step = np.linalg.lstsq(J, r - moved, rcond=None)[0]
        h = h + step
        if np.abs(step).max() < 1e-12:
            break
    H = np.linalg.inv(Tb) @ np.append(h, 1.0).reshape(3, 3) @ Ta
    return H / H[2, 2]
