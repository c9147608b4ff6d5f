r"""The plane (or curve) of a machine in two dimensions, its margins and its slack."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import INK, SOFT, figure, series

GRID, STEPS = 161, 8


def margin(
    model: Any,
    X: Any,
    y: Any,
    *,
    slack: bool = True,
    labels: tuple[str, str] | None = None,
    title: str = "Margin",
) -> Figure:
    """Where f = 0 and f = ±1, with the rows; support vectors are ringed.

    Args:
        model: a fitted classifier of two classes with a `decision_function`.
        X: (n, 2) rows.
        y: (n,) labels.
        slack: whether a line leads from each row inside its margin to the margin.
        labels: names of the two columns.
        title: what the picture shows.
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
    drawn, (ax,) = figure(6.4, 4.8)
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
    ax.set_title(title, loc="left", color=INK)
    ax.legend(loc="best", framealpha=0.9, edgecolor="none", fontsize="small")
    return drawn


def _surface(ax: Axes, f: Callable, X: np.ndarray) -> None:
    """Both sides shaded, the boundary solid, the margins dashed."""
    low, high = X.min(0), X.max(0)
    edge = 0.08 * np.where(high > low, high - low, 1.0)
    x, y = (
        np.linspace(a, b, GRID) for a, b in zip(low - edge, high + edge, strict=True)
    )
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    height = f(grid.reshape(-1, 2)).reshape(GRID, GRID)
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
    """From each row to its margin f = ±1, down the slope of f (Newton's steps)."""
    if not len(X):
        return
    size, foot = 1e-5 * (np.abs(X).max() + 1), X.copy()
    for _ in range(STEPS):
        sides = [(f(foot + size * e), f(foot - size * e)) for e in np.eye(2)]
        slope = np.stack([(a - b) / (2 * size) for a, b in sides], axis=1)
        square = np.maximum((slope**2).sum(1), 1e-12)
        foot = foot + ((signs - f(foot)) / square)[:, None] * slope
    reach = np.linalg.norm(np.ptp(X, axis=0))
    for a, b in zip(X, foot, strict=True):
        if np.linalg.norm(a - b) <= reach:
            ax.plot(*np.stack([a, b]).T, color=SOFT, lw=0.8, zorder=1)
