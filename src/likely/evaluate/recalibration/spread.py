r"""Recalibration of distributions of numbers, by the likelihood of held-out rows.

    stretch      one factor s on all distances from the median: intervals s times as wide
    pit_shares   a distribution G of F(y): the corrected one is $G(F(y))$

A cell k of [0, 1] has width $v_k$ in levels of F, and the probability $s_k$ under G. Row i has
the probability (or density) $p_i \sum_k A_{ik}\, s_k / v_k$, $A_{ik}$ being the part of
$[F(y_i^-), F(y_i)]$ that lies in cell k (for a density: whether F(y) does). This is a mixture,
and the shares of largest likelihood are found by EM, which begins at $s = v$, where nothing is
changed. A few rows in thought, spread as v is, keep every cell possible. In either case the
likelihood of the rows of the fit never falls.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar

from likely.core.checks import InputError, check_weights
from likely.families.prediction import MIN_ATOM

MIN_STRETCH, MAX_STRETCH = 0.05, 20.0
LEVELS = np.array([0.005, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5])
"""The levels up to the median between which F(y) is counted; above it they are mirrored."""
MIN_ROWS_PER_CELL = 30.0
"""The rows that a cell of F(y) is expected to hold at least."""
PSEUDO_ROWS = 5.0
EM_STEPS, TOLERANCE = 500, 1e-10


def stretch(y: Any, dist: Any, w: Any = None) -> float:
    """The factor s on distances from the median that maximises the likelihood.

    Above 1 means that intervals were too narrow. The median does not change.

    Args:
        y: (n,) what was observed.
        dist: its predicted distribution, with a density.
        w: how often each row counts.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Normal(1.0), np.zeros((50, 1)))
        >>> round(float(lk.evaluate.stretch(2 * np.linspace(-2, 2, 50), dist)), 1)
        2.4
    """
    y, dist, w = _present(y, dist, w)
    if dist.discrete or dist._is_class or dist._outputs() is not None:
        raise InputError(
            "only the distribution of one number with a density can be stretched; for "
            "counts take pit_shares."
        )
    middle = np.asarray(dist.quantile(0.5), np.float64)

    def loss(log_s: float) -> float:
        each = dist.log_prob(middle + (y - middle) * np.exp(-log_s)) - log_s
        return float(-w @ np.maximum(each, -1e6) / w.sum())

    ends = np.log([MIN_STRETCH, MAX_STRETCH])
    options = {"xatol": 1e-5}
    found: Any = minimize_scalar(loss, bounds=ends, method="bounded", options=options)
    return float(np.exp(found.x)) if found.fun < loss(0.0) else 1.0


def pit_shares(
    y: Any, dist: Any, w: Any = None
) -> tuple[Float[np.ndarray, " l"], Float[np.ndarray, " k"]]:
    """Levels of F(y), and the shares between them of largest likelihood.

    They are what `families.Recalibrated` takes. The more rows there are, the more cells.

    Args:
        y: (n,) what was observed.
        dist: its predicted distribution.
        w: how often each row counts.
    """
    y, dist, w = _present(y, dist, w)
    reached, before = np.asarray(dist.cdf(y)), np.asarray(dist.below(y))
    levels = _levels(float(w.sum()))
    width = np.diff(levels)
    A = _overlaps(before, reached, levels) / width
    s = width
    for _ in range(EM_STEPS):
        expected = (A * s).T @ (w / (A @ s))
        new = (expected + PSEUDO_ROWS * width) / (w.sum() + PSEUDO_ROWS)
        moved, s = np.abs(new - s).max(), new / new.sum()
        if moved < TOLERANCE:
            break
    return levels, s


def _levels(total: float) -> Float[np.ndarray, " l"]:
    """The ends of the cells: as many as rows allow, finer towards 0 and 1."""
    chosen, last = [], 0.0
    for level in LEVELS:
        if (level - last) * total >= MIN_ROWS_PER_CELL:
            chosen.append(level)
            last = level
    if not chosen:
        return np.array([0.0, 1.0])
    if chosen[-1] != 0.5:
        chosen[-1] = 0.5  # the median is an end
    upper = [1 - level for level in reversed(chosen[:-1])]
    return np.array([0.0, *chosen, *upper, 1.0])


def _overlaps(
    before: Float[np.ndarray, " n"],
    reached: Float[np.ndarray, " n"],
    levels: Float[np.ndarray, " l"],
) -> Float[np.ndarray, "n k"]:
    """The share of [F(y⁻), F(y)] in each cell; for a density, the cell that holds F(y)."""
    low, high = levels[:-1], levels[1:]
    mass = reached - before
    atom = mass > MIN_ATOM
    cell = np.searchsorted(levels[1:-1], reached)
    point = (np.arange(len(low)) == cell[:, None]).astype(float)
    part = np.minimum(reached[:, None], high) - np.maximum(before[:, None], low)
    inside = np.maximum(part, 0.0) / np.where(atom, mass, 1.0)[:, None]
    return np.where(atom[:, None], inside, point)


def _present(y: Any, dist: Any, w: Any) -> tuple[np.ndarray, Any, np.ndarray]:
    """The rows that count, of targets and of the distribution."""
    y = np.asarray(y, np.float64)
    w = check_weights(w, len(y))
    here = w > 0
    return (y, dist, w) if here.all() else (y[here], dist[here], w[here])
