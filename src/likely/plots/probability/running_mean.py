"""Running means, with the bands of the law of large numbers."""

from typing import Any

from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure


def running_mean(
    found: Any, *, title: str = "The law of large numbers", label: str = "mean so far"
) -> Figure:
    """Draw running means, the limit, and the bands in which they should be.

    Args:
        found: a result of `probability.running_mean`.
        title: the title of the figure.
        label: the label of the vertical axis.
    """
    drawn, (ax,) = figure(6.4, 4.0, title)
    coverage = f"{found.coverage:.0%}"
    ax.fill_between(
        found.n, *found.chebyshev, color=SOFT, alpha=0.15, lw=0,
        label=f"Chebyshev, at least {coverage} at each n",
    )  # fmt: skip
    ax.fill_between(
        found.n, *found.band, color=SOFT, alpha=0.35, lw=0,
        label=f"central limit, about {coverage} at each n",
    )  # fmt: skip
    for i, path in enumerate(found.paths):
        ax.plot(found.n, path, color=COLOURS[i % (len(COLOURS) - 1)], lw=1.0)
    ax.axhline(found.mean, color=INK, lw=1.0, ls="dashed")
    last = min(10, len(found.n)) - 1  # the first few may lie anywhere
    low, high = found.chebyshev[:, last]
    ax.set(xscale="log", xlim=(1, found.n[-1]), xlabel="observations", ylabel=label)
    if low < high and abs(high - low) < float("inf"):
        ax.set_ylim(low, high)
    ax.legend(frameon=False, fontsize="small", loc="upper right")
    return drawn
