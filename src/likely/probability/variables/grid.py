r"""Sums of independent variables on a grid, by fast Fourier transforms.

$$f_{X+Y}(z) = \int f_X(x)\,f_Y(z - x)\,dx .$$

Each part becomes the probabilities of cells of width h, from its cdf, so that kinks and poles of
densities do no harm; convolved, they are those of the sum, and divided by h its density, up to
an error of order h². Two widths give the error, and one more order.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator
from scipy.signal import fftconvolve

TAIL = 1e-13
"""The probability of each part that is left out on each side."""
CELLS_PER_SPREAD = 1024
MAX_CELLS = 2**18
"""The largest number of cells of one part."""


class GridLaw(NamedTuple):
    """The law of a number on a grid of equal steps."""

    x: np.ndarray
    """The grid."""
    density: np.ndarray
    """The density on it; for whole numbers, the probabilities."""
    masses: np.ndarray
    """The probabilities of the cells; they sum to one."""
    step: float
    """The width of the cells."""
    errors: np.ndarray
    """The error of the density at each point, from two widths and the tails left out."""
    lattice: bool
    """Whether the law is one of points on the grid, without a density."""

    @property
    def error(self) -> float:
        """The largest error of the density: at a kink, if there is one."""
        return float(np.max(self.errors))

    def pdf(self, t: Any) -> Any:
        """The density at t, between grid points by cubic splines."""
        t = np.asarray(t, np.float64)
        if self.lattice:
            index = np.round((t - self.x[0]) / self.step).astype(int)
            inside = (index >= 0) & (index < len(self.x))
            index = np.clip(index, 0, len(self.x) - 1)
            on = np.abs(self.x[index] - t) <= 1e-9 * self.step
            return np.where(inside & on, self.density[index], 0.0)
        inside = (t >= self.x[0]) & (t <= self.x[-1])
        spline = CubicSpline(self.x, self.density)
        return np.where(
            inside, np.maximum(spline(np.where(inside, t, self.x[0])), 0), 0.0
        )

    def cdf(self, t: Any) -> Any:
        """P(X ≤ t)."""
        t = np.asarray(t, np.float64)
        below = np.cumsum(self.masses)
        if self.lattice:
            index = np.floor((t - self.x[0]) / self.step + 1e-9).astype(int)
            found = np.concatenate([[0.0], below])[np.clip(index + 1, 0, len(below))]
            return np.minimum(found, 1.0)
        edges = self.x + self.step / 2
        inside = np.clip(t, edges[0], edges[-1])
        found = PchipInterpolator(edges, np.minimum(below, 1.0))(inside)
        return np.where(t < edges[0], 0.0, np.where(t > edges[-1], 1.0, found))

    def quantile(self, q: Any) -> Any:
        """The smallest t with P(X ≤ t) ≥ q."""
        q = np.asarray(q, np.float64)
        below = np.cumsum(self.masses)
        index = np.minimum(np.searchsorted(below, q * (1 - 1e-15)), len(below) - 1)
        if self.lattice:
            return self.x[index]
        before = np.where(index > 0, below[np.maximum(index - 1, 0)], 0.0)
        share = (q - before) / np.maximum(below[index] - before, 1e-300)
        return self.x[index] + self.step * (np.clip(share, 0.0, 1.0) - 0.5)


def grid_of(combination: Any) -> GridLaw:
    """The law of Σ a_i X_i + b."""
    parts = list(zip(combination.parts, combination.A, strict=True))
    b = float(combination.b)
    if all(_whole(part) and a == round(a) for part, a in parts):
        start, masses = _convolved(parts, 1.0)
        x = b + start + np.arange(len(masses))
        errors = np.full(len(x), abs(1 - masses.sum()) + 1e-16)
        share = masses / masses.sum()
        return GridLaw(x, share, share, 1.0, errors, lattice=True)
    spread = np.sqrt(sum(_spread(part, a) ** 2 for part, a in parts))
    step = spread / CELLS_PER_SPREAD
    widest = max(_width(part, a) for part, a in parts)
    step = max(step, widest / MAX_CELLS)
    start, fine = _convolved(parts, step)
    coarse_start, coarse = _convolved(parts, 2 * step)
    first = -(
        -start // 2
    )  # the first coarse point at or after the start of the fine grid
    low = max(first, coarse_start)
    high = min((start + len(fine) - 1) // 2, coarse_start + len(coarse) - 1)
    index = np.arange(low, high + 1)
    narrow = fine[2 * index - start] / step
    wide = coarse[index - coarse_start] / (2 * step)
    left = abs(1 - fine.sum())
    errors = np.abs(narrow - wide) + (left + 1e-16) / step
    density = np.maximum((4 * narrow - wide) / 3, 0.0)
    masses = np.maximum(density * 2 * step, 0.0)
    masses = masses / masses.sum()
    return GridLaw(
        b + 2 * step * index, density, masses, 2 * step, errors, lattice=False
    )


def cell_masses(part: Any, a: float, step: float) -> tuple[int, np.ndarray]:
    """The number of the first cell of a X, and the probabilities of all cells."""
    if _has_points(part):
        return _binned(a * part.values, part.weights, step)
    if getattr(part, "discrete", False):
        y = np.arange(*_ends(part, 1.0) + np.array([0, 1]))
        return _binned(a * y, part.pdf(y), step)
    low, high = _ends(part, a)
    first, last = int(np.floor(low / step)), int(np.ceil(high / step))
    edges = (np.arange(first, last + 2) - 0.5) * step
    return first, np.abs(np.diff(part.cdf(edges / a)))


def _convolved(parts: Any, step: float) -> tuple[int, np.ndarray]:
    """The cells of the sum of all parts."""
    start, total = 0, np.ones(1)
    for part, a in parts:
        first, masses = cell_masses(part, float(a), step)
        start, total = start + first, np.maximum(fftconvolve(total, masses), 0.0)
    return start, total


def _binned(x: np.ndarray, p: np.ndarray, step: float) -> tuple[int, np.ndarray]:
    """Points shared by the two grid points around each, so that the mean is kept."""
    place = x / step
    near = np.round(place)
    place = np.where(np.abs(place - near) < 1e-9, near, place)
    below = np.floor(place).astype(int)
    share = place - below
    first = int(below.min())
    size = int(below.max()) - first + 2
    masses = np.bincount(below - first, weights=p * (1 - share), minlength=size)
    return first, masses + np.bincount(
        below - first + 1, weights=p * share, minlength=size
    )


def _has_points(part: Any) -> bool:
    return hasattr(part, "values") and hasattr(part, "weights")


def _whole(part: Any) -> bool:
    """Whether a part takes whole numbers only."""
    if _has_points(part):
        return bool(np.array_equal(part.values, np.round(part.values)))
    return bool(getattr(part, "discrete", False))


def _ends(part: Any, a: float) -> np.ndarray:
    """The ends of a X, without its tails."""
    levels = np.array([TAIL, 1 - TAIL])
    if getattr(part, "family", None) is not None and not part.discrete:
        middle = np.diff(part.quantile(np.array([0.25, 0.75])))[0]
        for tail in (
            TAIL,
            1e-11,
            1e-9,
            1e-7,
            1e-5,
        ):  # heavy tails: as far as cells reach
            levels = np.array([tail, 1 - tail])
            ends = part.quantile(levels)
            if np.ptp(ends) <= middle * MAX_CELLS / 64:
                break
    return np.sort(a * part.quantile(levels)).astype(float)


def _width(part: Any, a: float) -> float:
    return float(np.ptp(_ends(part, a)))


def _spread(part: Any, a: float) -> float:
    """The distance between quartiles, or the standard deviation where that is 0."""
    middle = float(np.diff(part.quantile(np.array([0.25, 0.75])))[0])
    return abs(a) * (middle or float(part.std))
