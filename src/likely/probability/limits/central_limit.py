r"""The central limit theorem, and how far from it a sum of n variables is.

$Z_n = \sqrt n (\bar X_n - E X)/σ$ tends to a standard normal variable, and by Berry and Esseen

$$\sup_z |P(Z_n \le z) - Φ(z)| \le 0.4748\, \frac{E|X - EX|^3}{σ^3 \sqrt n} .$$

The distance is measured on the law of the sum itself, which a power of the Fourier transform of the
law of one X gives; nothing is drawn.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.fft import next_fast_len
from scipy.special import ndtr

from likely.core.checks import InputError
from likely.probability.variables.grid import cell_masses
from likely.probability.variables.make import random_variable
from likely.probability.variables.point_variable import PointVariable

BERRY_ESSEEN = 0.4748
"""The constant of the bound (Shevtsova 2011)."""
CELLS_PER_STD = ((16, 1024), (10**4, 256), (10**6, 64))
"""Up to which n a standard deviation of one X has how many cells."""
REACH = 14.0
"""Standard deviations of the sum on each side that are kept apart."""
MAX_N = 10**6


class StandardisedSum(NamedTuple):
    """The law of √n (mean − EX)/σ for one n."""

    n: int
    z: np.ndarray
    """The points (lattice laws), or the middles of cells."""
    density: np.ndarray
    """The probability of each point or cell, divided by its width in z."""
    distance: float
    """The largest |P(Z ≤ z) − Φ(z)|."""
    bound: float
    """What Berry and Esseen promise."""
    lattice: bool


class CentralLimit(NamedTuple):
    """Sums of several lengths, and their distances from the normal law."""

    sums: tuple[StandardisedSum, ...]

    @property
    def n(self) -> np.ndarray:
        """The lengths."""
        return np.array([s.n for s in self.sums])

    @property
    def distance(self) -> np.ndarray:
        """The measured distances."""
        return np.array([s.distance for s in self.sums])

    @property
    def bound(self) -> np.ndarray:
        """The bounds of Berry and Esseen."""
        return np.array([s.bound for s in self.sums])


def central_limit(
    law: Any, n: Sequence[int] | int = (1, 2, 5, 10, 30, 100), **theta: Any
) -> CentralLimit:
    """The laws of standardised sums, and their distances from the normal law.

    Args:
        law: what `random_variable` takes, of finite variance.
        n: the numbers of terms.
        **theta: parameters of a family.
    """
    variable = random_variable(law, **theta)
    sizes = [n] if isinstance(n, int) else list(n)
    if any(not 1 <= size <= MAX_N for size in sizes):
        raise InputError(f"n is {sizes}; give whole numbers from 1 to {MAX_N}.")
    std = float(variable.std)
    if not (np.isfinite(std) and std > 0):
        raise InputError(
            f"the standard deviation is {std}; the central limit theorem needs one that is "
            "finite and not zero."
        )
    third = variable.absolute_moment(3)
    sums = []
    for size in sizes:
        cells = next(cells for most, cells in CELLS_PER_STD if size <= most)
        lattice, masses = _cells(variable, std / cells)
        z, p = _power(masses, size)
        distance = _distance(z, p, lattice)
        if size == 1 and not lattice:
            distance = max(distance, _distance_of_one(variable))
        shown = np.abs(z) < 5
        density = p[shown] / (z[1] - z[0])
        bound = float(BERRY_ESSEEN * third / (std**3 * np.sqrt(size)))
        sums.append(StandardisedSum(size, z[shown], density, distance, bound, lattice))
    return CentralLimit(tuple(sums))


def _cells(variable: Any, step: float) -> tuple[bool, np.ndarray]:
    """Whether the law is one of a lattice, and the masses of its points or of cells."""
    if isinstance(variable, PointVariable):
        x = np.unique(variable.values)
        smallest = float(np.diff(x).min())
        places = (x - x[0]) / smallest
        if np.abs(places - np.round(places)).max() < 1e-9 and places[-1] < 10**6:
            moved = PointVariable(variable.values - x[0], variable.weights)
            return True, cell_masses(moved, 1.0, smallest)[1]
        return False, cell_masses(variable, 1.0, step)[1]
    lattice = bool(getattr(variable, "discrete", False))
    return lattice, cell_masses(variable, 1.0, 1.0 if lattice else step)[1]


def _power(masses: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The standardised points of a sum of n, and their probabilities."""
    masses = np.trim_zeros(masses / masses.sum())
    index = np.arange(len(masses))
    mean = float(masses @ index)
    std = float(np.sqrt(masses @ (index - mean) ** 2))
    whole = n * (len(masses) - 1) + 1
    size = min(whole, int(2 * REACH * std * np.sqrt(n)) + len(masses) + 2)
    size = int(next_fast_len(size, real=True) or size)
    p = np.fft.irfft(np.fft.rfft(masses, size) ** n, size)
    p = np.maximum(p, 0.0)
    first = 0 if size >= whole else int(round(n * mean)) - size // 2
    places = first + np.arange(min(size, whole))
    p = p[places % size]
    return (places - n * mean) / (std * np.sqrt(n)), p / p.sum()


def _distance(z: np.ndarray, p: np.ndarray, lattice: bool) -> float:
    """The largest difference of the cdf from that of a normal variable."""
    below = np.cumsum(p)
    before = np.append(0.0, below[:-1])
    if not lattice:
        half = (z[1] - z[0]) / 2
        edges = np.append(z[0] - half, z + half)
        return float(np.abs(np.append(0.0, below) - ndtr(edges)).max())
    normal = ndtr(z)
    return float(max(np.abs(below - normal).max(), np.abs(before - normal).max()))


def _distance_of_one(variable: Any) -> float:
    """The distance of a single variable, by its own cdf, also at the ends of its support."""
    mean, std = float(variable.mean), float(variable.std)
    ends = variable.quantile(np.linspace(0, 1, 2001))
    t = np.concatenate([ends[np.isfinite(ends)], mean + std * np.linspace(-8, 8, 4001)])
    return float(np.abs(variable.cdf(t) - ndtr((t - mean) / std)).max())
