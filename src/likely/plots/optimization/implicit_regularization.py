"""Pictures of implicit regularisation: orders, batch sizes, least norm."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure, series


def implicit_regularization(
    found: Any, *, title: str = "How far flows are from descent"
) -> Figure:
    """Draw the errors of the flows over the learning rate, on log axes, with their slopes.

    Args:
        found: from `diagnostics.implicit_regularization`.
        title: the title of the figure.
    """
    drawn, (ax,) = figure(6.2, 3.9, title)
    for i, name in enumerate(found.flows):
        seen = found.errors[i] > 10 * found.rounding
        rates, errors = found.rates[seen], found.errors[i][seen]
        label = f"{name}: slope {found.slopes[i]:.2f} ± {found.slope_errors[i]:.1g}"
        ax.plot(rates, errors, ls="", ms=5, label=label, **series(i))
        if len(rates):
            middle = np.log(rates).mean(), np.log(errors).mean()
            line = np.exp(middle[1] + found.orders[i] * (np.log(rates) - middle[0]))
            ax.plot(rates, line, color=COLOURS[i], lw=1, ls="--")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set(xlabel="learning rate η", ylabel="distance, dashed the order of theory")
    ax.legend(frameon=False, fontsize="small")
    return drawn


def batch_size_study(
    study: Any, *, title: str = "What batches of each size find"
) -> Figure:
    """Draw sharpness, norm and losses over the batch size, with errors over seeds.

    Args:
        study: from `diagnostics.batch_size_study`.
        title: the title of the figure.
    """
    drawn, axes = figure(9.6, 3.3, title, columns=3)
    panels: list[dict[str, Any]] = [
        {"sharpness": study.sharpness},
        {"norm of the weights": study.norm},
        {"training": study.loss, "held out": study.held_out},
    ]
    labels = ("largest eigenvalue", "norm of the weights", "loss in nats")
    for ax, panel, label in zip(axes, panels, labels, strict=True):
        for i, (name, values) in enumerate(panel.items()):
            if values is None:
                continue
            ax.plot(study.sizes, values, color=series(i)["color"], lw=0.5, alpha=0.4)
            error = values.std(1, ddof=1) / np.sqrt(values.shape[1])
            ax.errorbar(
                study.sizes,
                values.mean(1),
                2 * error,
                lw=1.4,
                ms=5,
                capsize=3,
                label=name,
                **series(i),
            )
        ax.set_xscale("log", base=2)
        ax.set(xlabel="batch size", ylabel=label)
    axes[2].legend(frameon=False, fontsize="small")
    return drawn


def minimum_norm(
    found: Any, *, title: str = "Many solutions, and which one is found"
) -> Figure:
    """Draw the norm that each solver found, beside the least one.

    Args:
        found: from `diagnostics.minimum_norm`.
        title: the title of the figure.
    """
    drawn, (ax,) = figure(6.6, 0.4 * len(found.solvers) + 1.4, title)
    at = np.arange(len(found.solvers))[::-1]
    near = found.distances < 1e-3
    colours = [COLOURS[0] if ok else COLOURS[1] for ok in near]
    ax.barh(at, found.norms, color=colours, height=0.6)
    for k, norm, distance in zip(at, found.norms, found.distances, strict=True):
        text = f" {distance:.1g} away"
        ax.text(norm, k, text, va="center", fontsize="x-small", color=INK)
    ax.axvline(found.least_norm, color=SOFT, lw=1, ls="--")
    ax.set_yticks(at, found.solvers, fontsize="small")
    ax.set(xlabel="norm of the weights, dashed the least", xlim=(0, None))
    ax.margins(x=0.15)
    return drawn
