"""What batch norm changes: losses over rates, smoothness, noise and gaps."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure

NAMES = ("plain", "batch norm", "without its noise")


def batch_norm_study(
    study: Any, *, title: str = "With and without batch norm"
) -> Figure:
    """Draw the four measures of a study.

    Args:
        study: from `diagnostics.batch_norm_study`.
        title: the title of the figure.
    """
    drawn, (rates, changes, noise, gaps) = figure(14.0, 3.5, columns=4)
    _rates(rates, study.rates)
    _factors(changes, study)
    _noise(noise, study.noise)
    _gaps(gaps, study.noise)
    drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn


def _rates(ax: Axes, found: Any) -> None:
    """Training losses of each seed over rates, and the loss that makes a rate usable."""
    for i, losses in enumerate((found.plain, found.normed)):
        middle = np.median(losses, 1)
        ax.plot(
            found.rates, middle, "o-", color=COLOURS[i], lw=1.6, ms=4, label=NAMES[i]
        )
        ax.plot(found.rates, losses, ".", color=COLOURS[i], ms=3, alpha=0.6)
    ax.axhline(found.target, color=SOFT, ls="--", lw=1, label="usable below")
    finite = np.concatenate([found.plain.ravel(), found.normed.ravel()])
    finite = finite[np.isfinite(finite)]
    low = finite.min()
    ax.set_ylim(low - 0.05 * (found.target - low), low + 4 * (found.target - low))
    ax.set_xscale("log")
    ax.set(xlabel="learning rate", ylabel="training loss, nats")
    ax.legend(frameon=False, fontsize="small")


def _factors(ax: Axes, study: Any) -> None:
    """How many times smaller each quantity is with batch norm."""
    s = study.smoothness
    bars = {
        "error of\nthe forecast": s.forecast_error,
        "change of\nthe gradient": s.gradient_change,
        "effective\nsmoothness β": s.beta,
    }
    at = np.arange(len(bars))
    values = [10**pair.difference.value for pair in bars.values()]
    ends = np.array(
        [
            [
                10 ** (p.difference.value + sign * 2 * p.difference.error)
                for sign in (-1, 1)
            ]
            for p in bars.values()
        ]
    )
    errors = np.abs(ends - np.array(values)[:, None]).T
    ax.errorbar(at, values, yerr=errors, fmt="o", color=COLOURS[0], capsize=4)
    ax.axhline(1, color=SOFT, lw=1, ls="--")
    ax.set_xticks(at, list(bars), fontsize="small")
    ax.set_xlim(-0.5, len(bars) - 0.5)
    ax.set(ylabel="plain / batch norm", title=f"along the gradient, rate {s.rate:.2g}")
    ax.title.set_fontsize("medium")


def _noise(ax: Axes, found: Any) -> None:
    """The spread of outputs over minibatches, by their size."""
    ax.errorbar(
        found.sizes,
        found.spread,
        2 * found.spread_error,
        fmt="o-",
        color=COLOURS[1],
        ms=4,
    )
    guide = found.spread[0] * np.sqrt(found.sizes[0] / found.sizes)
    ax.plot(found.sizes, guide, ":", color=INK, lw=1, label="1/√size")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set(xlabel="rows in a minibatch", ylabel="noise of outputs, relative")
    ax.legend(frameon=False, fontsize="small")


def _gaps(ax: Axes, found: Any) -> None:
    """Generalisation gaps of the three networks."""
    scores = (found.gap.plain, found.gap.normed, found.gap_exact)
    for i, score in enumerate(scores):
        ax.errorbar(
            i, score.value, 2 * score.error, fmt="o", color=COLOURS[i], capsize=4
        )
    ax.set_xticks(range(3), ("plain", "batch\nnorm", "without\nits noise"))
    ax.set_xlim(-0.5, 2.5)
    ax.set(ylabel="validation less training loss, nats")
