"""Residuals of predicted distributions: against the fit, as normal scores, and their ranks."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import betaincinv, ndtri

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, SOFT, figure

PIT_BINS, SMOOTH_BINS = 20, 12
RESOLUTION = 1e-12
"""How near F(y) may come to 0 or 1 before it is drawn there."""


def residuals(
    dist: Any, y: Any, *, label: str = "y", title: str = "Residuals"
) -> Figure:
    """Draw three panels: residuals over the fit, their normal scores, and F(y).

    Left: y minus the predicted mean, with the means of groups of rows; a curve means that the
    mean is wrong, a funnel that the spread changes. Middle: the normal scores Φ⁻¹(F(y)),
    sorted, against those of as many normal numbers with their 95 % band; they follow the
    diagonal where the predicted distribution is right, whatever its family. Right: F(y) in
    bins, flat where the distribution is right, a U where it is too narrow. For counts F(y)
    is taken in the middle of its step.

    Args:
        dist: the predicted distribution of each row, as `predict_dist` returns it.
        y: (n,) what was observed; use rows that the model has not seen.
        label: the name of y.
        title: the title of the figure.
    """
    y = np.asarray(y, np.float64)
    fitted = np.asarray(dist.mean, np.float64)
    if dist.classes is not None or y.ndim != 1 or fitted.shape != y.shape or not len(y):
        raise InputError(
            f"y has shape {y.shape} and the predicted mean {fitted.shape}; residuals are "
            "drawn for one number in each of one or more rows."
        )
    pit = np.asarray(dist.cdf(y), np.float64)
    if dist.discrete:
        pit = 0.5 * (pit + np.asarray(dist.cdf(y - 1), np.float64))
    drawn, (left, middle, right) = figure(10.4, 3.4, columns=3)
    _over_fit(left, fitted, y - fitted, label)
    _normal_scores(middle, pit)
    _ranks(right, pit)
    drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn


def _over_fit(ax: Axes, fitted: np.ndarray, gap: np.ndarray, label: str) -> None:
    """Draw the residuals over the fit, and the means of groups of equal size."""
    dots = {"ms": 3.5, "mec": "none", "alpha": float(np.clip(60 / len(gap), 0.15, 0.6))}
    ax.axhline(0.0, color=SOFT, lw=0.8)
    ax.plot(fitted, gap, "o", color=COLOURS[0], rasterized=len(gap) > 2000, **dots)
    groups = np.array_split(
        np.argsort(fitted, kind="stable"), min(SMOOTH_BINS, len(gap) // 8 or 1)
    )
    if len(groups) > 2:
        x, means = (np.array([v[g].mean() for g in groups]) for v in (fitted, gap))
        errors = np.array([gap[g].std() / np.sqrt(len(g)) for g in groups])
        bars = {
            "color": COLOURS[1],
            "lw": 1.6,
            "elinewidth": 1.0,
            "marker": "s",
            "ms": 4,
        }
        ax.errorbar(x, means, yerr=2 * errors, label="mean of a group", **bars)
        ax.legend(frameon=False, fontsize="small")
    ax.set(xlabel=f"predicted mean of {label}", ylabel=f"{label} − predicted mean")


def _normal_scores(ax: Axes, pit: np.ndarray) -> None:
    """Draw the sorted normal scores against their expected places, with a 95 % band."""
    n = len(pit)
    rank = np.arange(1, n + 1)
    expected = ndtri((rank - 0.375) / (n + 0.25))
    low, high = (ndtri(betaincinv(rank, n + 1 - rank, q)) for q in (0.025, 0.975))
    ax.fill_between(expected, low, high, color=SOFT, alpha=0.2, lw=0, label="95 % band")
    ax.plot(expected, expected, color=SOFT, lw=1.0, ls="dashed")
    scores = ndtri(np.clip(np.sort(pit), RESOLUTION, 1 - RESOLUTION))
    ax.plot(expected, scores, "o", color=COLOURS[0], ms=3.5, mec="none", alpha=0.7)
    ax.set(xlabel="normal quantile", ylabel="normal score Φ⁻¹(F(y))")
    ax.legend(frameon=False, fontsize="small", loc="upper left")


def _ranks(ax: Axes, pit: np.ndarray) -> None:
    """Draw the histogram of F(y), and the band of its bars if it were uniform."""
    bins = int(np.clip(len(pit) // 5, 4, PIT_BINS))
    share = np.histogram(np.clip(pit, 0, 1), bins, (0, 1))[0] / len(pit) * bins
    noise = 1.96 * np.sqrt((bins - 1) / len(pit))
    middles = (np.arange(bins) + 0.5) / bins
    ax.bar(middles, share, width=0.92 / bins, color=COLOURS[0], alpha=0.8)
    ax.axhspan(max(1 - noise, 0), 1 + noise, color=SOFT, alpha=0.2, lw=0, zorder=0)
    ax.axhline(1.0, color=SOFT, lw=1.0, ls="dashed")
    ax.set(xlabel="F(y)", ylabel="density", xlim=(0, 1))
