"""A scree plot: how much each component explains, with errors."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, SOFT, figure


def scree(model: Any, *, title: str = "") -> Figure:
    """Draw the explained share of each component, and held-out nats where there are any.

    Args:
        model: with `explained_variance_ratio_` (a PCA; with `n_bootstrap` also errors),
            `explained_inertia_ratio_` (a correspondence analysis) or `held_out_nats_` (any
            model whose number of components was chosen by "nats").
        title: the title of the figure.
    """
    shares = getattr(model, "explained_variance_ratio_", None)
    if shares is None:
        shares = getattr(model, "explained_inertia_ratio_", None)
    nats = getattr(model, "held_out_nats_", None)
    if shares is None and nats is None:
        raise InputError(
            f"{type(model).__name__} has neither explained shares nor held-out nats; fit a "
            'PCA, or a model with n_components="nats".'
        )
    count = (shares is not None) + (nats is not None)
    drawn, axes = figure(4.5 * count, 3.2, title, columns=count)
    if shares is not None:
        errors = getattr(model, "explained_variance_ratio_error_", None)
        k = np.arange(1, len(shares) + 1)
        ax = axes[0]
        ax.bar(k, shares, color=COLOURS[5], width=0.7)
        if errors is not None:
            ax.errorbar(k, shares, errors, fmt="none", color=INK, capsize=2, lw=1)
        ax.plot(k, np.cumsum(shares), color=COLOURS[0], marker="o", ms=3, lw=1)
        ax.annotate(
            "together", (k[-1], float(np.sum(shares))), xytext=(-2, 5), ha="right",
            textcoords="offset points", color=COLOURS[0], fontsize="small",
        )  # fmt: skip
        ax.set(xlabel="component", ylabel="share explained", ylim=(0, 1.08))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if nats is not None:
        ax = axes[-1]
        own = np.isfinite(nats.nats)
        ax.errorbar(
            nats.n_components[own], -nats.differences[own], nats.difference_errors[own],
            color=COLOURS[1], marker="o", ms=3, lw=1, capsize=2,
        )  # fmt: skip
        ax.axvline(nats.best, color=SOFT, lw=0.8, ls="--")
        ax.set(xlabel="components", ylabel="held-out nats, less the best")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return drawn
