"""Errors over units, depths and activations; signals over layers."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure, series


def activation_study(
    study: Any, *, title: str = "Largest error of one hidden layer"
) -> Figure:
    """Draw errors over the number of units, and the floors of polynomial activations.

    Args:
        study: from `diagnostics.activation_study`.
        title: the title of the figure.
    """
    drawn, (ax,) = figure(6.6, 3.8, title)
    for i, name in enumerate(study.names):
        style = series(i)
        ax.plot(study.widths, study.error[i], lw=1.5, ms=4.5, label=name, **style)
        if study.floor[i] > 0:
            ax.axhline(study.floor[i], color=style["color"], ls=":", lw=1.2)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set(xlabel="units", ylabel="largest error, dotted the floor")
    ax.legend(frameon=False, fontsize="small")
    return drawn


def approximation_study(
    study: Any, *, title: str = "Units that an error takes"
) -> Figure:
    """Draw the number of units over the promised error, on log axes.

    Args:
        study: from `diagnostics.approximation_study`.
        title: the title of the figure.
    """
    drawn, (ax,) = figure(6.2, 3.8, title)
    for i, (name, order) in enumerate(zip(study.names, study.orders, strict=True)):
        label = f"{name}, ε^−{order:.2g}"
        ax.plot(study.epsilons, study.units[i], lw=1.5, ms=5, label=label, **series(i))
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.invert_xaxis()
    ax.set(xlabel="promised error ε", ylabel="units")
    ax.legend(frameon=False, fontsize="small")
    return drawn


def depth_table(
    found: Any, *, title: str = "Deep and shallow, the same error"
) -> Figure:
    """Draw the parameters of deep and shallow networks for each target.

    Args:
        found: from `diagnostics.depth_table`.
        title: the title of the figure.
    """
    names = list(dict.fromkeys(row.target for row in found.rows))
    drawn, axes = figure(4.0 * len(names), 3.5, title, columns=len(names))
    for ax, name in zip(axes, names, strict=True):
        rows = [row for row in found.rows if row.target == name]
        at = np.arange(len(rows))
        deep = [row.deep_parameters for row in rows]
        shallow = [row.shallow_parameters for row in rows]
        if rows[0].least_parameters is None:
            ax.plot(at, deep, lw=1.5, label="deep", **series(1))
            ax.set_xticks(at, [str(row.depth) for row in rows])
            ax.set_xlabel(f"{name}: hidden layers of the deep network")
        else:
            least = [row.least_parameters for row in rows]
            ax.plot(at, least, lw=1.2, ls=":", color=INK, label="any depth, at least")
            ax.set_xticks(at, [str(n) for n in least])
            ax.set_xlabel(f"{name}: values")
        ax.plot(at, shallow, lw=1.5, label="shallow", **series(0))
        ax.set_yscale("log")
        ax.set_ylim(5, 2e4)
        ax.legend(frameon=False, fontsize="small")
    axes[0].set_ylabel("parameters")
    return drawn


def depth_study(study: Any, *, title: str = "Trained with equal parameters") -> Figure:
    """Draw the errors of trained networks over depth, one line for each target.

    Args:
        study: from `diagnostics.depth_study`.
        title: the title of the figure.
    """
    drawn, (ax,) = figure(5.6, 3.6, title)
    at = np.arange(len(study.depths))
    for i, name in enumerate(study.targets):
        low, high = (
            study.mean[i] * np.exp(s * 2 * study.log_error[i]) for s in (-1, 1)
        )
        errors = [study.mean[i] - low, high - study.mean[i]]
        ax.errorbar(
            at, study.mean[i], errors, lw=1.5, ms=5, capsize=3, label=name, **series(i)
        )
    ax.set_xticks(
        at, [f"{k} × {w}" for k, w in zip(study.depths, study.widths, strict=True)]
    )
    ax.set_yscale("log")
    ax.set(xlabel="hidden layers × units", ylabel="relative error")
    ax.legend(frameon=False, fontsize="small")
    return drawn


def variance_propagation(
    found: Any, *, title: str = "Variances through depth"
) -> Figure:
    """Draw signals and gradients over layers: lines predicted, points measured.

    Args:
        found: from `diagnostics.variance_propagation`.
        title: the title of the figure.
    """
    drawn, (ax,) = figure(6.4, 3.8, title)
    layers = np.arange(1, len(found.predicted) + 1)
    pairs = {
        "signal": (found.predicted, found.measured, found.error),
        "gradient": (
            found.gradient_predicted,
            found.gradient_measured,
            found.gradient_error,
        ),
    }
    for i, (name, (predicted, measured, error)) in enumerate(pairs.items()):
        colour = COLOURS[i]
        ax.plot(layers, predicted, color=colour, lw=1.4, label=f"{name}, predicted")
        ax.errorbar(
            layers, measured, 2 * error, fmt="o", ms=3, color=colour, label="measured"
        )
    ax.set_yscale("log")
    ax.set(xlabel="layer", ylabel="mean square")
    ax.axhline(1, color=SOFT, lw=0.7, zorder=0)
    ax.legend(frameon=False, fontsize="small", ncols=2)
    return drawn


def saturation(report: Any, *, title: str = "Activations, layer by layer") -> Figure:
    """Draw the shares of saturated and dead units and of one-sided outputs.

    Args:
        report: from `diagnostics.saturation`.
        title: the title of the figure.
    """
    rows = report.rows
    drawn, (ax,) = figure(1.6 * len(rows) + 3.2, 3.6, title)
    at, width = np.arange(len(rows)), 0.26
    bars = {
        "saturated": [(r.saturated.value, r.saturated.error) for r in rows],
        "dead": [(r.dead, 0.0) for r in rows],
        "off centre": [(abs(r.centre.value), r.centre.error) for r in rows],
    }
    for i, (name, pairs) in enumerate(bars.items()):
        values, errors = zip(*pairs, strict=True)
        ax.bar(
            at + (i - 1) * width,
            values,
            width,
            yerr=errors,
            color=COLOURS[i],
            label=name,
        )
    ax.set_xticks(
        at, [f"{r.kind}\n{r.layer.split('.')[-1]}" for r in rows], fontsize="small"
    )
    ax.set(ylim=(0, 1.02), ylabel="share")
    ax.legend(frameon=False, fontsize="small")
    return drawn
