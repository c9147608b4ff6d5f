"""The evidence and the lower bounds of it that touch it."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, figure


def elbo_curves(
    theta: Any,
    log_evidence: Any,
    bounds: Any,
    touch: Any,
    *,
    labels: tuple[str, str] = ("parameter θ", "nats"),
    title: str = "Each E step gives a bound that touches the likelihood",
) -> Figure:
    """Draw log p(x; θ), and ELBO(q, θ) of several q, each touching it at a point.

    Args:
        theta: (n,) values of the parameter.
        log_evidence: (n,) log p(x; θ).
        bounds: (m, n) ELBO(q_j, θ).
        touch: (m,) where each q is the posterior.
        labels: of the axes.
        title: the title of the figure.
    """
    theta, curve = np.asarray(theta, float), np.asarray(log_evidence, float)
    drawn, (ax,) = figure(6.4, 4.0, title)
    ax.plot(theta, curve, color=INK, lw=2.2, label="log p(x; θ)")
    for j, (bound, at) in enumerate(zip(np.asarray(bounds), touch, strict=True)):
        colour = COLOURS[j % len(COLOURS)]
        ax.plot(theta, bound, color=colour, lw=1.4, label=f"ELBO after E step {j + 1}")
        ax.plot(at, np.interp(at, theta, curve), "o", color=colour, mec="white", ms=8)
    span = np.ptp(curve)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    ax.set_ylim(curve.min() - 0.35 * span, curve.max() + 0.08 * span)
    ax.legend(frameon=False, fontsize="small")
    return drawn
