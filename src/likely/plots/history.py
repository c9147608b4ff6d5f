"""The history of a training run: losses of the training and validation rows, and the rate."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, figure

PANELS = (("loss", "validation"), ("rate",))
LABELS = {"loss": "loss, nats", "rate": "learning rate"}
NAMES = {"loss": "training", "validation": "validation"}
MAX_PLAIN_STEPS = 200
"""The most steps that are drawn as they are; longer runs get a running mean."""


def history(run: Any, *, title: str = "Training") -> Figure:
    """Draw the losses over the steps of a training run, and the learning rate below.

    The lowest validation loss is marked: it is where early stopping takes the model from.
    Where members were trained together, each has a faint line, and their mean a strong one.

    Args:
        run: a fitted estimator with `history_`, or that dictionary: arrays `loss`,
            `validation` and `rate`, each (steps,) or (members, steps); or the `History`
            that was given as a callback.
        title: the title of the figure.
    """
    found = getattr(run, "history_", run)
    if hasattr(found, "events"):  # a History, which is a callback
        found = {name: found[name] for panel in PANELS for name in panel}
    if not isinstance(found, Mapping) or "loss" not in found:
        raise InputError(
            f"{type(run).__name__} has no history_ with a loss; fit an iterative model, or "
            'give a dictionary with "loss".'
        )
    values = {k: np.atleast_2d(np.asarray(v, np.float64)) for k, v in found.items()}
    values = {k: v for k, v in values.items() if np.isfinite(v).any() and v.ndim == 2}
    if "loss" not in values:
        raise InputError("the history has no loss that is a finite number.")
    panels = [p for p in PANELS if any(name in values for name in p)]
    drawn, axes = figure(3.4 + 3.2 * len(panels), 3.6, title, columns=len(panels))
    steps = values["loss"].shape[1]
    for ax, names in zip(axes, panels, strict=True):
        for name in [name for name in names if name in values]:
            _line(ax, values[name], name, steps)
        drawn_values = np.concatenate([values[n].ravel() for n in names if n in values])
        finite = drawn_values[np.isfinite(drawn_values)]
        if names[0] == "loss" and 0 < 20 * finite.min() < finite.max():
            ax.set_yscale("log")
        ax.set(xlabel="step", ylabel=LABELS[names[0]])
    if "validation" in values:
        _mark_best(axes[0], values["validation"], steps)
        axes[0].legend(frameon=False, fontsize="small")
    return drawn


def _line(ax: Axes, values: np.ndarray, name: str, steps: int) -> None:
    """Draw the members faintly and their mean, smoothed where there are many steps."""
    colour = COLOURS[1] if name == "validation" else COLOURS[0]
    x = _places(values.shape[1], steps)
    noisy = name == "loss" and values.shape[1] > MAX_PLAIN_STEPS
    if len(values) > 1 or noisy:
        ax.plot(x, values.T, color=colour, lw=0.6, alpha=0.25)
    mean = values.mean(0)
    if noisy:
        width = values.shape[1] // 50
        mean = np.convolve(mean, np.ones(width) / width, mode="valid")
        x = x[width // 2 :][: len(mean)]
    ax.plot(x, mean, color=colour, lw=1.8, label=NAMES.get(name))


def _mark_best(ax: Axes, values: np.ndarray, steps: int) -> None:
    """Mark the step with the lowest mean validation loss."""
    mean = values.mean(0)
    best = int(np.nanargmin(mean))
    place = _places(len(mean), steps)[best]
    ring = {"marker": "o", "ms": 8, "mfc": "white", "mec": COLOURS[1], "mew": 1.6}
    label = f"lowest, {mean[best]:.4g}"
    ax.plot(place, mean[best], ls="", zorder=4, label=label, **ring)
    ax.axvline(place, color=INK, lw=0.6, ls="dotted")


def _places(count: int, steps: int) -> np.ndarray:
    """The steps of values that were taken at equal distances, the last at the end."""
    return np.arange(1, count + 1) * (steps / count)
