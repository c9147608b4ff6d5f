"""Noise, bias and variance of a learner, over a parameter or as bars."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure, series

MIN_RATIO = 30.0
"""The ratio of the largest to the smallest value from which on an axis is logarithmic."""


def bias_variance(found: Any, *, title: str = "") -> Figure:
    """Draw the parts of a risk over the values of a parameter, or of one setting as bars.

    Bars of a point are two standard errors.

    Args:
        found: a result of `diagnostics.bias_variance`.
        title: the title of the figure.
    """
    known = not np.isnan(found.noise).any()
    square = "²" if found.loss == "squared" else ""
    lines = {
        "risk": ("risk", found.risk, found.risk_error),
        "bias": (
            f"bias{square}" if known else f"noise + bias{square}",
            found.bias,
            found.bias_error,
        ),
        "variance": ("variance", found.variance, found.variance_error),
    }
    if known:
        lines["noise"] = ("noise", found.noise, found.noise_error)
    if found.parameter:
        return _curves(found, lines, title)
    return _bars(found, lines, title)


def _curves(found: Any, lines: dict, title: str) -> Figure:
    drawn, (ax,) = figure(6.4, 4.2, title or f"Bias and variance, {found.loss} loss")
    numbers = all(
        isinstance(v, int | float) and not isinstance(v, bool) for v in found.values
    )
    x = np.array(found.values, float) if numbers else np.arange(len(found.values))
    training = np.array([score.value for score in found.empirical])
    ax.plot(x, training, color=SOFT, ls="dotted", lw=1.4, label="on training rows")
    for i, (label, value, error) in enumerate(lines.values()):
        width = 2.2 if label == "risk" else 1.5
        ax.errorbar(
            x,
            value,
            yerr=2 * error,
            label=label,
            lw=width,
            ms=4,
            capsize=2,
            **series(i),
        )
    if not numbers:
        ax.set_xticks(x, [str(v) for v in found.values], rotation=30, ha="right")
    elif x.min() > 0 and x.max() / x.min() >= MIN_RATIO:
        ax.set_xscale("log")
    finite = np.concatenate([value for _, value, _ in lines.values()])
    finite = finite[np.isfinite(finite)]
    lowest, highest = (
        finite[finite > 0].min(initial=1.0),
        found.risk[np.isfinite(found.risk)],
    )
    if highest.size and highest.max() / highest.min() >= MIN_RATIO:
        ax.set_yscale("log")
        ax.set_ylim(max(lowest, highest.min() / 1e3), 2 * highest.max())
    elif highest.size:
        ax.set_ylim(min(0.0, finite.min()) - 0.03 * highest.max(), 1.15 * highest.max())
    ax.axvline(float(x[found.best_index]), color=SOFT, lw=1, ls="dashed", zorder=0)
    ax.set(xlabel=found.parameter, ylabel=f"{found.loss} loss")
    ax.legend(frameon=False, fontsize="small")
    return drawn


def _bars(found: Any, lines: dict, title: str) -> Figure:
    drawn, (ax,) = figure(5.0, 3.2, title or f"Bias and variance, {found.loss} loss")
    for i, (label, value, error) in enumerate(lines.values()):
        ax.barh(i, value[0], xerr=2 * error[0], color=COLOURS[i], height=0.6, capsize=3)
        ax.text(
            0.01, i - 0.42, label, transform=ax.get_yaxis_transform(), color=INK,
            fontsize="small", ha="left", va="bottom",
        )  # fmt: skip
    ax.set_ylim(len(lines) - 0.5, -0.8)
    ax.set_yticks([])
    ax.axvline(0, color=SOFT, lw=1)
    ax.set_xlabel(f"{found.loss} loss")
    return drawn
