"""Bounds, paths and fitted slopes of first-order methods, on log axes."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure

BOUND_STYLES = ("--", ":", "-.", (0, (1, 3)))


def convergence_rates(
    found: Any, *, title: str = "The loss above its minimum, and what is proved"
) -> Figure:
    """Draw for each method its path, its bounds and the fitted slope.

    Where the loss falls by a factor each step the steps are on a plain axis, else on a log
    one: a straight line is then what the theory says.

    Args:
        found: from `diagnostics.convergence_rates`.
        title: the title of the figure.
    """
    count = len(found.rates)
    drawn, axes = figure(3.3 * count, 3.6, columns=count)
    for i, (ax, rate) in enumerate(zip(axes, found.rates, strict=True)):
        _panel(ax, rate, COLOURS[i])
    low = min(ax.get_ylim()[0] for ax in axes)
    for ax in axes:
        ax.set_ylim(max(low, 1e-17 * found.start), None)
    axes[0].set_ylabel("f − f*")
    drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn


def _panel(ax: Any, rate: Any, colour: str) -> None:
    t = np.arange(len(rate.excess))
    first = 0 if rate.linear else 1
    above = rate.excess > max(10 * rate.rounding, 1e-300)
    shown = np.where(above, rate.excess, np.nan)
    ax.plot(t[first:], shown[first:], color=colour, lw=2, label="measured")
    for style, (name, bound) in zip(BOUND_STYLES, rate.bounds.items(), strict=False):
        ax.plot(t[first:], bound[first:], color=SOFT, lw=1.2, ls=style, label=name)
    if np.isfinite(rate.slope) and above.any():
        last = int(np.flatnonzero(above)[-1])
        x = t[max(1, last // 2) : last + 1].astype(float)
        fits = rate.excess[max(1, last // 2) : last + 1] > 0
        x, y = x[fits], np.log(rate.excess[max(1, last // 2) : last + 1][fits])
        z = x if rate.linear else np.log(x)
        line = np.exp(y.mean() + rate.slope * (z - z.mean()))
        unit = "a step" if rate.linear else "of log t"
        ax.plot(
            x, line, color=INK, lw=1, ls="-", label=f"slope {rate.slope:.3g} {unit}"
        )
    if not rate.linear:
        ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("step")
    ax.set_title(rate.method, loc="left", fontsize="medium", color=INK)
    ax.legend(frameon=False, fontsize="x-small", loc="lower left")
