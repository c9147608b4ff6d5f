"""A biplot: rows as points and columns as arrows on the same two axes."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, SOFT, figure

MAX_POINT_LABELS = 60
"""Rows up to which each point gets its name."""


def biplot(
    rows: Any,
    columns: Any,
    *,
    row_names: Any = None,
    column_names: Any = None,
    groups: Any = None,
    shares: Any = None,
    rescale: bool = True,
    title: str = "",
) -> Figure:
    """Draw the first two new columns of rows, and what old columns contribute to them.

    Points in the direction of an arrow have large values in that column. For a PCA give
    `pca.transform(X)` and `pca.components_.T`; for a correspondence analysis
    `ca.transform(X)` and `ca.column_coordinates_`, with `rescale=False`.

    Args:
        rows: (n, k) coordinates of rows, k at least 2.
        columns: (d, k) coordinates of columns.
        row_names: names of the points, written beside them.
        column_names: names of the arrows.
        groups: (n,) of the same group get the same colour.
        shares: of the variance or inertia of each axis, for its label.
        rescale: whether arrows are made as long as the points are far out.
        title: the title of the figure.
    """
    points, arrows = np.asarray(rows, np.float64), np.asarray(columns, np.float64)
    if (
        points.ndim != 2
        or arrows.ndim != 2
        or min(points.shape[1], arrows.shape[1]) < 2
    ):
        raise InputError(
            f"rows has shape {points.shape} and columns {arrows.shape}; a biplot needs two "
            "components of each."
        )
    points, arrows = points[:, :2], arrows[:, :2]
    if rescale:
        reach = np.abs(points).max() / max(np.abs(arrows).max(), 1e-300)
        arrows = 0.8 * reach * arrows
    drawn, (ax,) = figure(6.0, 5.0, title)
    names = list(dict.fromkeys([""] * len(points) if groups is None else groups))
    own = [""] * len(points) if groups is None else list(groups)
    for i, name in enumerate(names):
        part = points[[group == name for group in own]]
        label = None if groups is None else str(name)
        ax.scatter(*part.T, s=12, alpha=0.7, lw=0, color=COLOURS[i % 6], label=label)
    if row_names is not None and len(points) <= MAX_POINT_LABELS:
        for name, place in zip(row_names, points, strict=True):
            _name(ax, str(name), place, COLOURS[0])
    ax.axhline(0, color=SOFT, lw=0.5, zorder=0)
    ax.axvline(0, color=SOFT, lw=0.5, zorder=0)
    for i, end in enumerate(arrows):
        style = {"arrowstyle": "-|>", "color": COLOURS[1], "lw": 1.0}
        ax.annotate("", end, (0, 0), arrowprops=style)
        name = f"column {i}" if column_names is None else str(column_names[i])
        _name(ax, name, end, INK)
    ax.scatter(*arrows.T, s=0)  # so that the axes reach to the ends of arrows
    if groups is not None:
        ax.legend(frameon=False)
    told = ["", ""] if shares is None else [f" ({share:.0%})" for share in shares[:2]]
    ax.set(xlabel=f"first axis{told[0]}", ylabel=f"second axis{told[1]}")
    ax.margins(0.18)
    return drawn


def _name(ax: Any, name: str, place: np.ndarray, colour: str) -> None:
    left = place[0] < 0
    ax.annotate(
        name, place, xytext=(-4 if left else 4, 3), textcoords="offset points",
        fontsize="small", color=colour, ha="right" if left else "left", parse_math=False,
    )  # fmt: skip
