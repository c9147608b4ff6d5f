"""A map of rows: their places in two dimensions, coloured by labels or numbers."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, MARKERS, figure

MAX_LABELS = 42
"""Each label has a colour and a marker of its own: seven of one, six of the other."""


def embedding_map(
    embedding: Any,
    labels: Any = None,
    *,
    values: Any = None,
    size: float | None = None,
    title: str = "",
) -> Figure:
    """Draw the places that a map gives to rows, such as `UMAP().fit_transform(X)`.

    The axes have no scale: the directions of such maps mean nothing. The name of a label
    stands at the median of its rows.

    Args:
        embedding: (n, 2) places; of more columns the first two are drawn.
        labels: (n,) rows of the same label get the same colour and marker.
        values: (n,) numbers that colours show instead.
        size: of a point; smaller for more rows where None.
        title: the title of the figure.
    """
    Y = np.asarray(embedding, np.float64)
    if Y.ndim != 2 or Y.shape[1] < 2 or not np.isfinite(Y).all():
        raise InputError(
            f"embedding has shape {Y.shape}; give finite numbers, two or more columns."
        )
    for name, given in (("labels", labels), ("values", values)):
        if given is not None and len(given) != len(Y):
            raise InputError(f"there are {len(given)} {name} and {len(Y)} places.")
    size = float(np.clip(4000 / max(len(Y), 1), 1.0, 20.0)) if size is None else size
    drawn, (ax,) = figure(6.0, 5.0, title)
    if values is not None:
        dots = ax.scatter(*Y[:, :2].T, c=np.asarray(values), s=size, cmap="viridis")
        drawn.colorbar(dots, ax=ax, shrink=0.7)
    elif labels is None:
        ax.scatter(*Y[:, :2].T, color=COLOURS[0], s=size)
    else:
        _draw_labels(ax, Y, np.asarray(labels), size)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_aspect("equal", adjustable="datalim")
    return drawn


def _draw_labels(ax: Any, Y: np.ndarray, labels: np.ndarray, size: float) -> None:
    """The rows of each label, and its name among them."""
    names = list(dict.fromkeys(np.sort(labels).tolist()))
    if len(names) > MAX_LABELS:
        raise InputError(
            f"there are {len(names)} labels, more than can be told apart; give values."
        )
    for i, name in enumerate(names):
        own = Y[labels == name, :2]
        marker = MARKERS[i // len(COLOURS)]
        ax.scatter(*own.T, color=COLOURS[i % len(COLOURS)], marker=marker, s=size)
    for name in names:
        place = np.median(Y[labels == name, :2], axis=0)
        ax.text(
            *place, str(name), color=INK, ha="center", va="center", parse_math=False,
            bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.8},
        )  # fmt: skip
