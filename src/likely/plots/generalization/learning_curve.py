"""The loss on training and held-out rows by the number of training rows."""

from typing import Any

from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure, series


def learning_curve(found: Any, *, title: str = "") -> Figure:
    """Draw both losses by size, and the forecast beyond with its 90 % band.

    Bars of a point are two standard errors. The forecast is dotted where it is not to be
    trusted.

    Args:
        found: a result of `diagnostics.learning_curve`.
        title: the title of the figure.
    """
    drawn, (ax,) = figure(6.4, 4.2, title or f"Learning curve of {found.learner}")
    lines = {"held_out": "on held-out rows", "train": "on training rows"}
    for i, (name, label) in enumerate(lines.items()):
        ax.errorbar(
            found.sizes, found.values(name), yerr=2 * found.errors(name), label=label,
            lw=1.8, ms=5, capsize=2, **series(i),
        )  # fmt: skip
    null = found.diagnosis.null.value
    top = max(found.values("held_out").max(), null)
    low = min(found.values("train").min(), found.values("held_out").min())
    ax.axhline(null, color=SOFT, lw=1, ls="dashed")
    ax.text(
        0.99, null, "one prediction for all", color=INK, fontsize="small", va="bottom",
        ha="right", transform=ax.get_yaxis_transform(),
    )  # fmt: skip
    ahead = found.forecast
    if ahead is not None:
        style = "dashed" if ahead.trustworthy else "dotted"
        ax.plot(
            ahead.rows, ahead.loss, color=COLOURS[2], ls=style, lw=1.4,
            label="power law" if ahead.trustworthy else "power law, not to be trusted",
        )  # fmt: skip
        ax.fill_between(
            ahead.rows, ahead.low, ahead.high, color=COLOURS[2], alpha=0.15, lw=0
        )
        low = min(low, float(ahead.loss[-1]))
        ax.axvline(found.rows, color=SOFT, lw=1, ls="dotted")
    room = 0.08 * (top - low)
    ax.set_ylim(low - room, min(top, null + 2 * (null - low)) + room)
    ax.set_xscale("log")
    ticks = [t for t in (10**k * f for k in range(7) for f in (1, 2, 5))]
    last = 2 * found.rows if ahead is not None else found.sizes[-1]
    shown = [t for t in ticks if found.sizes[0] * 0.9 <= t <= last * 1.1]
    ax.set_xticks(shown, [f"{t:,}" for t in shown])
    ax.minorticks_off()
    ax.set(xlabel="training rows", ylabel=f"{found.loss} loss")
    ax.legend(frameon=False, fontsize="small")
    return drawn
