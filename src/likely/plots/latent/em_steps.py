"""The steps of EM: how the bound and the log-likelihood rise in turn."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure


def em_steps(path: Any, *, title: str = "") -> Figure:
    """Draw the log-likelihood and its lower bound through the steps of EM.

    On the left the bound: the E-step lifts it to the log-likelihood, the M-step lifts both, the
    log-likelihood by more. On the right the gap after each M-step, a divergence.

    Args:
        path: what `likely.latent.em` returns.
        title: the title of the figure.
    """
    drawn, (left, right) = figure(8.0, 3.4, title, columns=2)
    steps = np.arange(len(path.log_probs))
    left.plot(steps, path.log_probs, color=COLOURS[0], marker="o", ms=4)
    for t, step in enumerate(path.steps):
        left.plot(
            [t, t + 1],
            [step.after_e.value, step.after_m.value],
            color=COLOURS[1],
            lw=1.2,
            label="bound during an M-step" if t == 0 else None,
        )
        top = path.log_probs[t + 1]
        left.plot([t + 1] * 2, [step.after_m.value, top], color=SOFT, lw=0.8, ls=":")
    left.lines[0].set_label("log-likelihood")
    left.set(xlabel="step", ylabel="nats")
    left.legend(frameon=False, labelcolor=INK, fontsize="small", loc="lower right")
    gaps = np.array([step.after_m.divergence for step in path.steps])
    right.plot(steps[1:], np.maximum(gaps, 1e-12), color=COLOURS[1], marker="s", ms=3)
    right.set(xlabel="step", ylabel="gap after the M-step, nats", yscale="log")
    return drawn
