r"""The decision boundary of a classifier in two dimensions, with margins and slack."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import INK, SOFT, figure, series

GRID_SIZE, NEWTON_STEPS = 161, 8


def margin(
    model: Any,
    X: Any,
    y: Any,
    *,
    slack: bool = True,
    labels: tuple[str, str] | None = None,
    title: str = "Margin",
) -> Figure:
    """Draw the lines f = 0 and f = ±1 and the rows; support vectors are circled.

    Args:
        model: a fitted classifier of two classes with a `decision_function`.
        X: the rows, (n, 2).
        y: the labels, (n,).
        slack: whether to draw the slack: a line from each row inside its margin to it.
        labels: the names of the two columns.
        title: the title of the figure.
    """
    names = getattr(model, "feature_names_in_", None)
    labels = labels or (tuple(names) if names is not None else ("x₁", "x₂"))
    X, y = np.asarray(X, np.float64), np.asarray(y)
    if X.ndim != 2 or X.shape[1] != 2:
        raise InputError(f"X has shape {X.shape}; a margin is drawn for two columns.")
    classes = np.unique(y)
    if len(classes) != 2:
        raise InputError(f"y has {len(classes)} classes; a margin is drawn for two.")
    f: Callable[[np.ndarray], np.ndarray] = model.decision_function
    drawn, (ax,) = figure(6.4, 4.8, title)
    _surface(ax, f, X)
    signs = np.where(y == classes[1], 1.0, -1.0)
    value = f(X)
    if slack:
        _slack(ax, f, X[signs * value < 1 - 1e-6], signs[signs * value < 1 - 1e-6])
    for i, label in enumerate(classes):
        style = series(i) | {"linestyle": "", "mec": "white", "mew": 0.6, "ms": 6.5}
        ax.plot(*X[y == label].T, label=str(label), **style)
    support = getattr(model, "support_", np.flatnonzero(signs * value <= 1 + 1e-6))
    ring = {"marker": "o", "linestyle": "", "mfc": "none", "mec": INK, "ms": 11}
    ax.plot(*X[support].T, label=f"{len(support)} support vectors", **ring)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    ax.legend(loc="best", framealpha=0.9, edgecolor="none", fontsize="small")
    return drawn


def _surface(ax: Axes, f: Callable, X: np.ndarray) -> None:
    """Draw both sides shaded, the boundary solid and the margins dashed."""
    low, high = X.min(0), X.max(0)
    edge = 0.08 * np.where(high > low, high - low, 1.0)
    x, y = (
        np.linspace(a, b, GRID_SIZE)
        for a, b in zip(low - edge, high + edge, strict=True)
    )
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    height = f(grid.reshape(-1, 2)).reshape(GRID_SIZE, GRID_SIZE)
    ends = [height.min() - 1, 0.0, height.max() + 1]
    colours = [series(i)["color"] for i in range(2)]
    if ends[0] < 0 < ends[2]:
        ax.contourf(x, y, height, ends, colors=colours, alpha=0.1)
    lines = ax.contour(
        x, y, height, [-1, 0, 1], colors=[SOFT, INK, SOFT], linewidths=[1, 1.6, 1],
        linestyles=["dashed", "solid", "dashed"],
    )  # fmt: skip
    ax.clabel(lines, fmt={-1: "−1", 0: "0", 1: "+1"}, fontsize="x-small")
    ax.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))


def _slack(ax: Axes, f: Callable, X: np.ndarray, signs: np.ndarray) -> None:
    """Draw a line from each row to its margin f = ±1, along the gradient of f."""
    if not len(X):
        return
    size, foot = 1e-5 * (np.abs(X).max() + 1), X.copy()
    for _ in range(NEWTON_STEPS):
        sides = [(f(foot + size * e), f(foot - size * e)) for e in np.eye(2)]
        slope = np.stack([(a - b) / (2 * size) for a, b in sides], axis=1)
        square = np.maximum((slope**2).sum(1), 1e-12)
        foot = foot + ((signs - f(foot)) / square)[:, None] * slope
    reach = np.linalg.norm(np.ptp(X, axis=0))
    for a, b in zip(X, foot, strict=True):
        if np.linalg.norm(a - b) <= reach:
            ax.plot(*np.stack([a, b]).T, color=SOFT, lw=0.8, zorder=1)
