r"""Paths of solvers over the contours of a loss with two parameters."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from likely.core.precision import float64
from likely.plots.runs import named, points
from likely.plots.style import INK, SOFT, figure, series
from likely.typing import Solution, Trace

Pair = tuple[float | int, float | int]
Limits = tuple[Pair, Pair]
GRID_SIZE, N_LEVELS, MAX_MARKERS = 201, 14, 20


def path(
    runs: Solution | Trace | Mapping[str, Solution | Trace],
    f: Callable[[Any], Any] | None = None,
    *,
    limits: Limits | None = None,
    minimum: Pair | None = None,
    labels: tuple[str, str] = ("θ₁", "θ₂"),
    title: str = "Paths of descent",
) -> Figure:
    """Draw the paths of solvers over the contours of their loss.

    Args:
        runs: a solution, or several by name, of solvers with `path=True`.
        f: the loss as a function of the two parameters, in the form given to the solvers.
        limits: ((left, right), (bottom, top)); by default a box around the paths.
        minimum: the minimum, to mark it.
        labels: the names of the two parameters.
        title: the title of the figure.
    """
    traces = named(runs)
    paths = {name: points(trace) for name, trace in traces.items()}
    limits = limits or _around(list(paths.values()), minimum)
    drawn, (ax,) = figure(6.4, 4.8, title)
    if f is not None:
        form = next(iter(traces.values())).model
        _landscape(ax, f, form, limits)
    for i, (name, visited) in enumerate(paths.items()):
        _draw(ax, i, name, visited)
    if minimum is not None:
        ax.plot(*minimum, "*", color=INK, markersize=13, zorder=4, label="minimum")
    ax.set(xlim=limits[0], ylim=limits[1], xlabel=labels[0], ylabel=labels[1])
    if ax.get_legend_handles_labels()[1]:
        ax.legend(loc="best", framealpha=0.9, edgecolor="none", fontsize="small")
    return drawn


def _around(paths: list[np.ndarray], minimum) -> Limits:
    """A box around the paths, without a few outlying steps."""
    inner = np.concatenate(
        [np.quantile(visited, [0.02, 0.98], axis=0) for visited in paths]
    )
    ends = [visited[0] for visited in paths] + (
        [] if minimum is None else [np.array(minimum)]
    )
    box = np.concatenate([inner, ends])
    low, high = box.min(0), box.max(0)
    margin = 0.12 * np.where(high > low, high - low, 1.0)
    left, bottom = map(float, low - margin)
    right, top = map(float, high + margin)
    return (left, right), (bottom, top)


def _landscape(ax: Axes, f: Callable, form: Any, limits: Limits) -> None:
    """Draw contours at quantiles of the loss, denser at low values; dark is high."""
    leaves, tree = jax.tree.flatten(form)
    shapes = [np.shape(leaf)[1:] for leaf in leaves]
    sizes = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]

    def value(point):
        parts = jnp.split(point, sizes)
        shaped = [part.reshape(s) for part, s in zip(parts, shapes, strict=True)]
        return f(jax.tree.unflatten(tree, shaped))

    x, y = (np.linspace(*limit, GRID_SIZE) for limit in limits)
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    with float64():
        height = np.asarray(jax.vmap(jax.vmap(value))(jnp.asarray(grid)))
    quantiles = np.linspace(0, 1, N_LEVELS + 1) ** 2
    levels = np.unique(np.quantile(height[np.isfinite(height)], quantiles))
    if len(levels) > 2:  # not flat
        greys = [str(1 - depth) for depth in np.linspace(0, 0.2, len(levels) - 1)]
        ax.contourf(x, y, height, levels, colors=greys).set_rasterized(True)
        ax.contour(x, y, height, levels[1:-1], colors=SOFT, linewidths=0.4)


def _draw(ax: Axes, i: int, name: str, visited: np.ndarray) -> None:
    """Draw a line through all points, with some markers and a ring at the start."""
    every = max(1, len(visited) // MAX_MARKERS)
    label = f"{name}, {len(visited) - 1} steps" if name else None
    style = {"mec": "white", "mew": 0.6, **series(i)}
    ax.plot(*visited.T, lw=1.6, ms=4.5, markevery=every, label=label, **style)
    ax.plot(*visited[-1], ms=9, zorder=4, **style)
    ax.plot(*visited[0], "o", mfc="white", mec=INK, mew=1.4, ms=8, zorder=4)
