"""Whether a generator leaves out a part of the rows: mode collapse, and how it is said.

Some rows that lie far apart are landmarks. Every row and every draw belongs to the nearest
landmark: these are regions. A region that holds many rows and less than a tenth as many draws
is left out. Draws that repeat a few rows, or all lie in the middle, leave out most regions; draws
that are only less sharp than rows do not.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np

MAX_ROWS = 1000
"""Rows that are compared with as many draws."""
MIN_ROWS = 20
"""Fewer rows say nothing."""
N_REGIONS, MIN_REGION_ROWS = 20, 10
"""How many regions there are, and the fewest rows of one that can be left out."""
MIN_SHARE = 0.1
"""Draws in a region over rows in it, below which it is left out."""
MAX_MISSED = 0.1
"""The largest share of rows in regions that are left out."""


class CollapseWarning(UserWarning):
    """A generator whose draws leave out a part of the rows."""


class Regions(NamedTuple):
    """Rows and draws in the regions of some landmarks."""

    rows: np.ndarray
    """(k,) how many rows each region holds."""
    draws: np.ndarray
    """(k,) how many draws, of as many as there are rows."""

    @property
    def n_rows(self) -> int:
        """How many rows were compared."""
        return int(self.rows.sum())

    @property
    def left_out(self) -> np.ndarray:
        """(k,) booleans: regions of many rows with hardly a draw."""
        return (self.rows >= MIN_REGION_ROWS) & (self.draws < MIN_SHARE * self.rows)

    @property
    def missed(self) -> float:
        """The share of rows in regions that are left out."""
        return float(self.rows[self.left_out].sum() / max(self.n_rows, 1))

    @property
    def collapsed(self) -> bool:
        """Whether draws leave out a part of the rows."""
        return self.missed > MAX_MISSED

    @property
    def sentence(self) -> str:
        """What is found, and what to do."""
        if self.n_rows < MIN_ROWS:
            return f"{self.n_rows} rows are too few to say whether draws leave out some"
        if not self.collapsed:
            return (
                f"its draws lie in regions that hold {1 - self.missed:.0%} of the rows"
            )
        return (
            f"the generator collapsed: its draws leave out {self.left_out.sum()} of "
            f"{len(self.rows)} regions, which hold {self.missed:.0%} of the rows; give a "
            "larger penalty, a smaller rate_ratio, more critic_steps, or train longer"
        )


def compare_regions(rows: np.ndarray, draws: np.ndarray, seed: int) -> Regions:
    """Rows and as many draws by regions.

    Args:
        rows: (n, ...) points.
        draws: (n, ...) points.
        seed: of the choice of landmarks.
    """
    R, G = (np.reshape(a, (len(a), -1)).astype(np.float64) for a in (rows, draws))
    if rows.ndim == 2:  # the columns of a table count alike
        scale = R.std(0)
        scale = np.where(scale > 0, scale, 1.0)
        R, G = R / scale, G / scale
    size = max(1, min(N_REGIONS, len(R) // MIN_REGION_ROWS))
    centers = R[_landmarks(R, size, np.random.default_rng(seed))]
    held = [np.bincount(_nearest(X, centers), minlength=len(centers)) for X in (R, G)]
    return Regions(*held)


def _landmarks(R: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of rows, each drawn in proportion to its squared distance from those before."""
    chosen = [int(rng.integers(len(R)))]
    squares = ((R - R[chosen[0]]) ** 2).sum(1)
    while len(chosen) < size and squares.sum() > 0:
        chosen.append(int(rng.choice(len(R), p=squares / squares.sum())))
        squares = np.minimum(squares, ((R - R[chosen[-1]]) ** 2).sum(1))
    return np.array(chosen)


def _nearest(X: np.ndarray, centers: np.ndarray) -> np.ndarray:
    return ((centers**2).sum(1) - 2 * X @ centers.T).argmin(1)


def report_regions(estimator: Any, regions: Regions) -> None:
    """Keep what was found, and warn of a collapse."""
    estimator.regions_, estimator.collapsed_ = regions, regions.collapsed
    estimator.status_ = f"{estimator.status_}; {regions.sentence}"
    if regions.collapsed:
        warnings.warn(
            f"{type(estimator).__name__}: {regions.sentence}.",
            CollapseWarning,
            stacklevel=3,
        )
