"""Clusters of points in the plane, each with the ellipse of its normal distribution."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, SOFT, figure

RADII = (1.0, 2.0)
"""Standard deviations at which ellipses are drawn."""


def cluster_ellipses(
    X: Any,
    means: Any,
    covariances: Any,
    *,
    responsibilities: Any = None,
    title: str = "",
) -> Figure:
    """Draw points in the colours of their clusters, and ellipses of one and two deviations.

    Args:
        X: (n, 2) points.
        means: (k, 2) such as `GaussianMixture.means_`.
        covariances: (k, 2, 2) matrices, (2, 2) one for all, (k, 2) variances or (k,).
        responsibilities: (n, k) the probability of each cluster; colours are mixed by it.
        title: the title of the figure.
    """
    X, means = np.asarray(X, np.float64), np.asarray(means, np.float64)
    if X.ndim != 2 or X.shape[1] != 2 or means.shape[1:] != (2,):
        raise InputError(
            f"X has shape {X.shape} and means {means.shape}; give points and means in the "
            "plane, two columns each."
        )
    drawn, (ax,) = figure(5.6, 4.6, title)
    palette = np.array([_rgb(c) for c in range(len(means))])
    colours: Any = SOFT
    if responsibilities is not None:
        colours = np.clip(np.asarray(responsibilities) @ palette, 0, 1)
    ax.scatter(*X.T, c=colours, s=10, alpha=0.8, linewidths=0)
    for c, (mean, S) in enumerate(
        zip(means, _matrices(covariances, len(means)), strict=True)
    ):
        _ellipses(ax, mean, S, palette[c])
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xlabel="first column", ylabel="second column")
    return drawn


def _ellipses(ax: Axes, mean: np.ndarray, S: np.ndarray, colour: np.ndarray) -> None:
    values, U = np.linalg.eigh(S)
    middle = float(mean[0]), float(mean[1])
    angle = np.degrees(np.arctan2(U[1, 1], U[0, 1]))
    for radius in RADII:
        width, height = 2 * radius * np.sqrt(np.maximum(values[::-1], 0))
        ax.add_patch(
            Ellipse(middle, width, height, angle=angle, fill=False, ec=colour, lw=1.6)
        )
    ax.plot(*mean, marker="+", color=INK, ms=8)


def _matrices(covariances: Any, k: int) -> np.ndarray:
    """(k, 2, 2) covariances, however they were given."""
    S = np.asarray(covariances, np.float64)
    if S.ndim == 1:
        S = S[:, None, None] * np.eye(2)
    elif S.shape == (k, 2) and not (k == 2 and np.allclose(S, S.T)):
        S = S[:, :, None] * np.eye(2)
    return np.broadcast_to(S, (k, 2, 2))


def _rgb(c: int) -> tuple[float, ...]:
    word = COLOURS[c % (len(COLOURS) - 1)]
    return tuple(int(word[i : i + 2], 16) / 255 for i in (1, 3, 5))
